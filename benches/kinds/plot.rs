//! The plot: for each mix of reads and writes, and each number of groups, the entries against the number of processes, for each length of section the
//! entries against the number of permits, one line for each contender; as multiples of the best peer's.

use crate::{
    cell::{GROUPS, INSIDE, MIXES, Task},
    results::{CellResults, Results, Row},
};
use harness::{picture::Picture, statistics::spread};
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};
use std::{error::Error, fs, ops::Range, path::Path};

const PANEL: (u32, u32) = (420, 380);
const COLUMNS: usize = 4;
const FONT: (&str, i32) = ("sans-serif", 16);

type Outcome = Result<(), Box<dyn Error>>;
type Area<'a> = DrawingArea<&'a mut Picture, Shift>;

/// One small picture, and where a cell stands along its bottom, if it belongs there.
struct Panel<'a> {
    title: String,
    along: &'static str,
    cells: Vec<(u32, &'a CellResults)>,
}

pub fn draw(results: &Results, path: &Path) -> Outcome {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let panels = panels(results);
    if panels.is_empty() {
        return Ok(());
    }
    // Of each kind of lock the legend stands behind its panels.
    let rows = (panels.len() + 1).div_ceil(COLUMNS);
    let mut picture = Picture::new((PANEL.0 * COLUMNS as u32, PANEL.1 * rows as u32));
    {
        let canvas = (&mut picture).into_drawing_area();
        let up = range(&panels);
        let areas = canvas.split_evenly((rows, COLUMNS));
        for (panel, area) in panels.iter().zip(&areas) {
            panel.draw(up.clone(), area)?;
        }
        legend(&panels, &areas[panels.len()])?;
        canvas.present()?;
    }
    Ok(picture.write(path)?)
}

fn panels(results: &Results) -> Vec<Panel<'_>> {
    let all = || results.fields.iter().flat_map(|field| &field.cells).filter(|found| !found.cell.alone);
    let mut panels = Vec::new();
    for mix in MIXES {
        let place = |found: &'_ CellResults| match found.cell.task {
            Task::ReadWrite { reads } if reads == mix => Some(found.cell.processes as u32),
            _ => None,
        };
        panels.push(Panel {
            title: format!("rwlock, {} % reads", mix / 10),
            along: "processes",
            cells: all().filter_map(|found| Some((place(found)?, found))).collect(),
        });
    }
    for wanted in GROUPS {
        let place = |found: &'_ CellResults| match found.cell.task {
            Task::Group { groups } if groups == wanted => Some(found.cell.processes as u32),
            _ => None,
        };
        panels.push(Panel {
            title: if wanted == 1 { "one group".into() } else { format!("{wanted} groups in turn") },
            along: "processes",
            cells: all().filter_map(|found| Some((place(found)?, found))).collect(),
        });
    }
    for length in INSIDE {
        let place = |found: &'_ CellResults| match found.cell.task {
            Task::Permit { permits } if found.cell.inside == length => Some(permits),
            _ => None,
        };
        panels.push(Panel {
            title: format!("semaphore, sections of {} us", length.as_micros()),
            along: "permits",
            cells: all().filter_map(|found| Some((place(found)?, found))).collect(),
        });
    }
    panels.retain(|panel| !panel.cells.is_empty());
    panels
}

/// As a multiple of the best peer's.
fn ratio(found: &CellResults, row: &Row) -> f64 {
    row.median() / found.best_peer().map_or(f64::NAN, Row::median)
}

/// The same for all panels.
fn range(panels: &[Panel]) -> Range<f64> {
    let cells = panels.iter().flat_map(|panel| panel.cells.iter().map(|(_, found)| *found));
    let ratios = cells.flat_map(|found| found.rows.iter().map(|row| ratio(found, row)));
    let (least, most) = spread(ratios.filter(|ratio| ratio.is_finite() && *ratio > 0.0).chain([0.5, 2.0]));
    least / 1.2..most * 1.2
}

/// 1, 2 and 5 times the powers of ten, within a range.
fn round_numbers(range: &Range<f64>) -> Vec<f64> {
    let (first, last) = (range.start.log10().floor() as i32, range.end.log10().ceil() as i32);
    let steps = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power)));
    steps.filter(|step| range.contains(step)).collect()
}

fn color(row: usize) -> RGBColor {
    const COLORS: [RGBColor; 4] =
        [RGBColor(200, 0, 0), RGBColor(255, 130, 0), RGBColor(0, 0, 140), RGBColor(31, 140, 210)];
    COLORS[row % COLORS.len()]
}

impl Panel<'_> {
    fn draw(&self, up: Range<f64>, area: &Area) -> Outcome {
        let x = |at: u32| f64::from(at).log2();
        let (left, right) = spread(self.cells.iter().map(|(at, _)| x(*at)));
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(50)
            .y_label_area_size(56)
            .build_cartesian_2d(left - 0.2..right + 0.2, up.clone().log_scale())?;
        let nothing = |_: &f64| String::new();
        chart.configure_mesh().disable_mesh().x_labels(0).y_label_formatter(&nothing).draw()?;
        let write = |text: String, at: (i32, i32), across, upright| {
            area.draw(&Text::new(text, at, TextStyle::from(FONT).pos(Pos::new(across, upright))))
        };
        let (corner, top) = area.get_base_pixel();
        for y in round_numbers(&up) {
            let grey = BLACK.mix(if y == 1.0 { 0.6 } else { 0.15 });
            chart.draw_series(LineSeries::new([(left - 0.2, y), (right + 0.2, y)], grey))?;
            let at = chart.plotting_area().map_coordinate(&(left - 0.2, y));
            write(format!("{y} x"), (at.0 - corner - 6, at.1 - top), HPos::Right, VPos::Center)?;
        }
        let bottom = area.dim_in_pixel().1 as i32 - 56;
        for (at, _) in &self.cells {
            let across = chart.plotting_area().map_coordinate(&(x(*at), 1.0)).0 - corner;
            write(at.to_string(), (across, bottom), HPos::Center, VPos::Top)?;
        }
        let middle = area.dim_in_pixel().0 as i32 / 2;
        write(self.along.into(), (middle, bottom + 22), HPos::Center, VPos::Top)?;
        for row in 0..self.cells[0].1.rows.len() {
            let points = self.cells.iter().map(|(at, found)| (x(*at), ratio(found, &found.rows[row])));
            let points: Vec<_> = points.filter(|(_, y)| y.is_finite() && *y > 0.0).collect();
            chart.draw_series(points.iter().map(|at| Circle::new(*at, 4, color(row).filled())))?;
            chart.draw_series(LineSeries::new(points, color(row).stroke_width(2)))?;
        }
        Ok(())
    }
}

fn legend(panels: &[Panel], area: &Area) -> Outcome {
    let mut y = 40;
    let mut write = |text: &str, row: Option<usize>| -> Outcome {
        if let Some(row) = row {
            area.draw(&PathElement::new(vec![(30, y), (64, y)], color(row).stroke_width(3)))?;
        }
        area.draw(&Text::new(text, (if row.is_some() { 76 } else { 30 }, y - 8), FONT))?;
        y += 26;
        Ok(())
    };
    write("entries each second, as multiples", None)?;
    write("of the best peer's", None)?;
    for kind in ["processes", "permits"] {
        let Some(panel) = panels.iter().find(|panel| panel.along == kind) else { continue };
        write("", None)?;
        for (number, row) in panel.cells[0].1.rows.iter().enumerate() {
            write(row.name, Some(number))?;
        }
    }
    Ok(())
}
