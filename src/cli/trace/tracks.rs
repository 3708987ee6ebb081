//! Which wait or hold is drawn on which track: on one, a slice is either inside another or beside it.

use super::super::recorded::Recorded;
use std::collections::BTreeMap;

/// Larger than any process or thread has on Linux: numbers of tracks that stand for neither.
pub const NOT_A_THREAD: u64 = 10_000_000;

/// A row of slices.
pub struct Track {
    /// Of the process; or a number of its own, if the process is not known.
    pub pid: u64,
    /// Of the thread; or a number of its own, if the slices of the thread take more tracks than one.
    pub tid: u64,
    /// What the process is called; `None`: another of its tracks says so.
    pub process: Option<String>,
    /// What the thread is called.
    pub thread: String,
    /// The slices, each behind the one that it is inside of.
    pub slices: Vec<Slice>,
    /// When those end that are open, the innermost last.
    open: Vec<u64>,
}

/// A wait or a hold, as it is drawn.
#[derive(Clone, Copy)]
pub struct Slice {
    /// Which of the files.
    pub file: usize,
    /// Which of its spells.
    pub spell: usize,
    /// From when to when.
    pub from: u64,
    /// See `from`.
    pub to: u64,
}

/// All tracks, and where each participant's own one is: by its file and its number there.
pub struct Tracks {
    /// In the order of their numbers.
    pub all: Vec<Track>,
    /// The process and thread for what concerns a participant and is no slice.
    pub of_participant: BTreeMap<(usize, usize), (u64, u64)>,
}

/// Lays everything out.
pub fn of(files: &[Recorded]) -> Tracks {
    let mut threads: BTreeMap<(u64, u64), (String, Vec<Slice>)> = BTreeMap::new();
    let mut of_participant = BTreeMap::new();
    for (file, recorded) in files.iter().enumerate() {
        for (at, participant) in recorded.recording.participants.iter().enumerate() {
            let place = match participant.process {
                Some((pid, thread)) => (u64::from(pid), u64::from(thread)),
                None => {
                    let number = NOT_A_THREAD + of_participant.len() as u64;
                    (number, number)
                }
            };
            of_participant.insert((file, at), place);
            // A thread is called what it was called last.
            threads.entry(place).or_default().0 = recorded.name(at);
        }
        let (first, last) = (recorded.first(), recorded.last());
        for (at, spell) in recorded.spells.iter().enumerate() {
            let (from, to) = spell.drawn(first, last);
            let place = &of_participant[&(file, spell.participant)];
            let slices = threads.get_mut(place).map(|(_, slices)| slices);
            slices.into_iter().for_each(|slices| slices.push(Slice { file, spell: at, from, to }));
        }
    }
    let mut all: Vec<Track> = Vec::new();
    let mut more = NOT_A_THREAD + of_participant.len() as u64;
    for ((pid, tid), (name, mut slices)) in threads {
        slices.sort_by_key(|slice| (slice.from, u64::MAX - slice.to));
        let is_new = all.last().is_none_or(|track| track.pid != pid);
        let begin = all.len();
        all.push(Track::new((pid, tid), is_new.then(|| name.clone()), name.clone()));
        for slice in slices {
            let fitting = all[begin..].iter_mut().position(|track| track.has_room(&slice));
            let at = fitting.map_or(all.len(), |at| begin + at);
            if at == all.len() {
                all.push(Track::new((pid, more), None, format!("{name} ({})", at - begin + 1)));
                more += 1;
            }
            all[at].open.push(slice.to);
            all[at].slices.push(slice);
        }
    }
    Tracks { all, of_participant }
}

impl Track {
    fn new((pid, tid): (u64, u64), process: Option<String>, thread: String) -> Self {
        Self { pid, tid, process, thread, slices: Vec::new(), open: Vec::new() }
    }

    /// Whether a slice that does not begin before those that are here is inside one of them or behind all.
    fn has_room(&mut self, slice: &Slice) -> bool {
        while self.open.last().is_some_and(|end| *end <= slice.from) {
            self.open.pop();
        }
        self.open.last().is_none_or(|end| slice.to <= *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(from: u64, to: u64) -> Slice {
        Slice { file: 0, spell: 0, from, to }
    }

    /// Whether each of these has room on one track, in this order.
    fn room(slices: &[(u64, u64)]) -> Vec<bool> {
        let mut track = Track::new((1, 1), None, String::new());
        let has_room = |(from, to): &(u64, u64)| {
            let has = track.has_room(&slice(*from, *to));
            if has {
                track.open.push(*to);
            }
            has
        };
        slices.iter().map(has_room).collect()
    }

    #[test]
    fn a_slice_is_inside_another_or_behind_it() {
        assert_eq!(room(&[(0, 10), (2, 5), (5, 10), (10, 12)]), [true; 4]);
        assert_eq!(room(&[(0, 10), (2, 12)]), [true, false]);
        assert_eq!(room(&[(0, 10), (2, 5), (3, 8), (6, 9)]), [true, true, false, true]);
        assert_eq!(room(&[(3, 3), (3, 3), (3, 7)]), [true; 3]);
    }
}
