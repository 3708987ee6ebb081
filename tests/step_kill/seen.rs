//! What others can see of a victim: the bytes of the files that it has mapped to share and to write, and its marks in
//! the arena. Everything else that they can see (names, descriptors, locks on files, other mappings) changes by system
//! calls only.

use super::arena::Arena;
use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
};

/// What it was when it was last looked at.
pub struct Seen {
    memory: Option<File>,
    /// Begin and end of each mapping. They change by system calls only.
    mappings: Vec<(u64, u64)>,
    bytes: Vec<u8>,
    fresh: Vec<u8>,
    arena: &'static Arena,
    marks: [u64; 8],
}

impl Seen {
    /// Of a thread that is stopped, and makes no system call while this is in use.
    pub fn of(thread: i32, arena: &'static Arena) -> Self {
        // Gone, with all its memory, if the thread is no more.
        let mappings = fs::read_to_string(format!("/proc/{thread}/maps")).unwrap_or_default();
        let mappings: Vec<_> = mappings.lines().filter_map(shared_file).collect();
        let bytes = mappings.iter().map(|(begin, end)| (end - begin) as usize).sum();
        let memory = File::open(format!("/proc/{thread}/mem")).ok();
        let mut seen =
            Self { memory, mappings, bytes: vec![0; bytes], fresh: vec![0; bytes], arena, marks: [0; 8] };
        seen.has_changed();
        seen
    }

    /// Whether it is something else than at the last look.
    pub fn has_changed(&mut self) -> bool {
        let mut at = 0;
        for (begin, end) in &self.mappings {
            let bytes = &mut self.fresh[at..at + (end - begin) as usize];
            let read = self.memory.as_ref().map(|memory| memory.read_exact_at(bytes, *begin));
            // A thread that came to its end takes its memory along.
            if !matches!(read, Some(Ok(()))) {
                return true;
            }
            at += bytes.len();
        }
        let marks = self.arena.marks();
        let changed = self.fresh != self.bytes || marks != self.marks;
        std::mem::swap(&mut self.fresh, &mut self.bytes);
        self.marks = marks;
        changed
    }
}

/// Begin and end of a mapping of a file that is shared and can be written, by its line in `/proc/PID/maps`, see proc(5).
/// Memory without a file, shared with forked children, is listed as `/dev/zero`: arenas, of which each victim writes to
/// one.
fn shared_file(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (range, rights) = (words.next()?, words.next()?);
    let (begin, end) = range.split_once('-')?;
    let is_of_file = !line.contains(" /dev/zero");
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    (rights == "rw-s" && is_of_file).then_some((number(begin)?, number(end)?))
}
