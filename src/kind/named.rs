//! A named lock, as its directory entry has it.

use crate::attach::open_file::OpenFile;
use crate::layout::{Algorithm, DeathPolicy, DirectoryEntry, Kind, View, names_a_lock};
use turnlock_core::algorithm::ring::Rule;
use turnlock_core::sync::{
    Ordering::{Acquire, Relaxed},
    fence,
};

/// Returns the rule of a ring that runs `algorithm` with this step; `None`: it is not a ring's.
pub fn rule_of(algorithm: Algorithm, step: u32) -> Option<Rule> {
    match algorithm {
        Algorithm::KState => Some(Rule::KState),
        Algorithm::Raynal => Some(Rule::Raynal),
        Algorithm::Sum => Some(Rule::Sum { step: step as usize }),
        _ => None,
    }
}

/// Reads the entry `at` by `of_it`, all of it of one generation, which is returned too. `None`: it names no lock.
pub(super) fn read<T>(view: View, at: usize, of_it: impl Fn(&DirectoryEntry) -> T) -> Option<(u64, T)> {
    let entry = &view.directory()[at];
    loop {
        // Acquire. Partner: the release store in `directory::name_it`.
        let generation = entry.generation.load(Acquire);
        if !names_a_lock(generation) {
            return None;
        }
        let read = of_it(entry);
        // Partner: the fence in `directory::name_it`. If we have read a store for another lock, the load below sees another generation,
        // and we read again.
        fence(Acquire);
        if entry.generation.load(Relaxed) == generation {
            return Some((generation, read));
        }
    }
}

/// Returns the region of the lock called `name`, and its generation.
pub(super) fn region_of(file: &OpenFile, name: &str) -> Option<(usize, u64)> {
    let view = file.view();
    (0..view.locks_bound()).find_map(|at| {
        let (generation, is_it) = read(view, at, |entry| entry.name.is(name))?;
        is_it.then_some((at + 1, generation))
    })
}

/// A named lock, as its directory entry has it.
pub(crate) struct Named {
    /// How often its entry was named or removed, when it was read.
    pub generation: u64,
    /// The number of its region.
    pub region: usize,
    /// The name.
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
    /// Whether it is recursive.
    pub recursive: bool,
    /// Whether it is linked.
    pub linked: bool,
    /// Of a semaphore: how many permits it was created with; of other kinds see [`Plan::permits`].
    pub permits: u32,
}

impl Named {
    pub(super) fn of(region: usize, entry: &DirectoryEntry) -> Self {
        let kind = Kind::of(entry.kind.load(Relaxed));
        let algorithm = Algorithm::of(entry.algorithm.load(Relaxed));
        Self {
            generation: entry.generation.load(Relaxed),
            region,
            name: entry.name.get(),
            kind,
            algorithm: algorithm.filter(|algorithm| kind.is_some_and(|kind| algorithm.is_of(kind))),
            ring_step: entry.ring_step.load(Relaxed),
            patience: entry.patience_ns.load(Relaxed),
            death_policy: DeathPolicy::of(entry.death_policy.load(Relaxed)),
            recursive: entry.recursive.load(Relaxed) == 1,
            linked: entry.linked.load(Relaxed) == 1,
            permits: entry.permits.load(Relaxed),
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
    (0..view.locks_bound()).filter_map(move |at| Some(read(view, at, |entry| Named::of(at + 1, entry))?.1))
}
