//! The directory: finding a lock by its name, and naming a new one.

use crate::acquire::{
    attempt::{Attempt, Discipline, LockConfig},
    site::Limit,
};
use crate::algorithm::ring::Rule;
use crate::attach::{
    attachment::Attachment, open_file::OpenFile, site::FileSite, thread::with_thread_attachment,
};
use crate::error::{Error, Result};
use crate::layout::{Algorithm, DeathPolicy, DirectoryEntry, EntryState, Kind, MAX_NAME_BYTES, View};
use crate::os::memory;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use std::{sync::Arc, time::Duration};

/// The region of the directory's own lock.
const DIRECTORY_LOCK: usize = 0;
/// It is taken for microseconds, and never often.
const DIRECTORY_CONFIG: LockConfig =
    LockConfig { patience: 0, may_be_biased: false, release_on_death: true, discipline: Discipline::Queue };
/// How long naming a new lock may wait for others who do.
const NAMING_LIMIT: Duration = Duration::from_secs(5);

/// Returns the rule of a ring that runs `algorithm` with this step; `None`: it is not a ring's.
pub fn rule_of(algorithm: Algorithm, step: u32) -> Option<Rule> {
    match algorithm {
        Algorithm::Bakery => None,
        Algorithm::KState => Some(Rule::KState),
        Algorithm::Raynal => Some(Rule::Raynal),
        Algorithm::Sum => Some(Rule::Sum { step: step as usize }),
    }
}

/// What is asked for when a lock is named.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Which algorithm it must run.
    pub algorithm: Algorithm,
    /// The step it must have, if it is a sum ring; else 0.
    pub ring_step: u32,
    /// How long a waiter lets others pass, in nanoseconds, if the lock is created now.
    pub patience: u64,
    /// What a holder's death means, if the lock is created now.
    pub death_policy: DeathPolicy,
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
    /// What a holder's death means.
    pub death_policy: DeathPolicy,
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
    let site = FileSite::new(attachment, DIRECTORY_LOCK, None);
    let directory_lock = Attempt { site, config: DIRECTORY_CONFIG };
    // Whoever died here left an entry that is not ready, which is as good as none: nothing to repair.
    let taken = directory_lock.lock_and_reset(Limit::For(NAMING_LIMIT)).map_err(|error| match error {
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
            entry.kind.store(plan.algorithm.kind() as u32, Relaxed);
            entry.algorithm.store(plan.algorithm as u32, Relaxed);
            entry.ring_step.store(plan.ring_step, Relaxed);
            entry.patience_ns.store(plan.patience, Relaxed);
            entry.death_policy.store(plan.death_policy as u32, Relaxed);
            entry.name.set(name);
            // Release. Partner: the acquire load in `find`. Ready is never seen half-made.
            entry.state.store(EntryState::Ready as u32, Release);
            let rule = rule_of(plan.algorithm, plan.ring_step);
            Ok(Found { region: at + 1, patience: plan.patience, death_policy: plan.death_policy, rule })
        }
    });
    directory_lock.unlock(Some(taken.token))?;
    named
}

fn find(file: &OpenFile, name: &str, plan: &Plan) -> Result<Option<Found>> {
    let view = file.view();
    for (at, entry) in view.directory().iter().enumerate() {
        // Acquire. Partner: the release store in `name_it`.
        if entry.state.load(Acquire) != EntryState::Ready as u32 || entry.name.get() != name {
            continue;
        }
        let found = Named::of(at + 1, entry);
        let kind = plan.algorithm.kind();
        let wrong_kind = |why| Error::Kind { path: file.reopen().path(), why };
        let fits = |algorithm: Algorithm| {
            algorithm == plan.algorithm || (plan.whichever && algorithm.kind() == kind)
        };
        let Some(algorithm) = found.algorithm.filter(|algorithm| fits(*algorithm)) else {
            return Err(wrong_kind(format!(
                "its lock {name:?} is a {} ({}), and a {} ({}) was asked for: use another name",
                found.kind_name(),
                found.algorithm_name(),
                kind.name(),
                plan.algorithm.name()
            )));
        };
        if found.ring_step != plan.ring_step && !plan.whichever {
            return Err(wrong_kind(format!(
                "its ring {name:?} has step {}, and step {} was asked for: use another name",
                found.ring_step, plan.ring_step
            )));
        }
        let rule = rule_of(algorithm, found.ring_step);
        let Named { patience, death_policy, .. } = found;
        return Ok(Some(Found { region: at + 1, patience, death_policy, rule }));
    }
    Ok(None)
}

/// Returns the name of the lock in `region`, and what it was created as.
pub fn plan_of(file: &OpenFile, region: usize) -> (String, Plan) {
    let Named { name, algorithm, ring_step, patience, death_policy, .. } =
        Named::of(region, &file.view().directory()[region - 1]);
    let algorithm = algorithm.unwrap_or(Algorithm::Bakery);
    (name, Plan { algorithm, ring_step, patience, death_policy, whichever: false, may_create: false })
}

/// A named lock, as its directory entry says.
pub(crate) struct Named {
    /// Its region.
    pub region: usize,
    /// Its name.
    pub name: String,
    /// Its kind; `None`: one that this version does not know.
    pub kind: Option<Kind>,
    /// Its algorithm; likewise.
    pub algorithm: Option<Algorithm>,
    /// Of a sum ring, its step.
    pub ring_step: u32,
    /// For how long a waiter lets others pass, in nanoseconds.
    pub patience: u64,
    /// What a holder's death means.
    pub death_policy: DeathPolicy,
}

impl Named {
    fn of(region: usize, entry: &DirectoryEntry) -> Self {
        let kind = Kind::of(entry.kind.load(Relaxed));
        let algorithm = Algorithm::of(entry.algorithm.load(Relaxed));
        Self {
            region,
            name: entry.name.get(),
            kind,
            algorithm: algorithm.filter(|algorithm| Some(algorithm.kind()) == kind),
            ring_step: entry.ring_step.load(Relaxed),
            patience: entry.patience_ns.load(Relaxed),
            death_policy: DeathPolicy::of(entry.death_policy.load(Relaxed)),
        }
    }

    /// Returns its kind, for people.
    pub fn kind_name(&self) -> &'static str {
        self.kind.map_or("unknown", Kind::name)
    }

    /// Returns its algorithm, for people.
    pub fn algorithm_name(&self) -> &'static str {
        self.algorithm.map_or("unknown", Algorithm::name)
    }

    /// Returns how its turn goes round, if it is a ring.
    pub fn rule(&self) -> Option<Rule> {
        rule_of(self.algorithm?, self.ring_step)
    }
}

/// Returns every named lock.
pub(crate) fn names_of(view: View<'_>) -> impl Iterator<Item = Named> {
    // Acquire. Partner: the release store in `name_it`.
    let ready = view
        .directory()
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.state.load(Acquire) == EntryState::Ready as u32);
    ready.map(|(at, entry)| Named::of(at + 1, entry))
}

#[cfg(all(test, not(any(loom, shuttle))))]
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
