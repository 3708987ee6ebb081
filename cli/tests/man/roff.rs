//! Manual pages, in the macros of man(7).

use std::fmt::Write;

pub struct Page {
    text: String,
    links: Vec<String>,
}

impl Page {
    /// `about` is what `whatis` says.
    pub fn new(name: &str, section: u8, about: &str) -> Page {
        let version = env!("CARGO_PKG_VERSION");
        let mut page = Page { text: String::new(), links: Vec::new() };
        writeln!(page.text, ".TH {} {section} \"\" \"turnlock {version}\" \"turnlock\"", name.to_uppercase())
            .unwrap();
        page.section("Name");
        writeln!(page.text, "{} \\- {}", escaped(name), escaped(about)).unwrap();
        page
    }

    /// Other names that the page is found by.
    pub fn links<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        self.links.extend(names.map(String::from));
    }

    pub fn section(&mut self, title: &str) -> &mut Page {
        writeln!(self.text, ".SH {}", escaped(&title.to_uppercase())).unwrap();
        self
    }

    pub fn heading(&mut self, title: &str) -> &mut Page {
        writeln!(self.text, ".SS {title}").unwrap();
        self
    }

    pub fn paragraph(&mut self, text: &str) -> &mut Page {
        writeln!(self.text, "{}", escaped(text)).unwrap();
        self
    }

    /// Lines as they are.
    pub fn code(&mut self, lines: &str) -> &mut Page {
        self.text += ".nf\n";
        for line in lines.lines() {
            writeln!(self.text, "{}", escaped(line)).unwrap();
        }
        self.text += ".fi\n";
        self
    }

    /// A comment of the header: paragraphs, and lists of lines that begin with a dash.
    pub fn prose(&mut self, text: &str) -> &mut Page {
        for line in text.lines() {
            match line.strip_prefix("- ") {
                Some(item) => write!(self.text, ".IP \\(bu 2\n{}\n", prose_line(item)),
                None if line.is_empty() => writeln!(self.text, ".PP"),
                None => writeln!(self.text, "{}", prose_line(line.trim_start())),
            }
            .unwrap();
        }
        self
    }

    pub fn text(&self) -> String {
        let links: String = self.links.iter().map(|link| format!(".\\\" link: {link}\n")).collect();
        format!("{links}{}", self.text)
    }
}

/// What is between back ticks in bold.
fn prose_line(line: &str) -> String {
    let mut bold = false;
    let mut text = String::new();
    for (at, part) in escaped(line).split('`').enumerate() {
        if at > 0 {
            bold = !bold;
            text += if bold { "\\fB" } else { "\\fR" };
        }
        text += part;
    }
    if bold { text + "\\fR" } else { text }
}

fn escaped(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    if escaped.starts_with('.') { format!("\\&{escaped}") } else { escaped }
}
