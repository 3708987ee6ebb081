//! The plot: small pictures beside each other, one for each question, one line for each contender.

use crate::contender::ROBUST;
use harness::{
    contender::Group,
    number,
    results::{CellResults, Results, Row},
    statistics,
};
use plotters::{
    coord::{ranged1d::ValueFormatter, types::RangedCoordf64},
    prelude::*,
};
use std::{error::Error, fs, path::Path};

const COLUMNS: usize = 3;
const PANEL: (u32, u32) = (520, 340);
const LEGEND_LINES: u32 = 5;

/// One small picture.
struct Panel {
    title: &'static str,
    scenario: &'static str,
    /// Along the bottom: slots in use, or processes.
    by_slots: bool,
    value: fn(&Row) -> f64,
    /// A share from 0 to 1 on an even scale, rather than anything on a logarithmic one.
    share: bool,
    /// Nanoseconds.
    time: bool,
    /// A line from the least to the most of the rounds.
    spread: bool,
}

const fn median(title: &'static str, scenario: &'static str) -> Panel {
    Panel { title, scenario, by_slots: false, value: Row::median, share: false, time: false, spread: true }
}

const fn of(title: &'static str, scenario: &'static str, value: fn(&Row) -> f64) -> Panel {
    Panel { value, time: true, spread: false, ..median(title, scenario) }
}

fn longest_wait(row: &Row) -> f64 {
    row.waits().p999.map_or(f64::NAN, |ns| ns as f64)
}

const PANELS: [Panel; 18] = [
    Panel { by_slots: true, time: true, ..median("uncontended: time of lock + unlock", "uncontended") },
    median("burst: entries/s", "burst"),
    median("2 us of thinking: entries/s", "think"),
    median("sections of 20 us: entries/s", "long-20us"),
    median("sections of 1 ms: entries/s", "long-1ms"),
    median("holder preempted: entries/s", "preempted"),
    Panel { time: true, ..median("hand-over, spinning: time from unlock to entry", "hand-over") },
    Panel { time: true, ..median("hand-over, asleep: time from unlock to entry", "hand-over-asleep") },
    Panel { share: true, time: false, ..of("burst: Jain's index", "burst", |row| row.jain().0) },
    of("burst: p99.9 wait", "burst", longest_wait),
    of("sections of 20 us: p99.9 wait", "long-20us", longest_wait),
    of("sections of 1 ms: p99.9 wait", "long-1ms", longest_wait),
    of("holder preempted: p99.9 wait", "preempted", longest_wait),
    of("burst: CPU time an entry", "burst", Row::cpu_ns),
    of("sections of 1 ms: CPU time an entry", "long-1ms", Row::cpu_ns),
    Panel { time: true, ..median("sleepers: time from unlock to entry", "sleepers") },
    of("sleepers: CPU time an entry", "sleepers", Row::cpu_ns),
    Panel { time: true, ..median("sleepers, four compute: unlock to entry", "sleepers-beside-four") },
];

type Outcome = Result<(), Box<dyn Error>>;

pub fn draw(results: &Results, path: &Path) -> Outcome {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let rows = PANELS.len().div_ceil(COLUMNS);
    let legend = 22 * LEGEND_LINES + 20;
    let size = (PANEL.0 * COLUMNS as u32, PANEL.1 * rows as u32 + legend);
    let canvas = SVGBackend::new(path, size).into_drawing_area();
    canvas.fill(&WHITE)?;
    let (pictures, legend) = canvas.split_vertically(PANEL.1 * rows as u32);
    for (panel, area) in PANELS.iter().zip(pictures.split_evenly((rows, COLUMNS))) {
        panel.draw(results, &area)?;
    }
    draw_legend(results, &legend)?;
    canvas.present()?;
    Ok(())
}

