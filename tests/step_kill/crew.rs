//! Has a scenario played once for each point of its victim's way, on every processor at once.
//!
//! The way is gone stretch by stretch, from one system call to the next. First a stretch is learnt; then the victim is
//! sent to each point of it at which its death may leave something else behind than at the point before (or to every
//! point at all), and killed there; that it was there is checked by the address of the next instruction.
//! Where the clock makes a victim stray from its way, the trial is repeated; where it made one stray while the stretch
//! was learnt, the stretch is learnt again.

use super::{
    order::{Fate, Point, Result, Stood},
    progress::Progress,
    trial::Trial,
    way::{Lesson, Place, Stretch},
    worker::Worker,
};
use std::{
    collections::HashMap,
    io::{PipeReader, Read, pipe},
    sync::{LazyLock, Mutex, PoisonError, atomic::Ordering::SeqCst},
    time::{Duration, Instant},
};
use support::{limit, watchdog};

/// Set where the victim is to be killed after every instruction.
const EVERY: &str = "TURNLOCK_STEP_KILL_EVERY";
/// How often a point is tried for before its stretch is learnt again.
const ATTEMPTS: u32 = 10;
/// How often a stretch is learnt.
const LESSONS: u32 = 10;
/// How many faults are reported in full.
const FAULTS_TOLD: usize = 5;
/// After so many trials whose survivors hang, each of them two minutes, the rest of the way is not gone.
const MOST_HANGS: usize = 4;
/// For so many seconds no trial ends: more than the longest one takes.
const NO_REPORT: u64 = 300;

/// Something a victim does, who else is there, and what must be true afterwards.
pub struct Scenario {
    pub name: &'static str,
    pub play: fn(&Trial),
    /// The victim has threads that run on while another is stepped, and would fall over breakpoints.
    pub threads: bool,
    /// The victim is stopped too, and comes to its end however long that was for.
    pub stops: bool,
}

/// What came of playing it at every point.
#[derive(Default)]
pub struct Outcome {
    pub name: &'static str,
    /// The length of the way: one for each instruction, one after the last, and one for each sleep.
    pub instructions: usize,
    /// Points of it that a victim was killed or stopped at.
    pub points: usize,
    pub calls: usize,
    pub sleeps: usize,
    /// Kills (or stops) that found the victim in its critical section.
    pub inside: usize,
    /// Kills after which a survivor got an owner-dead notice.
    pub told: usize,
    /// Stops that found the victim at each [`Stood`].
    pub stood: [usize; Stood::ALL.len()],
    /// The longest that a survivor's entry took meanwhile, where it was not inside.
    pub longest: Duration,
    /// Trials whose victim went another way than it was to.
    pub strayed: usize,
    /// Every point of the whole way was come to.
    pub is_complete: bool,
    /// Trials that went wrong.
    pub faulty: usize,
    /// Those of them that did not end by themselves.
    pub hangs: usize,
    /// What they complained of; the first of them.
    pub faults: Vec<String>,
    pub seconds: f64,
}

/// Plays `scenario` at every point that differs from the one before. With `one_fault_is_enough`, only until the first
/// fault.
pub fn kill_everywhere(scenario: &Scenario, one_fault_is_enough: bool, progress: Progress) -> Outcome {
    play_everywhere(scenario, Fate::Killed, one_fault_is_enough, progress)
}

/// Likewise; the victim is stopped, and goes on.
pub fn stop_everywhere(scenario: &Scenario, one_fault_is_enough: bool, progress: Progress) -> Outcome {
    play_everywhere(scenario, Fate::Stopped, one_fault_is_enough, progress)
}

fn play_everywhere(
    scenario: &Scenario,
    fate: Fate,
    one_fault_is_enough: bool,
    progress: Progress,
) -> Outcome {
    // What other threads of the victim do would pass for its own.
    let every = scenario.threads || is_long_run();
    play(Crew::new(scenario, fate, one_fault_is_enough, every, progress))
}

/// Returns whether victims are killed, or stopped, after every instruction.
pub fn is_long_run() -> bool {
    std::env::var_os(EVERY).is_some()
}

/// Plays `scenario` at every point.
pub fn kill_after_every_instruction(scenario: &Scenario, progress: Progress) -> Outcome {
    play(Crew::new(scenario, Fate::Killed, false, true, progress))
}

