//! Schedules at random. Each has its own mixture of what goes wrong, so that each kind of trouble also comes without the others.

use crate::{
    fault::Fault,
    host::DRIFT,
    world::{Setup, Step, World, Wrong},
};
use support::Dice;
use turnlock_link_agent::{Mode, Wish};

/// How likely which step is.
struct Mixture {
    /// The oldest messages lie about, while later ones come.
    is_late: bool,
    /// The time goes on, while messages lie about and programs stay inside.
    is_slow: bool,
    reads: u64,
    writes: u64,
    delays: u64,
    loses: u64,
    cuts: u64,
    compacts: u64,
    kills: u64,
    kills_amid: u64,
    stops: u64,
    dies: u64,
    vanishes: u64,
    forgets: u64,
    ends_early: u64,
}

impl Mixture {
    fn of(dice: &mut Dice, reads: bool) -> Self {
        let (reads, writes) =
            if reads { [(20, 20), (30, 10), (40, 2)][dice.roll(3) as usize] } else { (0, 20) };
        let is_calm = dice.roll(4) == 0;
        let mut one_in = |times| u64::from(!is_calm && dice.roll(times) == 0);
        Self {
            is_late: one_in(4) == 1,
            is_slow: one_in(2) == 1,
            reads,
            writes,
            delays: 8 * one_in(2),
            loses: 3 * one_in(3),
            cuts: 3 * one_in(2),
            compacts: 3 * one_in(4),
            kills: 5 * one_in(2),
            kills_amid: 4 * one_in(4),
            stops: 3 * one_in(3),
            dies: 2 * one_in(2),
            vanishes: one_in(6),
            forgets: one_in(8),
            ends_early: 15 * one_in(2),
        }
    }

    fn weight(&self, step: Step) -> u64 {
        match step {
            Step::Deliver(0) if self.is_late => 4,
            Step::Deliver(_) if self.is_late => 30,
            Step::Deliver(0) => 60,
            Step::Deliver(_) => 10,
            Step::Leave(_) | Step::MoveAway(_) if self.is_slow => 5,
            Step::Enter(_, Wish::Write) => self.writes,
            Step::Enter(_, Wish::Read) => self.reads,
            Step::Leave(_) | Step::MoveAway(_) => 20,
            Step::Start(_) | Step::Mend(_) | Step::Resume(_) => 20,
            Step::Wait if self.is_slow => 60,
            Step::Wait => 15,
            Step::Delay(_) => self.delays,
            Step::DeliverLate(_) => 5,
            Step::Lose(_) => self.loses,
            Step::Cut(..) => self.cuts,
            Step::Compact => self.compacts,
            Step::Kill(_) => self.kills,
            Step::KillAmid(_) => self.kills_amid,
            Step::Stop(..) => self.stops,
            Step::Die(_) => self.dies,
            Step::Vanish(_) => self.vanishes,
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
        let steps = world.steps();
        let mut at = dice.roll(steps.iter().map(|step| mixture.weight(*step)).sum());
        let step = steps.iter().find(|step| {
            let weight = mixture.weight(**step);
            let is_it = at < weight;
            at = at.saturating_sub(weight);
            is_it
        });
        world.go(*step.unwrap())?;
    }
    world.settles()?;
    Ok(world)
}
