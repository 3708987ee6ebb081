//! The directory: finding a lock by its name, and naming a new one.

use super::{
    attachment::Attachment,
    engine::{At, LockConfig, Order},
    open_file::OpenFile,
    thread::with_thread_attachment,
};
use crate::algorithm::ring::Rule;
use crate::error::{Error, Result};
use crate::layout::{EntryState, MAX_NAME_BYTES, View};
use crate::os::memory;
use crate::sync::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::wait::Limit;
use std::{sync::Arc, time::Duration};

/// The region of the directory's own lock.
const DIRECTORY_LOCK: usize = 0;
/// It is taken for microseconds, and never often.
const DIRECTORY_CONFIG: LockConfig = LockConfig { patience: 0, retains: false, order: Order::Arrival };
/// How long naming a new lock may wait for others who do.
const NAMING_LIMIT: Duration = Duration::from_secs(5);

/// What kind of lock a name stands for. The numbers stand in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// One at a time.
    Mutex = 1,
    /// Each in turn.
    TurnRing = 2,
}

/// Which algorithm a lock runs. The numbers stand in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Algorithm {
    /// Lamport's bakery.
    Bakery = 1,
    /// Dijkstra's K-state ring.
    KState = 2,
    /// Raynal's ring modulo n².
    Raynal = 3,
    /// Raynal's sum ring.
    Sum = 4,
}

impl Kind {
    /// The name for people.
    pub fn name(number: u32) -> &'static str {
        match number {
            1 => "mutex",
            2 => "ring",
            _ => "unknown",
        }
    }
}

impl Algorithm {
    /// The name for people.
    pub fn name(number: u32) -> &'static str {
        match number {
            1 => "bakery",
            2 => "k-state",
            3 => "raynal",
            4 => "sum",
            _ => "unknown",
        }
    }

    /// The rule of a ring of this number, with this step; `None`: it is not a ring's.
    pub fn rule(number: u32, step: u32) -> Option<Rule> {
        match number {
            2 => Some(Rule::KState),
            3 => Some(Rule::Raynal),
            4 => Some(Rule::Sum { step: step as usize }),
            _ => None,
        }
    }
}

/// What is asked for when a lock is named.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// What kind it must be.
    pub kind: Kind,
    /// Which algorithm it must run.
    pub algorithm: Algorithm,
    /// The step it must have, if it is a sum ring; else 0.
    pub ring_step: u32,
    /// How long a waiter lets others pass, in nanoseconds, if the lock is created now.
    pub patience: u64,
    /// Algorithm and step are only for a lock that is created now: one that exists may have others.
    pub whichever: bool,
    /// May it be created?
    pub may_create: bool,
}

/// A lock that was found.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Its region.
    pub region: usize,
    /// How long a waiter lets others pass, in nanoseconds.
    pub patience: u64,
    /// How its turn goes round, if it is a ring.
    pub rule: Option<Rule>,
}

fn check_name(name: &str) -> Result<()> {
    let why = match name {
        "" => "is empty",
        name if name.len() > MAX_NAME_BYTES => "is too long",
        name if name.contains('\0') => "has a NUL in it",
        _ => return Ok(()),
    };
    Err(Error::BadName { name: name.into(), why })
}

/// The lock called `name`; named now if it is not there and the plan allows it.
pub fn find_or_name(file: &Arc<OpenFile>, name: &str, plan: &Plan) -> Result<Found> {
    memory::check()?;
    check_name(name)?;
    if !file.is_intact() {
        return Err(file.not_intact());
    }
    if let Some(found) = find(file, name, plan)? {
        return Ok(found);
    }
    if !plan.may_create {
        return Err(Error::NotFound {
            path: file.reopen().path(),
            why: format!("it has no lock called {name:?}: `turnlock status` lists them"),
        });
    }
    with_thread_attachment(file, |attachment| name_it(attachment, name, plan))
}

fn name_it(attachment: &Attachment, name: &str, plan: &Plan) -> Result<Found> {
    let file = &attachment.file;
    let directory_lock = At::new(attachment, DIRECTORY_LOCK, DIRECTORY_CONFIG);
    // Whoever died here left an entry that is not ready, which is as good as none: nothing to repair.
    let taken = directory_lock.take_and_reset(Limit::For(NAMING_LIMIT)).map_err(|error| match error {
        Error::TimedOut => file.damaged(format!(
            "its directory has been locked for {NAMING_LIMIT:?}, which takes microseconds otherwise: somebody is stopped \
             while naming a lock, or the file was overwritten"
        )),
        error => error,
    })?;
    let named = find(file, name, plan).and_then(|found| match found {
        Some(found) => Ok(found),
        None => {
            let view = file.view();
            let free = view
                .directory()
                .iter()
                .position(|entry| entry.state.load(Relaxed) == EntryState::Free as u32);
            let at = free.ok_or_else(|| Error::LocksFull {
                path: file.reopen().path(),
                locks: view.directory().len(),
            })?;
            let entry = &view.directory()[at];
            entry.kind.store(plan.kind as u32, Relaxed);
            entry.algorithm.store(plan.algorithm as u32, Relaxed);
            entry.ring_step.store(plan.ring_step, Relaxed);
            entry.patience_ns.store(plan.patience, Relaxed);
            entry.name.set(name);
            // Release. Partner: the acquire load in `find`. Ready is never seen half-made.
            entry.state.store(EntryState::Ready as u32, Release);
            let rule = Algorithm::rule(plan.algorithm as u32, plan.ring_step);
            Ok(Found { region: at + 1, patience: plan.patience, rule })
        }
    });
    directory_lock.unlock(Some(taken.token))?;
    named
}