fn play(mut crew: Crew) -> Outcome {
    let began = Instant::now();
    for calls in 0.. {
        match (0..LESSONS).find_map(|_| crew.go_along_stretch(calls)) {
            Some(is_last) if !is_last => crew.outcome.calls += 1,
            last => {
                crew.outcome.is_complete = last.is_some();
                break;
            }
        }
    }
    if crew.outcome.is_complete {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(crew.outcome.name, std::mem::take(&mut crew.gone));
    }
    crew.progress.end();
    crew.outcome.seconds = began.elapsed().as_secs_f64();
    crew.outcome
}

/// The ways that were gone to their ends, by the names of their scenarios: a victim that is stopped goes the one that it was
/// killed on.
static KNOWN: LazyLock<Mutex<HashMap<&'static str, Vec<Stretch>>>> = LazyLock::new(Mutex::default);

fn known_way(name: &str) -> Vec<Stretch> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned().unwrap_or_default()
}

pub struct Crew {
    workers: Vec<(Worker, Option<Job>)>,
    reports: PipeReader,
    outcome: Outcome,
    progress: Progress,
    fate: Fate,
    one_fault_is_enough: bool,
    short_cuts: bool,
    /// Goes to the point after every instruction.
    every: bool,
    /// The stretches that were gone along before, each until it was tried.
    known: Vec<Option<Stretch>>,
    /// Those gone along now.
    gone: Vec<Stretch>,
}

/// What a death or a stop led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Consequence {
    inside: bool,
    told: bool,
    stood: Stood,
}

/// What a worker is at.
#[derive(Clone, Copy)]
struct Job {
    place: Place,
    /// Which of the places that are gone to.
    number: usize,
    attempt: u32,
}

impl Crew {
    fn new(
        scenario: &Scenario,
        fate: Fate,
        one_fault_is_enough: bool,
        every: bool,
        progress: Progress,
    ) -> Self {
        // With a mutant the way is another.
        let known = if one_fault_is_enough { Vec::new() } else { known_way(scenario.name) };
        let (reports, to_reports) = pipe().unwrap();
        let row = Worker::row(&processors(), &to_reports, scenario.play);
        Self {
            workers: row.into_iter().map(|worker| (worker, None)).collect(),
            reports,
            outcome: Outcome { name: scenario.name, ..Outcome::default() },
            progress,
            fate,
            one_fault_is_enough,
            short_cuts: !scenario.threads,
            every,
            known: known.into_iter().map(Some).collect(),
            gone: Vec::new(),
        }
    }

    /// Learns the stretch after so many system calls, and kills or stops a victim at each point of it. Returns whether it
    /// is the last; `None`: not at each point.
    fn go_along_stretch(&mut self, calls: u32) -> Option<bool> {
        if self.has_seen_enough() {
            return None;
        }
        let start = Point::after_calls(calls, self.outcome.sleeps > 0);
        let short_cuts = self.short_cuts;
        let known = self.known.get_mut(calls as usize).and_then(Option::take);
        let stretch = match known {
            Some(stretch) => stretch,
            None => Stretch::learn(start, short_cuts, |from, length| self.lesson(from, length))?,
        };
        let places = stretch.points(short_cuts, self.every);
        self.progress.learnt(places.len());
        let consequences = self.go_to(&places)?;
        self.outcome.inside += consequences.iter().filter(|consequence| consequence.inside).count();
        self.outcome.told += consequences.iter().filter(|consequence| consequence.told).count();
        for Consequence { stood, .. } in &consequences {
            self.outcome.stood[*stood as usize] += 1;
        }
        // Whether a survivor enters beside a stopped victim depends on the clock too.
        if self.fate == Fate::Killed {
            self.outcome.compare(&places, &consequences);
        }
        self.outcome.instructions += stretch.length();
        self.outcome.points += places.len();
        self.outcome.sleeps += usize::from(stretch.sleeps);
        let is_last = stretch.is_last;
        self.gone.push(stretch);
        Some(is_last)
    }

    /// What the death (or the stop) at each place led to. `None`: some point was not come to.
    fn go_to(&mut self, places: &[Place]) -> Option<Vec<Consequence>> {
        let jobs = places.iter().enumerate().rev();
        let mut jobs: Vec<Job> =
            jobs.map(|(number, place)| Job { place: *place, number, attempt: 1 }).collect();
        let mut consequences = vec![Consequence::default(); places.len()];
        let (mut done, mut lost) = (0, false);
        loop {
            let go_on = !lost && !self.has_seen_enough();
            while let Some(idle) = self.workers.iter().position(|worker| worker.1.is_none() && go_on) {
                let Some(job) = jobs.pop() else { break };
                self.start(idle, job, 0);
            }
            let Some((worker, job)) = self.wait() else { break };
            let result = &self.workers[worker].0.arena.result;
            let address = result.address.load(SeqCst);
            if !self.outcome.judge(result, &job.place.point, self.fate) {
                continue;
            } else if job.place.address.is_none_or(|expected| expected == address) {
                let [inside, told] = [&result.inside, &result.told].map(|word| word.load(SeqCst) != 0);
                consequences[job.number] = Consequence { inside, told, stood: result.stood() };
                self.outcome.longest = self.outcome.longest.max(result.took());
                done += 1;
                self.progress.one_more();
                continue;
            }
            self.outcome.strayed += 1;
            lost |= job.attempt == ATTEMPTS;
            jobs.push(Job { attempt: job.attempt + 1, ..job });
        }
        if lost {
            self.progress.again(done, places.len());
        }
        (!lost && !self.has_seen_enough()).then_some(consequences)
    }

