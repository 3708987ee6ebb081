//! What a report says in numbers.

use super::super::{
    durations::{self, OfLock},
    recorded::Recorded,
    recorded_spans::{End, Kind, Span},
};
use std::collections::{BTreeMap, HashMap};
use turnlock::inspect::Event;

/// Everything.
pub struct Numbers {
    /// Of each lock that the events name, the busiest first.
    pub locks: Vec<LockNumbers>,
    /// Who held which lock, longest in all first.
    pub holders: Vec<HolderNumbers>,
    /// Deaths, in their order.
    pub deaths: Vec<Death>,
}

/// How many of each event. A recording may name a hundred thousand locks, each with its own.
type Counted = [u64; Event::ALL.len()];

fn index(event: Event) -> usize {
    event as usize - Event::ALL[0] as usize
}

/// A lock's.
pub struct LockNumbers {
    /// Which of [`turnlock::inspect::Recording::locks`].
    pub lock: usize,
    /// Its kind, if it is there still.
    pub kind: Option<&'static str>,
    /// How long was waited, and how long it was held.
    pub durations: OfLock,
    /// How many of its events say each, in the order of [`Event::ALL`].
    events: Counted,
    /// The acquisitions, in the order of asking: only those of which both is recorded.
    pub served: Vec<Served>,
}

/// One that asked for a lock and got it.
#[derive(Clone, Copy)]
pub struct Served {
    /// What it held.
    pub hold: Span,
    /// When it asked.
    pub asked: u64,
    /// When it got it.
    pub began: u64,
    /// How many that asked later were served before it, if it and they exclude each other.
    pub overtaken_by: u32,
    /// How much later than it the last of those had asked, nanoseconds.
    pub by_up_to: u64,
}

/// A participant's at a lock.
pub struct HolderNumbers {
    pub participant: usize,
    pub lock: usize,
    /// How often it held it, of those times whose beginning is recorded.
    pub times: u64,
    /// For how long in all, nanoseconds; what it holds now until now.
    pub total: u64,
    /// The longest time.
    pub longest: u64,
}

/// A death.
pub struct Death {
    /// When it was found.
    pub at: u64,
    pub participant: usize,
    pub lock: usize,
    pub fencing_token: Option<u64>,
    /// A reader, or a holder of permits: it leaves nothing that is to be repaired.
    pub shared: bool,
    /// Who marked the lock consistent after it, and when.
    pub recovered: Option<(usize, u64)>,
}

impl LockNumbers {
    /// Returns how many of its events say this.
    pub fn count(&self, event: Event) -> u64 {
        self.events[index(event)]
    }

    /// Returns whether there is one order in which all are to be served: that in which they asked.
    pub fn has_one_order(&self) -> bool {
        matches!(self.kind, None | Some("mutex" | "rwlock"))
    }
}

/// Counts.
pub fn of(recorded: &Recorded) -> Numbers {
    let mut durations = durations::by_lock(&recorded.spans);
    let mut events: BTreeMap<usize, Counted> = BTreeMap::new();
    for event in &recorded.recording.events {
        if let Some(lock) = event.lock {
            events.entry(lock).or_insert([0; Event::ALL.len()])[index(event.event)] += 1;
        }
    }
    let kinds: HashMap<&str, &'static str> =
        recorded.status.locks.iter().map(|lock| (lock.name.as_str(), lock.kind)).collect();
    let mut locks: Vec<LockNumbers> = events
        .into_iter()
        .map(|(lock, events)| {
            let name = recorded.recording.locks[lock].name.as_deref();
            LockNumbers {
                lock,
                kind: name.and_then(|name| kinds.get(name).copied()),
                durations: durations.remove(&lock).unwrap_or_default(),
                events,
                served: Vec::new(),
            }
        })
        .collect();
    let mut served = served(&recorded.spans);
    for lock in &mut locks {
        lock.served = served.remove(&lock.lock).unwrap_or_default();
    }
    locks.sort_by_key(|lock| std::cmp::Reverse(lock.count(Event::Acquired)));
    Numbers { locks, holders: holders(recorded), deaths: deaths(recorded) }
}

/// By lock.
fn served(spans: &[Span]) -> BTreeMap<usize, Vec<Served>> {
    let mut by_lock: BTreeMap<usize, Vec<Served>> = BTreeMap::new();
    for hold in spans.iter().filter(|span| span.kind == Kind::Hold) {
        if let (Some(asked), Some(began)) = (hold.asked, hold.began) {
            let served = Served { hold: *hold, asked, began, overtaken_by: 0, by_up_to: 0 };
            by_lock.entry(hold.lock).or_default().push(served);
        }
    }
    for served in by_lock.values_mut() {
        served.shrink_to_fit();
        count_overtaken(served);
    }
    by_lock
}

/// Puts them into the order of asking, and counts who was overtaken.
fn count_overtaken(served: &mut [Served]) {
    served.sort_by_key(|one| (one.asked, one.began));
    let mut in_order: Vec<usize> = (0..served.len()).collect();
    in_order.sort_by_key(|at| (served[*at].began, *at));
    // Of those served so far: all, and those that exclude all others; and when the last of each asked.
    let (mut all, mut alone) = (Counts::new(served.len()), Counts::new(served.len()));
    let (mut last, mut last_alone) = (0u64, 0u64);
    for at in in_order {
        let one = &mut served[at];
        let (counts, latest) = if one.hold.shared { (&alone, last_alone) } else { (&all, last) };
        one.overtaken_by = counts.above(at);
        one.by_up_to = if one.overtaken_by > 0 { latest.saturating_sub(one.asked) } else { 0 };
        all.add(at);
        last = last.max(one.asked);
        if !one.hold.shared {
            alone.add(at);
            last_alone = last_alone.max(one.asked);
        }
    }
}

