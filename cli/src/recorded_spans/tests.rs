//! Events, and the waits and holds that they come to.

use super::*;

/// Events one nanosecond after the other: what, in which slot (by the participant of the same number), at which lock.
fn spans(events: &[(Event, usize, usize)]) -> Vec<Span> {
    of_events(events.iter().enumerate().map(|(at, (event, slot, lock))| Happened {
        at: at as u64,
        event: *event,
        slot: *slot,
        participant: *slot,
        lock: (!matches!(event, Event::Attached | Event::Detached)).then_some(*lock),
        shared: false,
        fencing_token: matches!(event, Event::Acquired | Event::Released | Event::Died).then_some(7),
        group: None,
        unlocks: None,
    }))
}

/// Kind, beginning, end, and how it ended.
fn told(spans: &[Span]) -> Vec<(Kind, Option<u64>, Option<u64>, End)> {
    spans.iter().map(|span| (span.kind, span.began, span.ended, span.end)).collect()
}

use Event::*;
use Kind::{Hold, Wait};

#[test]
fn asking_acquiring_and_releasing_are_a_wait_and_a_hold() {
    let seen = spans(&[(Asked, 1, 0), (Asked, 2, 0), (Acquired, 1, 0), (Released, 1, 0), (Acquired, 2, 0)]);
    assert_eq!(
        told(&seen),
        [
            (Wait, Some(0), Some(2), End::Acquired),
            (Wait, Some(1), Some(4), End::Acquired),
            (Hold, Some(2), Some(3), End::Released),
            (Hold, Some(4), None, End::UnderWay),
        ]
    );
    assert_eq!(seen[3].asked, Some(1));
    assert!(seen.iter().all(|span| span.fencing_token == Some(7)));
    assert_eq!((seen[1].nanoseconds(), seen[3].nanoseconds()), (Some(3), None));
    assert_eq!((seen[1].drawn(0, 9), seen[3].drawn(0, 9)), ((1, 4), (4, 9)));
}

#[test]
fn each_way_to_give_up_ends_the_wait_alone() {
    for (event, end) in [(WouldBlock, End::WouldBlock), (TimedOut, End::TimedOut), (GaveUp, End::GaveUp)] {
        let seen = spans(&[(Asked, 1, 0), (event, 1, 0), (Asked, 1, 0), (Acquired, 1, 0)]);
        assert_eq!(told(&seen)[0], (Wait, Some(0), Some(1), end));
        assert_eq!((seen.len(), seen[2].asked), (3, Some(2)));
    }
    // A holder that asks again is refused, and holds it still.
    let refused = spans(&[(Acquired, 1, 0), (Asked, 1, 0), (GaveUp, 1, 0), (Released, 1, 0)]);
    assert_eq!(told(&refused)[1], (Hold, Some(0), Some(3), End::Released));
}

#[test]
fn a_wait_for_what_is_no_lock_has_its_ends() {
    for (begins, event, end) in [
        (WaitBegan, Woken, End::Woken),
        (WaitBegan, TimedOut, End::TimedOut),
        (WaitBegan, WaiterDied, End::Died),
        (Arrived, Woken, End::Woken),
        (Arrived, Completed, End::Woken),
        (Arrived, GaveUp, End::GaveUp),
        (Arrived, PartyDied, End::Died),
        (AskedInGroup, CircularWait, End::CircularWait),
    ] {
        assert_eq!(told(&spans(&[(begins, 1, 0), (event, 1, 0)])), [(Wait, Some(0), Some(1), end)]);
    }
    // A party that died elsewhere, and what happens there besides.
    let none =
        spans(&[(PartyDied, 1, 0), (Set, 1, 0), (NotifyOne, 1, 0), (BrokenByDeath, 1, 0), (Reset, 1, 0)]);
    assert_eq!(none, []);
}

