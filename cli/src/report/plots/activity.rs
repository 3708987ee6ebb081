//! What happened over the whole recording.

use super::{Failure, Mark, colour, figure, later, letters};
use plotters::prelude::*;
use std::collections::BTreeMap;

/// Returns how often locks were acquired, span after span, with deaths, recoveries and ends of waits above.
pub fn activity(
    about: &str,
    (from, to): (u64, u64),
    acquired: &[u64],
    marks: &[(u64, Mark)],
) -> Result<String, Failure> {
    let span = to.saturating_sub(from).max(1);
    figure(about, (230, 230), |root, size| {
        let bars = if size.narrow { 30 } else { 96 };
        let mut counts = vec![0u64; bars];
        for at in acquired {
            let bar = u128::from(at.saturating_sub(from)) * bars as u128 / u128::from(span);
            counts[(bar as usize).min(bars - 1)] += 1;
        }
        let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
        let mut chart = ChartBuilder::on(root)
            .margin_right(36)
            .margin_top(6)
            .x_label_area_size(40)
            .y_label_area_size(64)
            .build_cartesian_2d(0.0..span as f64, 0.0..most * 1.25)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(colour::GRID)
            .axis_style(colour::INK)
            .x_labels(if size.narrow { 3 } else { 8 })
            .x_label_formatter(&|at| later(*at))
            .y_labels(4)
            .y_label_formatter(&|count| {
                if count.fract() == 0.0 { format!("{count:.0}") } else { String::new() }
            })
            .label_style(letters(12))
            .draw()?;
        let wide = span as f64 / bars as f64;
        chart.draw_series(counts.iter().enumerate().filter(|(_, count)| **count > 0).map(
            |(bar, count)| {
                let begin = bar as f64 * wide;
                let mut drawn =
                    Rectangle::new([(begin, 0.0), (begin + wide, *count as f64)], colour::HOLD.filled());
                drawn.set_margin(0, 0, 1, 1);
                drawn
            },
        ))?;
        // Those in one place look like one.
        let places = u128::from(size.width / 2);
        let place = |at: u64| u128::from(at.clamp(from, to) - from) * places / u128::from(span);
        let marks: BTreeMap<(u128, Mark), u64> =
            marks.iter().map(|(at, mark)| ((place(*at), *mark), *at)).collect();
        for ((_, mark), at) in marks {
            let x = (at.clamp(from, to) - from) as f64;
            let line =
                |colour: RGBColor| PathElement::new(vec![(x, 0.0), (x, most * 1.2)], colour.stroke_width(1));
            let top = (x, most * 1.2);
            match mark {
                Mark::Died => {
                    chart.draw_series([line(colour::BAD)])?;
                    chart.draw_series([Cross::new(top, 5, colour::BAD.stroke_width(3))])?;
                }
                Mark::Recovered => chart
                    .draw_series([Circle::new((x, most * 1.12), 4, colour::GOOD.filled())])
                    .map(|_| ())?,
                _ => {
                    chart.draw_series([Circle::new((x, most * 1.04), 3, colour::END.filled())]).map(|_| ())?
                }
            }
        }
        Ok(())
    })
}
