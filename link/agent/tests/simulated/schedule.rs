//! Schedules at random.

use crate::{
    fault::Fault,
    world::{Setup, Step, World, Wrong},
};
use support::{
    Dice,
    hosts::{self, DRIFT, pick},
};
use turnlock_link_agent::{Mode, Wish};

/// How likely which step is.
struct Mixture {
    trouble: hosts::Mixture,
    reads: u64,
    writes: u64,
    dies: u64,
    forgets: u64,
    ends_early: u64,
}

impl Mixture {
    fn of(dice: &mut Dice, reads: bool) -> Self {
        let (reads, writes) =
            if reads { [(20, 20), (30, 10), (40, 2)][dice.roll(3) as usize] } else { (0, 20) };
        let trouble = hosts::Mixture::of(dice);
        let mut one_in = |times| trouble.one_in(dice, times);
        let (dies, forgets, ends_early) = (2 * one_in(2), one_in(8), 15 * one_in(2));
        Self { trouble, reads, writes, dies, forgets, ends_early }
    }

    fn weight(&self, step: Step) -> u64 {
        let trouble = &self.trouble;
        match step {
            Step::Deliver(at) => trouble.delivers(at),
            Step::Leave(_) | Step::MoveAway(_) => trouble.leaves(),
            Step::Enter(_, Wish::Write) => self.writes,
            Step::Enter(_, Wish::Read) => self.reads,
            Step::Start(_) | Step::Mend(_) | Step::Resume(_) => 20,
            Step::Wait => trouble.waits(),
            Step::Delay(_) => trouble.delays,
            Step::DeliverLate(_) => 5,
            Step::Lose(_) => trouble.loses,
            Step::Cut(..) => trouble.cuts,
            Step::Compact => trouble.compacts,
            Step::Kill(_) => trouble.kills,
            Step::KillAmid(_) => trouble.kills_amid,
            Step::Stop(..) => trouble.stops,
            Step::Vanish(_) => trouble.vanishes,
            Step::Die(_) => self.dies,
            Step::Forget => self.forgets,
            Step::EndEarly => self.ends_early,
        }
    }
}

/// The hosts of the schedule of this seed, whose programs write: the clock of each is right or as wrong as it may be, and one in sixteen may
/// have another mode than the rest.
pub fn setup(seed: u64, hosts: usize, mode: Mode, fault: Option<Fault>) -> Setup {
    let mut dice = Dice::of_stream(seed, 1);
    let drifts = (0..hosts).map(|_| (dice.roll(3) as i64 - 1) * DRIFT).collect();
    Setup {
        drifts,
        mode,
        stranger: (dice.roll(16) == 0).then_some(0),
        fault,
        reads: false,
        ends_early: false,
    }
}

/// So many steps at random; then nothing fails any more, and everyone must get in.
pub fn at_random(seed: u64, steps: u32, setup: &Setup) -> Result<World, Wrong> {
    let (mut dice, mut world) = (Dice::of_stream(seed, 8), World::new(setup));
    let mixture = Mixture::of(&mut dice, setup.reads);
    for _ in 0..steps {
        world.go(pick(&mut dice, &world.steps(), |step| mixture.weight(step)))?;
    }
    world.settles()?;
    Ok(world)
}
