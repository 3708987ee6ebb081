//! The directory: finding a lock by its name, and naming a new one. ([`super::removal`] removes one.)

use super::{
    named::{Named, read},
    settings::Settings,
};
use crate::attach::{
    attachment::Attachment, names::Name, open_file::OpenFile, site::FileSite, thread::with_thread_attachment,
};
use crate::layout::{
    Algorithm, DeathPolicy, Kind, MAX_LOCKS, MAX_MAIL_PARTICIPANTS, MAX_NAME_BYTES, View, names_a_lock,
};
use crate::os::{clock, memory};
use crate::recording;
use crate::recovery;
use crate::registers::{Exclusively, FileLock, clear_coordination};
use std::{sync::Arc, time::Duration};
use turnlock_core::acquire::{
    attempt::{Attempt, Discipline, LockConfig},
    site::{Limit, Lock},
};
use turnlock_core::algorithm::{
    link::away,
    ownership::{Health, TOKEN_LIMIT},
    ring::Rule,
};
use turnlock_core::error::{Error, Result};
use turnlock_core::event::{Event, Happening};
use turnlock_core::sync::{
    Ordering::{Relaxed, Release},
    fence,
};

/// The region of the directory's own lock.
const DIRECTORY_LOCK: usize = 0;
/// It is taken for microseconds, and seldom.
const DIRECTORY_CONFIG: LockConfig = LockConfig {
    patience: 0,
    may_be_biased: false,
    release_on_death: true,
    is_linked: false,
    discipline: Discipline::Queue,
};
/// How long naming a new lock may wait for other participants that name one.
const NAMING_LIMIT: Duration = Duration::from_secs(5);

/// What is asked for when a lock is named.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Which kind it must be.
    pub kind: Kind,
    /// Which algorithm it must run.
    pub algorithm: Algorithm,
    /// The step it must have, if it is a sum ring; else 0.
    pub ring_step: u32,
    /// What may be asked for, and need not be.
    pub settings: Settings,
    /// Whether it must be recursive. One that is not asked for as recursive may be so.
    pub recursive: bool,
    /// Whether it must be linked. One that is not asked for as linked may be so.
    pub linked: bool,
    /// Of a semaphore: how many permits it has, if the lock is created now. Of a barrier: how many parties it has; of a once: 1 if
    /// what is done stays done across boots. Else 0.
    pub permits: u32,
    /// Algorithm and step are only for a lock that is created now: one that exists may have others.
    pub whichever: bool,
    /// Whether it may be created.
    pub may_create: bool,
}

/// A lock that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its region and generation.
    pub name: Arc<Name>,
    /// Whether it may be biased through a handle of this.
    pub may_be_biased: bool,
    /// For how long a waiter lets others pass, in nanoseconds.
    pub patience: u64,
    /// What a holder's death means.
    pub death_policy: DeathPolicy,
    /// Whether it is recursive.
    pub recursive: bool,
    /// Whether it is linked.
    pub linked: bool,
    /// How its turn goes round, if it is a ring.
    pub rule: Option<Rule>,
    /// Whether its participants send messages.
    pub by_messages: bool,
    /// As [`Plan::permits`].
    pub permits: u32,
}

impl Found {
    /// Returns its discipline, if it is no ring.
    pub fn discipline(&self) -> Discipline {
        if self.by_messages { Discipline::Messages } else { Discipline::Queue }
    }
}

/// Checks that a lock can have this name.
pub(super) fn check_name(name: &str) -> Result<()> {
    let why = match name {
        "" => "is empty",
        name if name.len() > MAX_NAME_BYTES => "is too long",
        name if name.contains('\0') => "has a NUL in it",
        _ => return Ok(()),
    };
    Err(Error::BadName { name: name.into(), why })
}

