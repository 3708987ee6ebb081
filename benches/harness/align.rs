//! A table in Markdown whose columns also line up as plain text.

use std::fmt::Write;

/// Names to the left, numbers to the right.
pub fn align(text: &mut String, lines: &[Vec<String>]) -> std::fmt::Result {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    for (number, line) in lines.iter().enumerate() {
        write!(text, "| {:<width$} |", line[0], width = widths[0])?;
        for (column, width) in line.iter().zip(&widths).skip(1) {
            write!(text, " {column:>width$} |")?;
        }
        writeln!(text)?;
        if number == 0 {
            write!(text, "|{}|", "-".repeat(widths[0] + 2))?;
            for width in &widths[1..] {
                write!(text, "{}:|", "-".repeat(width + 1))?;
            }
            writeln!(text)?;
        }
    }
    Ok(())
}
