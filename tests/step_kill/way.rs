//! The victim's way, from one system call to the next, and how to get to a point of it.
//!
//! A stretch is learnt by stepping, some instructions at a time: the fewer at once, the less time passes for the victim
//! (a step takes some 20 microseconds), which reads the clock now and then.

use super::{
    crew::Crew,
    order::{Point, Result, ShortCut},
};
use std::{collections::HashMap, sync::atomic::Ordering::SeqCst};

/// So many instructions are learnt at once.
const LESSON: u32 = 50;
/// So many times may two trials disagree, in one stretch.
const DISAGREEMENTS: u32 = 200;

/// One point of the way, and the address of its next instruction, if that can be known.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub point: Point,
    pub address: Option<u64>,
}

/// The instructions between two system calls, by address: from right after the first to the second, which is the last.
#[derive(Debug)]
pub struct Stretch {
    start: Point,
    addresses: Vec<u64>,
    /// The way ends here.
    pub is_last: bool,
    /// The system call at its end sleeps.
    pub sleeps: bool,
}

/// What one trial noted.
#[derive(Debug, PartialEq, Eq)]
pub struct Lesson {
    addresses: Vec<u64>,
    at_call: bool,
    at_end: bool,
    at_sleep: bool,
}

impl Lesson {
    pub fn of(result: &Result) -> Self {
        Self {
            addresses: result.noted().collect(),
            at_call: result.at_call.load(SeqCst) != 0,
            at_end: result.at_end.load(SeqCst) != 0,
            at_sleep: result.at_sleep.load(SeqCst) != 0,
        }
    }
}

impl Stretch {
    /// Learns the one that begins at `start`. Whatever is learnt, two trials must agree on. `None`: they went
    /// wrong, or never agreed.
    pub fn learn(crew: &mut Crew, start: Point) -> Option<Self> {
        let mut stretch = Self { start, addresses: Vec::new(), is_last: false, sleeps: false };
        for _ in 0..DISAGREEMENTS {
            loop {
                // The last instruction known is the first of the lesson.
                let last = stretch.places(crew.short_cuts).last();
                let from = last.map_or(start, |place| place.point);
                let [one, other] = crew.two_lessons(from, LESSON)?;
                let follows = last.is_none_or(|place| place.address == one.addresses.first().copied());
                if one != other || !follows {
                    break;
                }
                stretch.addresses.pop();
                stretch.addresses.extend(one.addresses);
                if one.at_call || one.at_end {
                    return Some(Self { is_last: one.at_end, sleeps: one.at_sleep, ..stretch });
                }
            }
            // Perhaps only a stray one comes to where we thought we were.
            stretch.addresses.truncate(stretch.addresses.len().saturating_sub(LESSON as usize));
        }
        None
    }

    /// Every point of it.
    pub fn points(&self, short_cuts: bool) -> Vec<Place> {
        let point = Point { asleep: true, ..self.start };
        let sleep = self.sleeps.then_some(Place { point, address: None });
        self.places(short_cuts).chain(sleep).collect()
    }

    /// One for each instruction, each with the cheapest way to it. A breakpoint costs about as much as a step, and each
    /// further visit to it about as much as two.
    fn places(&self, short_cuts: bool) -> impl Iterator<Item = Place> {
        let start = self.start;
        let mut visits = HashMap::<u64, u32>::new();
        let mut best = (start, 0);
        self.addresses.iter().map(move |address| {
            let visits = visits.entry(*address).or_default();
            *visits += 1;
            let cost = 2 * *visits - 1;
            if cost < best.1 && short_cuts {
                let short_cut = Some(ShortCut { address: *address, visits: *visits });
                best = (Point { short_cut, ..start }, cost);
            }
            let place = Place { point: best.0, address: Some(*address) };
            best.0.steps += 1;
            best.1 += 1;
            place
        })
    }
}
