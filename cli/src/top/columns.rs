//! The columns of the list: which there is room for, and how wide they are.

use super::rows::Sort;

/// A column, but for the mark and the number of the file, which come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Lock,
    Kind,
    HeldBy,
    Since,
    Wait,
    Rate,
    Median,
    Tail,
}

impl Column {
    const ALL: [Self; 8] =
        [Self::Lock, Self::Kind, Self::HeldBy, Self::Since, Self::Wait, Self::Rate, Self::Median, Self::Tail];
    /// What is left out where there is little room, first the first.
    const LEFT_OUT: [Self; 4] = [Self::Median, Self::Tail, Self::Rate, Self::Kind];

    /// Returns its title, what the rows are sorted by there, and its width; 0: what is left.
    pub fn head(self) -> (&'static str, Option<Sort>, usize) {
        match self {
            Self::Lock => ("LOCK", Some(Sort::Name), 0),
            Self::Kind => ("KIND", Some(Sort::Kind), 10),
            Self::HeldBy => ("HELD BY", None, 0),
            Self::Since => ("SINCE", Some(Sort::Since), 8),
            Self::Wait => ("WAIT", Some(Sort::Waiting), 5),
            Self::Rate => ("ACQ/S", Some(Sort::Rate), 6),
            Self::Median => ("P50", Some(Sort::Median), 7),
            Self::Tail => ("P99", Some(Sort::Tail), 7),
        }
    }

    /// Returns whether numbers stand in it.
    pub fn is_number(self) -> bool {
        !matches!(self, Self::Lock | Self::Kind | Self::HeldBy)
    }
}

/// Those that are shown.
#[derive(Clone, Debug)]
pub struct Columns {
    pub shown: Vec<Column>,
    /// How wide the lock's name is.
    pub lock: usize,
    /// How wide the holder is.
    pub held_by: usize,
}

/// A name has that at least: of a longer one so much.
const NAME: usize = 14;
/// And where all names are short, so much.
const SHORT: usize = 11;
/// A holder has that at least: a short label, and a pid of seven digits.
const HOLDER: usize = 22;

impl Columns {
    /// Returns what is shown in so many columns of a terminal. `longest`: of the names of the locks.
    pub fn of(width: usize, several_files: bool, longest: usize) -> Self {
        let before = if several_files { 4 } else { 1 };
        // One blank before each.
        let left = |shown: &[Column]| {
            let others: usize = shown.iter().map(|column| 1 + column.head().2).sum();
            width.saturating_sub(before + others)
        };
        let mut shown = Column::ALL.to_vec();
        for column in Column::LEFT_OUT {
            if left(&shown) >= NAME + HOLDER {
                break;
            }
            shown.retain(|one| *one != column);
        }
        let left = left(&shown);
        let lock = longest.max(SHORT).min(left * 2 / 5);
        Self { shown, lock, held_by: left - lock }
    }

    /// Returns how wide one of them is.
    pub fn width(&self, column: Column) -> usize {
        match column {
            Column::Lock => self.lock,
            Column::HeldBy => self.held_by,
            _ => column.head().2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_left_out_before_names_and_holders_are_cut() {
        let all = Columns::of(120, false, 30);
        assert_eq!(all.shown, Column::ALL);
        for (width, several) in [(80, false), (80, true), (60, false), (60, true), (56, false)] {
            let columns = Columns::of(width, several, 30);
            assert!(columns.held_by >= HOLDER && columns.lock + 1 >= NAME, "{width}: {columns:?}");
            let all: usize = columns.shown.iter().map(|column| 1 + columns.width(*column)).sum();
            assert_eq!(all + if several { 4 } else { 1 }, width);
        }
        assert_eq!(Columns::of(60, false, 3).lock, SHORT, "no wider than the names need it");
        assert!(Columns::of(10, true, 30).shown.len() == 4, "and no terminal is too small");
    }
}
