//! The results as a picture.

use super::results::{Results, Row};
use plotters::prelude::*;
use std::{
    fs::{self, OpenOptions},
    io,
    path::Path,
};

type Failure = Box<dyn std::error::Error>;

const SIZE: (u32, u32) = (960, 900);
const OURS: RGBColor = RGBColor(0x1f, 0x77, 0xb4);
const THEIRS: RGBColor = RGBColor(0xff, 0x7f, 0x0e);

/// Tries whether a picture can be written to `path`. What is there stays as it is.
pub fn can_be_written(path: &Path) -> io::Result<()> {
    let was_there = path.exists();
    OpenOptions::new().append(true).create(true).open(path)?;
    if !was_there {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Draws bars: time alone, and entries of several processes.
pub fn draw(results: &Results, path: &Path) -> Result<(), Failure> {
    let root = SVGBackend::new(path, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let machine = &results.machine;
    let title =
        format!("{}, {} cores", machine.processor.as_deref().unwrap_or("turnlock bench"), machine.cores);
    let root = root.titled(&title, ("sans-serif", 20))?;
    let contended = results.contenders.iter().map(|row| row.contended.len()).max().unwrap_or(0);
    let panels = root.split_evenly((1 + contended, 1));
    bars(
        &panels[0],
        "alone: nanoseconds for lock and unlock (less is better; logarithmic)",
        results,
        |row| row.alone_nanoseconds,
    )?;
    for (at, panel) in panels[1..].iter().enumerate() {
        let processes =
            results.contenders.iter().find_map(|row| Some(row.contended.get(at)?.processes)).unwrap_or(0);
        let title = format!("{processes} processes: million entries a second (more is better; logarithmic)");
        bars(panel, &title, results, |row| Some(row.contended.get(at)?.entries_per_second / 1e6))?;
    }
    root.present()?;
    Ok(())
}

/// A bar for each contender, on a logarithmic scale.
fn bars(
    panel: &DrawingArea<SVGBackend, plotters::coord::Shift>,
    title: &str,
    results: &Results,
    number: impl Fn(&Row) -> Option<f64>,
) -> Result<(), Failure> {
    let rows: Vec<(&Row, f64)> = results
        .contenders
        .iter()
        .filter_map(|row| Some((row, number(row).filter(|number| *number > 0.0)?)))
        .collect();
    let numbers = || rows.iter().map(|(_, number)| *number);
    let (least, most) = (numbers().fold(f64::MAX, f64::min), numbers().fold(0.0, f64::max));
    if rows.is_empty() {
        return Ok(());
    }
    let (from, to) = (10f64.powf((least / 1.5).log10().floor()), most * 3.0);
    let count = rows.len() as i32;
    let mut chart = ChartBuilder::on(panel)
        .caption(title, ("sans-serif", 15))
        .margin(8)
        .x_label_area_size(4)
        .y_label_area_size(190)
        .build_cartesian_2d((from..to).log_scale(), (0..count - 1).into_segmented())?;
    let name = |at: &SegmentValue<i32>| match at {
        SegmentValue::CenterOf(at) => {
            // From above, in the order of the table.
            let row = usize::try_from(count - 1 - at).ok().and_then(|at| rows.get(at));
            row.map_or(String::new(), |(row, _)| row.name.to_owned())
        }
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_mesh()
        .disable_x_axis()
        .y_labels(rows.len())
        .y_label_formatter(&name)
        .label_style(("sans-serif", 12))
        .draw()?;
    for (at, (row, number)) in rows.iter().enumerate() {
        let place = count - 1 - at as i32;
        let color = if row.turnlock { OURS } else { THEIRS };
        let mut bar = Rectangle::new(
            [(from, SegmentValue::Exact(place)), (*number, SegmentValue::Exact(place + 1))],
            color.filled(),
        );
        bar.set_margin(2, 2, 0, 0);
        let label = Text::new(
            format!(" {}", short(*number)),
            (*number, SegmentValue::CenterOf(place)),
            ("sans-serif", 12),
        );
        chart.draw_series([bar])?;
        chart.draw_series([label])?;
    }
    Ok(())
}

fn short(number: f64) -> String {
    if number >= 100.0 { format!("{number:.0}") } else { format!("{number:.2}") }
}
