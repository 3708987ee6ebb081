//! Random walks through the worlds of the searches: more participants and more of everything than can be searched, with a
//! death, a departure, a loss or a slow link at any point. After the walk nothing goes wrong any more, and whatever is
//! on its way comes: then no participant may be left that waits, joins or leaves.
//!
//! A failure names its seed; `TURNLOCK_SEED` walks that one alone.

use crate::{
    search::longer,
    subject::Subject,
    world::{Kept, Plan, QUIET, Step, World},
};
use support::{simulator::Dice, watchdog};
use turnlock::message::{Bakery, LamportQueue, RicartAgrawala, Standing, TokenRing};

/// How many steps a walk takes before all is to come to rest, and after which it has not.
const STEPS: u64 = 400;
const REST: usize = 20_000;

/// How much more often than others each sort of step is taken, in one walk: so there are hasty participants and slow
/// links, and walks in which all depart or die at once.
struct Taste {
    of: [u64; 8],
    slow: u64,
}

impl Taste {
    fn new(dice: &mut Dice) -> Self {
        let of = std::array::from_fn(|_| [1, 1, 4, 16, 64][dice.within(0..5) as usize]);
        Self { of, slow: dice.number() }
    }

    fn weight(&self, step: Step, n: usize) -> u64 {
        match step {
            Step::Request(_) => self.of[0],
            Step::Leave(_) => self.of[1],
            Step::Die(_) | Step::Suspect(_) => self.of[2].min(4),
            Step::Return(_) => self.of[3],
            Step::Withdraw(_) | Step::Release(_) | Step::Retry(_) => self.of[4],
            Step::Lose(..) | Step::Repeat(..) => self.of[5].min(16),
            Step::Down(..) | Step::Recreate(_) => self.of[6],
            Step::Deliver(from, to, _) => {
                let link = usize::from(from) * n + usize::from(to);
                if self.slow >> (link % 64) & 1 == 1 { 1 } else { 4 * self.of[7] }
            }
        }
    }
}

/// What still comes once nothing goes wrong any more.
fn is_fair(step: Step) -> bool {
    matches!(step, Step::Deliver(..) | Step::Down(..) | Step::Retry(_) | Step::Release(_) | Step::Recreate(_))
}

/// One walk; returns how many took a step of each sort that makes trouble, or what is wrong.
fn walk<A: Subject>(seed: u64, machines: Vec<A>, plan: &Plan) -> Result<(), String> {
    let kept = if seed.is_multiple_of(2) { Kept::State } else { Kept::Nothing };
    let plan = &Plan { returns: Some(kept), impatient: seed.is_multiple_of(3), ..*plan };
    let calm = Plan { impatient: false, ..*plan };
    let (mut world, mut dice) = (World::new(machines, plan), Dice::new(seed));
    let (taste, n) = (Taste::new(&mut dice), world.n());
    let (mut steps, mut trail) = (Vec::new(), Vec::new());
    let length = dice.within(1..STEPS) as usize;
    let wrong = loop {
        let is_at_rest = trail.len() >= length;
        world.steps(if is_at_rest { &calm } else { plan }, &mut steps);
        if is_at_rest {
            steps.retain(|step| is_fair(*step));
            let is_inside = (0..n).any(|me| world.standing(me) == Standing::Inside);
            if world.pending() == 0 && !is_inside {
                return Ok(());
            }
            if trail.len() > length + REST || steps.is_empty() {
                let standing: Vec<_> = (0..n).map(|me| world.standing(me)).collect();
                break format!("not everybody is served: {standing:?}");
            }
        }
        if steps.is_empty() {
            trail.resize(length, None);
            continue;
        }
        let weight = |step: &Step| if is_at_rest { 1 } else { taste.weight(*step, n) };
        let mut at = dice.within(0..steps.iter().map(weight).sum());
        let step = *steps
            .iter()
            .find(|step| {
                let weight = weight(step);
                let is_it = at < weight;
                at = at.saturating_sub(weight);
                is_it
            })
            .expect("a step of those that were weighed");
        trail.push(Some(step));
        let done = world.take(step, plan);
        let doubled = || Some(format!("token {} is there twice", world.doubled_token(plan)?));
        if let Some(what) = done.wrong.or_else(doubled) {
            break what;
        }
    };
    trail.truncate(length + 40);
    let trail: Vec<Step> = trail.into_iter().flatten().collect();
    Err(format!("{wrong}, after {} steps: {trail:?}\n{world:#?}", trail.len()))
}

