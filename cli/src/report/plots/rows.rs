//! Who waited and held, from when to when: a row for each, time to the right.

use super::{Failure, colour, figure, later, letters, middle, name_rows, short};
use plotters::prelude::*;

/// A row.
pub struct Row {
    pub name: String,
    pub bars: Vec<Bar>,
    pub marks: Vec<(u64, Mark)>,
}

/// Something that takes time.
pub struct Bar {
    pub from: u64,
    pub to: u64,
    pub look: Look,
    pub colour: RGBColor,
}

/// How a bar looks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Waiting.
    Thin,
    /// Holding.
    Thick,
}

/// Something that takes none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    Died,
    Recovered,
    /// A wait ended without the lock.
    Ended,
    PassedOver,
    /// One that asked later was served before.
    Overtaken,
}

/// All rows, from when to when.
pub struct Rows {
    pub rows: Vec<Row>,
    pub from: u64,
    pub to: u64,
}

/// How high a row is.
const HIGH: u32 = 22;

/// Draws those for the wide one and those for the narrow one, which may be fewer.
pub fn rows(about: &str, wide: &Rows, narrow: &Rows) -> Result<String, Failure> {
    let height = |rows: &Rows| rows.rows.len() as u32 * HIGH + 48;
    figure(about, (height(wide), height(narrow)), |root, size| {
        let Rows { rows, from, to } = if size.narrow { narrow } else { wide };
        let names: Vec<String> = rows.iter().map(|row| short(&row.name, size.letters())).collect();
        let span = to.saturating_sub(*from).max(1);
        let x = |at: u64| at.clamp(*from, *to).saturating_sub(*from) as f64;
        // Half of a time has room beyond the end of the axis.
        let margin = 36;
        // So much time is one unit wide: nothing is drawn less wide.
        let one = span as f64 / f64::from(size.width - size.names() - margin);
        let mut chart = ChartBuilder::on(root)
            .margin_right(margin)
            .margin_top(6)
            .x_label_area_size(40)
            .y_label_area_size(size.names())
            .build_cartesian_2d(0.0..span as f64, 0.0..rows.len() as f64)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(TRANSPARENT)
            .bold_line_style(colour::GRID)
            .axis_style(colour::INK)
            .x_labels(if size.narrow { 3 } else { 8 })
            .x_label_formatter(&|at| later(*at))
            .x_label_style(letters(12))
            .draw()?;
        name_rows(root, &mut chart, &names)?;
        for (row, Row { bars, marks, .. }) in rows.iter().enumerate() {
            let y = middle(row, rows.len());
            for bar in bars.iter().filter(|bar| bar.to >= *from && bar.from <= *to) {
                let (begin, end) = (x(bar.from), x(bar.to).max(x(bar.from) + one));
                let half = if bar.look == Look::Thin { 0.13 } else { 0.32 };
                let ends = [(begin, y - half), (end, y + half)];
                chart.draw_series([Rectangle::new(ends, bar.colour.filled())])?;
            }
            for (at, mark) in marks.iter().filter(|(at, _)| (*from..=*to).contains(at)) {
                let at = (x(*at), y);
                match mark {
                    Mark::Died => {
                        chart.draw_series([Cross::new(at, 6, colour::BAD.stroke_width(3))]).map(drop)?
                    }
                    Mark::Recovered => {
                        chart.draw_series([Circle::new(at, 5, colour::GOOD.filled())]).map(drop)?
                    }
                    Mark::Ended => chart.draw_series([Circle::new(at, 4, colour::END.filled())]).map(drop)?,
                    Mark::PassedOver => {
                        chart.draw_series([TriangleMarker::new(at, 6, colour::END.filled())]).map(drop)?
                    }
                    Mark::Overtaken => {
                        chart.draw_series([Circle::new(at, 5, colour::BAD.stroke_width(2))]).map(drop)?
                    }
                }
            }
        }
        Ok(())
    })
}