/// Finds the lock called `name`, or names it if it is not there and the plan allows that.
pub fn find_or_name(file: &Arc<OpenFile>, name: &str, plan: &Plan) -> Result<Found> {
    memory::check()?;
    check_name(name)?;
    check_algorithm(name, Some(plan.algorithm))?;
    if !file.is_intact() {
        return Err(file.not_intact());
    }
    // Each further round because the lock was removed between two looks.
    loop {
        let (generation, named) = match find(file, name, plan)? {
            Some(found) => found,
            None if !plan.may_create => return Err(no_such_lock(file, name)),
            None => with_thread_attachment(file, |attachment| {
                with_directory_lock(attachment, || name_it(attachment, name, plan))
            })?,
        };
        check_algorithm(name, named.algorithm)?;
        if let Some((name, may_be_biased)) = file.register_name(named.region, generation)? {
            let by_messages = named.algorithm.is_some_and(Algorithm::is_by_messages);
            let may_be_biased = may_be_biased && !by_messages;
            let (rule, Named { patience, death_policy, recursive, linked, permits, .. }) =
                (named.rule(), named);
            return Ok(Found {
                name,
                may_be_biased,
                patience,
                death_policy,
                recursive,
                linked,
                rule,
                by_messages,
                permits,
            });
        }
    }
}

/// Refuses a lock by messages in a program that has no machines for it.
fn check_algorithm(name: &str, algorithm: Option<Algorithm>) -> Result<()> {
    if cfg!(feature = "messages") || !algorithm.is_some_and(Algorithm::is_by_messages) {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "{name:?} is a mutex by messages, and this program was built without them: have Cargo build turnlock with its feature \
         `messages`"
    )))
}

/// Returns the error for a lock that the file does not have.
pub(super) fn no_such_lock(file: &OpenFile, name: &str) -> Error {
    Error::NotFound {
        path: file.reopen().path(),
        why: format!("it has nothing called {name:?}: `turnlock status` lists what it has"),
    }
}

/// Runs `act` with the directory's lock.
pub(super) fn with_directory_lock<R>(attachment: &Attachment, act: impl FnOnce() -> Result<R>) -> Result<R> {
    let site = FileSite::new(attachment, DIRECTORY_LOCK, 0, Exclusively, None);
    let directory_lock = Attempt { site, config: DIRECTORY_CONFIG, claim: () };
    // A death here leaves an entry that names no lock yet, or one that does: nothing to repair.
    let acquisition =
        directory_lock.lock_and_reset(Limit::For(NAMING_LIMIT)).map_err(|error| match error {
            Error::TimedOut(_) => attachment.file.damaged(format!(
                "its directory has been locked for {NAMING_LIMIT:?}, which takes microseconds otherwise: a process is \
                 stopped while naming or removing a lock, or the file was overwritten"
            )),
            error => error,
        })?;
    let done = act();
    directory_lock.unlock(Some(acquisition.token))?;
    done
}

/// What a file may have no room for, in [`Error::FileTooSmall`].
const WITH_MAILBOXES: &str = "participants with mailboxes";

