//! The oracle: a file that all participants append to, under the lock, and that is checked afterwards.
//!
//! Each line is one write at the end of the file: `e <who> <fencing token>` once inside, `l <who> <fencing token>` before
//! leaving, and `d <who>` by the supervisor, once it has seen the process end and before it tells the others.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::Path,
};

/// One end of the journal to write at.
pub struct Journal(File);

impl Journal {
    pub fn open(path: &Path) -> Self {
        Self(OpenOptions::new().create(true).append(true).open(path).unwrap())
    }

    pub fn enters(&mut self, who: usize, fencing_token: u64) {
        self.write(&format!("e {who} {fencing_token}\n"));
    }

    pub fn leaves(&mut self, who: usize, fencing_token: u64) {
        self.write(&format!("l {who} {fencing_token}\n"));
    }

    pub fn died(&mut self, who: usize) {
        self.write(&format!("d {who}\n"));
    }

    fn write(&mut self, line: &str) {
        self.0.write_all(line.as_bytes()).unwrap();
    }
}

/// What the journal shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// How often each has entered.
    pub entries: Vec<usize>,
    pub inside: Option<usize>,
    pub last_fencing_token: u64,
}

impl Shown {
    pub fn all(&self) -> usize {
        self.entries.iter().sum()
    }
}

/// Reads the journal: at most one is inside, and fencing tokens rise.
pub fn read(path: &Path, n: usize) -> Result<Shown, String> {
    // The last line may be under way.
    let text = fs::read_to_string(path).unwrap_or_default();
    let whole = &text[..text.rfind('\n').map_or(0, |at| at + 1)];
    check(whole, n)
}

fn check(text: &str, n: usize) -> Result<Shown, String> {
    let mut shown = Shown { entries: vec![0; n], ..Shown::default() };
    for (at, line) in text.lines().enumerate() {
        let words: Vec<u64> = line.split(' ').skip(1).map(|word| word.parse().unwrap()).collect();
        let who = words[0] as usize;
        let wrong = |what: String| {
            let before: Vec<_> = text.lines().take(at + 1).collect();
            let last = before[before.len().saturating_sub(6)..].join(", ");
            Err(format!("line {}: {what}; the last lines: {last}", at + 1))
        };
        match line.as_bytes()[0] {
            b'e' => {
                if let Some(other) = shown.inside {
                    return wrong(format!("participant {who} enters while {other} is inside"));
                }
                if words[1] <= shown.last_fencing_token {
                    return wrong(format!("fencing token {} after {}", words[1], shown.last_fencing_token));
                }
                (shown.inside, shown.last_fencing_token) = (Some(who), words[1]);
                shown.entries[who] += 1;
            }
            b'l' if shown.inside != Some(who) => {
                return wrong(format!("participant {who} leaves, and is not inside"));
            }
            b'l' => shown.inside = None,
            _ => shown.inside = shown.inside.filter(|inside| *inside != who),
        }
    }
    Ok(shown)
}

#[test]
fn the_oracle_sees_two_inside_and_a_fencing_token_that_does_not_rise() {
    let shown = check("e 0 3\nl 0 3\ne 1 4\nd 1\ne 0 9\n", 2).unwrap();
    assert_eq!(shown, Shown { entries: vec![2, 1], inside: Some(0), last_fencing_token: 9 });
    assert!(check("e 0 3\ne 1 4\n", 2).unwrap_err().contains("participant 1 enters while 0 is inside"));
    assert!(check("e 0 3\nl 0 3\ne 1 3\n", 2).unwrap_err().contains("fencing token 3 after 3"));
    assert!(check("e 0 3\nl 1 3\n", 2).unwrap_err().contains("is not inside"));
}
