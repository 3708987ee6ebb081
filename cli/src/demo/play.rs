//! The run itself: start the programs, let them go, kill one inside, see how it ends. Whatever happens, no program
//! survives.

use super::{
    evidence::{End, Ending, Evidence, Expected, Notice, Stop, Stopped},
    journal::Progress,
    narrator::Narrator,
    no_verdict::NoVerdict,
    player::{Event, Player},
    programs::{Built, Language},
    stage::Stage,
};
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::ExitStatus,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender},
    thread,
    time::{Duration, Instant},
};

/// How long the victim stays inside before it is killed: no other may get in meanwhile.
const STAY: Duration = Duration::from_millis(300);
/// Nothing happens for so long: it hangs. The library's longest sleep is 0.05 s.
const HANGS: Duration = Duration::from_secs(15);
const TICK: Duration = Duration::from_millis(50);

/// Runs the programs on the stage until all have ended, or it hangs.
pub fn play(
    stage: &Stage,
    programs: &[Built],
    expected: &[Expected],
    (sender, events): (Sender<Event>, Receiver<Event>),
    narrator: &Narrator,
) -> Result<Evidence, NoVerdict> {
    let journal =
        File::open(&stage.journal).map_err(|error| format!("{}: {error}", stage.journal.display()))?;
    let mut run = Run {
        stage,
        expected,
        events,
        narrator,
        players: Vec::new(),
        journal,
        progress: Progress::default(),
        moved: Instant::now(),
        evidence: Evidence::default(),
        stopped_at: None,
    };
    let start_guards = stage.hold_all_locks()?;
    for (at, (program, expected)) in programs.iter().zip(expected).enumerate() {
        run.players.push(Player::start(program, expected, stage.folder(at), &sender)?);
    }
    run.until(|run| run.everyone_waits() || run.someone_has_ended())?;
    narrator.starting(&stage.waiting());
    let began = Instant::now();
    for guard in start_guards {
        guard.unlock().map_err(|error| error.to_string())?;
    }
    run.until(|run| run.everyone_has_ended())?;
    narrator.progress(&run.progress, expected);
    run.evidence.seconds = began.elapsed().as_secs_f64();
    let read = |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    run.evidence.counter = read(&stage.counter).unwrap_or_else(|error| error.to_string());
    run.evidence.journal = read(&stage.journal).unwrap_or_else(|error| error.to_string());
    Ok(std::mem::take(&mut run.evidence))
}

struct Run<'a> {
    stage: &'a Stage,
    expected: &'a [Expected],
    events: Receiver<Event>,
    narrator: &'a Narrator,
    players: Vec<Player>,
    journal: File,
    progress: Progress,
    moved: Instant,
    evidence: Evidence,
    /// When the victim stopped inside, and how many turns there had been; until it is killed.
    stopped_at: Option<(Instant, u64)>,
}

