//! Schedules, at random and directed ones.

use crate::{
    fault::Fault,
    world::{Setup, Step, Stranger, TOTAL, World, Wrong, takes_at},
};
use support::{
    Dice,
    hosts::{self, DRIFT, pick},
};
use turnlock_link_agent::Mode;

/// How likely which step is.
struct Mixture {
    trouble: hosts::Mixture,
    boots: u64,
    gives_up: u64,
    ends_early: u64,
}

impl Mixture {
    fn of(dice: &mut Dice) -> Self {
        let trouble = hosts::Mixture::of(dice);
        let mut one_in = |times| trouble.one_in(dice, times);
        let (boots, gives_up, ends_early) = (one_in(4), 5 * one_in(2), 10 * one_in(2));
        Self { trouble, boots, gives_up, ends_early }
    }

    fn weight(&self, step: Step) -> u64 {
        let trouble = &self.trouble;
        match step {
            Step::Deliver(at) => trouble.delivers(at),
            Step::Leave(_) => trouble.leaves(),
            Step::Drained(_) => 20,
            // There are as many of each as permits.
            Step::Want(..) => 5,
            Step::Try(..) => 1,
            Step::Start(_) | Step::Mend(_) | Step::Resume(_) => 20,
            Step::Wait => trouble.waits(),
            Step::Delay(_) => trouble.delays,
            Step::DeliverLate(_) => 5,
            Step::Lose(_) => trouble.loses,
            Step::Cut(..) => trouble.cuts,
            Step::Compact => trouble.compacts,
            Step::Kill(_) => trouble.kills,
            Step::KillAmid(_) => trouble.kills_amid,
            Step::Stop(_) => trouble.stops,
            Step::Vanish(_) => trouble.vanishes,
            Step::Boot(_) => self.boots,
            Step::GiveUp(_) => self.gives_up,
            Step::EndEarly(_) => self.ends_early,
            Step::Forget(_) => 3,
        }
    }
}

/// The hosts of the schedule of this seed: the clock of each is right or as wrong as it may be, and one in sixteen was set up otherwise.
pub fn setup(seed: u64, hosts: usize, mode: Mode, fault: Option<Fault>) -> Setup {
    let mut dice = Dice::of_stream(seed, 1);
    let drifts = (0..hosts).map(|_| (dice.roll(3) as i64 - 1) * DRIFT).collect();
    let stranger = match dice.roll(16) {
        0 => Some(Stranger::OfNumber),
        1 => Some(Stranger::OfMode),
        _ => None,
    };
    Setup { drifts, stranger, ..Setup::of(hosts, mode, fault) }
}

/// So many steps at random; then nothing fails any more, and all that wait must get in.
pub fn at_random(seed: u64, steps: u32, setup: &Setup) -> Result<World, Wrong> {
    let mut dice = Dice::of_stream(seed, 8);
    let (mixture, mut world) = (Mixture::of(&mut dice), World::new(setup));
    for _ in 0..steps {
        world.go(pick(&mut dice, &world.steps(), |step| mixture.weight(step)))?;
    }
    world.settles()?;
    Ok(world)
}

/// Each of these hosts in turn wants all permits, and the others none; then none of them wants any, and one of them a single one.
pub fn one_wants_all(hosts: usize, mode: Mode) -> Result<(), Wrong> {
    let mut world = World::new(&Setup::of(hosts, mode, None));
    for _ in 0..2 {
        for at in 0..hosts {
            for permits in [TOTAL, 1] {
                world.go(Step::Want(at, permits))?;
                world.settles()?;
            }
            // Each alone in a permit of its own.
            (0..TOTAL).try_for_each(|_| world.go(Step::Want(at, 1)))?;
            world.come_in(at, TOTAL)?;
        }
    }
    Ok(())
}

/// A host takes some of what it needs by a call that lies about; it takes more by another one, and then the first one comes.
pub fn a_take_comes_late(mode: Mode, fault: Option<Fault>) -> Result<(), Wrong> {
    let mut world = World::new(&Setup::of(2, mode, fault));
    for at in [0, 1] {
        world.start(at)?;
    }
    (0..TOTAL - 1).try_for_each(|_| world.go(Step::Want(1, 1)))?;
    world.come_in_without_leaving(1, TOTAL - 1)?;
    world.go(Step::Want(0, TOTAL))?;
    let takes = |world: &World| world.messages.iter().position(|message| takes_at(message, 0));
    for _ in 0..1_000 {
        match takes(&world) {
            Some(at) if world.late.is_empty() => world.go(Step::Delay(at))?,
            _ if world.hosts[0].share == 2 => {
                return world.go(Step::DeliverLate(0)).and_then(|()| world.settles().map(drop));
            }
            _ if !world.messages.is_empty() => world.go(Step::Deliver(0))?,
            _ => {
                // One of the others leaves, once that call is given up on.
                if !world.late.is_empty() && world.hosts[1].used() == TOTAL - 1 {
                    world.go(Step::Leave(1))?;
                }
                world.drain_and_wait()?;
            }
        }
    }
    Err(format!("it never took more: {world:#?}"))
}

