//! Messages an entry, and hand-overs, of the machines of `turnlock::message`: counted in the simulator, as a table and a
//! plot.
//!
//! `cargo bench --bench messages` prints the table; `-- PATH` also draws the plot, as PNG. Nothing is timed: the same
//! numbers come out every time.

#![allow(missing_docs)]

use harness::picture::Picture;
use plotters::prelude::*;
use std::{error::Error, path::Path};
use support::simulator::{Habits, Simulated, Simulation};
use turnlock::message::{Bakery, LamportQueue, RicartAgrawala, TokenRing};

const SIZES: [usize; 6] = [2, 4, 8, 16, 32, 64];
/// A message takes one of these.
const DELAY: u64 = 1000;

/// What one machine costs with so many participants, all of which want the section always.
struct Cost {
    messages: f64,
    /// From a release to the next entry, in delays of a message.
    hand_over: f64,
}

fn cost<A: Simulated>(n: usize, make: impl Fn(usize) -> A) -> Cost {
    let habits = Habits { delay: DELAY..DELAY + 1, entries: 20, retry: 2 * DELAY, ..Habits::quiet() };
    let mut simulation = Simulation::new((0..n).map(make).collect(), 1, habits);
    simulation.run(u64::MAX / 2);
    let counts = &simulation.counts;
    let (sum, times) = counts.hand_over;
    Cost {
        messages: counts.sum() as f64 / counts.entries as f64,
        hand_over: sum as f64 / times.max(1) as f64 / DELAY as f64,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let place = "a place among them";
    let rows: [(&str, RGBColor, Vec<Cost>); 4] = [
        (
            "Lamport's queue",
            RGBColor(200, 0, 0),
            SIZES.map(|n| cost(n, |me| LamportQueue::founding(n, me).expect(place))).into(),
        ),
        (
            "token on a mesh",
            RGBColor(31, 140, 210),
            SIZES.map(|n| cost(n, |me| RicartAgrawala::founding(n, me).expect(place))).into(),
        ),
        (
            "Misra's ring",
            RGBColor(44, 160, 44),
            SIZES.map(|n| cost(n, |me| TokenRing::founding(n, me, 2).expect(place))).into(),
        ),
        (
            "bakery",
            RGBColor(148, 103, 189),
            SIZES.map(|n| cost(n, |me| Bakery::founding(n, me).expect(place))).into(),
        ),
    ];
    println!("messages an entry; in brackets, delays of a message from a release to the next entry\n");
    println!("| n | {} |", rows.iter().map(|row| row.0).collect::<Vec<_>>().join(" | "));
    println!("|---|{}", "---|".repeat(rows.len()));
    for (at, n) in SIZES.iter().enumerate() {
        let cells = rows.iter().map(|row| format!("{:.1} ({:.1})", row.2[at].messages, row.2[at].hand_over));
        println!("| {n} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    match std::env::args().skip(1).find(|argument| !argument.starts_with("--")) {
        Some(path) => draw(&rows, Path::new(&path)),
        None => Ok(()),
    }
}

fn draw(rows: &[(&str, RGBColor, Vec<Cost>)], path: &Path) -> Result<(), Box<dyn Error>> {
    let mut picture = Picture::new((760, 520));
    {
        let canvas = (&mut picture).into_drawing_area();
        let most = rows.iter().flat_map(|row| &row.2).map(|cost| cost.messages).fold(1.0, f64::max);
        let mut chart = ChartBuilder::on(&canvas)
            .caption("messages an entry, all participants wanting it always", ("sans-serif", 20))
            .margin(14)
            .x_label_area_size(50)
            .y_label_area_size(60)
            .build_cartesian_2d((2.0..64.0).log_scale().base(2.0), (1.0..most * 1.2).log_scale())?;
        chart.configure_mesh().x_desc("participants").y_desc("messages").draw()?;
        for (name, color, costs) in rows {
            let points = SIZES.iter().zip(costs).map(|(n, cost)| (*n as f64, cost.messages));
            chart
                .draw_series(LineSeries::new(points, color.stroke_width(2)))?
                .label(*name)
                .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE)
            .label_font(("sans-serif", 16))
            .draw()?;
        canvas.present()?;
    }
    Ok(picture.write(path)?)
}
