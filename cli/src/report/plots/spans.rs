//! How long was waited, and how long was held.

use super::{
    super::super::durations::Durations, super::times, Failure, colour, figure, letters, middle, name_rows,
    placed, short,
};
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, VPos},
};

/// So many bars of a histogram stand for ten times as long.
const BARS_IN_A_DECADE: i32 = 5;

/// From where to where all of these are, as powers of ten of a nanosecond.
fn decades<'a>(all: impl Iterator<Item = &'a Durations>) -> (i32, i32) {
    let (mut least, mut most) = (u64::MAX, 1);
    for durations in all.filter(|durations| durations.count() > 0) {
        least = least.min(durations.quantile(0.0));
        most = most.max(durations.longest());
    }
    let from = (least.min(most).max(1) as f64).log10().floor() as i32;
    let to = (most as f64 * 1.001).log10().ceil() as i32;
    (from, to.max(from + 1))
}

/// Returns the bars of a histogram: each from where, to where, and how many. For the table too.
pub fn bars(durations: &Durations, (from, to): (i32, i32)) -> Vec<(u64, u64, u64)> {
    let edge = |bar: i32| 10f64.powf(f64::from(bar) / f64::from(BARS_IN_A_DECADE)).round() as u64;
    let bars = from * BARS_IN_A_DECADE..to * BARS_IN_A_DECADE;
    let counted = bars.map(|bar| {
        // What is shorter than the first one's beginning is 0.
        let begin = if bar == from * BARS_IN_A_DECADE { 0 } else { edge(bar) };
        (edge(bar), edge(bar + 1), durations.between(begin, edge(bar + 1)))
    });
    counted.collect()
}

/// Returns the same for several, over the same spans.
pub fn histogram_rows(all: &[(String, &Durations)]) -> Vec<Vec<String>> {
    let decades = decades(all.iter().map(|(_, durations)| *durations));
    let of_each = all.iter().flat_map(|(name, durations)| {
        let bars = bars(durations, decades).into_iter().filter(|(.., count)| *count > 0);
        bars.map(move |(from, to, count)| {
            vec![name.clone(), format!("{} to {}", times::span(from), times::span(to)), count.to_string()]
        })
    });
    of_each.collect()
}

/// For each of these a histogram, one below the other, on the same axis.
pub fn histograms(about: &str, all: &[(String, &Durations)]) -> Result<String, Failure> {
    let decades = decades(all.iter().map(|(_, durations)| *durations));
    let height = all.len() as u32 * 118 + 44;
    figure(about, (height, height), |root, size| {
        let (panels, below) = root.split_vertically(size.height - 44);
        let panels = panels.split_evenly((all.len(), 1));
        let axis = f64::from(decades.0)..f64::from(decades.1);
        for (panel, (name, durations)) in panels.iter().zip(all) {
            let bars = bars(durations, decades);
            let most = bars.iter().map(|bar| bar.2).max().unwrap_or(0).max(1);
            // On a logarithmic scale one is to be seen, and nothing is nothing.
            let high = |count: u64| if count == 0 { 0.0 } else { (count as f64).log10() + 0.3 };
            let mut chart = ChartBuilder::on(panel)
                .margin_right(12)
                .margin_top(24)
                .y_label_area_size(64)
                .build_cartesian_2d(axis.clone(), 0.0..high(most).max(1.3) * 1.05)?;
            let powers = (0..).map(|power| 10u64.pow(power)).take_while(|count| *count <= most);
            let last = powers.clone().last().unwrap_or(1);
            // The largest too, where there is room for a number.
            for count in powers.chain((most > 2 * last).then_some(most)) {
                let place = high(count);
                chart.draw_series([PathElement::new(
                    vec![(axis.start, place), (axis.end, place)],
                    colour::GRID,
                )])?;
                let at = chart.backend_coord(&(axis.start, place));
                let style = placed(12, HPos::Right, VPos::Center);
                root.draw(&Text::new(count.to_string(), (at.0 - 6, at.1), style))?;
            }
            chart.draw_series(bars.iter().filter(|bar| bar.2 > 0).map(|(from, to, count)| {
                let [from, to] = [from, to].map(|edge| (*edge as f64).max(1.0).log10());
                let mut bar = Rectangle::new([(from, 0.0), (to, high(*count))], colour::WAIT.filled());
                bar.set_margin(0, 0, 1, 1);
                bar
            }))?;
            chart.draw_series([PathElement::new(vec![(axis.start, 0.0), (axis.end, 0.0)], colour::INK)])?;
            let title = format!("{} ({})", short(name, size.letters() + 10), durations.count());
            panel.draw(&Text::new(title, (64, 6), letters(13)))?;
        }
        time_axis(&below, decades, 64, 12)
    })
}

