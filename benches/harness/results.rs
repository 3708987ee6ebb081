//! What was measured: for each cell and contender all its rounds, and their sum.

use crate::{
    arena,
    contender::{Contender, Group},
    round::Round,
    scenario::{Cell, Measure},
    statistics::{Percentiles, mean, median, spread},
};
use hdrhistogram::Histogram;

pub struct Results {
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
    pub group: Group,
    /// Why there are no rounds: a few words, and after a colon the rest.
    pub absent: Option<String>,
    pub rounds: Vec<RoundResult>,
    measure: Measure,
    waits: Histogram<u64>,
}

/// One round in numbers.
pub struct RoundResult {
    /// What [`Measure`] says.
    pub value: f64,
    pub entries: u64,
    pub hand_overs: u64,
    pub seconds: f64,
    pub cpu_seconds: f64,
    /// Voluntary context switches, each of which ends with a wake-up, for each hand-over: NaN without any.
    pub wake_ups: f64,
    /// Voluntary and involuntary ones.
    pub switches: f64,
    pub jain: Vec<f64>,
    pub waits: Percentiles,
}

impl Results {
    pub fn new(cells: Vec<Cell>, contenders: &[Contender]) -> Self {
        let row = |cell: &Cell, contender: &Contender| Row {
            name: contender.name,
            group: contender.group,
            absent: contender.absent(cell),
            rounds: Vec::new(),
            measure: cell.scenario.measure(),
            waits: arena::waits(),
        };
        let cells = cells.into_iter().map(|cell| CellResults {
            rows: contenders.iter().map(|contender| row(&cell, contender)).collect(),
            cell,
        });
        Self { cells: cells.collect() }
    }

    /// One contender's row in one cell, if it was measured.
    pub fn row(&self, scenario: &str, processes: usize, slots: usize, contender: &str) -> Option<&Row> {
        let cell = self.cells.iter().find(|found| found.cell.is(scenario, processes, slots))?;
        cell.row(contender)
    }
}

impl CellResults {
    /// One contender's row, if it was measured.
    pub fn row(&self, contender: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == contender && !row.rounds.is_empty())
    }

    pub fn best_peer(&self) -> Option<&Row> {
        let peers = self.rows.iter().filter(|row| row.group == Group::Peer && row.median().is_finite());
        let by_median = |a: &&Row, b: &&Row| a.median().total_cmp(&b.median());
        if self.cell.scenario.measure().less_is_better() {
            peers.min_by(by_median)
        } else {
            peers.max_by(by_median)
        }
    }
}

impl Row {
    pub fn push(&mut self, round: Round) {
        let waits = Percentiles::of(&round.waits);
        self.waits.add(&round.waits).expect("histograms of one kind");
        let value = match self.measure {
            Measure::Cost => round.cpu_seconds * 1e9 / round.entries as f64,
            Measure::Rate => round.entries as f64 / round.seconds,
            Measure::Latency => waits.p50.map_or(f64::NAN, |ns| ns as f64),
            Measure::Pace => round.seconds * 1e9 / round.hand_overs as f64,
        };
        let for_each_hand_over = |count: u64| match round.used_for_hand_overs {
            0 => f64::NAN,
            hand_overs => count as f64 / hand_overs as f64,
        };
        self.rounds.push(RoundResult {
            value,
            entries: round.entries,
            hand_overs: round.hand_overs,
            seconds: round.seconds,
            cpu_seconds: round.cpu_seconds,
            wake_ups: for_each_hand_over(round.usage.sleeps),
            switches: for_each_hand_over(round.usage.switches()),
            jain: round.jain,
            waits,
        });
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

    /// For each hand-over: wake-ups, and context switches.
    pub fn for_each_hand_over(&self) -> (f64, f64) {
        let of = |value: fn(&RoundResult) -> f64| median(self.rounds.iter().map(value));
        (of(|round| round.wake_ups), of(|round| round.switches))
    }

    /// Jain's index: the mean of all windows, and the worst window.
    pub fn jain(&self) -> (f64, f64) {
        let windows: Vec<f64> = self.rounds.iter().flat_map(|round| round.jain.clone()).collect();
        (mean(&windows), spread(windows).0)
    }
}
