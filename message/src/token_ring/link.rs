//! One process's part of the ring: which process it sends to, and how that changes without one token overtaking
//! another.
//!
//! Each process is responsible for the part of the circle of numbers between itself and the next one. Only it lets a
//! participant in there, and only when its link to the next one is empty, which that one has said. A process that leaves gives
//! its part to the one before it.

use super::{super::Action, say::TokenRingMessage as Say};

type Actions = Vec<Action<Say>>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Link {
    me: usize,
    /// The process that tokens go to; `me`, when alone.
    pub next: usize,
    /// The mark that is unanswered, for which what is to be sent is held back.
    mark: Option<Mark>,
    /// The number of the last mark; the life in its high half.
    round: u64,
    /// The processes that want to join in this process's part.
    joiners: Box<[Option<Joiner>]>,
    /// `next` wants to leave.
    next_leaves: bool,
    /// The one before has asked to be answered when this process is free to go, by this mark.
    marked_by: Option<(usize, u64)>,
    /// Nothing was sent since `next` said, after that mark, that all has come.
    is_clear: bool,
    /// The process that was let in last, with which life, and which one it was told to send to.
    let_in: Option<(usize, u32, usize)>,
}

/// One that wants to join. What it has sent may be old: by the time that this process is responsible for its place, it may have
/// joined through another process, and departed. So it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Joiner {
    life: u32,
    /// The mark by which it was asked; `None`: it has answered. From then on only this process lets it in.
    asked: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Mark {
    round: u64,
    to_leave: bool,
    /// It is to clear the link for this process's own departure.
    for_departure: bool,
}

/// Nothing but to know that the link is empty.
const PLAIN: Mark = Mark { round: 0, to_leave: false, for_departure: false };

impl Link {
    pub fn new(participants: usize, me: usize, life: u32, next: usize) -> Self {
        Self {
            me,
            next,
            mark: None,
            round: u64::from(life) << 32,
            joiners: vec![None; participants].into(),
            next_leaves: false,
            marked_by: None,
            is_clear: false,
            let_in: None,
        }
    }

    /// Begins the link of a life that follows an earlier one, which may have asked `next` to leave, and have sent it
    /// tokens: that is over once a mark of this life is answered.
    pub fn begins_again(&mut self, actions: &mut Actions) {
        if self.next != self.me {
            self.mark(PLAIN, actions);
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
            // It asked again before it was told, or has died since, and has not come to take part.
            Some((peer, known, next)) if peer == from && known <= life && self.next == from => {
                self.let_in = Some((peer, life, next));
                actions.push(Action::Send { to: from, message: Say::Welcome { life, next } });
                if known < life {
                    self.marks_again(from, actions);
                }
            }
            // Other processes let in a joiner that is not in this part.
            _ if !self.is_in_part(from) || self.joiners[from].is_some_and(|joiner| joiner.life == life) => {}
            _ => {
                self.round += 1;
                let (round, to_leave) = (self.round, false);
                self.joiners[from] = Some(Joiner { life, asked: Some(round) });
                actions.push(Action::Send { to: from, message: Say::Mark { round, to_leave } });
            }
        }
    }

    pub fn wants_to_leave(&mut self, from: usize) {
        self.joiners[from] = None;
        self.next_leaves |= self.next == from;
    }

    pub fn is_down(&mut self, peer: usize) {
        self.joiners[peer] = None;
    }

    /// The one before asks this process, which leaves, to say when it is free to go.
    pub fn is_marked(&mut self, from: usize, round: u64) {
        if self.marked_by != Some((from, round)) {
            self.marked_by = Some((from, round));
            self.is_clear = false;
        }
    }

    /// `from` asks for no departure, or not any more: it leaves itself now, or the mark was one of its former life.
    pub fn is_unmarked(&mut self, from: usize) {
        self.marked_by = self.marked_by.filter(|(peer, _)| *peer != from);
    }

    /// This process begins to leave. The process that it has asked to leave first is asked no more, unless that one has
    /// the larger number: else all that leave at once may wait for each other in a circle.
    pub fn begins_to_leave(&mut self, actions: &mut Actions) {
        if self.mark.is_some_and(|mark| mark.to_leave) && self.me > self.next {
            self.mark(PLAIN, actions);
        }
    }

    fn mark(&mut self, mark: Mark, actions: &mut Actions) {
        self.round += 1;
        self.mark = Some(Mark { round: self.round, ..mark });
        let message = Say::Mark { round: self.round, to_leave: mark.to_leave };
        actions.push(Action::Send { to: self.next, message });
    }

    /// `from` has answered a mark.
    pub fn is_clear(&mut self, from: usize, round: u64, next: usize, actions: &mut Actions) {
        if from != self.next {
            if let Some(joiner) = &mut self.joiners[from]
                && joiner.asked == Some(round)
            {
                joiner.asked = None;
            }
            return;
        }
        // One that has left is left, whatever became of the mark: this process may have lost it with its state.
        let has_left = next != from;
        if !(has_left || self.mark.is_some_and(|mark| mark.round == round)) {
            return;
        }
        let mark = self.mark.take();
        if has_left || mark.is_some_and(|mark| mark.to_leave) {
            self.next_leaves = false;
        }
        self.next = next;
        if mark.is_some_and(|mark| mark.for_departure) {
            self.is_clear = true;
        } else {
            self.let_in(actions);
        }
    }

    /// Returns the number of steps round the circle from this process.
    fn steps_to(&self, peer: usize) -> usize {
        let participants = self.joiners.len();
        (peer + participants - self.me - 1) % participants + 1
    }

    /// Returns whether that place lies in the part of the circle that this process is responsible for.
    fn is_in_part(&self, peer: usize) -> bool {
        peer != self.me && self.steps_to(peer) < self.steps_to(self.next)
    }

    /// Returns the process that is to be let in: the first, if there are several.
    fn joiner(&mut self) -> Option<usize> {
        for peer in 0..self.joiners.len() {
            if !self.is_in_part(peer) {
                self.joiners[peer] = None;
            }
        }
        let is_sure = |peer: &usize| self.joiners[*peer].is_some_and(|joiner| joiner.asked.is_none());
        (0..self.joiners.len()).filter(is_sure).min_by_key(|peer| self.steps_to(*peer))
    }

    /// The link is empty: a participant may come in between.
    fn let_in(&mut self, actions: &mut Actions) {
        if let Some(peer) = self.joiner()
            && let Some(Joiner { life, .. }) = self.joiners[peer].take()
        {
            let next = self.next;
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
            self.mark(Mark { to_leave, for_departure, ..PLAIN }, actions);
        }
    }

    /// `from` has begun another life: it knows of no mark, unless one is on its way. That is of an earlier round then: so
    /// nothing of a mark is on its way any more when the link is changed, and none is taken for one of the process that is
    /// before `from` by then.
    pub fn marks_again(&mut self, from: usize, actions: &mut Actions) {
        if let Some(mark) = self.mark.filter(|_| from == self.next) {
            self.mark(mark, actions);
        }
    }

    /// Returns the process to tell, by which mark, if this process leaves and may go.
    pub fn may_depart(&self) -> Option<(usize, u64)> {
        self.marked_by.filter(|_| self.is_clear && self.mark.is_none())
    }
}