/// The hold and the wait would overlap, with none inside the other.
#[test]
fn a_wait_at_a_condition_begins_where_its_lock_is_unlocked() {
    let event = |at, event, lock| Happened {
        at,
        event,
        slot: 1,
        participant: 0,
        lock: Some(lock),
        shared: false,
        fencing_token: None,
        group: None,
        unlocks: (event == WaitBegan).then_some(0),
    };
    let events = [
        event(0, Acquired, 0),
        event(1, Acquired, 2),
        event(2, WaitBegan, 1),
        event(3, Released, 0),
        event(5, Woken, 1),
        event(6, Acquired, 0),
        // Another lock, and the same one later, are no part of the wait.
        event(7, WaitBegan, 1),
        event(8, Released, 2),
        event(9, Released, 0),
    ];
    let seen = of_events(events.into_iter());
    let waits: Vec<_> = seen.iter().filter(|span| span.lock == 1).map(|span| span.began).collect();
    assert_eq!(waits, [Some(3), Some(7)]);
}

#[test]
fn what_began_before_the_first_event_has_an_end_and_no_beginning() {
    let seen = spans(&[(Acquired, 1, 0), (Released, 2, 1), (Died, 3, 2), (TimedOut, 4, 3)]);
    assert_eq!(
        told(&seen),
        [
            (Wait, None, Some(0), End::Acquired),
            (Hold, Some(0), None, End::UnderWay),
            (Hold, None, Some(1), End::Released),
            (Hold, None, Some(2), End::Died),
            (Wait, None, Some(3), End::TimedOut),
        ]
    );
    assert_eq!(seen[1].asked, None);
    // It is drawn from the first event on, and takes an unknown time.
    assert_eq!((seen[3].drawn(1, 9), seen[3].nanoseconds()), ((1, 2), None));
}

#[test]
fn an_event_that_is_missing_in_between_is_not_made_up() {
    let seen = spans(&[(Asked, 1, 0), (Asked, 1, 0), (Acquired, 1, 0), (Acquired, 1, 0)]);
    assert_eq!(
        told(&seen),
        [
            (Wait, Some(0), None, End::Unknown),
            (Wait, Some(1), Some(2), End::Acquired),
            (Hold, Some(2), None, End::Unknown),
            (Wait, Some(3), None, End::Acquired),
            (Hold, Some(3), None, End::UnderWay),
        ]
    );
    assert_eq!(seen[2].drawn(0, 9), (2, 2));
}

#[test]
fn who_is_gone_neither_waits_nor_holds() {
    let seen = spans(&[(Asked, 1, 0), (Acquired, 1, 1), (Asked, 2, 0), (Detached, 1, 0)]);
    let gone: Vec<End> = seen.iter().map(|span| span.end).collect();
    assert_eq!(gone, [End::Left, End::Acquired, End::Left, End::UnderWay]);
    assert_eq!(seen[0].ended, Some(3));
}

/// `turnlock lock --fd` leaves its slot, and the lock, to the shell.
#[test]
fn a_slot_that_changes_hands_takes_its_locks_along() {
    let event = |at, event, participant, lock| Happened {
        at,
        event,
        slot: 1,
        participant,
        lock,
        shared: false,
        fencing_token: None,
        group: None,
        unlocks: None,
    };
    let seen = of_events(
        [
            event(0, Asked, 0, Some(0)),
            event(1, Acquired, 0, Some(0)),
            event(2, Asked, 0, Some(1)),
            event(3, Attached, 5, None),
            event(4, Released, 5, Some(0)),
        ]
        .into_iter(),
    );
    assert_eq!((seen[1].participant, seen[1].ended, seen[1].end), (5, Some(4), End::Released));
    assert_eq!((seen[2].end, seen.len()), (End::Unknown, 3));
}

