//! Waiting for a lock: for people, who for; and not at all where it could never end.

use super::{
    conflict::keep_out,
    describe, escape, file,
    lock::{DEFAULT, Guard, Lock},
    processes,
    wait_line::WaitLine,
    wanted::Wanted,
};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use turnlock::{
    Error, LockedBy, Participant,
    inspect::{FileStatus, Holder, Life, LockStatus, Part, ParticipantStatus, Waiter, WaiterState},
};

/// One wait.
pub struct Waiting {
    /// The lock file, with its folder resolved.
    pub path: PathBuf,
    /// The file's device and inode number.
    pub file: (u64, u64),
    /// The lock's name.
    pub name: String,
    /// As whom.
    pub participant: Participant,
    /// What is wanted of the lock.
    pub wanted: Wanted,
    /// For how long at most; nothing: until the lock is free.
    pub limit: Option<Duration>,
    /// Whether to say who is waited for.
    pub tell: bool,
    /// Whether each message is to stay, one below the other.
    pub verbose: bool,
}

/// Why the lock was not acquired.
pub enum NotAcquired {
    /// The library says why.
    Error(Error),
    /// The holder runs the command that this process is part of. In a sentence.
    HeldByAncestor(String),
}

/// When to look who holds the lock, first: only to find out whether waiting can end.
const FIRST_LOOK: Duration = Duration::from_millis(200);
/// When to look for the second time, and to say what was seen; and how often from then on.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// What the thread that waits does between its sleeps: it looks who is waited for.
#[derive(Clone, Default)]
pub struct Lookout(Arc<Mutex<Option<Watch>>>);

struct Watch {
    waiting: Arc<Waiting>,
    line: WaitLine,
    /// How often it has looked.
    looks: u32,
    /// When to look again; `None`: not any more.
    next: Option<Instant>,
    /// Why the wait can never end.
    endless: Option<String>,
}

impl Lookout {
    fn watch(&self) -> MutexGuard<'_, Option<Watch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks, if it is time to. Returns whether a wait should end: since `asked_to_end`, or since it never would end. What is no
    /// acquisition is not ended.
    pub fn should_stop(&self, asked_to_end: impl FnOnce() -> bool) -> bool {
        let mut watch = self.watch();
        let Some(watch) = &mut *watch else { return false };
        if watch.next.is_some_and(|next| Instant::now() >= next) {
            watch.look();
        }
        watch.endless.is_some() || asked_to_end()
    }
}

impl Watch {
    fn look(&mut self) {
        self.looks += 1;
        self.next = self.goes_on().then(|| {
            let pause = if self.looks == 1 { SECOND_LOOK - FIRST_LOOK } else { SECOND_LOOK };
            Instant::now() + pause
        });
    }

    /// Looks. Returns whether it is of use to look again.
    fn goes_on(&mut self) -> bool {
        let waiting = &self.waiting;
        let Some(status) = waiting.snapshot() else { return true };
        let Some(lock) = status.locks.iter().find(|lock| lock.name == waiting.name) else { return true };
        let own = |waiter: &&Waiter| waiter.participant.slot == waiting.participant.slot();
        // Between two places where it waits it may be in neither for a moment.
        let own = lock.queue.iter().find(own);
        // A wait with an end may go on: perhaps none waits for this process, and the ancestor unlocks before it ends.
        let around_us = || lock.holders.iter().filter(|holder| is_held_around_us(waiting.file, holder));
        if waiting.limit.is_none()
            && let (Some(own), Some(holder)) = (own, around_us().next())
            && own.claim.is_some_and(|claim| keep_out(lock, around_us(), claim))
        {
            self.endless = Some(waiting.never(holder));
            return false;
        }
        if self.looks > 1 && waiting.tell {
            self.line.show(|columns| waiting.in_words(lock, own, columns))
        } else {
            self.looks == 1
        }
    }
}

