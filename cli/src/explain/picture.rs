//! What is shown after each step: a table of what each participant has, and what has just happened.

use std::io;

/// One picture.
#[derive(Clone)]
pub struct Picture {
    /// What the chapter is about.
    pub chapter: String,
    /// What happened, in sentences.
    pub sentences: Vec<String>,
    /// What there is now.
    pub table: Table,
}

/// A row for each participant, and lines about all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The heads of the columns and their widths.
    pub columns: Vec<(&'static str, usize)>,
    /// The rows, each in the order of the columns.
    pub rows: Vec<Vec<Cell>>,
    /// What stands below them.
    pub lines: Vec<Vec<Cell>>,
}

/// One cell, and whether the last step has changed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub text: String,
    pub changed: bool,
}

impl Cell {
    /// Returns a cell that no step changes.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), changed: false }
    }
}

/// Why an explanation ends before its end.
#[derive(Debug)]
pub enum Stop {
    /// The user ended it, or a signal (its number) came.
    Quit(Option<usize>),
    /// Something failed.
    Failed(io::Error),
    /// The terminal, or standard output, cannot be written to.
    Unprinted(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Failed(error)
    }
}

/// Whom the pictures are shown to.
pub type Audience<'a> = dyn FnMut(&Picture) -> Result<(), Stop> + 'a;
