//! Who had a lock when a call gave up.

use std::fmt;

/// Who had the lock when a call gave up: what one look at that moment showed, for people to read. Neither made nor dropped with
/// memory, so that a signal handler may have one.
///
/// It displays as "process 4711 (backup) has had it for 3.2 s, and 2 others have it too"; as nothing if no holder was seen. Of a
/// linked lock that admits no program it says why, as "it is linked, and away".
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LockedBy {
    /// 0: one of another PID namespace.
    process: u32,
    others: u32,
    nanoseconds: u64,
    label: [u8; LABEL],
    sight: Sight,
    awaited: Awaited,
}

/// What a call waited for that gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaited {
    /// A lock, or what is done once: another participant has it.
    Lock,
    /// A notification of a condition.
    Notification,
    /// An event.
    Event,
    /// The other parties of a barrier.
    Parties,
}

impl Awaited {
    /// Returns the words for that it has not come.
    pub(super) fn is_missing(self) -> &'static str {
        match self {
            Awaited::Lock => "the lock is taken",
            Awaited::Notification => "no notification has come",
            Awaited::Event => "the event is not set",
            Awaited::Parties => "not all parties have arrived",
        }
    }

    /// Returns the words for that it comes, behind "before".
    pub(super) fn came(self) -> &'static str {
        match self {
            Awaited::Lock => "the turn came",
            Awaited::Notification => "a notification came",
            Awaited::Event => "the event was set",
            Awaited::Parties => "all parties had arrived",
        }
    }
}

/// How long a label may be, in bytes. What is longer is cut.
const LABEL: usize = 31;

/// What was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// No holder.
    None,
    /// One, and not since when it has the lock.
    Holder,
    /// One, and since when.
    Since,
    /// One, which has had the lock for longer than it is known.
    AtLeast,
    /// None: the lock is linked, and another host may have it.
    Away,
    /// Other hosts have the permits that are missing.
    OtherHosts,
    /// None: the lock is linked, and its reserved tokens are used up.
    NoTokens,
    /// None: the lock is linked, and home to read, for which the call is too much.
    HomeToRead,
    /// None: the lock is linked, and its lease is over.
    LeaseEnded,
    /// None: the lock is linked, and admits no program until an agent comes.
    NoAgent,
}

impl LockedBy {
    /// No holder was seen.
    pub const UNKNOWN: Self = Self::none_for(Awaited::Lock);

    /// No holder: what was awaited has none, or none was seen.
    pub const fn none_for(awaited: Awaited) -> Self {
        Self { process: 0, others: 0, nanoseconds: 0, label: [0; LABEL], sight: Sight::None, awaited }
    }

    /// The lock is linked, and away: another host may have it.
    pub const AWAY: Self = Self { sight: Sight::Away, ..Self::UNKNOWN };
    /// Of a linked semaphore: other hosts have the permits that are missing, or may have them.
    pub const OTHER_HOSTS: Self = Self { sight: Sight::OtherHosts, ..Self::UNKNOWN };

    /// The lock is linked, and its agent has not reserved the next fencing tokens yet.
    pub const NO_TOKENS: Self = Self { sight: Sight::NoTokens, ..Self::UNKNOWN };

    /// The lock is linked, and home to read: programs of other hosts may read, too.
    pub const HOME_TO_READ: Self = Self { sight: Sight::HomeToRead, ..Self::UNKNOWN };

    /// The lock is linked and leased, and its agent has not renewed the lease.
    pub const LEASE_ENDED: Self = Self { sight: Sight::LeaseEnded, ..Self::UNKNOWN };

    /// The lock is linked and admits no program, and no agent is attached that could change that.
    pub const NO_AGENT: Self = Self { sight: Sight::NoAgent, ..Self::UNKNOWN };

    /// Returns what the call waited for.
    pub const fn awaited(&self) -> Awaited {
        self.awaited
    }

    /// Writes ": ", and it, if a holder was seen.
    pub(super) fn write_after_colon(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.sight == Sight::None { Ok(()) } else { write!(f, ": {self}") }
    }

    /// One holder, process `process` of this PID namespace, or of another one (`None`). `label`: what it calls itself, as far as a
    /// NUL.
    pub fn holder(process: Option<u32>, label: impl IntoIterator<Item = u8>) -> Self {
        let mut seen = Self { process: process.unwrap_or(0), sight: Sight::Holder, ..Self::UNKNOWN };
        let label = label.into_iter().take_while(|byte| *byte != 0);
        seen.label.iter_mut().zip(label).for_each(|(to, from)| *to = from);
        seen
    }

    /// So many others have it, too.
    pub fn and_others(self, others: usize) -> Self {
        Self { others: others.try_into().unwrap_or(u32::MAX), ..self }
    }

