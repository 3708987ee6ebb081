//! The plot: for threads and for processes the time for an entry as a ratio to the robust mutex's, against the number of
//! participants.

use crate::{
    contender::ROBUST,
    results::{CrowdResults, Results, Row},
    run::Members,
    verdict::MOST_TIME,
};
use harness::{contender::Group, picture::Picture, statistics::spread};
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};
use std::{error::Error, fs, ops::Range, path::Path};

const PANEL: (u32, u32) = (800, 620);
const LEGEND_LINES: u32 = 3;
const LEGEND_HEIGHT: u32 = 26 * LEGEND_LINES + 62;
const FONT: (&str, i32) = ("sans-serif", 16);

type Outcome = Result<(), Box<dyn Error>>;
type Area<'a> = DrawingArea<&'a mut Picture, Shift>;

pub fn draw(results: &Results, path: &Path) -> Outcome {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let all = [Members::Threads, Members::Processes]
        .map(|members| results.crowds.iter().filter(|crowd| crowd.crowd.members == members).collect());
    let (least, most) = range(results);
    let panels: Vec<Vec<&CrowdResults>> =
        all.into_iter().filter(|crowds: &Vec<_>| !crowds.is_empty()).collect();
    let mut picture = Picture::new((PANEL.0 * panels.len() as u32, PANEL.1 + LEGEND_HEIGHT));
    {
        let canvas = (&mut picture).into_drawing_area();
        let (pictures, legend) = canvas.split_vertically(PANEL.1);
        for (crowds, area) in panels.iter().zip(pictures.split_evenly((1, panels.len()))) {
            panel(crowds, least..most, &area)?;
        }
        draw_legend(results, &legend)?;
        canvas.present()?;
    }
    Ok(picture.write(path)?)
}

/// The same for both panels.
fn range(results: &Results) -> (f64, f64) {
    let of = |crowd: &CrowdResults, row: &Row| {
        let ratio = crowd.ratio(row);
        [ratio.median, ratio.most]
    };
    let ratios =
        results.crowds.iter().flat_map(|crowd| crowd.rows.iter().flat_map(move |row| of(crowd, row)));
    let (least, most) = spread(ratios.filter(|ratio| ratio.is_finite()).chain([0.5, 2.0]));
    (least / 1.1, most * 1.1)
}

/// 1, 2 and 5 times the powers of ten, within a range.
fn round_numbers(range: &Range<f64>) -> Vec<f64> {
    let (first, last) = (range.start.log10().floor() as i32, range.end.log10().ceil() as i32);
    let steps = (first..=last).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power)));
    steps.filter(|step| range.contains(step)).collect()
}

