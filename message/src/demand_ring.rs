//! The demand-driven token ring: Misra's two tokens, on a ring whose host sees which members are there. A token stays
//! where it is until a waiter wants it.
//!
//! The source is that of [`TokenRing`](super::TokenRing): J. Misra, 1983, as in a lecture's chapter 3, section 2.2. What is
//! said here beside it is turnlock's own, for hosts that share more than links, such as participants in one lock file.
//!
//! ```text
//! ping comes to P_i:  if m = (ping, nbping): pong is lost: nbping = nbping + 1; nbpong = -nbping (made anew)
//!                     else m = (ping, nbping)
//! pong comes:         likewise, with ping and pong exchanged
//! the two meet:       nbping = nbping + 1; nbpong = nbpong - 1
//! ```
//!
//! # What is turnlock's own
//!
//! - *The ring* is those that are there at the moment, in the order of their numbers: a token goes to the next one that is
//!   there when it is sent. So none has to be let in, and a dead one's place need not be taken up. But Misra's rule is for a
//!   ring that stays as it is: while a life ends, it may find a token lost that is not, or not yet.
//! - *So the rule alone makes nothing*: it asks the host, which knows of each token whether it is lost for certain
//!   ([`RingHost::take`]), and gives each lost one to one alone. Exclusion rests on that, and not on the counters; what
//!   they are for is to find out which token is lost, where the other one comes by.
//! - *Both lost*, which the source cannot repair: a waiter that sees that asks the host for both.
//! - *Ping, the privilege, rests* where it was last, and goes on only while another member that is there waits. Its
//!   owner enters without a message. *Pong rests* as long as ping is not lost, and is met there when ping comes by; it
//!   sets off when ping is lost and a participant waits, and then goes round until the rule finds that out.
//! - A participant that begins to wait has the host wake the one that has ping, or if that is lost the one that has pong. What
//!   else may set a token going (a death, a token that comes) is told to all that it concerns. So while none waits none looks
//!   at anything, and nothing moves.
//! - *The fencing token* is ping's number: larger with each entry. One that is made anew goes on from what the host knows.

use super::{
    Action, Channels, Event, MAX_PARTICIPANTS, Machine, Misuse, RingToken, Standing, TokenRingMessage as Say,
};

/// The token that is the privilege.
const PING: usize = 0;
/// The other one.
const PONG: usize = 1;

type Actions = Vec<Action<Say>>;

/// What the host of a [`DemandRing`] sees of the others, and rules.
pub trait RingHost {
    /// Returns whether another participant takes part, as far as this one has been told, and its life is not over.
    fn is_there(&self, peer: usize) -> bool;

    /// Returns whether another participant that is there waits for the section. A waiter is seen by a participant that gets a
    /// token later; of one that has it already, the host sees to it that it looks again.
    fn waits(&self, peer: usize) -> bool;

    /// Returns whether a token is lost for certain, or was never made: 0 is ping, 1 is pong.
    fn is_lost(&self, token: usize) -> bool;

    /// If the token is lost: it is this participant's from now on, to be made anew, and no other one's. Returns the largest
    /// number that ping may have had.
    fn take(&mut self, token: usize) -> Option<u64>;
}

/// A participant's part in a demand-driven token ring.
///
/// The host tells it events ([`Machine::on`]); after each, and whenever something may have changed, it calls
/// [`attend`](Self::attend) until that does nothing more.
///
/// ```
/// use turnlock_message::{Action, Event, Machine, DemandRing, RingHost};
///
/// /// The host of one that is alone, with tokens that were never made.
/// struct Alone([bool; 2]);
///
/// impl RingHost for Alone {
///     fn is_there(&self, _: usize) -> bool { false }
///     fn waits(&self, _: usize) -> bool { false }
///     fn is_lost(&self, token: usize) -> bool { self.0[token] }
///     fn take(&mut self, token: usize) -> Option<u64> {
///         std::mem::take(&mut self.0[token]).then_some(6)
///     }
/// }
///
/// let (mut host, mut ring) = (Alone([true; 2]), DemandRing::absent(3, 0, 1)?);
/// ring.on(Event::Join)?;
/// ring.on(Event::Request)?;
/// assert_eq!(ring.attend(&mut host), [Action::Enter { fencing_token: 8 }]);
/// ring.on(Event::Release)?;
/// assert_eq!(ring.attend(&mut host), []); // it stays here
/// assert_eq!(ring.on(Event::Request)?, [Action::Enter { fencing_token: 9 }]);
/// # Ok::<(), turnlock_message::Misuse>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DemandRing {
    me: usize,
    participants: usize,
    /// The life in which this participant takes part, or does so next.
    life: u32,
    standing: Standing,
    here: [Option<RingToken>; 2],
    /// `m`, with the name of the token whose counter it is: the last one that came here.
    seen: Option<(usize, u16)>,
    /// By Misra's rule this token is lost; the host was not asked yet.
    missed: Option<usize>,
}

