//! The journal that the programs write: a line for every turn, with whose it was and its fencing token.

use super::programs::Language;

/// One turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Whose.
    pub language: Language,
    /// With which fencing token.
    pub fencing_token: u64,
}

/// Returns every turn, in the order of the journal. A line that is no turn is an error, with its number.
pub fn parse(journal: &str) -> Result<Vec<Turn>, String> {
    let turn = |line: &str| {
        let (name, token) = line.split_once(' ')?;
        Some(Turn { language: Language::of(name)?, fencing_token: token.parse().ok()? })
    };
    journal
        .lines()
        .enumerate()
        .map(|(at, line)| {
            turn(line).ok_or_else(|| format!("line {} of the journal is no turn: {line:?}", at + 1))
        })
        .collect()
}

/// How many turns each program has had so far, for showing progress: reads only what was added since it last looked.
#[derive(Default)]
pub struct Progress {
    read: usize,
    turns: [u64; Language::ALL.len()],
}

impl Progress {
    /// Takes in what is now in the journal from where it has read to.
    pub fn take_in(&mut self, added: &str) {
        let whole = added.rfind('\n').map_or(0, |end| end + 1);
        for line in added[..whole].lines() {
            let language = line.split_once(' ').and_then(|(name, _)| Language::of(name));
            if let Some(language) = language {
                self.turns[language as usize] += 1;
            }
        }
        self.read += whole;
    }

    /// Returns how many bytes of the journal it has read.
    pub fn bytes(&self) -> u64 {
        self.read as u64
    }

    /// Turns of one program.
    pub fn of(&self, language: Language) -> u64 {
        self.turns[language as usize]
    }

    /// Turns of all programs.
    pub fn all(&self) -> u64 {
        self.turns.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_its_turns() {
        let turns = parse("counter.c 7\ncounter.cpp 18446744073709551615\n");
        let expected = [
            Turn { language: Language::C, fencing_token: 7 },
            Turn { language: Language::Cpp, fencing_token: u64::MAX },
        ];
        assert_eq!(turns.as_deref(), Ok(&expected[..]));
        for broken in ["counter.c 7\ncount", "counter.d 7", "counter.c -7", "counter.c", "\n"] {
            assert!(parse(broken).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn progress_waits_for_the_end_of_a_line() {
        let mut progress = Progress::default();
        progress.take_in("counter.c 1\ncounter.py 2\ncoun");
        assert_eq!((progress.of(Language::C), progress.of(Language::Python), progress.all()), (1, 1, 2));
        assert_eq!(progress.bytes(), 25);
        progress.take_in("counter.c 3\n");
        assert_eq!((progress.of(Language::C), progress.all()), (2, 3));
    }
}