fn panel(crowds: &[&CrowdResults], up: Range<f64>, area: &Area) -> Outcome {
    let title = match crowds[0].crowd.members {
        Members::Threads => "threads of one process: time for the work / robust mutex's",
        Members::Processes => "processes: time for an entry / robust mutex's",
    };
    let x = |crowd: &CrowdResults| (crowd.crowd.count as f64).log2();
    let (left, right) = spread(crowds.iter().map(|crowd| x(crowd)));
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 20))
        .margin(14)
        .margin_right(24)
        .x_label_area_size(54)
        .y_label_area_size(64)
        .build_cartesian_2d(left - 0.2..right + 0.2, up.clone().log_scale())?;
    let nothing = |_: &f64| String::new();
    chart.configure_mesh().disable_mesh().x_labels(0).y_label_formatter(&nothing).draw()?;
    let write = |text: String, at: (i32, i32), across, upright| {
        area.draw(&Text::new(text, at, TextStyle::from(FONT).pos(Pos::new(across, upright))))
    };
    let (corner, top) = area.get_base_pixel();
    for y in round_numbers(&up) {
        let grey = BLACK.mix(if y == 1.0 { 0.5 } else { 0.15 });
        chart.draw_series(LineSeries::new([(left - 0.2, y), (right + 0.2, y)], grey))?;
        let at = chart.plotting_area().map_coordinate(&(left - 0.2, y));
        write(format!("{y} x"), (at.0 - corner - 8, at.1 - top), HPos::Right, VPos::Center)?;
    }
    let bottom = area.dim_in_pixel().1 as i32 - 62;
    for crowd in crowds {
        let at = chart.plotting_area().map_coordinate(&(x(crowd), 1.0)).0 - corner;
        write(crowd.crowd.count.to_string(), (at, bottom), HPos::Center, VPos::Top)?;
    }
    let middle = area.dim_in_pixel().0 as i32 / 2;
    write("participants".into(), (middle, bottom + 26), HPos::Center, VPos::Top)?;
    let bar = [(left - 0.2, MOST_TIME), (right + 0.2, MOST_TIME)];
    chart.draw_series(DashedLineSeries::new(bar, 8, 6, BLACK.mix(0.7).into()))?;
    for (number, first) in crowds[0].rows.iter().enumerate() {
        let color = color(&crowds[0].rows, number);
        let line = |value: fn(&CrowdResults, &Row) -> f64| {
            let points = crowds.iter().map(move |crowd| (x(crowd), value(crowd, &crowd.rows[number])));
            points.filter(|point| point.1.is_finite()).collect::<Vec<_>>()
        };
        let worst = line(|crowd, row| crowd.ratio(row).most);
        let median = line(|crowd, row| crowd.ratio(row).median);
        chart.draw_series(worst.iter().map(|at| Circle::new(*at, 4, color.filled())))?;
        chart.draw_series(LineSeries::new(worst, color.stroke_width(width(first))))?;
        chart.draw_series(DashedLineSeries::new(median, 4, 4, color.stroke_width(1)))?;
    }
    Ok(())
}

fn width(row: &Row) -> u32 {
    if row.group == Group::Turnlock || row.name == ROBUST { 3 } else { 1 }
}

/// turnlock in reds, peers in other colours; by place in its group, so that one keeps its colour in both panels.
fn color(rows: &[Row], number: usize) -> RGBColor {
    const OURS: [RGBColor; 4] =
        [RGBColor(200, 0, 0), RGBColor(255, 130, 0), RGBColor(230, 0, 140), RGBColor(150, 60, 60)];
    const PEERS: [RGBColor; 5] = [
        RGBColor(0, 0, 140),
        RGBColor(31, 140, 210),
        RGBColor(44, 160, 44),
        RGBColor(148, 103, 189),
        RGBColor(127, 127, 127),
    ];
    let group = rows[number].group;
    let place = rows[..number].iter().filter(|row| row.group == group).count();
    match group {
        Group::Turnlock => OURS[place % OURS.len()],
        Group::Peer | Group::Limit => PEERS[place % PEERS.len()],
    }
}

fn draw_legend(results: &Results, area: &Area) -> Outcome {
    let Some(first) = results.crowds.first() else { return Ok(()) };
    for (number, row) in first.rows.iter().enumerate() {
        let (column, line) = (number as u32 / LEGEND_LINES, number as u32 % LEGEND_LINES);
        let (x, y) = ((70 + column * 330) as i32, (14 + line * 26) as i32);
        let color = color(&first.rows, number);
        area.draw(&PathElement::new(vec![(x, y), (x + 44, y)], color.stroke_width(width(row))))?;
        area.draw(&Circle::new((x + 22, y), 4, color.filled()))?;
        area.draw(&Text::new(row.name, (x + 56, y - 8), FONT))?;
    }
    let runs = first.rows.iter().map(|row| row.runs.len()).max().unwrap_or(0);
    let text =
        format!("Runs of each: {runs}. Dots: the worst; dashes: the median; black: the bar, {MOST_TIME} x.");
    area.draw(&Text::new(text, (70, 14 + 26 * LEGEND_LINES as i32), FONT))?;
    Ok(())
}
