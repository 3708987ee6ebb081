//! Turn-taking on a virtual ring (M. Raynal, "Un algorithme d'exclusion mutuelle pour une structure logique en anneau",
//! INRIA RR-0350, 1984, and E. W. Dijkstra, CACM 17(11), 1974): the privilege goes round, and the participant that has
//! it may enter.
//!
//! ```text
//! lock:   membership[i] = 1, under the reconfiguration lock; wait until i has the privilege: `Rule::has_privilege`
//!         entry step (`super::eviction`)
//! unlock: renew the links; state[i] = `Rule::passed`; membership[i] = 0, unless it is a member
//! ```
//! Raynal leaves the virtual ring (which machines are on it, VG and k) to "the software that provides it". Here that is
//! one rule about the writer of each word, and needs no notices:
//!
//! | word | its writer |
//! |---|---|
//! | `membership[i]` | participant i, to a membership only under the reconfiguration lock, back to none at any time; after its death the holder of its byte lock (to none); while it does not come, the participant that evicts it (to none), under the reconfiguration lock |
//! | `state[i]` of a machine on the ring that has a membership | participant i |
//! | every link, and `state[i]` of a machine that is not on the ring | the owner of the privilege |
//!
//! The *owner of the privilege* is the participant of the machine that has the privilege, as long as that machine has a
//! membership. A machine has none if its participant gave up, left with no other member there, was reaped, or was
//! evicted. Then the owner of the privilege is the holder of the reconfiguration lock. So machines come onto the ring
//! and leave it when the privilege is passed on: its owner looks at all memberships, renews the links, gives each
//! newcomer its state, and then stores the state of its own machine. No store before the last one gives or takes the
//! privilege. So each of them may be the last before a death, and the next owner does them again.
//!
//! Reading without a lock is safe since a link has a version. If the link is the same before and after the states were
//! read, no owner passed over the reader meanwhile. The privilege, once it is there, stays until the reader passes it
//! on, or until the reader is evicted, which it notices in its entry step.

mod rule;
mod words;

pub use rule::{Link, Rule};
pub use words::{InWords, MachineCell, MachineWords, NoRing};

use crate::trace::{self, Step};

/// What a participant wants of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Membership {
    /// Nothing: the ring passes it over.
    None = 0,
    /// One turn.
    OneTurn = 1,
    /// Every turn: the ring waits for it.
    EveryTurn = 2,
}

impl Membership {
    /// Returns the membership that the word says; a value that no participant writes is taken for a membership for one
    /// turn: if no participant takes that turn, the one it belongs to is dead.
    pub fn of(word: u32) -> Self {
        match word {
            0 => Membership::None,
            2 => Membership::EveryTurn,
            _ => Membership::OneTurn,
        }
    }
}

/// What the rings are written over: for each machine a state, a link and a membership. Loads have acquire order, and stores
/// release order.
pub trait Machines {
    /// How many there can be: Raynal's n.
    fn count(&self) -> usize;
    /// One more than the highest machine that may have a membership or be on the ring. Never less than at a former time for
    /// machines that are on it.
    fn bound(&self) -> usize;
    /// Has [`Machines::bound`] cover `machine` for good. By the owner of the privilege, before it links it.
    fn cover(&self, machine: usize);
    /// Raynal's and Dijkstra's S.
    fn state(&self, machine: usize) -> u64;
    /// `state[machine] = state`.
    fn set_state(&self, machine: usize, state: u64);
    /// See [`LinkWord`].
    fn link(&self, machine: usize) -> LinkWord;
    /// `link[machine] = link`.
    fn set_link(&self, machine: usize, link: LinkWord);
    /// What it wants.
    fn membership(&self, machine: usize) -> Membership;
    /// `membership[machine] = membership`.
    fn set_membership(&self, machine: usize, membership: Membership);
}

/// A link as one word: VG + 1 in 16 bits (0: not on the ring), k in 16 bits, and a version in the upper 32, which
/// differs after every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkWord(pub u64);

impl LinkWord {
    /// The link; `None`: not on the ring. Also if the word says what cannot be: the file was overwritten, and the
    /// participant that passes the privilege on writes a right one.
    pub fn link(self, n: usize) -> Option<Link> {
        let left = (self.0 as usize & 0xffff).checked_sub(1)?;
        let absent = (self.0 >> 16) as usize & 0xffff;
        (left < n && absent < n).then_some(Link { left, absent })
    }

