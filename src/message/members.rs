//! Who takes part: the same for all machines but the ring, which has an order to keep.
//!
//! Each participant has a *life* number, larger each time that it joins. It is present while the last life it joined with
//! is larger than the last it left with, or was said to be dead in. So notices of an earlier life that come late, or
//! twice, change nothing.

use super::{MAX_PARTICIPANTS, Misuse, Standing};

/// What one participant knows of who takes part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Members {
    me: usize,
    /// The life in which this participant takes part, or did so last; 0: none yet.
    pub life: u32,
    /// The last life that each is known to have joined with.
    joined: Box<[u32]>,
    /// The last life that each is known to have ended.
    left: Box<[u32]>,
    /// While joining or leaving: who has answered, or is not there to answer.
    answered: Box<[bool]>,
    /// This participant takes part, or has been welcomed by one that knows what numbers have been given.
    knows: bool,
    /// Who was welcomed while this participant did not know, or did not know when it welcomed this one.
    unsure: Box<[bool]>,
}

impl Members {
    /// Everybody is present from the start.
    pub fn founding(participants: usize, me: usize) -> Result<Self, Misuse> {
        let mut members = Self::absent(participants, me, 1)?;
        members.joined.fill(1);
        members.knows = true;
        Ok(members)
    }

    /// Nobody is known to be present. `life` is that of the next time that this participant joins.
    pub fn absent(participants: usize, me: usize, life: u32) -> Result<Self, Misuse> {
        if me >= participants || participants > MAX_PARTICIPANTS {
            return Err(Misuse::Size { participants, me });
        }
        if life == 0 {
            return Err(Misuse::Life);
        }
        let none = vec![0; participants].into_boxed_slice();
        let answered = vec![false; participants].into_boxed_slice();
        let unsure = answered.clone();
        Ok(Self { me, life, joined: none.clone(), left: none, answered, knows: false, unsure })
    }

    pub fn me(&self) -> usize {
        self.me
    }

    pub fn participants(&self) -> usize {
        self.joined.len()
    }

    /// Refuses a number that is no other participant's.
    pub fn check(&self, peer: usize) -> Result<(), Misuse> {
        let participants = self.participants();
        if peer == self.me || peer >= participants {
            Err(Misuse::Peer { peer, participants })
        } else {
            Ok(())
        }
    }

    /// All others, present or not, in the order `me` + 1, `me` + 2, ... round to `me` - 1.
    pub fn all_others(&self) -> impl Iterator<Item = usize> + use<> {
        let (me, participants) = (self.me, self.participants());
        (1..participants).map(move |step| (me + step) % participants)
    }

    /// Those of the others that are known to be present, in the same order.
    pub fn others(&self) -> impl Iterator<Item = usize> + '_ {
        self.all_others().filter(|peer| self.is_present(*peer))
    }

    pub fn is_present(&self, peer: usize) -> bool {
        self.joined[peer] > self.left[peer]
    }

    /// Takes note that a peer joins, or has joined, with this life. Returns whether that is news.
    pub fn joins(&mut self, peer: usize, life: u32) -> bool {
        let is_news = life > self.joined[peer];
        self.joined[peer] = self.joined[peer].max(life);
        is_news
    }

    /// Takes note that a peer leaves, or has left, this life.
    pub fn leaves(&mut self, peer: usize, life: u32) {
        self.left[peer] = self.left[peer].max(life);
    }

    /// Takes note that a peer is dead, or gone, and will answer nothing.
    pub fn is_down(&mut self, peer: usize) {
        self.left[peer] = self.joined[peer];
        self.answered[peer] = true;
    }

    /// Expects an answer of these, and of nobody else.
    pub fn expect(&mut self, peers: impl Fn(&Self, usize) -> bool) {
        for peer in 0..self.participants() {
            self.answered[peer] = peer == self.me || !peers(self, peer);
        }
    }

    /// Expects an answer of this one too.
    pub fn expect_also(&mut self, peer: usize) {
        self.answered[peer] = false;
    }

    pub fn has_answered(&mut self, peer: usize) {
        self.answered[peer] = true;
    }

    pub fn is_unanswered(&self, peer: usize) -> bool {
        !self.answered[peer]
    }

    pub fn all_answered(&self) -> bool {
        self.answered.iter().all(|answered| *answered)
    }

    /// Begins this participant's next life among peers of whom it knows nothing.
    pub fn forget(&mut self) {
        self.joined.fill(0);
        self.left.fill(0);
        self.unsure.fill(false);
        self.knows = false;
    }

    /// A peer is about to be welcomed. Returns what to tell it: whether this participant knows.
    pub fn will_welcome(&mut self, peer: usize) -> bool {
        self.unsure[peer] = !self.knows;
        self.knows
    }

    /// A peer has welcomed this participant.
    pub fn has_welcomed(&mut self, peer: usize, knows: bool) {
        self.answered[peer] = true;
        self.unsure[peer] |= !knows;
        self.knows |= knows;
    }

    /// It is ruled that nobody who knows is left, and that this participant begins anew.
    pub fn begins_anew(&mut self, standing: Standing) -> Result<(), Misuse> {
        if standing != Standing::Joining || self.knows {
            return Err(Misuse::Recreate {
                wrong: "the machine has no tokens, and its numbers are not lost",
            });
        }
        self.knows = true;
        Ok(())
    }

    /// All who are there have answered, and one of them knew.
    pub fn may_take_part(&self) -> bool {
        self.knows && self.all_answered()
    }

    /// Those of the others whom a joining one asks (again): who has not answered, or all, if none of them knew.
    pub fn to_be_asked(&self) -> impl Iterator<Item = usize> + '_ {
        let all = !self.knows && self.all_answered();
        self.all_others().filter(move |peer| self.is_unanswered(*peer) || all && self.is_present(*peer))
    }

    /// Whom to tell that this participant knows now, and with which life they joined.
    pub fn unsure(&mut self) -> Vec<(usize, u32)> {
        let unsure = std::mem::take(&mut self.unsure);
        let told = self.others().filter(|peer| unsure[*peer]).map(|peer| (peer, self.joined[peer])).collect();
        self.unsure = vec![false; unsure.len()].into();
        told
    }
}
