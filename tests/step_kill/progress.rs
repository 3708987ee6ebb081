//! Says where a run is: a scenario's line each five seconds, and one at its end. To standard error past the test harness,
//! which would keep it until the test ends.

use std::{
    io::{IsTerminal, Write, stderr},
    time::{Duration, Instant},
};

const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// A scenario's.
pub struct Progress {
    rung: &'static str,
    name: &'static str,
    number: usize,
    of: usize,
    began: Instant,
    told: Instant,
    rewrites: bool,
    /// Points that a victim was killed or stopped at.
    done: usize,
    /// Points of the way as far as it is known: victims go it stretch by stretch, and its length is not known before.
    known: usize,
}

impl Progress {
    /// Of scenario `number` of so many.
    pub fn of(name: &'static str, number: usize, of: usize) -> Self {
        let (now, rewrites) = (Instant::now(), stderr().is_terminal());
        Self { rung: "step kill", name, number, of, began: now, told: now, rewrites, done: 0, known: 0 }
    }

    /// Likewise, where victims are stopped.
    pub fn of_stops(name: &'static str, number: usize, of: usize) -> Self {
        Self { rung: "step stop", ..Self::of(name, number, of) }
    }

    /// A stretch with so many points is learnt.
    pub fn learnt(&mut self, points: usize) {
        self.known += points;
        self.tell_now_and_then();
    }

    /// One more point is done.
    pub fn one_more(&mut self) {
        self.done += 1;
        self.tell_now_and_then();
    }

    /// So many points of a stretch that is to be learnt again do not count.
    pub fn again(&mut self, done: usize, known: usize) {
        self.done -= done;
        self.known -= known;
    }

    /// Says something, if it has said nothing for a while.
    pub fn tell_now_and_then(&mut self) {
        if self.told.elapsed() >= BETWEEN_LINES {
            self.told = Instant::now();
            self.tell(if self.rewrites { "" } else { "\n" });
        }
    }

    /// The scenario is over.
    pub fn end(&self) {
        self.tell("\n");
    }

    fn tell(&self, end: &str) {
        let Self { rung, name, number, of, done, known, .. } = self;
        let seconds = self.began.elapsed().as_secs_f64();
        let rate = *done as f64 / seconds.max(0.001);
        let begin = if self.rewrites { "\r\x1b[K" } else { "" };
        // Fails if no process reads it: no harm.
        let _ = write!(
            stderr(),
            "{begin}{rung} {number}/{of}: {name}: {done}/{known} points so far, {rate:.0}/s, {seconds:.0} s{end}"
        );
    }
}