impl Waiting {
    /// Acquires `lock`, of a file that was opened to be interrupted by `lookout`.
    pub fn acquire<'a>(
        self: &Arc<Self>,
        lock: &'a Lock,
        participant: &'a Participant,
        lookout: &Lookout,
    ) -> Result<Guard<'a>, NotAcquired> {
        let (waiting, line) = (self.clone(), WaitLine::new(self.verbose));
        let next = (self.limit != Some(Duration::ZERO)).then(|| Instant::now() + FIRST_LOOK);
        *lookout.watch() = Some(Watch { waiting, line, looks: 0, next, endless: None });
        let acquired = lock.acquire(participant, &self.wanted, self.limit);
        let endless = lookout.watch().take().and_then(|watch| watch.endless);
        acquired.map_err(|error| match (error, endless) {
            (Error::Interrupted, Some(why)) => NotAcquired::HeldByAncestor(why),
            (error, _) => NotAcquired::Error(error),
        })
    }

    /// Returns the file as it is now, if the path still names the one that this process waits in.
    fn snapshot(&self) -> Option<FileStatus> {
        let status = file::snapshot(&self.path).ok()?;
        let own = |one: &ParticipantStatus| {
            one.slot == self.participant.slot() && one.pid == std::process::id() && one.life != Life::Dead
        };
        status.participants.iter().any(own).then_some(status)
    }

    /// Returns who has the lock, for one that did not get it: ": held for 12 s by make (pid 4711)". Nothing, if it is free by now.
    /// `seen`: whom the call has seen in its way; of a lock that is held in parts others may have it too.
    pub fn by_whom(&self, seen: LockedBy) -> String {
        let status = self.snapshot();
        let lock = status.iter().flat_map(|status| &status.locks).find(|lock| lock.name == self.name);
        let in_parts = matches!(self.wanted, Wanted::Range { .. } | Wanted::Key { .. });
        let is_in_the_way = |holder: &&Holder| match self.wanted {
            Wanted::InGroup(group) => holder.claim.part != Some(Part::Group(group)),
            _ => !in_parts || seen.process().is_none_or(|pid| pid == holder.participant.pid),
        };
        let holders = lock.and_then(|lock| {
            let in_the_way: Vec<&Holder> = lock.holders.iter().filter(is_in_the_way).collect();
            holders_in_short(&in_the_way, usize::MAX)
        });
        holders.map_or(String::new(), |holders| describe::without_colours(&format!(": {holders}")))
    }

    /// In so many columns, if that can be: a long label is shortened first, then the sentence, then a long name; a pid never.
    fn in_words(&self, lock: &LockStatus, own: Option<&Waiter>, columns: usize) -> String {
        let is_own = |entry: &Waiter| entry.participant.slot == self.participant.slot();
        let queued = |entry: &&Waiter| entry.state == WaiterState::Queued;
        let place = lock.queue.iter().filter(queued).position(is_own);
        let place = place.map(|before| ordinal(before + 1));
        // All holders of permits are in the way of a waiter for some.
        let claim = own.and_then(|own| own.claim);
        let is_in_the_way = |holder: &&Holder| {
            lock.permits.is_some() || claim.is_none_or(|claim| keep_out(lock, [*holder], claim))
        };
        let in_the_way: Vec<&Holder> = lock.holders.iter().filter(is_in_the_way).collect();
        // Without a holder: those before it want what others hold.
        let (name, length) = (self.called(), |text: &str| text.chars().count());
        let label = in_the_way.first().map_or(0, |holder| length(&escape::text(&holder.participant.label)));
        let text = |is_short: bool, of_name, of_label| {
            let holders = holders_in_short(&in_the_way, of_label).unwrap_or_else(|| "its turn".into());
            let name = describe::shortened(&name, of_name);
            let text = match (&place, is_short) {
                (Some(place), false) => format!("waiting for {name}, {place} in the queue: {holders}"),
                (Some(place), true) => format!("{name}, {place}: {holders}"),
                (None, _) => format!("waiting for {name}: {holders}"),
            };
            describe::without_colours(&text)
        };
        let over = |text: &str| length(text).saturating_sub(columns);
        // In each way the label is shortened as far as is needed, and as it can be read then.
        let in_label = |is_short, of_name, least| {
            let over = over(&text(is_short, of_name, usize::MAX));
            let of_label = if over == 0 { usize::MAX } else { label.saturating_sub(over).max(least) };
            text(is_short, of_name, of_label)
        };
        let mut line = in_label(false, usize::MAX, 12);
        if over(&line) > 0 {
            line = in_label(true, usize::MAX, 6);
        }
        if over(&line) > 0 {
            line = in_label(true, length(&name).saturating_sub(over(&line)).max(6), 6);
        }
        line
    }

    /// Returns what is waited for, in few words: the lock or, if it has the default name, its file.
    fn called(&self) -> String {
        let file = self.path.file_name().filter(|_| self.name == DEFAULT);
        escape::text(&file.map_or(self.name.as_str().into(), |file| file.to_string_lossy()))
    }

    fn never(&self, holder: &Holder) -> String {
        let (name, path, who) = (&self.name, escape::path(&self.path), describe::who(&holder.participant));
        describe::without_colours(&format!(
            "{name:?} in {path} is held by {who}, and this runs inside it: waiting would never end. Use another lock \
             inside, or leave this `turnlock run` out (or give --timeout, if this runs in the background and no user \
             waits for it)"
        ))
    }
}

/// Returns the holders: the first, with so much of its label, and how many more. `None` if there is none.
fn holders_in_short(holders: &[&Holder], of_label: usize) -> Option<String> {
    let (first, others) = holders.split_first()?;
    let first = describe::holder_in_short(first, of_label);
    Some(if others.is_empty() { first } else { format!("{first}, and by {} more", others.len()) })
}

/// The environment variable that says which acquisitions a command is inside: words, made by [`acquisition`].
pub const INSIDE: &str = "TURNLOCK_INSIDE";

/// Returns one acquisition, unlike any other: the file's device and inode number, the slot (readers share a fencing token), and
/// the fencing token.
pub fn acquisition((device, inode): (u64, u64), slot: usize, fencing_token: u64) -> String {
    format!("{device}:{inode}:{slot}:{fencing_token}")
}

/// Returns whether a `turnlock run` made this acquisition for a command that this very process is part of.
pub fn is_held_around_us(file: (u64, u64), holder: &Holder) -> bool {
    let who = &holder.participant;
    let own = acquisition(file, who.slot, holder.fencing_token);
    let inherited = std::env::var(INSIDE).unwrap_or_default();
    inherited.split(' ').any(|outer| outer == own)
        && who.life != Life::Dead
        // One that runs and is no ancestor any more: its command has let go of this process. One that cannot be seen
        // was killed, and its command keeps the lock; or it is outside this container.
        && (!who.same_pid_namespace || !processes::exists(who.pid) || processes::descends_from(who.pid))
}

fn ordinal(number: usize) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn ordinals() {
        let spoken = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(super::ordinal);
        assert_eq!(spoken, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"]);
    }
}
