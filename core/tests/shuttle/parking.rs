//! A wait that sleeps: the waiter that ships, over the kernel of the execution.

use crate::kernel::Simulated;
use crate::site::{Cell, Participant, TheLock, World};
use std::sync::atomic::Ordering::SeqCst;
use turnlock_core::acquire::site::{Limit, Outcome, Overdue, Unparked, Waiter};
use turnlock_core::algorithm::Blocker;
use turnlock_core::error::Result;
use turnlock_core::sync::{AtomicU32, AtomicU64, Ordering::Relaxed};
use turnlock_core::wait::{
    self, AdaptiveSpin, CalledWord, Cancel, ParkingSpot, Standby, Stop, Surroundings, name_of,
};

/// What waiters and those that wake them use of one slot.
#[derive(Default)]
pub struct ParkingWords {
    wake: AtomicU32,
    parked: AtomicU32,
    successor: AtomicU32,
    called: AtomicU32,
    waiting_since: AtomicU64,
    pub cancel: Cancel,
    adaptive: AdaptiveSpin,
}

impl CalledWord for Cell {
    fn called(&self) -> &AtomicU32 {
        &self.parking.called
    }
}

/// The words of the standby queue.
pub struct StandbyWords {
    event: AtomicU32,
    parked: AtomicU32,
    designated: AtomicU32,
    has_passive: AtomicU32,
    looked_at: AtomicU64,
    passive: Vec<AtomicU64>,
}

impl StandbyWords {
    pub fn new(slots: usize) -> Self {
        let word = || AtomicU32::new(0);
        Self {
            event: word(),
            parked: word(),
            designated: word(),
            has_passive: word(),
            looked_at: AtomicU64::new(0),
            passive: (0..slots).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl World {
    pub fn spot(&self, slot: usize) -> ParkingSpot<'_> {
        let ParkingWords { wake, parked, successor, .. } = &self.cells[slot].parking;
        ParkingSpot { wake, parked, successor, name: name_of(1, slot) }
    }

    pub fn standby(&self) -> Standby<'_, Cell> {
        let StandbyWords { event, parked, designated, has_passive, looked_at, passive } = &self.standby;
        Standby {
            event,
            parked,
            designated,
            has_passive,
            designated_looked_at: looked_at,
            passive,
            slots_in_use: &self.bound,
            cells: &self.cells,
            region: 1,
        }
    }

    /// As the mapped file's lock does it.
    pub fn unpark(&self, slot: usize) -> Unparked {
        let unparked = self.spot(slot).unpark::<Simulated>();
        if let Unparked::Awake(successor) = unparked {
            self.spot(successor).unpark_early::<Simulated>();
        }
        self.oracle.watch(unparked)
    }

    pub fn unpark_standby(&self, slot: usize, next: bool) {
        if !self.standby().retire::<Simulated>(slot as u32 + 1) && next {
            self.standby().unpark_designated::<Simulated>();
        }
        self.oracle.end_if_over();
    }

    pub fn forget_wait(&self, slot: usize) {
        self.standby().forget(slot);
        self.cells[slot].parking.waiting_since.store(0, Relaxed);
        self.oracle.end_if_over();
    }

    /// Another thread of the participant ends its wait.
    pub fn cancel(&self, slot: usize) {
        if self.cells[slot].parking.cancel.request().is_some() {
            self.spot(slot).unpark_all::<Simulated>();
            self.standby().call::<Simulated>(slot);
        }
    }
}

pub struct Parked<'a> {
    waiter: wait::Waiter<'a, Simulated, Cell>,
    around: SiteSurroundings<'a>,
}

struct SiteSurroundings<'a>(Participant<'a>, TheLock<'a>);

impl<'a> Parked<'a> {
    pub fn new(site: Participant<'a>, limit: Limit, patience: u64, may_be_ended: bool) -> Self {
        let (world, me) = (site.world(), site.me);
        let cell = &world.cells[me];
        let ParkingWords { waiting_since, cancel, adaptive, .. } = &cell.parking;
        let stop = Stop { cancel: may_be_ended.then_some(cancel), interrupt: None };
        let since = (&cell.since, waiting_since);
        let waiter = wait::Waiter::new(limit, patience, me, (stop, adaptive), since, world.standby());
        Parked { waiter, around: SiteSurroundings(site, site.lock) }
    }
}

impl<'a> Surroundings for SiteSurroundings<'a> {
    type Lock = TheLock<'a>;

    fn lock(&self) -> &TheLock<'a> {
        &self.1
    }
    fn participants(&self) -> u32 {
        self.0.world().bound.load(Relaxed)
    }
    fn is_in_vain(&self) -> bool {
        false
    }
    /// As in a mapped file: a participant that finds one dead looks at all.
    fn check_alive(&mut self, slot: usize) -> Result<bool> {
        let world = self.0.world();
        let reaped = world.reap(slot);
        if reaped {
            (0..world.cells.len()).filter(|other| *other != self.0.me && *other != slot).for_each(|other| {
                world.reap(other);
            });
        }
        Ok(reaped)
    }
}

impl Waiter for Parked<'_> {
    fn limit(&self) -> Limit {
        self.waiter.limit()
    }
    fn lets_pass(&mut self) -> bool {
        self.waiter.lets_pass()
    }
    fn queue_for_good(&mut self) {
        self.waiter.queue_for_good();
    }
    fn wait(&mut self, blocker: &Blocker, must_wait: impl Fn() -> bool) -> Outcome {
        let (oracle, me) = (self.around.0.oracle(), self.around.0.me);
        // A doorway ends without a wake-up: it is over in a moment, unless its participant is stopped.
        oracle.awaits_doorway[me].store(oracle.is_choosing(blocker.slot), SeqCst);
        let spot = self.around.0.world().spot(blocker.slot);
        self.waiter.wait(must_wait, spot, blocker)
    }
    fn back_off(&mut self, must_wait: impl Fn() -> bool) -> Outcome {
        wait::back_off(&mut self.waiter, &mut self.around, must_wait)
    }
    fn was_parked(&self) -> bool {
        self.waiter.was_parked()
    }
    fn is_overdue(&mut self, first: Option<(usize, u64)>, ahead: usize) -> Overdue {
        let overdue = self.waiter.is_overdue(first, ahead);
        if matches!(overdue, Overdue::IfStopped | Overdue::Yes) {
            self.around.0.oracle().begin_evicting();
        }
        overdue
    }
    fn check_alive(&mut self, slot: usize) -> Result<bool> {
        self.around.check_alive(slot)
    }
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        // Of one that is unwound at the end of the execution nothing matters.
        if !self.around.0.oracle().over.load(SeqCst) {
            self.waiter.end();
        }
    }
}
