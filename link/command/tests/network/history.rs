//! What a program wrote down, read.

/// One entry of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub host: String,
    /// The program's number.
    pub program: u64,
    pub token: u64,
    /// Whether it reads alone, beside others that do.
    pub reads: bool,
    /// How many permits of a semaphore it took; none of another lock.
    pub permits: u64,
    /// Whether it was told that a holder died inside.
    pub is_told: bool,
    /// When it was inside first, for certain: after it had the lock.
    pub begin: u64,
    /// When it was inside last, for certain: before it was told otherwise, or left.
    pub last: u64,
    pub read: Read,
    pub write: Write,
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// It did not come so far, or was refused.
    None,
    Value(u64),
    /// The two halves were not the same.
    Torn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// It did not come so far, or was refused.
    None,
    /// It was killed before it had been done: it may have been done, in part or not at all.
    Begun(u64),
    Done(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was killed inside, or left as if it had been, since a death before it was not repaired.
    Died,
    /// It was killed while it unlocked.
    Unlocking,
    /// It unlocked.
    Free,
    /// It unlocked after its lease had ended, which the unlock said.
    LeaseEnded,
}

/// What all programs wrote down.
#[derive(Clone, Debug, Default)]
pub struct History {
    pub entries: Vec<Entry>,
    /// How often a program had the lock, and was told that it had not before it had done anything.
    pub void: usize,
    /// How often one waited for 2 s in vain.
    pub late: usize,
}

impl History {
    /// Adds what this program wrote down.
    ///
    /// # Errors
    /// A line that means nothing here, or an error that a program met.
    pub fn add(&mut self, host: &str, program: u64, text: &str) -> Result<(), String> {
        let mut open: Option<Entry> = None;
        for line in text.lines() {
            let wrong = || format!("program {program} of {host} wrote {line:?}");
            let words: Vec<_> = line.split(' ').collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse().ok()).ok_or_else(wrong);
            match (words[0], open.as_mut()) {
                ("in" | "reads" | "takes", None) => {
                    let (token, begin, is_told) = (number(1)?, number(2)?, words.get(3) == Some(&"true"));
                    open = Some(Entry {
                        host: host.into(),
                        program,
                        token,
                        reads: words[0] == "reads",
                        permits: if words[0] == "takes" { number(3)? } else { 0 },
                        is_told,
                        begin,
                        last: begin,
                        read: Read::None,
                        write: Write::None,
                        end: End::Died,
                    });
                }
                ("void", None) => self.void += 1,
                ("late", None) => self.late += 1,
                // After a void one, and after one that was abandoned.
                ("out" | "abandons" | "free" | "ended", None) => {}
                ("read", Some(entry)) => entry.read = Read::Value(number(1)?),
                ("torn", Some(entry)) => entry.read = Read::Torn,
                ("write", Some(entry)) => entry.write = Write::Begun(number(1)?),
                ("written", Some(Entry { write, .. })) => {
                    let Write::Begun(value) = *write else { return Err(wrong()) };
                    *write = Write::Done(value);
                }
                ("refused", Some(entry)) => entry.write = Write::None,
                ("has", Some(entry)) => entry.last = number(1)?,
                ("told", Some(_)) => {}
                ("out", Some(entry)) => entry.end = End::Unlocking,
                ("abandons", Some(_)) => self.entries.extend(open.take()),
                ("free" | "ended", Some(entry)) => {
                    entry.end = if words[0] == "free" { End::Free } else { End::LeaseEnded };
                    self.entries.extend(open.take());
                }
                _ => return Err(wrong()),
            }
        }
        self.entries.extend(open);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_wrote_down_is_read_however_it_ended() {
        let mut history = History::default();
        let text = "late 3\nin 7 10 false\nread 0\nhas 11\nwrite 8\nwritten\nhas 12\nout\nfree\nvoid 8\nout\nended\nin 9 20 true\ntorn\nhas 21\nwrite 9\n";
        let reads = "reads 7 30 false\nread 8\nhas 31\nout\nfree\n";
        let takes = "takes 10 40 3\nhas 41\nout\nfree\n";
        for text in [text, reads, takes] {
            history.add("a", 1, text).unwrap();
        }
        let first = Entry {
            host: "a".into(),
            program: 1,
            token: 7,
            reads: false,
            permits: 0,
            is_told: false,
            begin: 10,
            last: 12,
            read: Read::Value(0),
            write: Write::Done(8),
            end: End::Free,
        };
        let second = Entry {
            token: 9,
            is_told: true,
            begin: 20,
            last: 21,
            read: Read::Torn,
            write: Write::Begun(9),
            end: End::Died,
            ..first.clone()
        };
        let third = Entry {
            reads: true,
            begin: 30,
            last: 31,
            read: Read::Value(8),
            write: Write::None,
            ..first.clone()
        };
        let fourth = Entry {
            token: 10,
            permits: 3,
            begin: 40,
            last: 41,
            read: Read::None,
            write: Write::None,
            ..first.clone()
        };
        assert_eq!(history.entries, [first, second, third, fourth]);
        assert_eq!((history.void, history.late), (1, 1));
    }

    #[test]
    fn a_line_that_means_nothing_is_refused() {
        for text in
            ["read 1", "in 7 10 false\nwritten", "in x 10 false", "takes 1 2 x", "error the file is damaged"]
        {
            let said = History::default().add("a", 1, text).unwrap_err();
            assert!(said.contains(text.lines().last().unwrap()), "{said}");
        }
    }
}
