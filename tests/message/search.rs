//! Breadth first through every interleaving, and back from where a participant is served.

use crate::{
    subject::Subject,
    world::{Plan, Step, World},
};
use std::{
    collections::{HashMap, VecDeque},
    hash::{BuildHasherDefault, Hash, Hasher},
};
use support::watchdog;

/// What a search found.
#[derive(Debug)]
pub struct Found {
    pub states: usize,
    /// What is wrong, and the steps that lead to it.
    pub wrong: Option<String>,
}

/// A state is known by 128 bits: with 10^8 states, two that differ are taken for one with a probability of 10^-23.
pub fn fingerprint(state: &impl Hash) -> u128 {
    let mut mixer = Mixer { one: 0x243f_6a88_85a3_08d3, other: 0x1319_8a2e_0370_7344 };
    state.hash(&mut mixer);
    u128::from(mixer.finish()) << 64 | u128::from(mixer.other.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Two independent multiplicative hashes.
struct Mixer {
    one: u64,
    other: u64,
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, byte: u8) {
        self.write_u64(byte.into());
    }
    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.one ^ word) * 0x9fb2_1c65_1e98_df25_u128;
        self.one = (product as u64) ^ (product >> 64) as u64 ^ 0x2545_f491_4f6c_dd1d;
        let product = u128::from(self.other.rotate_left(29) ^ word) * 0xd6e8_feb8_6659_fd93_u128;
        self.other = (product as u64).wrapping_add((product >> 64) as u64) ^ 0x9e6c_63d0_876a_68ee;
    }
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
    fn finish(&self) -> u64 {
        self.one
    }
}

/// A fingerprint is a hash already.
#[derive(Default)]
struct Plain(u64);

impl Hasher for Plain {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only fingerprints are looked up");
    }
    fn write_u128(&mut self, word: u128) {
        self.0 = word as u64;
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// A step from one state to another.
struct Edge {
    from: u32,
    to: u32,
    /// Whom it serves, as bits.
    served: u8,
}

/// Searches everything that the plan lets happen to these machines: at most one is inside, no token is there twice,
/// fencing tokens rise, no waiter is overtaken too often, no machine refuses what comes, and from each state in which a
/// participant waits, joins or leaves there is a way to where it is served.
pub fn search<A: Subject>(name: &str, machines: Vec<A>, plan: &Plan) -> Found {
    let n = machines.len();
    let mut first = World::new(machines, plan);
    first.normalise();
    let mut known: HashMap<u128, u32, BuildHasherDefault<Plain>> = HashMap::default();
    known.insert(fingerprint(&first), 0);
    let (mut pending, mut parents) = (vec![first.pending()], vec![(0, None)]);
    let (mut edges, mut steps): (Vec<Edge>, _) = (Vec::new(), Vec::new());
    let mut ahead = VecDeque::from([first.clone()]);
    let (mut at, mut wrong) = (0_u32, None);
    'all: while let Some(world) = ahead.pop_front() {
        if at.is_multiple_of(1 << 16) {
            watchdog::sign_of_life();
        }
        world.steps(plan, &mut steps);
        for step in &steps {
            let mut next = world.clone();
            let done = next.take(*step, plan);
            let doubled = || Some(format!("token {} is there twice", next.doubled_token(plan)?));
            if let Some(what) = done.wrong.or_else(doubled) {
                wrong = Some((at, Some(*step), what));
                break 'all;
            }
            next.normalise();
            let new = u32::try_from(pending.len()).unwrap();
            let to = *known.entry(fingerprint(&next)).or_insert(new);
            if to == new {
                pending.push(next.pending());
                parents.push((at, Some(*step)));
                ahead.push_back(next);
            }
            if pending.len() > most() {
                wrong = Some((at, Some(*step), format!("there are more than {} states", most())));
                break 'all;
            }
            edges.push(Edge { from: at, to, served: done.served });
        }
        at += 1;
    }
    let wrong = wrong.or_else(|| {
        (0..n).find_map(|who| {
            let state = never_served(&edges, &pending, who)?;
            Some((state, None, format!("participant {who} waits and can never be served from here on")))
        })
    });
    let wrong = wrong.map(|(state, step, what)| {
        let mut trail: Vec<Step> = step.into_iter().collect();
        let mut back = state;
        while let (before, Some(step)) = parents[back as usize] {
            trail.push(step);
            back = before;
        }
        trail.reverse();
        let state = replay(first, &trail, plan);
        format!("{what}, after {} steps: {trail:?}\n{state:#?}", trail.len())
    });
    let states = pending.len();
    let verdict = if wrong.is_some() { "wrong" } else { "holds" };
    println!("{name}: {states} states, {} steps: {verdict}", edges.len());
    Found { states, wrong }
}

fn replay<A: Subject>(mut world: World<A>, trail: &[Step], plan: &Plan) -> World<A> {
    for step in trail {
        world.take(*step, plan);
    }
    world
}

/// A state in which `who` waits and from which no way leads to where it is served: backwards from all steps that serve it,
/// as long as it waits.
fn never_served(edges: &[Edge], pending: &[u8], who: usize) -> Option<u32> {
    let bit = 1 << who;
    let waits = |state: u32| pending[state as usize] & bit != 0;
    let mut begins = vec![0_u32; pending.len() + 1];
    let inner = || edges.iter().filter(|edge| waits(edge.from) && waits(edge.to) && edge.served & bit == 0);
    inner().for_each(|edge| begins[edge.to as usize + 1] += 1);
    for state in 0..pending.len() {
        begins[state + 1] += begins[state];
    }
    let mut filled = begins.clone();
    let mut sources = vec![0_u32; begins[pending.len()] as usize];
    for edge in inner() {
        let at = &mut filled[edge.to as usize];
        sources[*at as usize] = edge.from;
        *at += 1;
    }
    let mut is_served = vec![false; pending.len()];
    let mut ahead: Vec<u32> = edges
        .iter()
        .filter(|edge| waits(edge.from) && edge.served & bit != 0)
        .map(|edge| edge.from)
        .collect();
    ahead.iter().for_each(|state| is_served[*state as usize] = true);
    while let Some(state) = ahead.pop() {
        let state = state as usize;
        for source in &sources[begins[state] as usize..begins[state + 1] as usize] {
            if !std::mem::replace(&mut is_served[*source as usize], true) {
                ahead.push(*source);
            }
        }
    }
    (0..pending.len() as u32).find(|state| waits(*state) && !is_served[*state as usize])
}

/// How many states a search may have.
fn most() -> usize {
    std::env::var("TURNLOCK_MOST").map_or(60_000_000, |most| most.parse().unwrap())
}

/// The plan holds; returns how many states that was.
pub fn holds<A: Subject>(name: &str, machines: Vec<A>, plan: &Plan) -> usize {
    let found = search(name, machines, plan);
    assert!(found.wrong.is_none(), "{name}: {}", found.wrong.unwrap_or_default());
    found.states
}

/// For searches that take too long for every day: minutes in an optimised build, recorded in docs/messages.md.
pub fn longer(search: impl FnOnce()) {
    if std::env::var_os("TURNLOCK_MESSAGE_LONG").is_some() {
        search();
    }
}

/// The plan goes wrong, in this way.
pub fn goes_wrong<A: Subject>(name: &str, machines: Vec<A>, plan: &Plan, how: &str) {
    let found = search(name, machines, plan);
    let wrong = found.wrong.unwrap_or_else(|| panic!("{name}: nothing is wrong in {} states", found.states));
    assert!(wrong.contains(how), "{name}: not '{how}', but {wrong}");
    println!("  {}", wrong.lines().next().unwrap_or_default());
}
