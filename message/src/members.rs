//! Membership, the same for all machines but the ring, which has an order to keep.
//!
//! Each participant has a *life* number, larger each time that it joins. It is present while the last life it joined with
//! is larger than the last it left with, or was said to be dead in. So notices of an earlier life that come late, or
//! twice, change nothing.
//!
//! Where fencing tokens are numbers of the participants (Lamport's queue, the bakery), one that joins has to hear of every number
//! with which any has entered. Of the numbers of one that has welcomed it, it does: that one counts it from then on,
//! and asks it before each entry. One that ends without having welcomed it may have entered after the others have answered;
//! so its end is no answer, and once all have answered or ended the remaining ones are asked anew, in another *round*. Only
//! one that takes part can say what numbers have been given. Where none is left to say it, a ruling does, with a floor.

use super::{MAX_PARTICIPANTS, Misuse, Standing};

/// What one participant knows of the members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Members {
    me: usize,
    /// The life in which this participant takes part, or did so last; 0: none yet.
    pub life: u32,
    /// The last life that each is known to have joined with.
    joined: Box<[u32]>,
    /// The last life that each is known to have ended.
    left: Box<[u32]>,
    /// While joining or leaving: which peers have answered, or are not there to answer.
    answered: Box<[bool]>,
    /// This participant takes part, and so knows what numbers have been given.
    takes_part: bool,
    /// While joining: one that takes part has welcomed this participant in this round, or it was ruled to begin anew.
    knows: bool,
    /// It was ruled that no participant is left that takes part.
    is_ruled: bool,
    /// While joining: how often all were asked, from 1.
    round: u32,
    /// While joining: which peers have welcomed this participant, have ended, or have joined later. A peer that ends
    /// before that may have entered with a number that the peers which answered earlier did not know of.
    counts_us: Box<[bool]>,
    /// While joining: such a peer has ended in this round.
    is_stale: bool,
    /// The round in which each has last asked to join.
    asked_in: Box<[u32]>,
    /// Which peers were welcomed while this participant did not take part, or did not take part when they welcomed this
    /// one.
    unsure: Box<[bool]>,
}

impl Members {
    /// Returns the knowledge of a founding participant: all are present from the start.
    pub fn founding(participants: usize, me: usize) -> Result<Self, Misuse> {
        let mut members = Self::absent(participants, me, 1)?;
        members.joined.fill(1);
        members.takes_part = true;
        Ok(members)
    }

    /// Returns the knowledge of an absent participant: none is known to be present. `life` is that of the next time that it
    /// joins.
    pub fn absent(participants: usize, me: usize, life: u32) -> Result<Self, Misuse> {
        if me >= participants || participants > MAX_PARTICIPANTS {
            return Err(Misuse::Size { participants, me });
        }
        if life == 0 {
            return Err(Misuse::Life);
        }
        let none = vec![0; participants].into_boxed_slice();
        let nobody = vec![false; participants].into_boxed_slice();
        Ok(Self {
            me,
            life,
            joined: none.clone(),
            left: none.clone(),
            answered: nobody.clone(),
            takes_part: false,
            knows: false,
            is_ruled: false,
            round: 0,
            counts_us: nobody.clone(),
            is_stale: false,
            asked_in: none,
            unsure: nobody,
        })
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

    /// Returns all others, present or not, in the order `me` + 1, `me` + 2, ... round to `me` - 1.
    pub fn all_others(&self) -> impl Iterator<Item = usize> + use<> {
        let (me, participants) = (self.me, self.participants());
        (1..participants).map(move |step| (me + step) % participants)
    }

    /// Returns those of the others that are known to be present, in the same order.
    pub fn others(&self) -> impl Iterator<Item = usize> + '_ {
        self.all_others().filter(|peer| self.is_present(*peer))
    }

    pub fn is_present(&self, peer: usize) -> bool {
        self.joined[peer] > self.left[peer]
    }

    /// Notes that a peer joins, or has joined, with this life. Returns whether that is news.
    pub fn joins(&mut self, peer: usize, life: u32) -> bool {
        let is_news = life > self.joined[peer];
        self.joined[peer] = self.joined[peer].max(life);
        is_news
    }

    /// Notes that a peer leaves, or has left, this life.
    pub fn leaves(&mut self, peer: usize, life: u32) {
        self.left[peer] = self.left[peer].max(life);
    }