fn find(file: &OpenFile, name: &str, plan: &Plan) -> Result<Option<Found>> {
    let Plan { kind, algorithm, .. } = *plan;
    let view = file.view();
    for (at, entry) in view.directory().iter().enumerate() {
        // Acquire. Partner: the release store in `name_it`.
        if entry.state.load(Acquire) != EntryState::Ready as u32 || entry.name.get() != name {
            continue;
        }
        let (has_kind, has_algorithm) = (entry.kind.load(Relaxed), entry.algorithm.load(Relaxed));
        if has_kind != kind as u32 || (has_algorithm != algorithm as u32 && !plan.whichever) {
            return Err(Error::Kind {
                path: file.reopen().path(),
                why: format!(
                    "its lock {name:?} is a {} ({}), and a {} ({}) was asked for: use another name",
                    Kind::name(has_kind),
                    Algorithm::name(has_algorithm),
                    Kind::name(kind as u32),
                    Algorithm::name(algorithm as u32)
                ),
            });
        }
        let has_step = entry.ring_step.load(Relaxed);
        if has_step != plan.ring_step && !plan.whichever {
            return Err(Error::Kind {
                path: file.reopen().path(),
                why: format!(
                    "its ring {name:?} has step {has_step}, and step {} was asked for: use another name",
                    plan.ring_step
                ),
            });
        }
        let rule = Algorithm::rule(has_algorithm, has_step);
        return Ok(Some(Found { region: at + 1, patience: entry.patience_ns.load(Relaxed), rule }));
    }
    Ok(None)
}

/// The name of the lock in `region`, and what it was created as.
pub fn plan_of(file: &OpenFile, region: usize) -> (String, Plan) {
    let entry = &file.view().directory()[region - 1];
    let number = |word: &AtomicU32| word.load(Relaxed);
    let is = |algorithm: &Algorithm| *algorithm as u32 == number(&entry.algorithm);
    let all = [Algorithm::Bakery, Algorithm::KState, Algorithm::Raynal, Algorithm::Sum];
    let algorithm = all.into_iter().find(is).unwrap_or(Algorithm::Bakery);
    let kind = if algorithm == Algorithm::Bakery { Kind::Mutex } else { Kind::TurnRing };
    let plan = Plan {
        kind,
        algorithm,
        ring_step: number(&entry.ring_step),
        patience: entry.patience_ns.load(Relaxed),
        whichever: false,
        may_create: false,
    };
    (entry.name.get(), plan)
}

/// A named lock, for those who look on.
pub(crate) struct Named {
    /// Its region.
    pub region: usize,
    /// Its name.
    pub name: String,
    /// Its kind, by name.
    pub kind: &'static str,
    /// Its algorithm, by name.
    pub algorithm: &'static str,
    /// How its turn goes round, if it is a ring.
    pub rule: Option<Rule>,
    /// How long a waiter lets others pass, in nanoseconds.
    pub patience: u64,
}

/// Every named lock.
pub(crate) fn names_of(view: View<'_>) -> impl Iterator<Item = Named> {
    // Acquire. Partner: the release store in `name_it`.
    let ready = view
        .directory()
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.state.load(Acquire) == EntryState::Ready as u32);
    ready.map(|(at, entry)| Named {
        region: at + 1,
        name: entry.name.get(),
        kind: Kind::name(entry.kind.load(Relaxed)),
        algorithm: Algorithm::name(entry.algorithm.load(Relaxed)),
        rule: Algorithm::rule(entry.algorithm.load(Relaxed), entry.ring_step.load(Relaxed)),
        patience: entry.patience_ns.load(Relaxed),
    })
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_page_about_algorithms_has_those_that_are_built() {
        let page = include_str!("../../docs/algorithms.md");
        let headings = page.lines().filter_map(|line| line.strip_prefix("## ")?.strip_suffix(')'));
        let in_page: Vec<&str> = headings.filter_map(|heading| Some(heading.split_once(" (`")?.1)).collect();
        let numbers = (1..).take_while(|number| Algorithm::name(*number) != "unknown");
        let built: Vec<String> =
            numbers.map(|number| format!("{}`, {number}", Algorithm::name(number))).collect();
        assert_eq!(in_page, built);
        let has_rule = |number: &u32| Algorithm::rule(*number, 1).is_some();
        assert_eq!(
            (1..).skip_while(|number| !has_rule(number)).take_while(has_rule).count(),
            built.len() - 1
        );
        let cell = size_of::<crate::layout::Cell>();
        assert!(page.contains(&format!("of 8 bytes in the line and {cell} bytes in the cell")));
    }
}