/// Powers of ten below a plot that has so much room to its left and right.
fn time_axis(below: &super::Area, (from, to): (i32, i32), left: u32, right: u32) -> Result<(), Failure> {
    let width = below.dim_in_pixel().0 - left - right;
    let few = (to - from) as u32 * 52 > width;
    for power in from..=to {
        if few && (power - from) % 2 != 0 {
            continue;
        }
        let part = f64::from(power - from) / f64::from(to - from);
        let x = left as i32 + (part * f64::from(width)) as i32;
        below.draw(&PathElement::new(vec![(x, 0), (x, 5)], colour::INK))?;
        let to_the_side = if power == to { HPos::Right } else { HPos::Center };
        let x = if power == to { x + right as i32 } else { x };
        below.draw(&Text::new(
            times::decade(10f64.powi(power)),
            (x, 9),
            placed(12, to_the_side, VPos::Top),
        ))?;
    }
    let about = "how long was waited (logarithmic)";
    below.draw(&Text::new(about, ((left + width / 2) as i32, 26), placed(12, HPos::Center, VPos::Top)))?;
    Ok(())
}

/// A lock, and percentiles of its waits.
pub struct Percentiles {
    pub name: String,
    /// Nanoseconds: p50, p90, p99, the longest.
    pub spans: [u64; 4],
}

/// A row for each lock, with four points.
pub fn percentiles(about: &str, all: &[Percentiles]) -> Result<String, Failure> {
    let span = |which: usize| all.iter().map(move |one| one.spans[which].max(1) as f64);
    let least = span(0).fold(f64::MAX, f64::min).log10().floor() as i32;
    let most = (span(3).fold(1.0, f64::max) * 1.001).log10().ceil() as i32;
    let (from, to) = (least, most.max(least + 1));
    let height = all.len() as u32 * 30 + 54;
    figure(about, (height, height), |root, size| {
        let (above, below) = root.split_vertically(size.height - 44);
        let names: Vec<String> = all.iter().map(|one| short(&one.name, size.letters())).collect();
        let mut chart = ChartBuilder::on(&above)
            .margin_right(24)
            .margin_top(6)
            .y_label_area_size(size.names())
            .build_cartesian_2d(f64::from(from)..f64::from(to), 0.0..all.len() as f64)?;
        for power in from..=to {
            let x = f64::from(power);
            let line = vec![(x, 0.0), (x, all.len() as f64)];
            chart.draw_series([PathElement::new(line, colour::GRID)])?;
        }
        name_rows(root, &mut chart, &names)?;
        for (row, one) in all.iter().enumerate() {
            let at = |which: usize| ((one.spans[which].max(1) as f64).log10(), middle(row, all.len()));
            chart.draw_series([PathElement::new(vec![at(0), at(3)], colour::WAIT.stroke_width(2))])?;
            chart.draw_series([Circle::new(at(0), 6, colour::HOLD.filled())])?;
            chart.draw_series([Circle::new(at(1), 5, colour::GOOD.filled())])?;
            chart.draw_series([Circle::new(at(2), 5, colour::END.filled())])?;
            chart.draw_series([Cross::new(at(3), 5, colour::BAD.stroke_width(2))])?;
        }
        time_axis(&below, (from, to), size.names(), 24)
    })
}

/// Returns a bar for each name, from 0 on.
pub fn totals(about: &str, all: &[(String, u64)]) -> Result<String, Failure> {
    let most = all.iter().map(|(_, total)| *total).max().unwrap_or(0).max(1) as f64;
    let height = all.len() as u32 * 24 + 12;
    figure(about, (height, height), |root, size| {
        let names: Vec<String> = all.iter().map(|(name, _)| short(name, size.letters())).collect();
        // Room for the number behind the longest bar.
        let room = if size.narrow { 1.42 } else { 1.12 };
        let mut chart = ChartBuilder::on(root)
            .margin(6)
            .y_label_area_size(size.names())
            .build_cartesian_2d(0.0..most * room, 0.0..all.len() as f64)?;
        name_rows(root, &mut chart, &names)?;
        for (row, (_, total)) in all.iter().enumerate() {
            let (y, end) = (middle(row, all.len()), *total as f64);
            chart.draw_series([Rectangle::new([(0.0, y - 0.38), (end, y + 0.38)], colour::HOLD.filled())])?;
            let number = format!(" {}", times::span(*total));
            chart.draw_series([Text::new(number, (end, y), placed(12, HPos::Left, VPos::Center))])?;
        }
        Ok(())
    })
}