/// At lock 0, one nanosecond after the other, by the participant in slot 1: what, whether it shares the lock, and the fencing
/// token.
fn told_of(events: &[(Event, bool, Option<u64>)]) -> Vec<Span> {
    of_events(events.iter().enumerate().map(|(at, (event, shared, fencing_token))| Happened {
        at: at as u64,
        event: *event,
        slot: 1,
        participant: 0,
        lock: (*event != Attached).then_some(0),
        shared: *shared,
        fencing_token: *fencing_token,
        group: None,
        unlocks: None,
    }))
}

/// A reader may ask for more, and a writer be content with less: it holds the lock throughout.
#[test]
fn an_upgrade_and_a_downgrade_end_a_hold_and_begin_another() {
    let seen = told_of(&[
        (Asked, true, None),
        (Acquired, true, None),
        (Asked, false, None),
        (Acquired, false, Some(8)),
        (Acquired, true, Some(8)),
        (Released, true, Some(8)),
    ]);
    assert_eq!(
        told(&seen),
        [
            (Wait, Some(0), Some(1), End::Acquired),
            (Hold, Some(1), Some(3), End::Upgraded),
            (Wait, Some(2), Some(3), End::Acquired),
            (Hold, Some(3), Some(4), End::Downgraded),
            (Hold, Some(4), Some(5), End::Released),
        ]
    );
    let holds: Vec<&Span> = seen.iter().filter(|span| span.kind == Hold).collect();
    assert_eq!([0, 1, 2].map(|at| holds[at].shared), [true, false, true]);
    assert_eq!([0, 1, 2].map(|at| holds[at].asked), [Some(0), Some(2), None]);
    assert_eq!([0, 1, 2].map(|at| holds[at].fencing_token), [None, Some(8), Some(8)]);
}

#[test]
fn an_upgrade_in_vain_leaves_the_hold_as_it_was() {
    for (event, end) in [(WouldBlock, End::WouldBlock), (TimedOut, End::TimedOut), (GaveUp, End::GaveUp)] {
        let seen = told_of(&[
            (Acquired, true, None),
            (Asked, false, None),
            (event, false, None),
            (Released, true, None),
        ]);
        assert_eq!(
            told(&seen)[1..],
            [(Hold, Some(0), Some(3), End::Released), (Wait, Some(1), Some(2), end)]
        );
    }
    // Who dies while it waits for an upgrade dies holding what it had.
    let dead = told_of(&[(Acquired, true, None), (Asked, false, None), (Died, true, None)]);
    assert_eq!(told(&dead)[1], (Hold, Some(0), Some(2), End::Died));
}

/// Another one's lock with another token: what ended the first hold is missing.
#[test]
fn a_new_fencing_token_is_no_downgrade() {
    let seen = told_of(&[(Acquired, false, Some(7)), (Acquired, true, Some(8))]);
    assert_eq!(seen[1].end, End::Unknown);
}

/// A process that is killed when it has just got a lock.
#[test]
fn who_died_without_having_recorded_its_hold_did_not_hold_since_the_beginning() {
    let moment = (Hold, Some(3), None, End::Died);
    let attached = told_of(&[
        (Attached, false, None),
        (Asked, false, None),
        (TimedOut, false, None),
        (Died, false, Some(7)),
    ]);
    assert_eq!(told(&attached)[1], moment);
    assert_eq!((attached[1].drawn(0, 9), attached[1].nanoseconds()), ((3, 3), None));

    let released = told_of(&[
        (Acquired, false, Some(6)),
        (Released, false, Some(6)),
        (Asked, false, None),
        (Died, false, Some(7)),
    ]);
    assert_eq!(told(&released)[2..], [(Wait, Some(2), None, End::Unknown), moment]);

    let asked = told_of(&[
        (WouldBlock, false, None),
        (WouldBlock, false, None),
        (Asked, false, None),
        (Died, false, Some(7)),
    ]);
    assert_eq!(told(&asked)[3], moment);

    // A reader since before the first event that died when it had asked for more.
    let reader = told_of(&[(Asked, false, None), (Died, true, None)]);
    assert_eq!(told(&reader)[1], (Hold, None, Some(1), End::Died));
}
