//! What a `turnlock run` wants of a lock: all of it, or as a reader, some permits, a range, a key, with a group.

use std::{ffi::OsString, num::NonZeroU32, ops::RangeInclusive, os::unix::ffi::OsStrExt};

/// What is wanted of a lock, and which kind it is to be if it is created now.
#[derive(Clone, Debug, Default)]
pub enum Wanted {
    /// All of it, whatever it is; a mutex or a ring if it is created now.
    #[default]
    Everything,
    /// All of it, whatever it is; a rwlock if it is created now.
    Exclusively,
    /// A rwlock, as a reader, or all of a range lock.
    Shared,
    /// Permits of a semaphore.
    Permits { of: u32, weight: u32 },
    /// A range of a range lock.
    Range { range: RangeInclusive<u64>, shared: bool },
    /// A key of a keyed lock.
    Key { key: Vec<u8>, shared: bool },
    /// To be a member of this group, of a group lock.
    InGroup(u64),
}

/// How much of a lock is wanted, on the command line.
#[derive(Debug, clap::Args)]
pub struct Parts {
    /// Beside others that hold it shared too: as a reader of a rwlock, which it is to be if it is created now; with --range
    /// or --key, of that part. The default lock that was created without -s and -x is a mutex, and is taken alone
    #[arg(long, short = 's', conflicts_with_all = ["exclusive", "permits", "algorithm"])]
    shared: bool,
    /// Alone, which is what happens without it too; but a lock that is created now is to be a rwlock, so that
    /// others can hold it --shared
    #[arg(long, short = 'x', visible_alias = "ex", visible_short_alias = 'e', conflicts_with_all = ["permits", "algorithm"])]
    exclusive: bool,
    /// Permits of a semaphore, which is to have K of them if it is created now; one that exists keeps what it has
    #[arg(long, value_name = "K", conflicts_with_all = ["range", "key", "algorithm", "on_death"])]
    permits: Option<NonZeroU32>,
    /// With --permits: take so many of them, at once; 1 if not said
    #[arg(long, value_name = "W", requires = "permits")]
    weight: Option<NonZeroU32>,
    /// The numbers A to B of a range lock, B included (10-19 is ten numbers); A- is all from A on, A is A alone, and 0- the
    /// whole range
    #[arg(long, value_name = "A-B", value_parser = range, conflicts_with_all = ["key", "algorithm", "patience"])]
    range: Option<RangeInclusive<u64>>,
    /// One key of a keyed lock: any text, which need not be created
    #[arg(long, value_name = "K", conflicts_with_all = ["algorithm", "patience"])]
    key: Option<OsString>,
    /// As a member of the group N, of a group lock: beside all others of that group, and none of another
    #[arg(long, value_name = "N", conflicts_with_all = ["shared", "exclusive", "permits", "range", "key", "algorithm", "patience"])]
    in_group: Option<u64>,
}

impl Parts {
    /// Returns a rwlock, as a reader or alone.
    pub fn as_flock(shared: bool) -> Self {
        Self {
            shared,
            exclusive: !shared,
            permits: None,
            weight: None,
            range: None,
            key: None,
            in_group: None,
        }
    }

    /// Returns what is wanted.
    ///
    /// # Errors
    /// What does not go together.
    pub fn wanted(&self) -> Result<Wanted, String> {
        let shared = self.shared;
        if let Some(group) = self.in_group {
            return Ok(Wanted::InGroup(group));
        }
        Ok(match (self.permits, &self.range, &self.key) {
            (Some(of), _, _) => {
                let (of, weight) = (of.get(), self.weight.map_or(1, NonZeroU32::get));
                if of == u32::MAX {
                    return Err(format!("--permits {of}: a semaphore has 1 to {} permits", u32::MAX - 1));
                }
                if weight > of {
                    return Err(format!(
                        "--weight {weight} is more than the {of} permits that --permits says"
                    ));
                }
                Wanted::Permits { of, weight }
            }
            (_, Some(range), _) => Wanted::Range { range: range.clone(), shared },
            (_, _, Some(key)) => Wanted::Key { key: key.as_bytes().to_vec(), shared },
            _ if shared => Wanted::Shared,
            _ if self.exclusive => Wanted::Exclusively,
            _ => Wanted::Everything,
        })
    }
}

/// Returns a range, its last number included.
fn range(text: &str) -> Result<RangeInclusive<u64>, String> {
    let number = |text: &str| {
        text.parse::<u64>().map_err(|_| format!("{text:?} is not a number from 0 to {}", u64::MAX))
    };
    let (first, last) = match text.split_once('-') {
        None => (number(text)?, number(text)?),
        Some((first, "")) => (number(first)?, u64::MAX),
        Some((first, last)) => (number(first)?, number(last)?),
    };
    if first > last {
        return Err(format!("its last number, {last}, lies before its first, {first}"));
    }
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_have_their_last_number_in_them() {
        for (text, meant) in [
            ("10-19", 10..=19),
            ("7", 7..=7),
            ("7-7", 7..=7),
            ("5-", 5..=u64::MAX),
            ("0-", 0..=u64::MAX),
            ("0-18446744073709551615", 0..=u64::MAX),
        ] {
            assert_eq!(range(text), Ok(meant), "{text}");
        }
        for text in ["", "-", "-5", "9-8", "1-2-3", "a-b", "0-18446744073709551616", "+1-2 "] {
            assert!(range(text).is_err(), "{text}");
        }
    }
}