/// Names the lock called `name`, or finds it if another was faster. With the directory's lock.
fn name_it(attachment: &Attachment, name: &str, plan: &Plan) -> Result<(u64, Named)> {
    let (file, slot) = (&attachment.file, attachment.slot);
    if let Some(found) = find(file, name, plan)? {
        return Ok(found);
    }
    let view = file.view();
    let known = view.locks_bound();
    if plan.algorithm.is_by_messages() && view.geometry().mail_participants() == 0 {
        return Err(Error::FileTooSmall {
            path: file.reopen().path(),
            what: WITH_MAILBOXES,
            has: 0,
            wanted: 2,
            most: MAX_MAIL_PARTICIPANTS,
        });
    }
    let is_free = |at: &usize| {
        // Members of a removed lock by messages leave it by and by: until then their peer records here are theirs.
        !names_a_lock(view.directory()[*at].generation.load(Relaxed)) && !recovery::has_members(view, at + 1)
    };
    let removed = (0..known).find(is_free);
    let at = removed.unwrap_or(known);
    if at == view.directory().len() {
        return Err(Error::LocksFull { path: file.reopen().path(), locks: at, most: MAX_LOCKS as usize });
    }
    file.allocation().allocate_lock(at)?;
    if plan.algorithm.is_by_messages() {
        file.allocation().allocate_mail(at)?;
    }
    let entry = &view.directory()[at];
    let generation = entry.generation.load(Relaxed);
    if names_a_lock(generation) {
        return Err(file.damaged(format!(
            "its directory says that {at} of its locks were ever named, and there is one more: the file was overwritten; \
             delete it while no process uses it and let it be created anew"
        )));
    }
    clear(view, at + 1, at == known);
    let words = view.lock(at + 1).words;
    if plan.linked && plan.kind == Kind::Semaphore {
        // No permit is this host's until an agent says so. Neither home nor away, nor a block of tokens, is a matter of a semaphore.
        words.token_end.store(TOKEN_LIMIT - 1, Relaxed);
    } else if plan.linked {
        // Until an agent says otherwise.
        words.state.store(away(Health::Consistent), Relaxed);
    }
    clear_coordination(view, at + 1, plan.kind, generation + 1, false);
    // Partner: the fence in `named::read`. If a reader has seen one of the stores below, its second look at the generation sees that
    // the entry names no lock.
    fence(Release);
    entry.kind.store(plan.kind as u32, Relaxed);
    entry.algorithm.store(plan.algorithm as u32, Relaxed);
    if let Some(mail) = recovery::mail_of(view, at + 1) {
        recovery::clear_mail(&mail);
    }
    entry.ring_step.store(plan.ring_step, Relaxed);
    entry.death_policy.store(plan.settings.death_policy.value() as u32, Relaxed);
    entry.patience_ns.store(plan.settings.patience.value(), Relaxed);
    entry.recursive.store(u32::from(plan.recursive), Relaxed);
    entry.linked.store(u32::from(plan.linked), Relaxed);
    entry.permits.store(plan.permits, Relaxed);
    let is_shared_out = plan.linked && plan.kind == Kind::Semaphore;
    words.permits.store(if is_shared_out { 0 } else { plan.permits }, Relaxed);
    words.total.store(if is_shared_out { plan.permits } else { 0 }, Relaxed);
    entry.name.set(name);
    file.allocation().count_lock_in(at);
    // Before it can be used.
    let happening = Happening { event: Event::Created, slot, shared: false, value: 0 };
    recording::record(view, at + 1, slot, happening);
    // Release. Partner: the acquire load in `named::read`. If that sees the new generation, it sees all of the stores above; if it
    // sees the old one, the entry names no lock.
    entry.generation.store(generation + 1, Release);
    Ok((generation + 1, Named::of(at + 1, entry)))
}

/// Clears a region for the next lock in it, which has no holder and no member ([`super::removal`]). `untouched`: it has had
/// none since the boot. Else the numbers and the rest of the cells belong to their slots: a handle of the lock that was removed
/// may just be in its doorway.
fn clear(view: View, region: usize, untouched: bool) {
    let file_lock = FileLock::new(view, region);
    let (lock, words) = (file_lock.lock, file_lock.lock.words);
    file_lock.bias().clear();
    file_lock.bias_policy().clear();
    file_lock.standby().clear();
    words.revoking_since.store(0, Relaxed);
    words.state.store(0, Relaxed);
    words.token_end.store(0, Relaxed);
    words.agent.store(0, Relaxed);
    words.wanted.store(0, Relaxed);
    words.lease_end.store(0, Relaxed);
    words.previous_owner.clear();
    recovery::clear_ring(&lock);
    recovery::clear_dead_claims(view, region);
    if untouched {
        // What a disk kept of it from before a boot, of which the directory knows nothing.
        for ((number, passive), cell) in lock.numbers().iter().zip(lock.passive()).zip(lock.cells()) {
            for word in
                [number, passive, &cell.held, &cell.since].into_iter().filter(|word| word.load(Relaxed) != 0)
            {
                word.store(0, Relaxed);
            }
            if cell.ring.membership.load(Relaxed) != 0 {
                cell.ring.membership.store(0, Relaxed);
            }
        }
    }
    // Above all tokens that a lock of this name gave out, in this region or another.
    let floor = recovery::token_floor(clock::realtime_ns()).max(view.header().removed_token.load(Relaxed));
    let token = recovery::sound_token(words.token.load(Relaxed)).max(floor);
    words.token.store(token, Relaxed);
    words.first_token.store(token, Relaxed);
    for counter in [&words.contended, &words.timed_out, &words.died, &words.passed_over] {
        counter.store(0, Relaxed);
    }
}

