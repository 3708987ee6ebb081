//! The messages of one link, numbered: so that those which a broken connection did not deliver are sent again, and those
//! which it did are not taken twice.

use std::collections::VecDeque;

/// A message that the other end has not confirmed.
pub struct Sent {
    pub number: u64,
    pub is_token: bool,
    pub bytes: Vec<u8>,
}

/// One end of a link, in one life of each of its ends. Outlives connections.
#[derive(Default)]
pub struct Session {
    /// How many messages were sent; the last one's number.
    sent: u64,
    /// The number of the last message that was taken from the other end.
    pub taken: u64,
    unconfirmed: VecDeque<Sent>,
    /// How many of those were written to the present connection.
    written: usize,
}

/// What a message that comes is.
#[derive(Debug, PartialEq, Eq)]
pub enum Comes {
    InTurn,
    /// It was here before.
    Again,
    /// One before it has not come.
    TooEarly,
}

impl Session {
    pub fn send(&mut self, bytes: Vec<u8>, is_token: bool) {
        self.sent += 1;
        self.unconfirmed.push_back(Sent { number: self.sent, is_token, bytes });
    }

    /// How many messages the other end has not confirmed, and how many of them are tokens.
    pub fn unconfirmed(&self) -> (usize, usize) {
        (self.unconfirmed.len(), self.unconfirmed.iter().filter(|sent| sent.is_token).count())
    }

    /// The other end has taken all messages up to this one.
    pub fn is_confirmed(&mut self, number: u64) {
        while self.unconfirmed.front().is_some_and(|sent| sent.number <= number) {
            self.unconfirmed.pop_front();
            self.written = self.written.saturating_sub(1);
        }
    }

    /// There is a new connection, whose other end has taken all messages up to this one. Returns how many are sent again.
    pub fn is_connected(&mut self, number: u64) -> usize {
        self.is_confirmed(number);
        std::mem::take(&mut self.written)
    }

    /// The next message to be written to the connection.
    pub fn next_to_write(&mut self) -> Option<&Sent> {
        let next = self.unconfirmed.get(self.written)?;
        self.written += 1;
        Some(next)
    }

    /// Whether the message of this number is the next one. It is taken if so.
    pub fn comes(&mut self, number: u64) -> Comes {
        if number <= self.taken {
            Comes::Again
        } else if number > self.taken + 1 {
            Comes::TooEarly
        } else {
            self.taken = number;
            Comes::InTurn
        }
    }

    /// For wrong transports: what was not confirmed is forgotten.
    pub fn forget_unconfirmed(&mut self) {
        self.unconfirmed.clear();
        self.written = 0;
    }
}

#[test]
fn a_session_sends_again_what_was_not_taken_and_takes_nothing_twice() {
    let (mut here, mut there) = (Session::default(), Session::default());
    (1..=3).for_each(|byte| here.send(vec![byte], byte == 2));
    assert_eq!(here.unconfirmed(), (3, 1));
    for _ in 0..2 {
        let number = here.next_to_write().unwrap().number;
        assert_eq!(there.comes(number), Comes::InTurn);
    }
    here.is_confirmed(1);
    // The second one was taken, but this side does not know; the third was not written.
    assert_eq!(here.is_connected(there.taken), 0);
    assert_eq!(here.next_to_write().map(|sent| sent.bytes.clone()), Some(vec![3]));
    assert_eq!(here.is_connected(1), 1, "nothing of the third was heard");
    assert_eq!(there.comes(2), Comes::Again);
    assert_eq!(there.comes(4), Comes::TooEarly);
    assert_eq!(there.comes(here.next_to_write().unwrap().number), Comes::InTurn);
    assert!(here.next_to_write().is_none());
}