/// How many there are up to each place: a Fenwick tree.
struct Counts {
    tree: Vec<u32>,
    all: u32,
}

impl Counts {
    fn new(places: usize) -> Self {
        Self { tree: vec![0; places + 1], all: 0 }
    }

    fn add(&mut self, place: usize) {
        self.all += 1;
        let mut at = place + 1;
        while at < self.tree.len() {
            self.tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    /// In later places than this.
    fn above(&self, place: usize) -> u32 {
        let (mut at, mut below) = (place + 1, 0);
        while at > 0 {
            below += self.tree[at];
            at -= at & at.wrapping_neg();
        }
        self.all - below
    }
}

fn holders(recorded: &Recorded) -> Vec<HolderNumbers> {
    let mut by_both: BTreeMap<(usize, usize), HolderNumbers> = BTreeMap::new();
    let now = recorded.recording.now;
    for span in recorded.spans.iter().filter(|span| span.kind == Kind::Hold) {
        let until = if span.end == End::UnderWay { Some(now) } else { span.ended };
        let (Some(began), Some(until)) = (span.began, until) else { continue };
        let Span { participant, lock, .. } = *span;
        let of = by_both.entry((participant, lock)).or_insert(HolderNumbers {
            participant,
            lock,
            times: 0,
            total: 0,
            longest: 0,
        });
        let span = until.saturating_sub(began);
        of.times += 1;
        of.total = of.total.saturating_add(span);
        of.longest = of.longest.max(span);
    }
    let mut holders: Vec<HolderNumbers> = by_both.into_values().collect();
    holders.sort_by_key(|holder| std::cmp::Reverse(holder.total));
    holders
}

fn deaths(recorded: &Recorded) -> Vec<Death> {
    let mut deaths: Vec<Death> = Vec::new();
    // By lock: those deaths that are not repaired yet.
    let mut open: HashMap<usize, Vec<usize>> = HashMap::new();
    for event in &recorded.recording.events {
        let Some(lock) = event.lock else { continue };
        match event.event {
            Event::Died => {
                if !event.shared {
                    open.entry(lock).or_default().push(deaths.len());
                }
                let (at, participant) = (event.at, event.participant);
                deaths.push(Death {
                    at,
                    participant,
                    lock,
                    fencing_token: event.fencing_token,
                    shared: event.shared,
                    recovered: None,
                });
            }
            Event::Recovered => {
                for at in open.remove(&lock).into_iter().flatten() {
                    deaths[at].recovered = Some((event.participant, event.at));
                }
            }
            _ => {}
        }
    }
    deaths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From when each asked to when it was served, and whether it is shared; by how many it was overtaken, and by how much.
    fn overtaken(asked_and_began: &[(u64, u64, bool)]) -> Vec<(u32, u64)> {
        let span = |(asked, began, shared): (u64, u64, bool)| Span {
            kind: Kind::Hold,
            participant: 0,
            lock: 0,
            asked: Some(asked),
            began: Some(began),
            ended: None,
            end: End::UnderWay,
            shared,
            fencing_token: None,
            group: None,
        };
        let spans: Vec<Span> = asked_and_began.iter().copied().map(span).collect();
        served(&spans)[&0].iter().map(|one| (one.overtaken_by, one.by_up_to)).collect()
    }

    #[test]
    fn who_is_served_after_a_later_one_was_overtaken() {
        assert_eq!(overtaken(&[(0, 10, false), (1, 11, false), (2, 12, false)]), [(0, 0); 3]);
        assert_eq!(overtaken(&[(0, 12, false), (1, 11, false), (5, 10, false)]), [(2, 5), (1, 4), (0, 0)]);
        // The spans need not be in order.
        assert_eq!(overtaken(&[(5, 10, false), (0, 12, false)]), [(1, 5), (0, 0)]);
    }

    #[test]
    fn readers_do_not_overtake_each_other() {
        assert_eq!(overtaken(&[(0, 12, true), (1, 11, true), (2, 10, true)]), [(0, 0); 3]);
        assert_eq!(overtaken(&[(0, 12, true), (1, 11, false), (2, 10, true)]), [(1, 1), (1, 1), (0, 0)]);
    }

    /// Against counting by hand.
    #[test]
    fn counts_agree_with_comparing_all_pairs() {
        let mut state = 12345u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..50 {
            let all: Vec<(u64, u64, bool)> =
                (0..40).map(|at| (at * 10, at * 10 + random(200) * 7 + at % 7, random(3) == 0)).collect();
            let by_hand: Vec<(u32, u64)> = all
                .iter()
                .map(|(asked, began, shared)| {
                    let earlier = all.iter().filter(|(other, served, beside)| {
                        other > asked && (served, other) < (began, asked) && !(*shared && *beside)
                    });
                    let late: Vec<u64> = earlier.map(|(other, ..)| other - asked).collect();
                    (late.len() as u32, late.iter().copied().max().unwrap_or(0))
                })
                .collect();
            assert_eq!(overtaken(&all), by_hand);
        }
    }
}
