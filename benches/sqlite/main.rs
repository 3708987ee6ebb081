//! The plot of how long writers of a SQLite database waited, by SQLite alone and with turnlock_vfs.
//!
//! `cargo bench --bench sqlite -- WAITS.csv PLOT.png` draws what `integrations/sqlite/writers.py --record WAITS.csv` measured. A panel
//! for each number of writers has the waits of the immediate transactions that were open for 1 ms.

#![allow(missing_docs)]

use harness::picture::Picture;
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};
use std::{collections::BTreeMap, env, error::Error, fs, path::Path, process::ExitCode};

const PANEL: (u32, u32) = (480, 470);
const LEGEND_HEIGHT: u32 = 92;
const FONT: (&str, i32) = ("sans-serif", 16);
const KIND: &str = "immediate";
const HOLD_MS: f64 = 1.0;
/// In milliseconds. Shorter waits are drawn at the lower end: they are of a database that was free.
const UP: std::ops::Range<f64> = 0.01..10_000.0;
const VARIANTS: [(&str, &str, RGBColor); 2] =
    [("stock", "SQLite alone", RGBColor(0, 0, 140)), ("turnlock", "with turnlock_vfs", RGBColor(200, 0, 0))];

type Outcome<T = ()> = Result<T, Box<dyn Error>>;
type Area<'a> = DrawingArea<&'a mut Picture, Shift>;
/// For a variant the waits in milliseconds, by their quantile.
type Waits = BTreeMap<String, Vec<(f64, f64)>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let [waits, plot] = &arguments[..] else {
        // `cargo bench` runs every bench: nothing is to be drawn then.
        println!("sqlite: to draw the waits, say which: cargo bench --bench sqlite -- WAITS.csv PLOT.png");
        return ExitCode::SUCCESS;
    };
    match read(Path::new(waits)).and_then(|panels| draw(&panels, Path::new(plot))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sqlite: {waits}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the waits for each number of writers.
fn read(path: &Path) -> Outcome<BTreeMap<u32, Waits>> {
    let mut panels = BTreeMap::<u32, Waits>::new();
    let text = fs::read_to_string(path)?;
    for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [kind, vfs, writers, hold, quantile, wait] = fields[..] else {
            return Err(format!(
                "{line:?} has {} fields instead of 6: is it of writers.py --record?",
                fields.len()
            )
            .into());
        };
        if kind == KIND && hold.parse::<f64>()? == HOLD_MS {
            let waits = panels.entry(writers.parse()?).or_default().entry(vfs.into()).or_default();
            waits.push((quantile.parse()?, wait.parse()?));
        }
    }
    if panels.is_empty() {
        return Err(format!("it has no {KIND} transactions of {HOLD_MS} ms").into());
    }
    Ok(panels)
}

fn draw(panels: &BTreeMap<u32, Waits>, path: &Path) -> Outcome {
    let mut picture = Picture::new((PANEL.0 * panels.len() as u32, PANEL.1 + LEGEND_HEIGHT));
    {
        let canvas = (&mut picture).into_drawing_area();
        let (pictures, legend) = canvas.split_vertically(PANEL.1);
        for ((writers, waits), area) in panels.iter().zip(pictures.split_evenly((1, panels.len()))) {
            panel(*writers, waits, &area)?;
        }
        draw_legend(&legend)?;
        canvas.present()?;
    }
    Ok(picture.write(path)?)
}

fn panel(writers: u32, waits: &Waits, area: &Area) -> Outcome {
    let quantiles: Vec<f64> =
        waits.values().next().into_iter().flatten().map(|(quantile, _)| *quantile).collect();
    let (left, right) = (-0.3, quantiles.len() as f64 - 0.7);
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{writers} writers: wait for the turn"), ("sans-serif", 20))
        .margin(14)
        .margin_right(24)
        .x_label_area_size(54)
        .y_label_area_size(84)
        .build_cartesian_2d(left..right, UP.log_scale())?;
    let nothing = |_: &f64| String::new();
    chart.configure_mesh().disable_mesh().x_labels(0).y_label_formatter(&nothing).draw()?;
    let write = |text: String, at: (i32, i32), across, upright| {
        area.draw(&Text::new(text, at, TextStyle::from(FONT).pos(Pos::new(across, upright))))
    };
    let (corner, top) = area.get_base_pixel();
    for (y, label) in [
        (0.01, "10 us"),
        (0.1, "0.1 ms"),
        (1.0, "1 ms"),
        (10.0, "10 ms"),
        (100.0, "0.1 s"),
        (1e3, "1 s"),
        (1e4, "10 s"),
    ] {
        chart.draw_series(LineSeries::new([(left, y), (right, y)], BLACK.mix(0.15)))?;
        let at = chart.plotting_area().map_coordinate(&(left, y));
        write(label.into(), (at.0 - corner - 8, at.1 - top), HPos::Right, VPos::Center)?;
    }
    let bottom = area.dim_in_pixel().1 as i32 - 62;
    for (place, quantile) in quantiles.iter().enumerate() {
        let at = chart.plotting_area().map_coordinate(&(place as f64, UP.start)).0 - corner;
        let label = if *quantile == 1.0 { "longest".into() } else { format!("{}%", quantile * 100.0) };
        write(label, (at, bottom), HPos::Center, VPos::Top)?;
    }
    let bar = 2.0 * f64::from(writers) * (HOLD_MS + 1.0);
    chart.draw_series(DashedLineSeries::new([(left, bar), (right, bar)], 8, 6, BLACK.mix(0.7).into()))?;
    for (vfs, _, color) in VARIANTS {
        let line = || {
            let waits = waits.get(vfs).into_iter().flatten().enumerate();
            waits.map(|(place, (_, wait))| (place as f64, wait.clamp(UP.start, UP.end)))
        };
        chart.draw_series(line().map(|at| Circle::new(at, 4, color.filled())))?;
        chart.draw_series(LineSeries::new(line(), color.stroke_width(3)))?;
    }
    Ok(())
}

fn draw_legend(area: &Area) -> Outcome {
    for (place, (_, name, color)) in VARIANTS.iter().enumerate() {
        let (x, y) = (70 + place as i32 * 260, 14);
        area.draw(&PathElement::new(vec![(x, y), (x + 44, y)], color.stroke_width(3)))?;
        area.draw(&Circle::new((x + 22, y), 4, color.filled()))?;
        area.draw(&Text::new(*name, (x + 56, y - 8), FONT))?;
    }
    let lines = [
        format!("Transactions open for {HOLD_MS} ms each. Across: so many of the waits were shorter."),
        "Dashes: the bar, 2 x writers x (1 ms + 1 ms).".into(),
    ];
    for (place, line) in lines.into_iter().enumerate() {
        area.draw(&Text::new(line, (70, 34 + 26 * place as i32), FONT))?;
    }
    Ok(())
}
