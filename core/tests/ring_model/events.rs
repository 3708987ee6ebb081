//! Who had the turns, one after the other.

use std::sync::atomic::{AtomicUsize as PlainUsize, Ordering::SeqCst};

/// What came about, in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The next turn's holder is told of a death.
    Told,
    Turn(usize),
    Left(usize),
}

/// How many rounds there were in which the turn went from one that stays to another and back: a search that never comes
/// upon one shows nothing of a ring.
pub static ROUNDS: PlainUsize = PlainUsize::new(0);

/// Checks that between two turns of a participant that stays, each other one that stays has one, and no participant has two.
pub fn check_rounds(events: &[Event]) {
    for (at, event) in events.iter().enumerate() {
        let Event::Turn(one) = *event else { continue };
        let after = &events[at + 1..];
        let end = after
            .iter()
            .position(|event| matches!(event, Event::Turn(who) | Event::Left(who) if *who == one));
        let Some(round) = end.filter(|end| after[*end] == Event::Turn(one)).map(|end| &after[..end]) else {
            continue;
        };
        ROUNDS.fetch_add(usize::from(!round.is_empty()), SeqCst);
        let turns_of = |who| round.iter().filter(|event| **event == Event::Turn(who)).count();
        for other in events.iter().filter_map(|event| match event {
            Event::Turn(who) if *who != one => Some(*who),
            _ => None,
        }) {
            let of = |event: &&Event| matches!(event, Event::Turn(who) | Event::Left(who) if *who == other);
            let was_there = events[..at].iter().rev().find(of) == Some(&Event::Turn(other));
            let stays = !round.contains(&Event::Left(other));
            let turns = turns_of(other);
            assert!(turns <= 1, "{other} has {turns} turns between two of {one}");
            assert!(turns == 1 || !was_there || !stays, "{other} was passed over between two turns of {one}");
        }
    }
}
