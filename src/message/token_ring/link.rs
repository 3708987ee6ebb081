//! One process's part of the ring: whom it sends to, and how that changes without one token overtaking another.
//!
//! Each process is responsible for the part of the circle of numbers between itself and the next one. Only it lets
//! somebody in there, and only when its link to the next one is empty, which that one has said. A process that leaves
//! gives its part to the one before it.

use super::{super::Action, say::TokenRingMessage as Say};

type Actions = Vec<Action<Say>>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Link {
    me: usize,
    /// Whom tokens go to; `me`, when alone.
    pub next: usize,
    /// The mark that is unanswered, for which what is to be sent is held back.
    mark: Option<Mark>,
    /// The number of the last mark; the life in its high half.
    round: u64,
    /// The life with which each wants to join; 0: it does not.
    joiners: Box<[u32]>,
    /// `next` wants to leave.
    next_leaves: bool,
    /// The one before has asked to be answered when this process is free to go, by this mark.
    marked_by: Option<(usize, u64)>,
    /// Nothing was sent since `next` said, after that mark, that all has come.
    is_clear: bool,
    /// Who was let in last, with which life, and whom it was told to send to.
    let_in: Option<(usize, u32, usize)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Mark {
    round: u64,
    to_leave: bool,
    /// It is to clear the link for this process's own departure.
    for_departure: bool,
}

impl Link {
    pub fn new(participants: usize, me: usize, life: u32, next: usize) -> Self {
        Self {
            me,
            next,
            mark: None,
            round: u64::from(life) << 32,
            joiners: vec![0; participants].into(),
            next_leaves: false,
            marked_by: None,
            is_clear: false,
            let_in: None,
        }
    }

    /// Returns whether tokens may be sent.
    pub fn is_open(&self) -> bool {
        self.mark.is_none()
    }

    /// A token is sent.
    pub fn sends(&mut self) {
        self.is_clear = false;
    }

    /// This process has been let in.
    pub fn begins_at(&mut self, next: usize) {
        self.next = next;
    }

    pub fn wants_to_join(&mut self, from: usize, life: u32, actions: &mut Actions) {
        match self.let_in {
            // It asked again before it was told.
            Some((peer, same, next)) if peer == from && same == life && self.next == from => {
                actions.push(Action::Send { to: from, message: Say::Welcome { life, next } });
            }
            _ => self.joiners[from] = life,
        }
    }

    pub fn wants_to_leave(&mut self, from: usize) {
        self.joiners[from] = 0;
        self.next_leaves |= self.next == from;
    }

    pub fn is_down(&mut self, peer: usize) {
        self.joiners[peer] = 0;
    }

    /// The one before asks this process, which leaves, to say when it is free to go.
    pub fn is_marked(&mut self, from: usize, round: u64) {
        if self.marked_by != Some((from, round)) {
            self.marked_by = Some((from, round));
            self.is_clear = false;
        }
    }

    /// `from` has answered a mark.
    pub fn is_clear(&mut self, from: usize, round: u64, next: usize, actions: &mut Actions) {
        let is_answered = self.mark.is_some_and(|mark| mark.round == round);
        // One that has left is left, whatever became of the mark: this process may have lost it with its state.
        if from != self.next || !(is_answered || next != from) {
            return;
        }
        let mark = self.mark.take();
        if next != from || mark.is_some_and(|mark| mark.to_leave) {
            self.next_leaves = false;
        }
        self.next = next;
        if mark.is_some_and(|mark| mark.for_departure) {
            self.is_clear = true;
        } else {
            self.let_in(actions);
        }
    }

    /// The number of steps round the circle from this process.
    fn steps_to(&self, peer: usize) -> usize {
        let participants = self.joiners.len();
        (peer + participants - self.me - 1) % participants + 1
    }

    /// Who wants to join in the part of the circle that this process is responsible for: the first, if there are several.
    fn joiner(&mut self) -> Option<usize> {
        let part = self.steps_to(self.next);
        let here = |peer: usize| (peer + self.joiners.len() - self.me - 1) % self.joiners.len() + 1 < part;
        let joiner = (0..self.joiners.len()).filter(|peer| self.joiners[*peer] != 0 && here(*peer));
        let joiner = joiner.min_by_key(|peer| self.steps_to(*peer));
        // Others let in who is not in this part.
        let elsewhere: Vec<usize> = (0..self.joiners.len()).filter(|peer| !here(*peer)).collect();
        elsewhere.into_iter().for_each(|peer| self.joiners[peer] = 0);
        joiner
    }

    /// The link is empty: somebody may come in between.
    fn let_in(&mut self, actions: &mut Actions) {
        if let Some(peer) = self.joiner() {
            let (life, next) = (self.joiners[peer], self.next);
            self.joiners[peer] = 0;
            actions.push(Action::Send { to: peer, message: Say::Welcome { life, next } });
            self.let_in = Some((peer, life, next));
            self.next = peer;
            self.next_leaves = false;
        }
    }

    /// Begins a change of the link, if one is wanted and none is under way.
    pub fn go_on(&mut self, is_leaving: bool, actions: &mut Actions) {
        if self.mark.is_some() {
            return;
        }
        if self.next == self.me {
            // There is no link that would have to be empty.
            self.let_in(actions);
            return;
        }
        let for_departure = self.marked_by.is_some() && !self.is_clear;
        // Of those that leave, one waits for the next one only if that has the larger number: so they never wait in a
        // circle.
        let to_leave = self.next_leaves && (!is_leaving || self.me < self.next) && self.marked_by.is_none();
        let lets_in = self.marked_by.is_none() && self.joiner().is_some();
        if for_departure || to_leave || lets_in {
            self.round += 1;
            self.mark = Some(Mark { round: self.round, to_leave, for_departure });
            self.mark_again(actions);
        }
    }

    /// Sends an unanswered mark again.
    pub fn mark_again(&self, actions: &mut Actions) {
        if let Some(Mark { round, to_leave, .. }) = self.mark {
            actions.push(Action::Send { to: self.next, message: Say::Mark { round, to_leave } });
        }
    }

    /// Returns whom to tell, by which mark, if this process leaves and may go.
    pub fn may_depart(&self) -> Option<(usize, u64)> {
        self.marked_by.filter(|_| self.is_clear && self.mark.is_none())
    }
}
