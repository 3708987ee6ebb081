//! The bars, and whether the worst run of each crowd met them.

use crate::{
    results::{CrowdResults, Results, Row},
    run::{End, Members, SECTION},
};
use harness::{
    align::align,
    contender::Group,
    number::{NONE, digits, time},
};
use std::time::Duration;

/// Times the robust mutex's time.
pub const MOST_TIME: f64 = 1.3;
pub const LEAST_JAIN: f64 = 0.95;
/// More than this share of the machine, and what others did decides close bars, and some that are not close.
const TOO_BUSY: f64 = 0.05;

/// `wake_up` is how long it takes until a sleeper that is called is in; `others` the share of the machine that other
/// programs took during the run.
pub fn print(results: &Results, wake_up: Duration, others: Option<f64>) -> String {
    let mut text = format!(
        "\n## Verdict\n\nThe worst run of each crowd. Bars: time <= {MOST_TIME} x the robust mutex's (median); Jain's index \
         >= {LEAST_JAIN} in every second;\nlongest wait <= patience + others x (wake-up + section), with {} and {}.\n",
        time(wake_up.as_nanos() as f64),
        time(SECTION.as_nanos() as f64),
    );
    if let Some(share) = others {
        let so = if share > TOO_BUSY { ": TOO MUCH, this verdict does not count" } else { "" };
        text.push_str(&format!("Other programs took {:.1} % of the machine{so}.\n", share * 100.0));
    }
    text.push('\n');
    let heading = ["crowd", "contender", "time", "Jain", "longest wait", "its bar"];
    let mut lines = vec![heading.map(String::from).to_vec()];
    let (mut ok, mut not_ok) = (0, 0);
    for crowd in &results.crowds {
        for row in crowd.rows.iter().filter(|row| row.group == Group::Turnlock && !row.runs.is_empty()) {
            let bars = Bars::of(crowd, row, wake_up);
            let judged = [Some(bars.time), bars.jain, Some(bars.wait)].into_iter().flatten();
            for is_ok in judged {
                *(if is_ok { &mut ok } else { &mut not_ok }) += 1;
            }
            lines.push(bars.line(crowd, row));
        }
    }
    align(&mut text, &lines).expect("a String takes everything");
    text + &format!("\n{ok} ok, {not_ok} not ok.\n")
}

/// Whether each is met, by one contender in one crowd.
struct Bars {
    time: bool,
    /// Not for threads.
    jain: Option<bool>,
    wait: bool,
    longest_wait: f64,
    promised_wait: f64,
}

impl Bars {
    fn of(crowd: &CrowdResults, row: &Row, wake_up: Duration) -> Self {
        let all_done = row.ended(End::Done) == row.runs.len();
        let processes = crowd.crowd.members == Members::Processes;
        let others = crowd.crowd.count as u32 - 1;
        let promised = row.patience.unwrap_or_default() + others * (wake_up + SECTION);
        let promised_wait = promised.as_nanos() as f64;
        let longest_wait = row.of(|run| run.waits.max.map_or(f64::NAN, |ns| ns as f64)).most;
        Self {
            time: all_done && crowd.ratio(row).most <= MOST_TIME,
            jain: processes.then(|| row.of(|run| run.jain).least >= LEAST_JAIN),
            wait: all_done && longest_wait <= promised_wait,
            longest_wait,
            promised_wait,
        }
    }

    fn line(&self, crowd: &CrowdResults, row: &Row) -> Vec<String> {
        let word = |is_ok| if is_ok { "ok" } else { "NOT OK" };
        let jain = row.of(|run| run.jain).least;
        vec![
            crowd.crowd.title(),
            row.name.into(),
            format!("{} {}", digits(crowd.ratio(row).most), word(self.time)),
            self.jain.map_or(NONE.into(), |is_ok| format!("{jain:.3} {}", word(is_ok))),
            format!("{} {}", time(self.longest_wait), word(self.wait)),
            time(self.promised_wait),
        ]
    }
}