    fn renewed(self, link: Option<Link>) -> Self {
        let version = (self.0 >> 32).wrapping_add(1) << 32;
        Self(version | link.map_or(0, |link| (link.left as u64 + 1) | ((link.absent as u64) << 16)))
    }
}

/// Where the privilege went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// To this machine.
    To(usize),
    /// No other machine wants it: it stayed where it was.
    ToNobody,
}

/// What a look at the whole ring found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survey {
    /// One machine has the privilege.
    One(usize),
    /// No machine is on the ring: it has not begun.
    Empty,
    /// No machine has the privilege, and nothing moves: the file was overwritten.
    Lost,
    /// Several have it, and nothing moves: the file was overwritten.
    Several,
    /// It moved while we looked.
    Moving,
}

/// One of the rings over some machines.
#[derive(Clone, Copy)]
pub struct Ring<M> {
    /// Which.
    pub rule: Rule,
    /// Over what.
    pub machines: M,
}

/// A set of machines, as memberships were at one look.
struct Members([u64; MOST_MACHINES / 64]);

/// The most machines that a ring can have.
const MOST_MACHINES: usize = 4096;

impl Members {
    fn insert(&mut self, machine: usize) {
        self.0[machine / 64] |= 1 << (machine % 64);
    }

    fn contains(&self, machine: usize) -> bool {
        self.0[machine / 64] & 1 << (machine % 64) != 0
    }
}

impl<M: Machines> Ring<M> {
    /// The link of a machine; `None`: it is not on the ring.
    pub fn link(&self, machine: usize) -> Option<Link> {
        self.machines.link(machine).link(self.machines.count())
    }

    /// Returns whether machine `me` has the privilege. Once it has, it keeps it until its participant passes it on, as long
    /// as that is a member.
    #[inline]
    pub fn has_privilege(&self, me: usize) -> bool {
        let (word, n) = (self.machines.link(me), self.machines.count());
        let Some(link) = word.link(n) else { return false };
        let there = match self.rule {
            Rule::Sum { .. } => Rule::sum_is_at(self.sum(), n) == me,
            rule => rule.has_privilege(me, link, self.state(me), self.state(link.left), n),
        };
        // The states were read with acquire order, so this comes after. A participant that passes over `me` takes its
        // link away first.
        there && self.machines.link(me) == word
    }

    /// Passes the privilege on, which machine `from` has and the caller acts for. `relinked` is told each machine that
    /// has another left neighbour now: it may sleep beside the former one.
    pub fn pass(&self, from: usize, relinked: impl FnMut(usize)) -> Passed {
        let next = self.renew_links(from, relinked);
        trace::at(Step::Pass);
        let (Some((to, distance)), Some(link)) = (next, self.link(from)) else { return Passed::ToNobody };
        let (mine, lefts) = (self.state(from), self.state(link.left));
        let passed = self.rule.passed(from, link, mine, lefts, distance, self.machines.count());
        // Release. Partner: the acquire loads in `has_privilege` of the next machine: our section and the new links.
        self.machines.set_state(from, passed);
        Passed::To(to)
    }

    /// Has every machine with a membership on the ring, and no other but `from`, which has the privilege. Returns the
    /// next machine, and how far to the right.
    fn renew_links(&self, from: usize, mut relinked: impl FnMut(usize)) -> Option<(usize, usize)> {
        let (machines, n) = (&self.machines, self.machines.count());
        let bound = machines.bound();
        let mut members = Members([0; MOST_MACHINES / 64]);
        for machine in (0..bound).filter(|machine| machines.membership(*machine) != Membership::None) {
            members.insert(machine);
        }
        let mut relink = |machine: usize, link: Option<Link>| {
            let word = machines.link(machine);
            let before = word.link(n);
            if before != link {
                machines.set_link(machine, word.renewed(link));
                before.into_iter().for_each(|before| relinked(before.left));
            }
        };
        let (mut left, mut left_at, mut next) = (from, 0, None);
        for at in 1..n {
            let machine = self.rule.right_of(from, at, n);
            if !members.contains(machine) {
                continue;
            }
            let absent = at - left_at - 1;
            let link = Link { left, absent };
            if self.link(machine).is_none() {
                machines.cover(machine);
                // Only the bottom of Dijkstra's ring wants to know it.
                let rights = (at + 1..if self.rule == Rule::KState { n } else { 0 })
                    .map(|further| self.rule.right_of(from, further, n))
                    .find(|further| members.contains(*further) && self.link(*further).is_some())
                    .map(|further| self.state(further));
                let (mine, lefts) = (self.state(machine), self.state(left));
                machines.set_state(machine, self.rule.joining(machine, link, mine, lefts, rights, n));
            }
            relink(machine, Some(link));
            (left, left_at) = (machine, at);
            next = next.or(Some((machine, at)));
        }
        relink(from, Some(Link { left, absent: n - left_at - 1 }));
        // Last: until here those to their right may have read their states.
        for machine in (0..bound).filter(|machine| *machine != from && !members.contains(*machine)) {
            relink(machine, None);
        }
        next
    }