/// Returns the token that each watches over.
fn ward(token: usize) -> usize {
    1 - token
}

impl DemandRing {
    /// Returns the machine of a participant that is not there yet. It takes part as soon as it joins; its tokens are lost when
    /// it leaves, as in a death, and [`RingHost::is_lost`] has to say so. `life` is larger than that of any earlier life of
    /// this number.
    ///
    /// # Errors
    /// [`Misuse::Size`], [`Misuse::Life`].
    pub fn absent(participants: usize, me: usize, life: u32) -> Result<Self, Misuse> {
        if me >= participants || participants > MAX_PARTICIPANTS {
            return Err(Misuse::Size { participants, me });
        }
        if life == 0 {
            return Err(Misuse::Life);
        }
        Ok(Self {
            me,
            participants,
            life,
            standing: Standing::Absent,
            here: [None; 2],
            seen: None,
            missed: None,
        })
    }

    /// Returns a token, while it is here: 0 is ping, 1 is pong.
    pub fn token(&self, token: usize) -> Option<RingToken> {
        self.here.get(token).copied().flatten()
    }

    /// Returns the source's `m`: which token came here last, and its counter then. `None`: none has come.
    pub fn last_seen(&self) -> Option<(usize, u16)> {
        self.seen
    }

    /// Does what there is to do by what the host sees: makes lost tokens anew, enters, sends on a token that is wanted, one at
    /// most. To be repeated until it does nothing more: what was sent may have been lost by then.
    pub fn attend(&mut self, host: &mut impl RingHost) -> Vec<Action<Say>> {
        let mut actions = Vec::new();
        if self.standing == Standing::Absent {
            return actions;
        }
        self.make_anew(host);
        self.enter(&mut actions);
        if let Some(token) = self.to_be_sent(host) {
            match self.next(host) {
                Some(to) => actions.extend(self.send(token, to)),
                None => self.goes_round_alone(host, &mut actions),
            }
        }
        actions
    }

    /// Returns whether [`attend`](Self::attend) would do anything.
    pub fn is_to_attend(&self, host: &impl RingHost) -> bool {
        self.standing != Standing::Absent
            && (self.missed.is_some() || self.sees_both_lost(host) || self.to_be_sent(host).is_some())
    }

    /// Shows `visit` ping's number, if it is here. Only how it compares with the host's matters.
    #[doc(hidden)]
    pub fn visit_number(&mut self, mut visit: impl FnMut(&mut u64)) {
        self.here[PING].iter_mut().for_each(|ping| visit(&mut ping.number));
    }

    /// Returns whether both tokens have to be made anew, and this participant may do so.
    fn sees_both_lost(&self, host: &impl RingHost) -> bool {
        self.standing == Standing::Waiting && host.is_lost(PING) && host.is_lost(PONG)
    }

    fn make_anew(&mut self, host: &mut impl RingHost) {
        if let Some(lost) = self.missed.take()
            && let Some(floor) = host.take(lost)
        {
            self.made_by_rule(lost, floor);
        }
        // Ping first: another that sees that ping is lost no more leaves pong alone.
        if self.sees_both_lost(host)
            && let Some(floor) = host.take(PING)
        {
            self.here[PING] = Some(token(PING, 1, floor.saturating_add(1)));
            if host.take(PONG).is_some() {
                self.here[PONG] = Some(token(PONG, 1, 1));
            }
        }
    }

    /// As the source has it: nbping = nbping + 1, nbpong = -nbping.
    fn made_by_rule(&mut self, lost: usize, floor: u64) {
        let Some(left) = &mut self.here[ward(lost)] else { return };
        left.counter = one_more(left.counter, self.participants);
        self.here[lost] =
            Some(token(lost, left.counter, if lost == PING { floor.saturating_add(1) } else { 1 }));
    }

    fn enter(&mut self, actions: &mut Actions) {
        if self.standing == Standing::Waiting
            && let Some(ping) = &mut self.here[PING]
        {
            ping.number = ping.number.saturating_add(1);
            self.standing = Standing::Inside;
            actions.push(Action::Enter { fencing_token: ping.number });
        }
    }

    /// Returns the token that is here and has to go on.
    fn to_be_sent(&self, host: &impl RingHost) -> Option<usize> {
        let another_waits = || self.others().any(|peer| host.waits(peer));
        if self.here[PING].is_some() {
            return (self.standing == Standing::Idle && another_waits()).then_some(PING);
        }
        // Pong has nothing to do but to find out that ping is lost, if that is so.
        let is_wanted = || self.standing == Standing::Waiting || another_waits();
        (self.here[PONG].is_some() && host.is_lost(PING) && is_wanted()).then_some(PONG)
    }