/// Two hosts: programs of the first have all permits.
pub fn one_has_all(setup: &Setup) -> Result<World, Wrong> {
    let mut world = World::new(setup);
    for at in [0, 1] {
        world.start(at)?;
    }
    world.go(Step::Want(0, TOTAL))?;
    world.come_in_without_leaving(0, TOTAL)?;
    Ok(world)
}

/// The engine ends the lease of a host before its time, and another one takes its permits by a call that lies about; the first one takes them
/// again, its lease is ended again, and then that call comes.
pub fn a_take_comes_after_a_reclaim(fault: Option<Fault>) -> Result<(), Wrong> {
    let setup = Setup { ends_early: true, ..Setup::of(2, Mode::Leased, fault) };
    let mut world = one_has_all(&setup)?;
    world.go(Step::Cut(0))?;
    world.go(Step::EndEarly(0))?;
    world.go(Step::Want(1, 1))?;
    let takes = |world: &World| world.messages.iter().position(|message| takes_at(message, 1));
    for _ in 0..1_000 {
        match takes(&world) {
            Some(at) => world.go(Step::Delay(at))?,
            None => world.go_on()?,
        }
        if !world.late.is_empty() {
            break;
        }
    }
    world.go(Step::Mend(0))?;
    for _ in 0..1_000 {
        if world.reclaims > 0 {
            world.go(Step::EndEarly(0))?;
            world.go(Step::DeliverLate(0))?;
            return world.settles().map(drop);
        }
        match world.messages.iter().position(|message| message.host() == 0) {
            Some(at) => world.go(Step::Deliver(at))?,
            None => world.drain_and_wait()?,
        }
    }
    Err(format!("it never took them again: {world:#?}"))
}

impl World {
    /// The next message comes, or what is due next; nobody leaves.
    pub fn go_on(&mut self) -> Result<(), Wrong> {
        if self.messages.is_empty() { self.drain_and_wait() } else { self.go(Step::Deliver(0)) }
    }

    /// From here on nothing fails: whoever wants permits gets them, and soon, while others leave. Returns how many steps that took.
    pub fn settles(&mut self) -> Result<u32, Wrong> {
        self.messages.append(&mut self.late);
        for at in self.alive() {
            self.hosts[at].is_cut_off = false;
            self.hosts[at].dies_amid = false;
            if self.hosts[at].missed.is_some() {
                self.go(Step::Resume(at))?;
            }
            if self.hosts[at].agent.is_none() {
                self.go(Step::Start(at))?;
            }
        }
        for steps in 0..3_000 {
            // One that was set up for another number of permits is refused.
            let total = self.store.now.total.map(|total| (total.permits, total.mode));
            let wants = |at: &usize| {
                let host = &self.hosts[*at];
                !host.waiting.is_empty() && total.is_none_or(|total| total == (host.total, host.config.mode))
            };
            if !self.alive().iter().any(wants) {
                return Ok(steps);
            }
            if !self.messages.is_empty() {
                self.go(Step::Deliver(0))?;
                continue;
            }
            for at in self.alive() {
                if !self.hosts[at].inside.is_empty() {
                    self.go(Step::Leave(at))?;
                }
            }
            self.drain_and_wait()?;
        }
        Err(format!("programs want permits, and do not get them: {self:#?}"))
    }

    /// Nobody leaves, and the waiters of this host have so many permits soon; then they leave.
    fn come_in(&mut self, at: usize, permits: u32) -> Result<(), Wrong> {
        self.come_in_without_leaving(at, permits)?;
        while !self.hosts[at].inside.is_empty() {
            self.go(Step::Leave(at))?;
        }
        Ok(())
    }

    fn come_in_without_leaving(&mut self, at: usize, permits: u32) -> Result<(), Wrong> {
        for _ in 0..3_000 {
            if self.hosts[at].used() == permits {
                return Ok(());
            }
            self.go_on()?;
        }
        Err(format!("host {at} does not get all permits: {self:#?}"))
    }

    fn drain_and_wait(&mut self) -> Result<(), Wrong> {
        for at in 0..self.hosts.len() {
            if self.hosts[at].clone().drained().is_some() {
                self.go(Step::Drained(at))?;
            }
        }
        if self.messages.is_empty() {
            for at in 0..self.hosts.len() {
                // Where they are leased they come back by themselves.
                let is_kept = !self.hosts[at].is_leased();
                if is_kept
                    && self.hosts[at].is_gone
                    && self.store.now.share_of(&self.hosts[at].name).is_some()
                {
                    self.go(Step::Forget(at))?;
                }
            }
            self.go(Step::Wait)?;
        }
        Ok(())
    }

    fn alive(&self) -> Vec<usize> {
        (0..self.hosts.len()).filter(|at| !self.hosts[*at].is_gone).collect()
    }
}