    /// A trial that notes the next instructions from a point on. `None`: it went wrong.
    fn lesson(&mut self, from: Point, instructions: u32) -> Option<Lesson> {
        let place = Place { point: from, address: None, differs: true };
        self.start(0, Job { place, number: 0, attempt: 1 }, instructions);
        let (worker, _) = self.wait()?;
        let result = &self.workers[worker].0.arena.result;
        self.outcome.judge(result, &from, Fate::Killed).then(|| Lesson::of(result))
    }

    fn start(&mut self, worker: usize, job: Job, instructions_to_note: u32) {
        self.workers[worker].0.start(job.place.point, instructions_to_note, self.fate);
        self.workers[worker].1 = Some(job);
    }

    /// Waits for a trial to end, if any is on. Gives its worker.
    ///
    /// A worker that ended has closed nothing: the others have inherited the writing end, and no end of file comes. So
    /// the workers themselves are looked at.
    fn wait(&mut self) -> Option<(usize, Job)> {
        const A_MOMENT: Duration = Duration::from_millis(100);
        self.workers.iter().find(|worker| worker.1.is_some())?;
        let (began, limit) = (Instant::now(), limit::seconds(NO_REPORT));
        let mut name = [0];
        // Nothing is read where the last of them has ended too.
        while !limit::is_readable(&self.reports, A_MOMENT) || self.reports.read(&mut name).unwrap() == 0 {
            if let Some(why) = self.workers.iter().find_map(|worker| worker.0.has_ended()) {
                panic!("{}: {why}", self.outcome.name);
            }
            assert!(began.elapsed() < limit, "{}: no trial has ended for {limit:?}", self.outcome.name);
            self.progress.tell_now_and_then();
        }
        watchdog::sign_of_life();
        let (worker, job) = &mut self.workers[usize::from(name[0])];
        if worker.arena.result.status.load(SeqCst) != 0 {
            worker.sweep();
        }
        Some((name[0].into(), job.take()?))
    }

    fn has_seen_enough(&self) -> bool {
        self.one_fault_is_enough && self.outcome.faulty > 0 || self.outcome.hangs >= MOST_HANGS
    }
}

impl Outcome {
    /// Where every point is gone to: a death after an instruction that changed nothing leads to what the one before it
    /// does.
    fn compare(&mut self, places: &[Place], consequences: &[Consequence]) {
        let pairs = places.windows(2).zip(consequences.windows(2));
        for (place, pair) in pairs.filter(|(places, pair)| !places[1].differs && pair[0] != pair[1]) {
            self.faulty += 1;
            self.faults.push(format!("{}: nothing changed, and yet {pair:?} at {place:?}", self.name));
        }
    }

    /// Returns whether the trial went well, and keeps the fault if not.
    fn judge(&mut self, result: &Result, point: &Point, fate: Fate) -> bool {
        let status = result.status.load(SeqCst) as i32;
        let fault = match (result.complaint(), status) {
            (None, 0) => return true,
            (Some(complaint), _) => complaint,
            (None, status) if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGALRM => {
                self.hangs += 1;
                "the survivors hang".into()
            }
            (None, status) => format!("the trial ended with status {status:#x}"),
        };
        self.faulty += 1;
        if self.faults.len() < FAULTS_TOLD {
            let address = result.address.load(SeqCst);
            self.faults.push(format!("{}: victim {fate:?} at {address:#x}, {point:?}: {fault}", self.name));
        }
        false
    }
}

pub fn processors() -> Vec<usize> {
    // SAFETY: a set of processors is plain data, ours, and as long as we say.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut all) != 0 {
            return vec![0];
        }
        (0..libc::CPU_SETSIZE as usize).filter(|processor| libc::CPU_ISSET(*processor, &all)).collect()
    }
}