    /// Returns all others, in the order in which a token comes to them.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (me, participants) = (self.me, self.participants);
        (1..participants).map(move |step| (me + step) % participants)
    }

    fn next(&self, host: &impl RingHost) -> Option<usize> {
        self.others().find(|peer| host.is_there(*peer))
    }

    fn send(&mut self, token: usize, to: usize) -> Option<Action<Say>> {
        let token = self.here[token].take()?;
        Some(Action::Send { to, message: Say::Token(token) })
    }

    /// Pong, in a ring of one: it comes here from here, until it has found out that ping is lost.
    fn goes_round_alone(&mut self, host: &mut impl RingHost, actions: &mut Actions) {
        for _ in 0..2 {
            if let Some(pong) = self.here[PONG].take() {
                self.comes(pong);
                self.make_anew(host);
            }
        }
        self.enter(actions);
    }

    /// A token comes.
    fn comes(&mut self, mut token: RingToken) {
        let name = usize::from(token.name);
        if self.seen == Some((name, token.counter)) {
            self.missed = Some(ward(name));
        } else {
            self.seen = Some((name, token.counter));
        }
        if let Some(other) = &mut self.here[ward(name)] {
            other.counter = one_more(other.counter, self.participants);
            token.counter = one_more(token.counter, self.participants);
        }
        self.here[name] = Some(token);
    }

    fn expect(&self, event: &'static str, expected: Standing) -> Result<(), Misuse> {
        let standing = self.standing;
        if standing == expected { Ok(()) } else { Err(Misuse::Standing { event, standing, expected }) }
    }

    fn check(&self, from: usize, message: Option<&Say>) -> Result<(), Misuse> {
        let participants = self.participants;
        if from == self.me || from >= participants {
            return Err(Misuse::Peer { peer: from, participants });
        }
        let wrong = match message {
            Some(Say::Token(token)) if usize::from(token.name) > PONG => {
                "its token is of a ring with more tokens"
            }
            Some(Say::Token(token)) if usize::from(token.counter) > participants => {
                "its token's counter is of a larger ring"
            }
            Some(Say::Token(token)) if self.here[usize::from(token.name)].is_some() => {
                "it is a second token of that name"
            }
            None | Some(Say::Token(_) | Say::Join { .. }) => return Ok(()),
            Some(_) => "it is of a ring whose participants let each other in",
        };
        Err(Misuse::Message { from, wrong })
    }
}

/// Returns a token as it is made.
fn token(name: usize, counter: u16, number: u64) -> RingToken {
    RingToken { name: name as u8, counter, fresh: 0, number, ward_number: 0 }
}

/// Counters run modulo participants + 1.
fn one_more(counter: u16, participants: usize) -> u16 {
    (counter + 1) % (participants as u16 + 1)
}

impl Machine for DemandRing {
    type Message = Say;

    const NEEDS: Channels = Channels { in_order: false, loses: false, repeats: false, loses_tokens: true };

    fn on(&mut self, event: Event<Say>) -> Result<Actions, Misuse> {
        let mut actions = Vec::new();
        match event {
            Event::Request => {
                self.expect("a request", Standing::Idle)?;
                self.standing = Standing::Waiting;
                self.enter(&mut actions);
            }
            Event::Withdraw => {
                self.expect("a withdrawal", Standing::Waiting)?;
                self.standing = Standing::Idle;
            }
            Event::Release => {
                self.expect("a release", Standing::Inside)?;
                self.standing = Standing::Idle;
            }
            Event::Join => {
                self.expect("a join", Standing::Absent)?;
                self.standing = Standing::Idle;
                let message = Say::Join { life: self.life };
                actions.extend(self.others().map(|to| Action::Send { to, message }));
                actions.push(Action::Joined);
            }
            Event::Leave => {
                self.expect("a departure", Standing::Idle)?;
                *self = Self::absent(self.participants, self.me, self.life + 1)?;
                actions.push(Action::Departed);
            }
            Event::Retry => {}
            Event::Receive { from, message } => {
                self.check(from, Some(&message))?;
                if let (Say::Token(token), true) = (message, self.standing != Standing::Absent) {
                    self.comes(token);
                    self.enter(&mut actions);
                }
            }
            Event::Down { peer } => self.check(peer, None)?,
            Event::Recreate { floor } => {
                if self.here.iter().any(Option::is_some) || self.standing == Standing::Absent {
                    return Err(Misuse::Recreate { wrong: "the machine has a token, or is absent" });
                }
                self.here = [Some(token(PING, 1, floor.saturating_add(1))), Some(token(PONG, 1, 1))];
                self.enter(&mut actions);
            }
        }
        Ok(actions)
    }

    fn standing(&self) -> Standing {
        self.standing
    }

    fn me(&self) -> usize {
        self.me
    }

    fn participants(&self) -> usize {
        self.participants
    }

    fn has_token(&self, token: usize) -> bool {
        self.here.get(token).is_some_and(Option::is_some)
    }
}
