//! The order of a run: round by round through all cells, in each cell one contender after the other. So what disturbs
//! the machine for a while disturbs all contenders of a cell alike, and no round of all its cells.

use crate::{
    contender::Contender,
    progress::Progress,
    results::Results,
    round::{Ground, Lengths},
    scenario::Cell,
};
use std::time::Duration;

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
                let orders =
                    (0..repeats).map(|repeat| order(self.contenders.len(), round * repeats + repeat));
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
}

/// The order of so many contenders in a round. It begins elsewhere in every round, and goes backwards in every other, so
/// that no process always follows the same one.
pub fn order(contenders: usize, round: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..contenders).collect();
    order.rotate_left(round * 4 % contenders.max(1));
    if round % 2 == 1 {
        order.reverse();
    }
    order
}