    /// It has had the lock for so long; at least so long, if it is not known since when.
    pub fn for_nanoseconds(self, nanoseconds: u64, at_least: bool) -> Self {
        Self { nanoseconds, sight: if at_least { Sight::AtLeast } else { Sight::Since }, ..self }
    }

    /// Returns the process that has the lock, if one was seen that this PID namespace has a number for.
    pub fn process(&self) -> Option<u32> {
        Some(self.process).filter(|process| *process != 0)
    }

    fn label(&self) -> &str {
        let end = self.label.iter().position(|byte| *byte == 0).unwrap_or(LABEL);
        let label = &self.label[..end];
        // The last character may have been cut, and the file may have been overwritten.
        std::str::from_utf8(label)
            .unwrap_or_else(|error| std::str::from_utf8(&label[..error.valid_up_to()]).unwrap_or_default())
    }
}

impl fmt::Display for LockedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sight {
            Sight::None => return Ok(()),
            Sight::Away => return f.write_str("it is linked, and away"),
            Sight::HomeToRead => return f.write_str("it is linked, and home to read"),
            Sight::OtherHosts => return f.write_str("it is linked, and other hosts have permits of it"),
            Sight::LeaseEnded => return f.write_str("it is linked, and its lease has ended"),
            Sight::NoTokens => {
                return f.write_str("it is linked, and its reserved fencing tokens are used up");
            }
            Sight::NoAgent => return f.write_str("it is linked, and no agent is attached to it"),
            Sight::Holder | Sight::Since | Sight::AtLeast => {}
        }
        match self.process {
            0 => write!(f, "a process of another PID namespace")?,
            process => write!(f, "process {process}")?,
        }
        match self.label() {
            "" => {}
            label => write!(f, " ({})", label.escape_debug())?,
        }
        match self.sight {
            Sight::Since => write!(f, " has had it for {}", Span(self.nanoseconds))?,
            Sight::AtLeast => write!(f, " has had it for at least {}", Span(self.nanoseconds))?,
            _ => write!(f, " has it")?,
        }
        match self.others {
            0 => Ok(()),
            1 => write!(f, ", and another one has it too"),
            others => write!(f, ", and {others} others have it too"),
        }
    }
}

impl fmt::Debug for LockedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockedBy({self})")
    }
}

/// A span of time in nanoseconds, for people.
struct Span(u64);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0 / 1_000_000_000;
        match seconds {
            0 => write!(f, "{} ms", self.0 / 1_000_000),
            1..60 => write!(f, "{:.1} s", self.0 as f64 / 1e9),
            60..3_600 => write!(f, "{} min", seconds / 60),
            3_600..86_400 => write!(f, "{} h {} min", seconds / 3_600, seconds / 60 % 60),
            _ => write!(f, "{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn it_says_who_has_the_lock_and_since_when() {
        let backup = LockedBy::holder(Some(4711), *b"backup\0junk");
        assert_eq!(backup.to_string(), "process 4711 (backup) has it");
        assert_eq!(
            backup.for_nanoseconds(3_240_000_000, false).and_others(2).to_string(),
            "process 4711 (backup) has had it for 3.2 s, and 2 others have it too"
        );
        let unnamed = LockedBy::holder(None, []).for_nanoseconds(12_000_000, true).and_others(1);
        assert_eq!(
            unnamed.to_string(),
            "a process of another PID namespace has had it for at least 12 ms, and another one has it too"
        );
        assert_eq!(LockedBy::UNKNOWN.to_string(), "");
        let linked = [LockedBy::AWAY, LockedBy::OTHER_HOSTS, LockedBy::NO_TOKENS, LockedBy::NO_AGENT]
            .map(|by| by.to_string());
        assert_eq!(
            linked.each_ref().map(|text| text.strip_prefix("it is linked, and ").unwrap()),
            [
                "away",
                "other hosts have permits of it",
                "its reserved fencing tokens are used up",
                "no agent is attached to it"
            ]
        );
        assert_eq!((backup.process(), unnamed.process()), (Some(4711), None));
    }

    #[test]
    fn what_does_not_fit_or_is_no_text_is_left_out() {
        let long = LockedBy::holder(Some(1), "x".repeat(30).bytes().chain("é".bytes()));
        assert_eq!(long.label(), "x".repeat(30));
        assert_eq!(LockedBy::holder(Some(1), *b"ab\xffcd").label(), "ab");
        assert_eq!(LockedBy::holder(Some(1), *b"\x1b[2J").to_string(), "process 1 (\\u{1b}[2J) has it");
    }

    #[test]
    fn spans_are_in_units_that_people_read() {
        let spans = [0, 999_000_000, 59_900_000_000, 60_000_000_000, 7_380_000_000_000, 90_000_000_000_000];
        let texts = spans.map(|span| Span(span).to_string());
        assert_eq!(texts, ["0 ms", "999 ms", "59.9 s", "1 min", "2 h 3 min", "1 d 1 h"]);
    }
}
