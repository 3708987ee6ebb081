//! A mailbox between one producer and one consumer: each message comes whole, once and in order, or there was no room for it;
//! and nothing is written over that is still being read. A death of either, at whatever moment, is to be at that moment: the other goes on, and
//! so may the next one in its place.

use crate::search::two_hold;
use loom::thread;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};
use turnlock::{
    sync::{AtomicU64, Ordering::Relaxed},
    transport::Ring,
};

/// Two words, and room for two messages.
struct Words {
    tail: AtomicU64,
    head: AtomicU64,
    entries: [[AtomicU64; 2]; 2],
}

impl Words {
    fn new() -> Self {
        let word = || AtomicU64::new(0);
        Self { tail: word(), head: word(), entries: [[word(), word()], [word(), word()]] }
    }

    fn ring(&self) -> Ring<'_, 2> {
        Ring { tail: &self.tail, head: &self.head, entries: &self.entries }
    }
}

/// How often something came about in all executions.
#[derive(Default)]
struct Tally {
    full: AtomicUsize,
    empty: AtomicUsize,
    received: AtomicUsize,
    begun: AtomicUsize,
}

fn produce(words: &Words, tally: &Tally) -> u64 {
    let mut sent = 0;
    for _ in 0..4 {
        match words.ring().put(&[sent + 1, sent + 101]).unwrap() {
            true => sent += 1,
            false => drop(tally.full.fetch_add(1, SeqCst)),
        }
    }
    sent
}

fn consume(words: &Words, tally: &Tally, mut received: u64, looks: usize) -> u64 {
    for _ in 0..looks {
        let mut message = [0; 2];
        if words.ring().first(&mut message).unwrap() {
            assert_eq!(message, [received + 1, received + 101], "a torn message, or another than the next");
            words.ring().take();
            received += 1;
            tally.received.fetch_add(1, SeqCst);
        } else {
            tally.empty.fetch_add(1, SeqCst);
        }
    }
    received
}

fn execute(tally: &Arc<Tally>) {
    let words = Arc::new(Words::new());
    let (there, counted) = (words.clone(), tally.clone());
    let producer = thread::spawn(move || produce(&there, &counted));
    let received = consume(&words, tally, 0, 3);
    let sent = producer.join().unwrap();
    let received = consume(&words, tally, received, 2);
    assert_eq!(received, sent, "what was put in and what was taken out");
}

/// The producer dies while it writes its second message; the next one in its place goes on while the consumer reads.
fn execute_with_a_death(tally: &Arc<Tally>) {
    let words = Arc::new(Words::new());
    let (there, counted) = (words.clone(), tally.clone());
    let producer = thread::spawn(move || {
        assert!(there.ring().put(&[1, 101]).unwrap());
        // Half of what a `put` stores.
        there.entries[1][0].store(999, Relaxed);
        counted.begun.fetch_add(1, SeqCst);
        assert!(there.ring().put(&[2, 102]).unwrap());
    });
    let received = consume(&words, tally, 0, 3);
    producer.join().unwrap();
    assert_eq!(consume(&words, tally, received, 2), 2);
}

#[test]
fn messages_come_whole_once_and_in_order() {
    let tally = Arc::new(Tally::default());
    let counted = tally.clone();
    let executions = two_hold("a mailbox", move || execute(&counted));
    let [full, empty, received] =
        [&tally.full, &tally.empty, &tally.received].map(|count| count.load(SeqCst));
    let is_rich = executions > 500 && full > 100 && empty > 100 && received > 1000;
    assert!(is_rich, "{executions} executions, {full} full, {empty} empty, {received} messages");
}

#[test]
fn what_a_dead_producer_began_is_never_there() {
    let tally = Arc::new(Tally::default());
    let counted = tally.clone();
    let executions = two_hold("a mailbox whose producer died", move || execute_with_a_death(&counted));
    assert!(executions > 20 && tally.begun.load(SeqCst) == executions, "{executions} executions");
}

#[cfg(feature = "mutants")]
mod with_mutants {
    use super::*;
    use crate::search::with_mutants::two_fail;
    use turnlock::mutants::Mutant;

    fn is_caught(mutant: Mutant) {
        let tally = Arc::new(Tally::default());
        two_fail(mutant, &["a torn message", "what was put in"], move || execute(&tally));
    }

    #[test]
    fn a_message_that_is_published_before_its_words_is_torn() {
        is_caught(Mutant::TornMessage);
    }

    #[test]
    fn a_message_that_is_taken_before_it_is_read_is_torn() {
        is_caught(Mutant::TakesBeforeReading);
    }
}
