//! What a watcher sees happen: one change, as a line of JSON and in words.

use crate::{
    describe::{self, BAD, FAINT, STRONG},
    escape, local_time, no_lock, spans,
};
use std::time::{SystemTime, UNIX_EPOCH};
use turnlock::inspect::{Claim, Holder, LockStatus, ParticipantStatus, Waiter};

/// What happened. The names in JSON are those that docs/status.md lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The file is looked at for the first time.
    Watching,
    /// Found holding at the first look.
    Holds,
    /// Found waiting at the first look.
    Waits,
    /// A participant began to wait.
    Asked,
    /// A participant has the lock that did not have it at the look before.
    Acquired,
    /// A holder has something else of the lock than before: upgraded, downgraded, gave permits back.
    Changed,
    /// A holder that lives does not have it any more.
    Released,
    /// A waiter waits no more, and does not hold: it gave up, or acquired and released between two looks.
    Left,
    /// A waiter did not come when its turn came.
    PassedOver,
    /// A participant died; with a lock, it held that.
    Died,
    /// A dead participant's slot was cleared.
    Reaped,
    /// A lock's state is another one.
    State,
    /// A lock is biased to another slot, or to none.
    Bias,
    /// So many acquisitions came and went between two looks.
    Unseen,
    /// A participant came.
    Attached,
    /// A participant went.
    Detached,
    /// A named lock is new.
    LockCreated,
    /// A named lock is gone.
    LockRemoved,
    /// There is no lock file to be read any more.
    FileLost,
    /// There is one again.
    FileFound,
    /// Another file stands in its place.
    FileReplaced,
}

// Priorities of syslog(3).
const ERROR: u8 = 3;
const WARNING: u8 = 4;
const NOTICE: u8 = 5;
const INFORMATION: u8 = 6;

/// One change. What does not belong to the event is left out.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Change {
    /// When it was seen, in seconds since 1970.
    pub at_unix_seconds: f64,
    /// What happened.
    pub event: Event,
    /// To which lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub participant: Option<ParticipantStatus>,
    /// What it has, had, or wants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// With which fencing token. A decimal string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fencing_token: Option<String>,
    /// For how long it had waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_seconds: Option<f64>,
    /// For how long it had held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_seconds: Option<f64>,
    /// How many acquisitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acquisitions: Option<u64>,
    /// The lock's state now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'static str>,
    /// The slot that it is biased to now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub biased_to: Option<Option<usize>>,
    /// Of which kind the reason is that the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
    /// In a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether it is about a lock. Else one that waits no more was let go on, as a rule.
    #[serde(skip)]
    pub at_a_lock: bool,
}

impl Change {
    /// Returns a change of the file as a whole, seen just now.
    pub fn of_file(event: Event) -> Self {
        Self {
            at_unix_seconds: unix_seconds(),
            event,
            lock: None,
            participant: None,
            claim: None,
            fencing_token: None,
            waited_seconds: None,
            held_seconds: None,
            acquisitions: None,
            state: None,
            biased_to: None,
            why: None,
            message: None,
            at_a_lock: true,
        }
    }

    /// Returns a change of a participant.
    pub fn of_participant(event: Event, participant: &ParticipantStatus) -> Self {
        Self { participant: Some(participant.clone()), ..Self::of_file(event) }
    }

    /// Returns a change of a lock.
    pub fn of_lock(event: Event, lock: &str) -> Self {
        Self { lock: Some(lock.into()), ..Self::of_file(event) }
    }

    /// Returns a change of a holder of a lock.
    pub fn of_holder(event: Event, lock: &str, holder: &Holder) -> Self {
        Self {
            participant: Some(holder.participant.clone()),
            claim: Some(holder.claim),
            fencing_token: Some(holder.fencing_token.to_string()),
            ..Self::of_lock(event, lock)
        }
    }

    /// Returns a change of a waiter for a lock.
    pub fn of_waiter(event: Event, lock: &str, waiter: &Waiter) -> Self {
        Self {
            participant: Some(waiter.participant.clone()),
            claim: waiter.claim,
            ..Self::of_lock(event, lock)
        }
    }

    /// Returns a change of a lock's state, or that it was found in this one. Of a barrier that broke it says why.
    pub fn of_state(lock: &LockStatus) -> Self {
        let broken = lock.barrier.as_ref().and_then(|barrier| barrier.broken.as_ref());
        Self {
            state: Some(lock.state),
            message: broken.map(no_lock::why),
            ..Self::of_lock(Event::State, &lock.name)
        }
    }

    /// For people, in one line: "12:03:04.512  build  acquired by make, run by turnlock (pid 4711), after 3.2 s".
    pub fn in_words(&self) -> String {
        let lock = self.lock.as_deref().map(|lock| format!("{STRONG}{}{STRONG:#}  ", escape::text(lock)));
        format!(
            "{FAINT}{}{FAINT:#}  {}{}",
            local_time::clock(self.at_unix_seconds),
            lock.unwrap_or_default(),
            self.sentence()
        )
    }

    /// For a log that is kept: a line with its priority in front as systemd reads it (sd-daemon(3)), without the time, which the log
    /// adds. `None`: of what goes well a log need not tell.
    pub fn for_journal(&self) -> Option<String> {
        let priority = match self.event {
            Event::FileLost | Event::FileReplaced => ERROR,
            Event::State if self.state == Some("not_recoverable") => ERROR,
            Event::Died if self.lock.is_some() => WARNING,
            Event::State if matches!(self.state, Some("inconsistent" | "broken" | "unknown")) => WARNING,
            Event::State if matches!(self.state, Some("set" | "not_set" | "done" | "not_done")) => {
                return None;
            }
            Event::Died | Event::PassedOver | Event::State | Event::FileFound => NOTICE,
            Event::Watching => INFORMATION,
            _ => return None,
        };
        let lock = self.lock.as_deref().map(|lock| format!("{}: ", escape::text(lock))).unwrap_or_default();
        Some(describe::without_colours(&format!("<{priority}>{lock}{}", self.sentence())))
    }