    /// Returns the machine that has the privilege and is no member: the caller, which holds the reconfiguration lock,
    /// acts for it.
    pub fn absent_with_privilege(&self) -> Option<usize> {
        let absent = |machine: &usize| {
            // In this order: a participant that passes the privilege on before it takes its membership back has passed
            // it by now.
            self.machines.membership(*machine) == Membership::None && self.has_privilege(*machine)
        };
        self.who().filter(absent)
    }

    /// The first machine that has the privilege, as far as can be seen: it may be out of date by the time it is read.
    pub fn who(&self) -> Option<usize> {
        match self.rule {
            Rule::Sum { .. } => Some(Rule::sum_is_at(self.sum(), self.machines.count()))
                .filter(|at| *at < self.machines.bound()),
            _ => (0..self.machines.bound()).find(|machine| self.has_privilege(*machine)),
        }
    }

    /// Looks at the whole ring, three times.
    pub fn survey(&self) -> Survey {
        let look = || {
            let (mut trace, mut on, mut has) = (0u64, 0, (0, 0));
            for machine in 0..self.machines.bound() {
                let words = [self.machines.link(machine).0, self.machines.state(machine)];
                trace = words.iter().fold(trace, |trace, word| {
                    (trace ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
                });
                on += usize::from(self.link(machine).is_some());
                if self.has_privilege(machine) {
                    has = (has.0 + 1, machine);
                }
            }
            (trace, on, has)
        };
        let first = look();
        if look() != first || look() != first {
            return Survey::Moving;
        }
        match first {
            (_, 0, _) => Survey::Empty,
            (_, _, (0, _)) => Survey::Lost,
            (_, _, (1, machine)) => Survey::One(machine),
            _ => Survey::Several,
        }
    }

    /// Has the ring begin (again) with `me` alone on it, and the privilege there. Under the reconfiguration lock, when
    /// no machine has the privilege and no participant is inside.
    pub fn begin(&self, me: usize) {
        let (machines, n) = (&self.machines, self.machines.count());
        for machine in (0..machines.bound()).filter(|machine| *machine != me && self.link(*machine).is_some())
        {
            machines.set_link(machine, machines.link(machine).renewed(None));
        }
        machines.cover(me);
        let state = match self.rule {
            Rule::Sum { .. } => {
                let others = self.sum() + n as u64 - self.state(me) % n as u64;
                (me as u64 + n as u64 - others % n as u64) % n as u64
            }
            // Alone, any state has the privilege; this is the one that Raynal begins with.
            rule => (me as u64 + 1) % rule.bound(n),
        };
        machines.set_state(me, state);
        machines.set_link(me, machines.link(me).renewed(Some(Link { left: me, absent: n - 1 })));
    }

    /// Returns whether any machine but `me` is a member.
    pub fn is_wanted_beside(&self, me: usize) -> bool {
        (0..self.machines.bound())
            .any(|machine| machine != me && self.machines.membership(machine) != Membership::None)
    }

    /// Returns the machines that are on the ring or want to be, in order of service, from the right of `from`.
    pub fn members_right_of(&self, from: usize) -> impl Iterator<Item = usize> {
        let (n, bound) = (self.machines.count(), self.machines.bound());
        (1..=n)
            .map(move |at| self.rule.right_of(from, at, n))
            .filter(move |machine| *machine < bound && self.machines.membership(*machine) != Membership::None)
    }

    fn state(&self, machine: usize) -> u64 {
        // A value that no participant writes is one of a file that was overwritten: any of the right ones will do.
        self.machines.state(machine) % self.rule.bound(self.machines.count())
    }

    fn sum(&self) -> u64 {
        (0..self.machines.bound()).map(|machine| self.state(machine)).sum()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
