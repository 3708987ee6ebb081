//! The order of a run: round by round through all cells, in each cell one contender after the other. So what disturbs
//! the machine for a while disturbs all contenders of a cell alike, and no round of all its cells.

use crate::{
    contender::Contender,
    results::Results,
    round::{Ground, Lengths},
    scenario::Cell,
};
use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

/// What a round costs beside its lengths: forks, attaching, leaving.
const OVERHEAD: Duration = Duration::from_millis(15);

pub struct Schedule<'a> {
    pub cells: Vec<Cell>,
    pub contenders: &'a [Contender],
    pub rounds: usize,
}

impl Schedule<'_> {
    pub fn estimate(&self, lengths: &Lengths) -> Duration {
        let once = |cell: &Cell| {
            let running = self.contenders.iter().filter(|one| one.absent(cell).is_none()).count();
            (lengths.of(cell) + OVERHEAD) * running as u32 * cell.scenario.repeats() as u32
        };
        self.cells.iter().map(once).sum::<Duration>() * self.rounds as u32
    }

    /// # Errors
    /// As [`Ground::round`], with where it was.
    pub fn run(&self, ground: &Ground) -> Result<Results, String> {
        let mut results = Results::new(self.cells.clone(), self.contenders);
        let mut progress = Progress::new(self.rounds * self.cells.len());
        for round in 0..self.rounds {
            for (at, cell) in self.cells.iter().enumerate() {
                progress.show(&format!("round {} of {}: {}", round + 1, self.rounds, cell.title()));
                let repeats = cell.scenario.repeats();
                let orders = (0..repeats).map(|repeat| self.order(round * repeats + repeat));
                for number in orders.flatten() {
                    let contender = &self.contenders[number];
                    if let (Ok(kind), None) = (&contender.kind, contender.absent(cell)) {
                        let result = ground.round(kind.as_ref(), cell);
                        let result = result.map_err(|why| {
                            progress.end();
                            format!("{}, {}: {why}", contender.name, cell.title())
                        })?;
                        results.cells[at].rows[number].push(result);
                    }
                }
            }
        }
        progress.end();
        Ok(results)
    }

    /// Begins elsewhere in every round, and goes backwards in every other, so that nobody always follows the same one.
    fn order(&self, round: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.contenders.len()).collect();
        order.rotate_left(round * 4 % self.contenders.len().max(1));
        if round % 2 == 1 {
            order.reverse();
        }
        order
    }
}

/// A line on a terminal's standard error that is written again and again.
struct Progress {
    shown: bool,
    steps: usize,
    step: usize,
    began: Instant,
}

impl Progress {
    fn new(steps: usize) -> Self {
        Self { shown: std::io::stderr().is_terminal(), steps, step: 0, began: Instant::now() }
    }

    fn show(&mut self, what: &str) {
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

    fn end(&self) {
        if self.shown {
            eprint!("\r\x1b[K");
        }
    }
}
