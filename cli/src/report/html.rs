//! The letters of a page: names, whatever they are, are text in it and nothing else.

use super::super::escape;
use std::fmt::Write;

/// Text as HTML. What cannot be seen or reorders what stands beside it is shown as what it is.
pub fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in escape::text(text).chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// A table: its cells are text.
pub struct Table {
    caption: String,
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    /// So many rows are left out.
    left_out: usize,
}

/// To which side a column stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

impl Table {
    /// Without rows.
    pub fn new(caption: &str, columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
        Self { caption: caption.into(), columns, rows: Vec::new(), left_out: 0 }
    }

    /// These rows, of which no more than so many are shown.
    pub fn rows(mut self, rows: impl ExactSizeIterator<Item = Vec<String>>, most: usize) -> Self {
        self.left_out = rows.len().saturating_sub(most);
        self.rows = rows.take(most).collect();
        self
    }

    /// Returns whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As HTML, in a box of its own that scrolls if it is too wide.
    pub fn html(&self) -> String {
        let caption = text(&self.caption);
        // The caption does not scroll with it. With the focus it scrolls by the keyboard.
        let mut html = format!(
            "<p class=\"caption\">{caption}</p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n\
             <table aria-label=\"{caption}\">\n<thead><tr>"
        );
        let class = |align: Align| if align == Align::Right { " class=\"number\"" } else { "" };
        for (name, align) in &self.columns {
            let _ = write!(html, "<th scope=\"col\"{}>{}</th>", class(*align), text(name));
        }
        html += "</tr></thead>\n<tbody>\n";
        for row in &self.rows {
            html += "<tr>";
            for (cell, (_, align)) in row.iter().zip(&self.columns) {
                let _ = write!(html, "<td{}>{}</td>", class(*align), text(cell));
            }
            html += "</tr>\n";
        }
        html += "</tbody></table>\n</div>\n";
        if self.left_out > 0 {
            let _ = writeln!(html, "<p class=\"faint\">{} more are left out.</p>", self.left_out);
        }
        html
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_becomes_markup() {
        assert_eq!(
            text("<b a='1' c=\"2\">&\u{1b}\u{202e}"),
            "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;\\u{1b}\\u{202e}"
        );
        let table = Table::new("<c>", &[("n", Align::Left), ("m", Align::Right)]);
        let html = table.rows([vec!["<i>".into(), "1".into()], vec![], vec![]].into_iter(), 1).html();
        assert!(
            html.contains("<td>&lt;i&gt;</td><td class=\"number\">1</td>") && !html.contains("<i>"),
            "{html}"
        );
        assert!(html.contains("aria-label=\"&lt;c&gt;\"") && html.contains("2 more are left out"), "{html}");
    }
}