/// turnlock in thick reds, peers in thin other colours, the limit in black. By place in the contenders' order, so that
/// one keeps its colour in all panels. The robust mutex, which the bars name, is a little thicker.
fn style(contender: &Drawn) -> ShapeStyle {
    const OURS: [RGBColor; 4] =
        [RGBColor(200, 0, 0), RGBColor(255, 120, 0), RGBColor(230, 0, 140), RGBColor(150, 60, 60)];
    const PEERS: [RGBColor; 10] = [
        RGBColor(31, 119, 180),
        RGBColor(120, 180, 230),
        RGBColor(0, 0, 120),
        RGBColor(23, 190, 207),
        RGBColor(44, 160, 44),
        RGBColor(150, 200, 80),
        RGBColor(148, 103, 189),
        RGBColor(200, 170, 220),
        RGBColor(140, 86, 75),
        RGBColor(127, 127, 127),
    ];
    match contender.group {
        Group::Turnlock => OURS[contender.number % OURS.len()].stroke_width(3),
        Group::Peer => {
            let width = if contender.name == ROBUST { 2 } else { 1 };
            PEERS[contender.number % PEERS.len()].stroke_width(width)
        }
        Group::Limit => BLACK.stroke_width(2),
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

impl Panel {
    /// The cells along the bottom: only one of processes and slots may vary.
    fn cells<'a>(&self, results: &'a Results) -> Vec<&'a CellResults> {
        let here = |found: &&CellResults| {
            found.cell.scenario.name == self.scenario
                && (self.by_slots || found.cell.slots == found.cell.processes)
        };
        results.cells.iter().filter(here).collect()
    }

    fn draw(&self, results: &Results, area: &Area) -> Outcome {
        let cells = self.cells(results);
        let rows = cells.iter().flat_map(|cell| &cell.rows).filter(|row| !row.rounds.is_empty());
        let values = rows.flat_map(|row| {
            let value = (self.value)(row);
            if self.spread { [value, row.spread().0, row.spread().1] } else { [value; 3] }
        });
        let (least, most) = statistics::spread(values.filter(|value| *value > 0.0 && value.is_finite()));
        if least.is_nan() {
            area.titled(&format!("{}: not measured", self.title), ("sans-serif", 16))?;
            return Ok(());
        }
        let mut chart = ChartBuilder::on(area);
        let chart = chart
            .caption(self.title, ("sans-serif", 17))
            .margin(10)
            .margin_right(20)
            .x_label_area_size(34)
            .y_label_area_size(60);
        let along = -0.3..cells.len() as f64 - 0.7;
        if self.share {
            let chart = chart.build_cartesian_2d(along, 0.0..1.05)?;
            self.lines(results, &cells, chart, &|y| format!("{y:.1}"))
        } else {
            let up = (round(least, false)..round(most, true)).log_scale();
            let label: fn(&f64) -> String =
                if self.time { |y| number::time(*y) } else { |y| number::count(*y) };
            self.lines(results, &cells, chart.build_cartesian_2d(along, up)?, &label)
        }
    }

    fn lines<Y: Ranged<ValueType = f64> + ValueFormatter<f64>>(
        &self,
        results: &Results,
        cells: &[&CellResults],
        mut chart: ChartContext<SVGBackend, Cartesian2d<RangedCoordf64, Y>>,
        label: &dyn Fn(&f64) -> String,
    ) -> Outcome {
        let size = |cell: &CellResults| if self.by_slots { cell.cell.slots } else { cell.cell.processes };
        // Cells stand at whole numbers; between them there is nothing to say.
        let tick = |x: &f64| {
            let whole = *x >= 0.0 && (x - x.round()).abs() < 0.01;
            let cell = if whole { cells.get(x.round() as usize) } else { None };
            cell.map_or(String::new(), |cell| size(cell).to_string())
        };
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .disable_x_mesh()
            .x_labels(4 * cells.len())
            .x_label_formatter(&tick)
            .y_labels(6)
            .y_label_formatter(&label)
            .x_desc(if self.by_slots { "slots in use" } else { "processes" })
            .draw()?;
        for contender in contenders(results) {
            let style = style(&contender);
            let mut line = Vec::new();
            for (x, cell) in cells.iter().enumerate() {
                let Some(row) = cell.row(contender.name) else { continue };
                let (x, y, (least, most)) = (x as f64, (self.value)(row), row.spread());
                if y.is_finite() && y > 0.0 {
                    line.push((x, y));
                }
                if self.spread && least.is_finite() {
                    let upright = PathElement::new(vec![(x, least), (x, most)], style.stroke_width(1));
                    chart.draw_series([upright])?;
                }
            }
            chart.draw_series(line.iter().map(|at| Circle::new(*at, 3, style.filled())))?;
            chart.draw_series(LineSeries::new(line, style))?;
        }
        Ok(())
    }
}

/// The next round number, 1, 2 or 5 times a power of ten, below or above.
fn round(value: f64, up: bool) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    let beyond = |step: &f64| if up { *step >= value } else { *step > value };
    let above = steps.iter().position(beyond).unwrap_or(3);
    if up { steps[above] } else { steps[above.max(1) - 1] }
}

/// A contender that was measured anywhere.
struct Drawn {
    /// Within its group.
    number: usize,
    name: &'static str,
    group: Group,
}

fn contenders(results: &Results) -> Vec<Drawn> {
    let mut numbers = [0; 3];
    let mut all = Vec::new();
    for row in results.cells.first().map_or(&[][..], |cell| &cell.rows) {
        let number = &mut numbers[row.group as usize];
        if results.cells.iter().any(|cell| cell.row(row.name).is_some()) {
            all.push(Drawn { number: *number, name: row.name, group: row.group });
        }
        *number += 1;
    }
    all
}

fn draw_legend(results: &Results, area: &Area) -> Outcome {
    for (place, contender) in contenders(results).iter().enumerate() {
        let (column, line) = (place as u32 / LEGEND_LINES, place as u32 % LEGEND_LINES);
        let (x, y) = ((60 + column * 500) as i32, (20 + line * 22) as i32);
        let style = style(contender);
        area.draw(&PathElement::new(vec![(x, y), (x + 40, y)], style))?;
        area.draw(&Circle::new((x + 20, y), 3, style.filled()))?;
        area.draw(&Text::new(contender.name, (x + 50, y - 7), ("sans-serif", 15)))?;
    }
    Ok(())
}
