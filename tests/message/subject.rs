//! The machines, as searches and simulations want them.

use std::hash::Hash;
use turnlock::message::{Bakery, LamportQueue, Machine, RicartAgrawala, TokenRing};

/// A machine that can be searched.
pub trait Subject:
    Machine<Message: Hash + Eq + std::fmt::Debug> + Clone + Hash + Eq + std::fmt::Debug
{
    /// Of how many tokens one is the privilege: 0 has a machine without tokens.
    fn tokens(&self) -> usize {
        1
    }
    /// Participant `me` of the lock that `other` is of, having lost its state or never been there.
    fn at(other: &Self, me: usize, life: u32) -> Self;
    /// One that has lost its state and takes up its place again at once, if the machine can.
    fn restarted(&self, _life: u32) -> Option<Self> {
        None
    }
    /// Shows the numbers of which only differences matter.
    fn visit_numbers(&mut self, _visit: impl FnMut(usize, &mut u64)) {}
    /// The same of a message.
    fn visit_numbers_of(_: &mut Self::Message, _tokens: usize, _visit: impl FnMut(usize, &mut u64)) {}
}

impl Subject for LamportQueue {
    fn tokens(&self) -> usize {
        0
    }
    fn at(other: &Self, me: usize, life: u32) -> Self {
        Self::absent(other.participants(), me, life).unwrap()
    }
}

impl Subject for Bakery {
    fn tokens(&self) -> usize {
        0
    }
    fn at(other: &Self, me: usize, life: u32) -> Self {
        Self::absent(other.participants(), me, life).unwrap()
    }
}

impl Subject for RicartAgrawala {
    fn at(other: &Self, me: usize, life: u32) -> Self {
        Self::absent(other.participants(), me, life).unwrap()
    }
}

/// How many tokens a search has room for.
pub const MOST_TOKENS: usize = 4;

impl Subject for TokenRing {
    fn tokens(&self) -> usize {
        self.tokens()
    }
    fn at(other: &Self, me: usize, life: u32) -> Self {
        Self::absent(other.participants(), me, life, other.tokens()).unwrap()
    }
    fn restarted(&self, life: u32) -> Option<Self> {
        Some(Self::restarted(self.participants(), self.me(), life, self.tokens(), self.next()).unwrap())
    }
    fn visit_numbers(&mut self, visit: impl FnMut(usize, &mut u64)) {
        Self::visit_numbers(self, visit);
    }
    fn visit_numbers_of(message: &mut Self::Message, tokens: usize, visit: impl FnMut(usize, &mut u64)) {
        message.visit_numbers(tokens, visit);
    }
}
