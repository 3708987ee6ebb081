//! Which wait or hold is drawn on which track: on one, a slice is either inside another or beside it.

use super::super::{recorded::Recorded, recorded_spans::End};
use std::collections::BTreeMap;

/// Larger than any process or thread has on Linux: numbers of tracks that stand for neither.
pub const NOT_A_THREAD: u64 = 10_000_000;

/// A row of slices.
pub struct Track {
    /// Of the process; or a number of its own, if the process is not known.
    pub pid: u64,
    /// Of the thread; or a number of its own, if its participants, or their slices, take more tracks than one.
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
    /// The index of the file.
    pub file: usize,
    /// The index of its span.
    pub span: usize,
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

/// Those participants that one row is for: one, or several of one name, one after the other, of the same thread or of one process
/// each, as commands are that run one after the other.
struct Group {
    pid: u64,
    tid: u64,
    name: String,
    /// When the last of its events was.
    last: u64,
    slices: Vec<Slice>,
}

/// Lays everything out.
pub fn of(files: &[Recorded]) -> Tracks {
    let mut numbers = NOT_A_THREAD..;
    let mut next = || numbers.next().unwrap_or(NOT_A_THREAD);
    let mut groups: Vec<Group> = Vec::new();
    // By process and thread.
    let mut of_thread: BTreeMap<(u64, u64), Vec<usize>> = BTreeMap::new();
    let mut of_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut of_participant = BTreeMap::new();
    for (file, recorded) in files.iter().enumerate() {
        let mut group_of = Vec::new();
        for (at, (participant, (first, last))) in
            recorded.recording.participants.iter().zip(spans(recorded)).enumerate()
        {
            let name = recorded.name(at);
            let thread = match participant.process {
                Some((pid, thread)) => (u64::from(pid), u64::from(thread)),
                None => {
                    let number = next();
                    (number, number)
                }
            };
            let of_thread = of_thread.entry(thread).or_default();
            let of_name = of_name.entry(name.clone()).or_default();
            let is_over = |group: &&usize| groups[**group].last <= first;
            let of_own = of_thread.iter().filter(|group| groups[**group].name == name).find(is_over);
            // Another process's: a thread that goes on has a row of its own beside its siblings'.
            let others = || of_name.iter().filter(|group| groups[**group].pid != thread.0).find(is_over);
            let is_named = participant.process.is_some() && !participant.name.is_empty();
            let fitting = of_own.or_else(|| if is_named && of_thread.is_empty() { others() } else { None });
            let group = fitting.copied().unwrap_or_else(|| {
                let tid = if of_thread.is_empty() { thread.1 } else { next() };
                groups.push(Group { pid: thread.0, tid, name, last, slices: Vec::new() });
                of_name.push(groups.len() - 1);
                groups.len() - 1
            });
            if !of_thread.contains(&group) {
                of_thread.push(group);
            }
            groups[group].last = last;
            of_participant.insert((file, at), (groups[group].pid, groups[group].tid));
            group_of.push(group);
        }
        let (first, last) = (recorded.first(), recorded.last());
        for (at, span) in recorded.spans.iter().enumerate() {
            let (from, to) = span.drawn(first, last);
            groups[group_of[span.participant]].slices.push(Slice { file, span: at, from, to });
        }
    }
    groups.sort_by_key(|group| (group.pid, group.tid));
    let mut all: Vec<Track> = Vec::new();
    for Group { pid, tid, name, mut slices, .. } in groups {
        slices.sort_by_key(|slice| (slice.from, u64::MAX - slice.to));
        let is_new = all.last().is_none_or(|track| track.pid != pid);
        let begin = all.len();
        all.push(Track::new((pid, tid), is_new.then(|| name.clone()), name.clone()));
        for slice in slices {
            let fitting = all[begin..].iter_mut().position(|track| track.has_room(&slice));
            let at = fitting.map_or(all.len(), |at| begin + at);
            if at == all.len() {
                all.push(Track::new((pid, next()), None, format!("{name} ({})", at - begin + 1)));
            }
            all[at].open.push(slice.to);
            all[at].slices.push(slice);
        }
    }
    Tracks { all, of_participant }
}

/// From when to when each participant is named in the events.
fn spans(recorded: &Recorded) -> Vec<(u64, u64)> {
    let mut spans = vec![(u64::MAX, 0); recorded.recording.participants.len()];
    for event in &recorded.recording.events {
        let (first, last) = &mut spans[event.participant];
        (*first, *last) = (event.at.min(*first), event.at.max(*last));
    }
    // What it does now, it does until now.
    let last = recorded.last();
    for span in recorded.spans.iter().filter(|span| span.end == End::UnderWay) {
        spans[span.participant].1 = last;
    }
    spans
}

impl Track {
    fn new((pid, tid): (u64, u64), process: Option<String>, thread: String) -> Self {
        Self { pid, tid, process, thread, slices: Vec::new(), open: Vec::new() }
    }

    /// Returns whether a slice that does not begin before those that are here is inside one of them or behind all.
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
        Slice { file: 0, span: 0, from, to }
    }

    /// Returns whether each of these has room on one track, in this order.
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
