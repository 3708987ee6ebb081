//! How far a run is, for a person who waits for it.

use std::{
    io::{IsTerminal, Write},
    time::Instant,
};

/// A line on a terminal's standard error that is written again and again.
pub struct Progress {
    shown: bool,
    steps: usize,
    step: usize,
    began: Instant,
}

impl Progress {
    pub fn new(steps: usize) -> Self {
        Self { shown: std::io::stderr().is_terminal(), steps, step: 0, began: Instant::now() }
    }

    pub fn show(&mut self, what: &str) {
        if self.shown {
            let left = self.began.elapsed().as_secs_f64() / self.step.max(1) as f64
                * (self.steps - self.step) as f64;
            let left = if self.step == 0 { String::new() } else { format!(", {left:.0} s left") };
            eprint!("\r\x1b[K[{}/{}{left}] {what}", self.step + 1, self.steps);
            // Nothing to do about a closed terminal.
            let _ = std::io::stderr().flush();
        }
        self.step += 1;
    }

    pub fn end(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}