/// So many walks; returns what is wrong in the shortest of those that fail.
pub fn walks<A: Subject>(name: &str, seeds: u64, plan: &Plan, make: impl Fn() -> Vec<A>) -> Option<String> {
    let chosen = std::env::var("TURNLOCK_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let mut failed: Vec<(u64, String)> = Vec::new();
    let mut count = 0;
    for seed in chosen.map_or(1..seeds + 1, |seed| seed..seed + 1) {
        if seed.is_multiple_of(256) {
            watchdog::sign_of_life();
        }
        if let Err(wrong) = walk(seed, make(), plan) {
            count += 1;
            failed.push((seed, wrong));
            failed.sort_by_key(|(_, wrong)| wrong.len());
            failed.truncate(1);
        }
    }
    println!("{name}: {seeds} walks, {count} of them wrong");
    failed.pop().map(|(seed, wrong)| format!("{name}, seed {seed}: {wrong}"))
}

/// Every plan's walks. Half of them have participants bring their state along when they return after a departure.
fn all_hold<A: Subject>(
    name: &str,
    sizes: &[usize],
    plans: &[(&str, Plan)],
    make: impl Fn(usize, usize) -> A,
) {
    let mut wrong = Vec::new();
    for n in sizes {
        for (what, plan) in plans {
            let machines = || (0..*n).map(|me| make(*n, me)).collect::<Vec<_>>();
            let mut seeds = 300;
            longer(|| seeds = 10_000);
            wrong.extend(walks(&format!("{name} of {n}, {what}"), seeds, plan, machines));
        }
    }
    wrong.sort_by_key(String::len);
    assert!(wrong.is_empty(), "{} plans go wrong; {}", wrong.len(), wrong[0]);
}

/// Every participant wants the section often, gives up now and then, and comes back.
pub const BUSY: Plan = Plan { requests: 30, withdrawals: 5, rulings: true, retries: true, ..QUIET };

const PLANS: [(&str, Plan); 4] = [
    ("departures", Plan { departures: 8, ..BUSY }),
    ("deaths", Plan { deaths: 12, ..BUSY }),
    ("a death beside departures", Plan { deaths: 1, departures: 8, ..BUSY }),
    ("deaths and departures", Plan { deaths: 12, departures: 8, ..BUSY }),
];

/// The same over links without order, with losses and repeats.
fn disordered(losses: u8) -> Vec<(&'static str, Plan)> {
    let rough = |plan| Plan { in_order: false, losses, repeats: 10, ..plan };
    let plans = PLANS.map(|(what, plan)| (what, Plan { in_order: false, ..plan }));
    let worse = PLANS.map(|(what, plan)| (what, rough(plan)));
    plans.into_iter().chain(worse).collect()
}

#[test]
fn lamports_queue() {
    let repeats = PLANS.map(|(what, plan)| (what, Plan { repeats: 10, ..plan }));
    let plans: Vec<_> = PLANS.into_iter().chain(repeats).collect();
    all_hold("queue", &[2, 3, 5], &plans, |n, me| LamportQueue::founding(n, me).unwrap());
}

#[test]
fn ricart_and_agrawalas_mesh() {
    all_hold("mesh", &[2, 3, 5], &disordered(10), |n, me| RicartAgrawala::founding(n, me).unwrap());
}

#[test]
fn misras_ring() {
    let lossy = PLANS.map(|(what, plan)| (what, Plan { lost_tokens: 10, ..plan }));
    let plans: Vec<_> = PLANS.into_iter().chain(lossy).collect();
    all_hold("ring", &[2, 3, 4, 5], &plans, |n, me| TokenRing::founding(n, me, 2).unwrap());
}

#[test]
fn a_ring_with_three_tokens() {
    // Of several deaths those of three tokens may be lost that know how far the privilege has counted.
    let plans = [PLANS[0], PLANS[2]];
    all_hold("ring of three tokens", &[3, 4], &plans, |n, me| TokenRing::founding(n, me, 3).unwrap());
}

#[test]
fn the_bakery() {
    all_hold("bakery", &[2, 3, 5], &disordered(10), |n, me| Bakery::founding(n, me).unwrap());
}