    /// Notes that a peer is dead, or gone, and will answer nothing.
    pub fn is_down(&mut self, peer: usize) {
        self.left[peer] = self.joined[peer];
        self.answered[peer] = true;
    }

    /// Expects an answer of these, and of no other.
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

    /// Begins this participant's next life among peers of which it knows nothing.
    pub fn forget(&mut self) {
        self.joined.fill(0);
        self.left.fill(0);
        self.unsure.fill(false);
        self.takes_part = false;
    }

    /// Begins to join where numbers have to be heard of: an answer is expected of all others.
    pub fn begins_to_join(&mut self) {
        self.forget();
        (self.knows, self.is_ruled, self.is_stale, self.round) = (false, false, false, 1);
        self.counts_us.fill(false);
        self.expect(|_, _| true);
    }

    /// Returns how often this participant, which joins, has asked all, from 1.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Notes that a peer joins, or asks again, in a round of its own. Returns whether it is news that it joins.
    pub fn asks_to_join(&mut self, peer: usize, life: u32, round: u32) -> bool {
        let is_news = self.joins(peer, life);
        self.asked_in[peer] = if is_news { round } else { round.max(self.asked_in[peer]) };
        // It takes part only after we have welcomed it, and so counts us.
        self.counts_us[peer] |= is_news;
        self.unsure[peer] = !self.takes_part;
        is_news
    }

    /// Returns whether this participant can say what numbers have been given.
    pub fn takes_part(&self) -> bool {
        self.takes_part
    }

    /// Notes that a peer has welcomed this participant, which joins, as it was asked in that round. `knows`: the peer takes
    /// part. Returns whether it is to be asked again: it answered an earlier round, or was never asked, and no answer is on its
    /// way.
    pub fn has_welcomed(&mut self, peer: usize, round: u32, knows: bool) -> bool {
        self.counts_us[peer] = true;
        if round != self.round {
            return self.is_present(peer) && std::mem::replace(&mut self.answered[peer], false);
        }
        self.answered[peer] = true;
        self.unsure[peer] |= !knows;
        self.knows |= knows;
        false
    }

    /// Notes that a peer is dead, or gone, where numbers have to be heard of.
    pub fn is_down_with_its_numbers(&mut self, peer: usize) {
        if !self.takes_part {
            self.is_stale |= !std::mem::replace(&mut self.counts_us[peer], true);
        }
        self.is_down(peer);
    }

    /// Returns whether the remaining ones are to be asked anew: all have answered or ended, one of these before it had welcomed
    /// this participant, so what the others said may be older than that one's last entry.
    pub fn asks_anew(&mut self) -> bool {
        let asks = self.is_stale && !self.is_ruled && self.all_answered();
        if asks {
            (self.is_stale, self.knows) = (false, false);
            self.round += 1;
            self.expect(|members, peer| members.is_present(peer));
        }
        asks
    }

    /// Notes the ruling that no participant is left that takes part, and that this one begins anew.
    pub fn begins_anew(&mut self, standing: Standing) -> Result<(), Misuse> {
        if standing != Standing::Joining || self.knows {
            return Err(Misuse::Recreate {
                wrong: "the machine has no tokens, and its numbers are not lost",
            });
        }
        (self.knows, self.is_ruled) = (true, true);
        Ok(())
    }

    /// Returns whether all that are there have answered, and one of them takes part: then this participant does so too.
    pub fn may_take_part(&mut self) -> bool {
        self.takes_part = self.knows && self.all_answered() && (self.is_ruled || !self.is_stale);
        self.takes_part
    }

    /// Returns those of the others that a joining one asks (again): those that have not answered, or all, if none of them takes
    /// part.
    pub fn to_be_asked(&self) -> impl Iterator<Item = usize> + '_ {
        let all = !self.knows && self.all_answered();
        self.all_others().filter(move |peer| self.is_unanswered(*peer) || all && self.is_present(*peer))
    }

    /// Returns the peers to tell that this participant takes part now, with which life they joined, and in which round
    /// they asked.
    pub fn unsure(&mut self) -> Vec<(usize, u32, u32)> {
        let unsure = std::mem::take(&mut self.unsure);
        let told = self.others().filter(|peer| unsure[*peer]);
        let told = told.map(|peer| (peer, self.joined[peer], self.asked_in[peer])).collect();
        self.unsure = vec![false; unsure.len()].into();
        told
    }
}
