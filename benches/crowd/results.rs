//! What was measured: for each crowd and contender all its runs, and what they come to. The worst run counts.

use crate::{
    contender::{Entrant, ROBUST},
    run::{Crowd, End, Outcome},
};
use harness::{
    contender::Group,
    statistics::{median, spread},
};
use std::time::Duration;

pub struct Results {
    pub crowds: Vec<CrowdResults>,
}

pub struct CrowdResults {
    pub crowd: Crowd,
    /// In the contenders' order.
    pub rows: Vec<Row>,
}

/// One contender in one crowd.
pub struct Row {
    pub name: &'static str,
    pub group: Group,
    /// Of turnlock.
    pub patience: Option<Duration>,
    pub runs: Vec<Outcome>,
}

/// Of the runs.
pub struct Summary {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Results {
    pub fn new(crowds: &[Crowd], entrants: &[Entrant]) -> Self {
        let row = |entrant: &Entrant| Row {
            name: entrant.contender.name,
            group: entrant.contender.group,
            patience: entrant.patience,
            runs: Vec::new(),
        };
        let crowds = crowds
            .iter()
            .map(|crowd| CrowdResults { crowd: *crowd, rows: entrants.iter().map(row).collect() });
        Self { crowds: crowds.collect() }
    }
}

impl CrowdResults {
    /// The reference's time for an entry, of all its runs the median: one lucky run of it decides nothing.
    pub fn reference(&self) -> f64 {
        let robust = self.rows.iter().find(|row| row.name == ROBUST);
        robust.map_or(f64::NAN, |row| row.of(Outcome::pace).median)
    }

    /// A row's time as a multiple of the reference's. Of a run that was not done, what it had done counts.
    pub fn ratio(&self, row: &Row) -> Summary {
        let reference = self.reference();
        row.of(|run| run.pace() / reference)
    }
}

impl Row {
    pub fn of(&self, value: impl Fn(&Outcome) -> f64) -> Summary {
        let values: Vec<f64> = self.runs.iter().map(value).collect();
        let (least, most) = spread(values.iter().copied());
        Summary { median: median(values), least, most }
    }

    pub fn ended(&self, end: End) -> usize {
        self.runs.iter().filter(|run| run.end == end).count()
    }
}
