//! The plots of a report, as SVG in two widths: for a wide window, and for a phone, where the wide one could not be read.
//!
//! | module | what it has |
//! |---|---|
//! | `spans` | how long was waited: histogram, percentiles; how long was held |
//! | `rows` | who waited and held when: order of service, timeline |
//! | `activity` | what happened over the whole recording |

mod activity;
mod rows;
mod spans;

pub use activity::activity;
pub use rows::{Bar, Look, Mark, Row, Rows, rows};
pub use spans::{Percentiles, histogram_rows, histograms, percentiles, totals};

use super::html;
use plotters::{
    coord::{Shift, types::RangedCoordf64},
    prelude::*,
    style::{
        FontDesc, FontFamily, FontStyle,
        text_anchor::{HPos, Pos, VPos},
    },
};

/// Where something is drawn.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Why it cannot be drawn.
type Failure = Box<dyn std::error::Error>;

/// Colours, by what they stand for. The page's style sheet knows them by these values, and gives each another one where the page
/// is dark; a test compares them.
pub mod colour {
    use plotters::style::RGBColor;

    /// Letters and axes.
    pub const INK: RGBColor = RGBColor(0x2B, 0x2F, 0x36);
    /// Lines behind the data.
    pub const GRID: RGBColor = RGBColor(0xDD, 0xE0, 0xE5);
    /// Waiting.
    pub const WAIT: RGBColor = RGBColor(0xE0, 0x9B, 0x2D);
    /// Holding.
    pub const HOLD: RGBColor = RGBColor(0x2F, 0x6D, 0xB5);
    /// Deaths; and the waiters that were overtaken.
    pub const BAD: RGBColor = RGBColor(0xC6, 0x28, 0x28);
    /// Recoveries.
    pub const GOOD: RGBColor = RGBColor(0x1E, 0x8E, 0x3E);
    /// Time-outs, and other ends of waits without the lock.
    pub const END: RGBColor = RGBColor(0x7B, 0x3F, 0xA0);
    /// Locks, by their numbers; the last one is that of all others.
    pub const LOCKS: [RGBColor; 6] = [
        RGBColor(0x2E, 0x6C, 0xB4),
        RGBColor(0xC2, 0x6A, 0x11),
        RGBColor(0x2B, 0x8A, 0x6B),
        RGBColor(0x9A, 0x4D, 0xB0),
        RGBColor(0xA8, 0x8B, 0x1A),
        RGBColor(0x7A, 0x82, 0x8E),
    ];
}

/// How a plot is drawn: twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// In the units of the SVG, about pixels.
    pub width: u32,
    /// See `width`.
    pub height: u32,
    /// For a phone.
    pub narrow: bool,
}

impl Size {
    /// Returns how wide the column of names is.
    fn names(self) -> u32 {
        if self.narrow { 112 } else { 200 }
    }

    /// Returns how many letters of a name have room there.
    fn letters(self) -> usize {
        if self.narrow { 13 } else { 26 }
    }
}

const WIDE: u32 = 960;
const NARROW: u32 = 380;

/// Draws it in both widths; the heights are said for (wide, narrow). `about` says in a sentence what is seen.
pub fn figure(
    about: &str,
    heights: (u32, u32),
    draw: impl Fn(&Area, Size) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let wide = svg(Size { width: WIDE, height: heights.0, narrow: false }, about, &draw)?;
    let narrow = svg(Size { width: NARROW, height: heights.1, narrow: true }, about, &draw)?;
    Ok(format!("<div class=\"plot wide\">\n{wide}</div>\n<div class=\"plot narrow\">\n{narrow}</div>\n"))
}

fn svg(
    size: Size,
    about: &str,
    draw: &impl Fn(&Area, Size) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let mut drawn = String::new();
    {
        let root = SVGBackend::with_string(&mut drawn, (size.width, size.height)).into_drawing_area();
        draw(&root, size)?;
        root.present()?;
    }
    // What stands before the element is for files; in a page it would be a comment at best.
    let begin = drawn.find("<svg").unwrap_or(0);
    let named = format!("<svg role=\"img\" aria-label=\"{}\"", html::text(about));
    Ok(drawn[begin..].replacen("<svg", &named, 1))
}

/// Returns the font of all letters in plots, of a size in the units of the SVG.
fn letters(size: u32) -> TextStyle<'static> {
    /// The backend makes letters so much smaller than the size that it is told.
    const SMALLER: f64 = 1.24;
    FontDesc::new(FontFamily::SansSerif, f64::from(size) * SMALLER, FontStyle::Normal).color(&colour::INK)
}

/// Text of that size, and where its place is: at its left, middle or right; at its top or middle.
fn placed(size: u32, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    letters(size).pos(Pos::new(horizontal, vertical))
}

/// Returns what stands below an axis of time: how much later than its beginning.
fn later(at: f64) -> String {
    if at < 1.0 { "0".into() } else { format!("+{}", super::times::span(at as u64)) }
}

/// Returns a name, as far as there is room for it. The backend makes text of it, whatever is in it.
fn short(name: &str, letters: usize) -> String {
    let name = super::super::escape::text(name);
    if name.chars().count() <= letters {
        return name;
    }
    name.chars().take(letters.saturating_sub(1)).chain(['…']).collect()
}

/// Names the rows of a chart, of which each is 1 high and the first one is at the top, and draws their axis.
fn name_rows(root: &Area, chart: &mut RowChart, names: &[String]) -> Result<(), Failure> {
    let begin = chart.x_range().start;
    for (row, name) in names.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(begin, middle(row, names.len())));
        root.draw(&Text::new(name.as_str(), (x - 8, y), placed(12, HPos::Right, VPos::Center)))?;
    }
    let axis = vec![(begin, 0.0), (begin, names.len() as f64)];
    chart.draw_series([PathElement::new(axis, colour::INK)])?;
    Ok(())
}

/// A chart with rows.
type RowChart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Returns the place of the middle of a row, of which there are so many.
fn middle(row: usize, rows: usize) -> f64 {
    (rows - row) as f64 - 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plot for each width, which say what they are, and no name becomes markup.
    #[test]
    fn a_figure_is_two_plots_and_names_are_text_in_them() {
        let drawn = figure("<about>", (100, 200), |root, size| {
            let text = Text::new(short("<script>&", size.letters()), (0, 0), letters(12));
            root.draw(&text).map_err(Failure::from)
        })
        .unwrap();
        assert_eq!(drawn.matches("<svg role=\"img\" aria-label=\"&lt;about&gt;\"").count(), 2, "{drawn}");
        assert!(
            drawn.contains("viewBox=\"0 0 960 100\"") && drawn.contains("viewBox=\"0 0 380 200\""),
            "{drawn}"
        );
        assert!(drawn.contains("&lt;script") && !drawn.contains("<script"), "{drawn}");
    }

    #[test]
    fn names_are_cut_where_there_is_no_room() {
        assert_eq!((short("größer", 6), short("größer", 5)), ("größer".into(), "größ…".into()));
    }

    #[test]
    fn the_style_sheet_has_every_colour() {
        use colour::*;
        let style = include_str!("../style.css");
        for RGBColor(red, green, blue) in [INK, GRID, WAIT, HOLD, BAD, GOOD, END].into_iter().chain(LOCKS) {
            let value = format!("#{red:02X}{green:02X}{blue:02X}");
            for attribute in ["fill", "stroke"] {
                assert!(style.contains(&format!("[{attribute}=\"{value}\"]")), "{attribute} {value}");
            }
        }
    }
}
