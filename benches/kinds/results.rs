//! What was measured: for each cell and contender all its rounds, and their sum.

use crate::{
    cell::Cell,
    contender::{Contender, Field},
    run::Round,
};
use harness::{
    arena,
    statistics::{Percentiles, median, spread},
};
use hdrhistogram::Histogram;

pub struct Results {
    pub fields: Vec<FieldResults>,
}

/// One kind of lock.
pub struct FieldResults {
    pub name: &'static str,
    pub cells: Vec<CellResults>,
}

pub struct CellResults {
    pub cell: Cell,
    /// In the contenders' order.
    pub rows: Vec<Row>,
}

/// One contender in one cell.
pub struct Row {
    pub name: &'static str,
    pub is_peer: bool,
    /// Why there are no rounds.
    pub absent: Option<String>,
    pub rounds: Vec<RoundResult>,
    cell: Cell,
    waits: Histogram<u64>,
}

pub struct RoundResult {
    /// Nanoseconds of processor time for an entry, or entries each second.
    pub value: f64,
    pub entries: u64,
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub waits: Percentiles,
}

impl Results {
    pub fn new(fields: &[Field]) -> Self {
        let row = |cell: &Cell, contender: &Contender| Row {
            name: contender.name,
            is_peer: contender.is_peer,
            absent: contender.kind.as_ref().err().cloned(),
            rounds: Vec::new(),
            cell: *cell,
            waits: arena::waits(),
        };
        let field = |field: &Field| FieldResults {
            name: field.name,
            cells: (field.cells.iter())
                .map(|cell| CellResults {
                    cell: *cell,
                    rows: field.contenders.iter().map(|contender| row(cell, contender)).collect(),
                })
                .collect(),
        };
        Self { fields: fields.iter().map(field).collect() }
    }

    /// The rows of a cell, if it was measured.
    pub fn cell(&self, wanted: &Cell) -> Option<&CellResults> {
        self.fields.iter().flat_map(|field| &field.cells).find(|found| found.cell == *wanted)
    }
}

impl CellResults {
    /// One contender's row, if it was measured.
    pub fn row(&self, contender: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == contender && !row.rounds.is_empty())
    }

    /// The fastest of the peers, by their medians.
    pub fn best_peer(&self) -> Option<&Row> {
        let peers = self.rows.iter().filter(|row| row.is_peer && row.median().is_finite());
        let by_median = |a: &&Row, b: &&Row| a.median().total_cmp(&b.median());
        if self.cell.alone { peers.min_by(by_median) } else { peers.max_by(by_median) }
    }
}

impl Row {
    pub fn push(&mut self, round: Round) {
        self.waits.add(&round.waits).expect("histograms of one kind");
        let Round { entries, seconds, cpu_seconds, waits } = round;
        let value =
            if self.cell.alone { cpu_seconds * 1e9 / entries as f64 } else { entries as f64 / seconds };
        let waits = Percentiles::of(&waits);
        self.rounds.push(RoundResult { value, entries, seconds, cpu_seconds, waits });
    }

    pub fn median(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.value))
    }

    pub fn spread(&self) -> (f64, f64) {
        spread(self.rounds.iter().map(|round| round.value))
    }

    /// Of all rounds together.
    pub fn waits(&self) -> Percentiles {
        Percentiles::of(&self.waits)
    }

    /// Cores kept busy.
    pub fn cores(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.cpu_seconds / round.seconds))
    }

    /// Processor time for one entry, in nanoseconds.
    pub fn cpu_ns(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.cpu_seconds * 1e9 / round.entries as f64))
    }
}