impl Run<'_> {
    /// Lets things happen until it is so, or it hangs.
    fn until(&mut self, so: impl Fn(&Self) -> bool) -> Result<(), NoVerdict> {
        self.moved = Instant::now();
        while !so(self) && self.evidence.hang.is_none() {
            match self.events.recv_timeout(TICK) {
                Ok(Event::Said(language, line)) => self.hear(language, &line),
                Ok(Event::Complained(language, line)) => self.evidence.complaint(language, line),
                Ok(Event::Ended(language, status)) => self.end(language, &status),
                Ok(Event::Signal(signal)) => return Err(NoVerdict::Interrupted(signal)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            self.look_at_the_journal();
            if self.moved.elapsed() > HANGS {
                self.evidence.hang = Some(self.stage.in_words());
            }
            match self.stopped_at {
                Some((when, turns)) if when.elapsed() >= STAY => self.kill_the_victim(turns),
                _ => {}
            }
        }
        Ok(())
    }

    fn everyone_waits(&self) -> bool {
        let waiting = self.stage.waiting();
        self.players.iter().all(|player| waiting.iter().any(|label| label == player.language.file()))
    }

    fn someone_has_ended(&self) -> bool {
        !self.evidence.endings.is_empty()
    }

    fn everyone_has_ended(&self) -> bool {
        self.evidence.endings.len() == self.players.len()
    }

    fn end(&mut self, language: Language, status: &io::Result<ExitStatus>) {
        let end = match status {
            Ok(status) => status.signal().map_or(End::Code(status.code().unwrap_or(-1)), End::Signal),
            Err(_) => End::Code(-1),
        };
        self.evidence.endings.push(Ending { language, end });
        self.moved = Instant::now();
    }

    fn look_at_the_journal(&mut self) {
        let mut added = Vec::new();
        let read = self.journal.seek(SeekFrom::Start(self.progress.bytes())).and_then(|_| {
            // What cannot be read now is read next time, and by the verdict in any case.
            self.journal.read_to_end(&mut added)
        });
        if read.is_ok_and(|bytes| bytes > 0) {
            self.moved = Instant::now();
            self.progress.take_in(&String::from_utf8_lossy(&added));
            self.narrator.progress(&self.progress, self.expected);
        }
    }

    fn hear(&mut self, language: Language, line: &str) {
        if let Some(stop) = stop_in(line) {
            self.look_at_the_journal();
            self.stopped_at = Some((Instant::now(), self.progress.all()));
            let pid = self.player(language).map_or(0, |player| player.id());
            self.narrator.stopped(language, pid, stop);
            self.evidence.stop = Some(Stop {
                language,
                pid,
                fencing_token: stop.fencing_token,
                entered_meanwhile: 0,
                waiting: Vec::new(),
                next_after: None,
            });
        } else if let Some((dead, pid, count)) = news_in(line) {
            self.narrator.told(language, dead, pid, count, self.evidence.next_after());
            self.evidence.notices.push(Notice { told: language, dead: dead.into(), pid });
        }
    }

    /// `turns`: how many there had been when it stopped.
    fn kill_the_victim(&mut self, turns: u64) {
        self.stopped_at = None;
        let Some(mut stop) = self.evidence.stop.take() else { return };
        stop.entered_meanwhile = self.progress.all() - turns;
        stop.waiting = self.stage.waiting();
        self.narrator.killing(&stop, STAY);
        let killed = Instant::now();
        if let Some(victim) = self.player(stop.language) {
            victim.kill();
        }
        while killed.elapsed() < Duration::from_secs(1) && stop.next_after.is_none() {
            if self.journal.metadata().is_ok_and(|about| about.len() > self.progress.bytes()) {
                stop.next_after = Some(killed.elapsed());
            } else {
                thread::sleep(Duration::from_micros(50));
            }
        }
        self.evidence.stop = Some(stop);
        self.moved = Instant::now();
    }

    fn player(&self, language: Language) -> Option<&Player> {
        self.players.iter().find(|player| player.language == language)
    }
}

/// `counter.c: stopped half-way through turn 7, with fencing token 12; now: kill -9 4711`
fn stop_in(line: &str) -> Option<Stopped> {
    let (_, rest) = line.split_once(": stopped half-way through turn ")?;
    let (turn, rest) = rest.split_once(", with fencing token ")?;
    let (fencing_token, _) = rest.split_once(';')?;
    Some(Stopped { turn: turn.parse().ok()?, fencing_token: fencing_token.parse().ok()? })
}

/// `counter.py: told that counter.c (process 4711) died inside; set the counter to 28`
fn news_in(line: &str) -> Option<(&str, u32, u64)> {
    let (_, rest) = line.split_once(": told that ")?;
    let (dead, rest) = rest.split_once(" (process ")?;
    let (pid, rest) = rest.split_once(") died inside; set the counter to ")?;
    Some((dead, pid.parse().ok()?, rest.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_are_understood() {
        let stop =
            stop_in("counter.c: stopped half-way through turn 7, with fencing token 12; now: kill -9 4711");
        assert_eq!(stop.map(|stop| (stop.turn, stop.fencing_token)), Some((7, 12)));
        let notice =
            news_in("counter.py: told that counter.c (process 4711) died inside; set the counter to 28");
        assert_eq!(notice, Some(("counter.c", 4711, 28)));
        assert!(stop_in("counter.c: done, 7 turns").is_none());
        assert!(news_in("counter.c: done, 7 turns").is_none());
    }
}
