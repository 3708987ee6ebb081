//! The few numbers that sum up many.

use hdrhistogram::Histogram;

/// Of an odd number of values the middle one, of an even number the mean of the middle two. NaN of none.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[odd / 2],
        even => (values[even / 2 - 1] + values[even / 2]) / 2.0,
    }
}

/// The smallest and the largest. NaN of none.
pub fn spread(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    values.into_iter().fold((f64::NAN, f64::NAN), |(least, most), value| (least.min(value), most.max(value)))
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Jain's fairness index (Jain, Chiu, Hawe 1984): 1 if all have the same, 1/n if one has everything. NaN if none has
/// anything.
pub fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

/// Nanoseconds. All `None` if nothing was timed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Percentiles {
    pub p50: Option<u64>,
    pub p99: Option<u64>,
    pub p999: Option<u64>,
    pub max: Option<u64>,
}

impl Percentiles {
    pub fn of(waits: &Histogram<u64>) -> Self {
        let at = |quantile| (!waits.is_empty()).then(|| waits.value_at_quantile(quantile));
        Self { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1.0) }
    }
}