    fn sentence(&self) -> String {
        let who = self.participant.as_ref().map(describe::who).unwrap_or_default();
        let claim = self.claim.as_ref().and_then(describe::claim);
        let claim = claim.map(|claim| format!(" ({claim})")).unwrap_or_default();
        let span = |word: &str, seconds: Option<f64>| {
            seconds.map(|seconds| format!(", {word} {}", spans::short(seconds))).unwrap_or_default()
        };
        let (waited, held) = (span("after", self.waited_seconds), span("after", self.held_seconds));
        let for_now = span("for", self.held_seconds.or(self.waited_seconds));
        let message = escape::text(self.message.as_deref().unwrap_or_default());
        match self.event {
            Event::Watching => format!("watching {message}"),
            Event::Holds => format!("held{claim} by {who}{for_now}"),
            Event::Waits => format!("waited for{claim} by {who}{for_now}"),
            Event::Asked => format!("asked for{claim} by {who}"),
            Event::Acquired => format!("acquired{claim} by {who}{waited}"),
            Event::Changed => format!("now held{claim} by {who}"),
            Event::Released => format!("released{claim} by {who}{held}"),
            Event::Left if !self.at_a_lock => format!("no longer waited for by {who}{waited}"),
            Event::Left => {
                format!("no longer waited for by {who}{waited}: it gave up, or had it between two looks")
            }
            Event::PassedOver => format!("{BAD}passed over{BAD:#}: {who}, which did not come in its turn"),
            Event::Died if self.lock.is_some() => format!("{BAD}died holding it{BAD:#}: {who}{held}"),
            Event::Died => format!("{BAD}died{BAD:#}: {who}"),
            Event::Reaped => format!("reaped: {who}"),
            Event::State => match self.state {
                Some("consistent") => "consistent again".into(),
                Some("inconsistent") => format!("{BAD}owner dead{BAD:#}: not yet marked consistent"),
                Some("set") => "set".into(),
                Some("not_set") => "cleared".into(),
                Some("open") => "open again".into(),
                Some("broken") => format!("{BAD}broken{BAD:#}: {message}"),
                Some("done") => "done".into(),
                Some("not_done") => "not done".into(),
                Some("unknown") => format!("{BAD}unknown{BAD:#}: its words are impossible"),
                _ => format!("{BAD}not recoverable{BAD:#}: closed until turnlock reset"),
            },
            Event::Bias => match self.biased_to.flatten() {
                Some(_) => format!("biased to {who}"),
                None => "biased to no participant".into(),
            },
            Event::Unseen => match self.acquisitions.unwrap_or(0) {
                1 => "1 acquisition more, between two looks".into(),
                more => format!("{more} acquisitions more, between two looks"),
            },
            Event::Attached => format!("takes part: {who}"),
            Event::Detached => format!("takes part no more: {who}"),
            Event::LockCreated => "created".into(),
            Event::LockRemoved => "removed".into(),
            Event::FileLost => format!("{BAD}lost{BAD:#}: {message}"),
            Event::FileFound => "found again".into(),
            Event::FileReplaced => format!("{BAD}replaced{BAD:#}: another file is there now"),
        }
    }
}

/// Now, in seconds since 1970.
fn unix_seconds() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_secs_f64() * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use turnlock::{LockFile, inspect};

    const ALL: [Event; 21] = [
        Event::Watching,
        Event::Holds,
        Event::Waits,
        Event::Asked,
        Event::Acquired,
        Event::Changed,
        Event::Released,
        Event::Left,
        Event::PassedOver,
        Event::Died,
        Event::Reaped,
        Event::State,
        Event::Bias,
        Event::Unseen,
        Event::Attached,
        Event::Detached,
        Event::LockCreated,
        Event::LockRemoved,
        Event::FileLost,
        Event::FileFound,
        Event::FileReplaced,
    ];

    /// Returns the names in the first column of a table.
    fn first_column(table: &str) -> BTreeSet<String> {
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
        rows.flat_map(|names| names.split('`').step_by(2)).map(String::from).collect()
    }

    #[test]
    fn the_page_has_every_event_and_every_field() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        let file = LockFile::open(&path).unwrap();
        let mutex = file.mutex("a").unwrap();
        let guard = mutex.lock().unwrap();
        let status = inspect::snapshot(&path).unwrap();
        let whole = Change {
            waited_seconds: Some(1.0),
            held_seconds: Some(1.0),
            acquisitions: Some(1),
            state: Some("consistent"),
            biased_to: Some(None),
            why: Some("gone"),
            message: Some("gone".into()),
            ..Change::of_holder(Event::Acquired, "a", &status.locks[0].holders[0])
        };
        drop(guard);
        let page =
            include_str!("../../../docs/status.md").split("## JSON of `turnlock watch`").nth(1).unwrap();
        let (events, fields) = page.split_once("| field |").unwrap();
        let names = ALL.map(|event| serde_json::to_value(event).unwrap().as_str().unwrap().to_owned());
        assert_eq!(first_column(events), BTreeSet::from(names));
        let serde_json::Value::Object(printed) = serde_json::to_value(whole).unwrap() else { panic!() };
        assert_eq!(first_column(fields), printed.keys().cloned().collect());
    }

    #[test]
    fn every_event_has_words() {
        for event in ALL {
            let words = describe::without_colours(&Change::of_lock(event, "a\u{1b}b").in_words());
            assert!(words.contains("a\\u{1b}b  ") && !words.contains('\u{1b}'), "{words}");
        }
    }
}
