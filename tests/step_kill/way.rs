//! The victim's way, from one system call to the next, and how to get to a point of it.
//!
//! A stretch is learnt by stepping, some instructions at a time: the fewer at once, the less time passes for the victim
//! (a step takes some 20 microseconds), which reads the clock now and then; the more, the fewer trials it takes. So it is a
//! few at first, more and more while each lesson goes on from the one before it, and a few again where one does not. A victim
//! that strayed in a lesson is found out when points of the stretch are gone to, and are not come to.

use super::order::{Point, Result, ShortCut};
use std::{collections::HashMap, sync::atomic::Ordering::SeqCst};

/// So many instructions are learnt at once, at first and at most.
const SHORTEST_LESSON: u32 = 50;
const LONGEST_LESSON: u32 = 1600;
/// So many times may a lesson not begin where the one before it ended, in one stretch.
const DISAGREEMENTS: u32 = 200;

/// One point of the way, and the address of its next instruction, if that can be known.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub point: Point,
    pub address: Option<u64>,
    /// A death here may leave something else behind than one at the point before.
    pub differs: bool,
}

/// The next instruction, and whether the one before it changed what others can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stop {
    address: u64,
    differs: bool,
}

/// The instructions between two system calls, by address: from right after the first to the second, which is the last.
#[derive(Clone, Debug)]
pub struct Stretch {
    start: Point,
    stops: Vec<Stop>,
    /// The way ends here.
    pub is_last: bool,
    /// The system call at its end sleeps.
    pub sleeps: bool,
}

/// What one trial noted.
#[derive(Debug)]
pub struct Lesson {
    stops: Vec<Stop>,
    at_call: bool,
    at_end: bool,
    at_sleep: bool,
}

impl Lesson {
    pub fn of(result: &Result) -> Self {
        Self {
            stops: result.noted().map(|(address, differs)| Stop { address, differs }).collect(),
            at_call: result.at_call.load(SeqCst) != 0,
            at_end: result.at_end.load(SeqCst) != 0,
            at_sleep: result.at_sleep.load(SeqCst) != 0,
        }
    }
}

impl Stretch {
    /// Learns the one that begins at `start`. `lesson` has a trial note so many instructions from a point on. `None`: it went
    /// wrong, or lessons never went on from one another.
    pub fn learn(
        start: Point,
        short_cuts: bool,
        mut lesson: impl FnMut(Point, u32) -> Option<Lesson>,
    ) -> Option<Self> {
        let mut stretch = Self { start, stops: Vec::new(), is_last: false, sleeps: false };
        for _ in 0..DISAGREEMENTS {
            let mut length = SHORTEST_LESSON;
            loop {
                // The last instruction known is the first of the lesson.
                let last = stretch.places(short_cuts).last();
                let from = last.map_or(start, |place| place.point);
                let mut lesson = lesson(from, length)?;
                let first = lesson.stops.first().map(|stop| stop.address);
                if last.is_some_and(|place| place.address != first) {
                    break;
                }
                // The first point of all follows a system call or the victim's beginning.
                let known = stretch.stops.pop().is_none_or(|stop| stop.differs);
                lesson.stops.first_mut()?.differs = known;
                stretch.stops.append(&mut lesson.stops);
                if lesson.at_call || lesson.at_end {
                    return Some(Self { is_last: lesson.at_end, sleeps: lesson.at_sleep, ..stretch });
                }
                length = (2 * length).min(LONGEST_LESSON);
            }
            // Perhaps only a stray one comes to where we thought we were.
            stretch.stops.truncate(stretch.stops.len().saturating_sub(SHORTEST_LESSON as usize));
        }
        None
    }

    /// How many instructions it has, and one more point where it sleeps.
    pub fn length(&self) -> usize {
        self.stops.len() + usize::from(self.sleeps)
    }

    /// Every point of it, or only those at which a death may leave something else behind than one at the point before.
    pub fn points(&self, short_cuts: bool, every: bool) -> Vec<Place> {
        let point = Point { asleep: true, ..self.start };
        let sleep = self.sleeps.then_some(Place { point, address: None, differs: true });
        self.places(short_cuts).chain(sleep).filter(|place| every || place.differs).collect()
    }

    /// One for each instruction, each with the cheapest way to it. A breakpoint costs about as much as a step, and each
    /// further visit to it about as much as two.
    fn places(&self, short_cuts: bool) -> impl Iterator<Item = Place> {
        let start = self.start;
        let mut visits = HashMap::<u64, u32>::new();
        let mut best = (start, 0);
        self.stops.iter().map(move |Stop { address, differs }| {
            let visits = visits.entry(*address).or_default();
            *visits += 1;
            let cost = 2 * *visits - 1;
            if cost < best.1 && short_cuts {
                let short_cut = Some(ShortCut { address: *address, visits: *visits });
                best = (Point { short_cut, ..start }, cost);
            }
            let place = Place { point: best.0, address: Some(*address), differs: *differs };
            best.0.steps += 1;
            best.1 += 1;
            place
        })
    }
}