fn find(file: &OpenFile, name: &str, plan: &Plan) -> Result<Option<(u64, Named)>> {
    let view = file.view();
    let of_it = |at: usize| read(view, at, |entry| entry.name.is(name).then(|| Named::of(at + 1, entry)));
    for at in 0..view.locks_bound() {
        let Some((generation, Some(found))) = of_it(at) else { continue };
        let kind = plan.kind;
        let wrong_kind = |why| Error::Kind { path: file.reopen().path(), why };
        let fits = |algorithm: Algorithm| algorithm == plan.algorithm || plan.whichever;
        if found.kind != Some(kind) || !found.algorithm.is_some_and(fits) {
            let found = described(found.kind, found.algorithm_name());
            let asked = described(Some(kind), plan.algorithm.name());
            return Err(wrong_kind(format!(
                "its {name:?} is {found}, and {asked} was asked for: use another name"
            )));
        }
        if found.ring_step != plan.ring_step && !plan.whichever {
            return Err(wrong_kind(format!(
                "its ring {name:?} has step {}, and step {} was asked for: use another name",
                found.ring_step, plan.ring_step
            )));
        }
        if plan.recursive && !found.recursive {
            return Err(wrong_kind(format!(
                "its mutex {name:?} is not recursive, and a recursive one was asked for: use another name"
            )));
        }
        if plan.linked && !found.linked {
            return Err(wrong_kind(format!(
                "its {} {name:?} is not linked, and a linked one was asked for: a lock is created linked, so use another name, \
                 or remove it first",
                kind.name()
            )));
        }
        if plan.linked && kind == Kind::Semaphore && plan.permits != found.permits {
            return Err(wrong_kind(format!(
                "its linked semaphore {name:?} has {} permits, and one of {} was asked for: the number of permits of a linked \
                 semaphore is never changed, so ask for as many, or use another name",
                found.permits, plan.permits
            )));
        }
        plan.settings.check(name, found.patience, found.death_policy).map_err(wrong_kind)?;
        return Ok(Some((generation, found)));
    }
    Ok(None)
}

/// Returns a kind in words, with its algorithm if it can run several.
fn described(kind: Option<Kind>, algorithm: &str) -> String {
    match kind {
        None => "of a kind that this version of turnlock does not know".into(),
        Some(kind @ (Kind::Mutex | Kind::TurnRing)) => format!("{} ({algorithm})", kind.with_article()),
        Some(kind) => kind.with_article().into(),
    }
}

/// Returns the name of a lock, and a plan for one like it.
///
/// # Errors
/// [`Error::NotFound`] if it was removed.
pub fn plan_of(file: &OpenFile, name: &Name) -> Result<(String, Plan)> {
    let of_it = read(file.view(), name.region - 1, |entry| Named::of(name.region, entry));
    let of_it = of_it.filter(|(generation, _)| *generation == name.generation);
    let Some((
        _,
        Named {
            name, kind, algorithm, ring_step, patience, death_policy, recursive, linked, permits, ..
        },
    )) = of_it
    else {
        return Err(file.removed());
    };
    let (kind, algorithm) = (kind.unwrap_or(Kind::Mutex), algorithm.unwrap_or(Algorithm::Bakery));
    let (whichever, may_create) = (false, false);
    let settings = Settings::of_lock(patience, death_policy);
    let plan =
        Plan { kind, algorithm, ring_step, settings, recursive, linked, permits, whichever, may_create };
    Ok((name, plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_about_algorithms_has_those_that_are_built() {
        let page = include_str!("../../docs/algorithms.md");
        let headings = page.lines().filter_map(|line| line.strip_prefix("## ")?.strip_suffix(')'));
        let in_page: Vec<&str> = headings.filter_map(|heading| Some(heading.split_once(" (`")?.1)).collect();
        let built = Algorithm::ALL.map(|algorithm| format!("{}`, {}", algorithm.name(), algorithm as u32));
        assert_eq!(in_page, built);
        let cell = size_of::<crate::layout::Cell>();
        assert!(page.contains(&format!("of 8 bytes in the queue and {cell} bytes in the cell")));
    }
}
