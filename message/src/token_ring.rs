//! Tokens on a ring, each of which finds out that another token is lost.
//!
//! Source: J. Misra, "Detecting Termination of Distributed Computations Using Markers", PODC 1983; here as in a lecture's
//! chapter 3, section 2.2 ("Algorithme de Misra : régénération du jeton").
//!
//! ```text
//! P_i:  wait for the token from P_(i-1); section; send the token to P_(i+1)
//! (ping, nbping) comes to P_i:  if m = nbping: pong is lost: nbping = nbping + 1; nbpong = -nbping (made anew)
//!                               else m = nbping
//! (pong, nbpong) comes:         likewise, with ping and pong exchanged
//! the two meet:                 nbping = nbping + 1; nbpong = nbpong - 1
//! ```
//!
//! # With N tokens
//!
//! The source says that the algorithm can be generalised to N tokens and then works as long as one is left, and does not
//! say how. The rule here is turnlock's own (`docs/messages.md` has what was searched):
//!
//! - Tokens are numbered 0 to N-1; 0 is the privilege. Token k watches over token k+1 (mod N), its *ward*, and only the token
//!   that watches makes its ward anew: so no token is made twice.
//! - Token k has a counter of the times that it met its ward. Each process remembers for each token the counter it had
//!   when it was there last, and forgets that when the ward comes by.
//! - Token k comes to a process that remembers the very counter it has: since then neither of them has met the ward, so the
//!   ward is lost. It is made anew here.
//! - A token that was made anew by this rule with N > 2, or by [`Event::Recreate`], goes round once before it judges: what
//!   processes remember of its namesake is from before.
//!
//! With N = 2 this is Misra's: the counters are |nbping| and |nbpong|, and what a process remembers of the one is forgotten
//! when the other comes, which is the one variable m, with its sign. No token goes round first then, since the one that finds
//! the ward lost has overwritten all that was remembered of it.
//!
//! # Where the source slips or is silent
//!
//! - It has the counters run modulo n+1. Taken literally, with m a number modulo n+1 that is compared with nbping, nbpong =
//!   -nbping, a token is made anew falsely, with none lost: 0 is -0, and -1 is n. A process has to remember *which*
//!   token had the counter. Then n+1 is right.
//! - It says that the loss is found in one round. Counted from the loss it takes up to n+1 hops of the token that is left.
//! - It says that the algorithm works if the other token is not lost in that time. If both are, nothing is ever made anew, and
//!   nothing in the ring shows it: the one that rules on deaths sees it, and says [`Event::Recreate`].
//! - It counts no messages. A token costs n hops a round, with entries or without; the host may hold a token that none wants
//!   for as long as it likes before it sends it on.
//! - It does not say what comes of a token that comes twice. Here tokens have numbers, as on the [mesh](super::RicartAgrawala):
//!   one that is not larger than the last seen here is dropped. The number of token 0 at an entry is the fencing token. For
//!   one that is made anew, its watcher has gathered on its round the largest that any process has seen.
//! - It does not say how a process departs or returns. Here the one before it changes the link: it holds back what it has to
//!   send, asks the next one whether all has come (`mark`, `clear`), and only then sends over another link. So no token
//!   overtakes another. A leaving process clears its own link before it answers; of those that leave at once, one waits for the
//!   next only if that has the larger number. A joining process is let in by the one in whose part of the circle it is, once it
//!   has said to that one that it still joins.
//! - It knows no deaths. One that takes up a dead one's place marks its link first, so that no mark of the former life stands,
//!   and tells all: those that had marked it do so again.
//! - In a ring of one, on which it is silent too, tokens go round within it whenever one is missing. A process that dies
//!   leaves the ring broken until its place is taken up again, by itself or by a process that acts for it
//!   ([`TokenRing::restarted`]), to go on or to leave.

mod link;
mod say;
mod token;

pub use say::TokenRingMessage;
pub use token::RingToken;

use super::{Action, Channels, Event, MAX_PARTICIPANTS, Machine, Misuse, Standing};
use link::Link;
use token::Memory;

/// A participant's part in a ring of tokens.
///
/// ```
/// use turnlock_message::{Action, Event, Machine, TokenRing};
///
/// let mut first = TokenRing::founding(3, 0, 2)?; // participant 0 has both of Misra's tokens at first
/// assert!(matches!(first.on(Event::Request)?[..], [Action::Enter { .. }, Action::Send { to: 1, .. }]));
/// assert!(first.has_token(0) && !first.has_token(1));
/// # Ok::<(), turnlock_message::Misuse>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRing {
    me: usize,
    standing: Standing,
    /// The life in which this participant takes part, or does so next.
    life: u32,
    /// This life follows an earlier one in the same place, and the others are to be told so with the first event.
    is_to_say: bool,
    /// The tokens that are here: in use, or held back while the link is being changed.
    here: Box<[Option<RingToken>]>,
    memory: Memory,
    link: Link,
}

use TokenRingMessage as Say;

type Actions = Vec<Action<Say>>;

impl TokenRing {
    /// Returns the machine of participant `me`, present from the start beside `participants` - 1 others, on a ring with
    /// `tokens` tokens: 1 is the ring without regeneration, 2 is Misra's. Participant 0 has them all at first, and sends them
    /// on with its first event.
    ///
    /// # Errors
    /// [`Misuse::Size`], [`Misuse::Tokens`].
    pub fn founding(participants: usize, me: usize, tokens: usize) -> Result<Self, Misuse> {
        let next = (me + 1) % participants.max(1);
        let mut made = Self::restarted(participants, me, 1, tokens, next)?;
        made.is_to_say = false;
        if me == 0 {
            made.here = (0..tokens).map(|name| Some(RingToken::first(name))).collect();
        }
        Ok(made)
    }

    /// Returns the machine of a participant that is not there yet, or that has departed. `life` is larger than that of any
    /// earlier life of this number.
    ///
    /// # Errors
    /// [`Misuse::Size`], [`Misuse::Life`], [`Misuse::Tokens`].
    pub fn absent(participants: usize, me: usize, life: u32, tokens: usize) -> Result<Self, Misuse> {
        let mut made = Self::restarted(participants, me, life, tokens, me)?;
        (made.standing, made.is_to_say) = (Standing::Absent, false);
        Ok(made)
    }

    /// Returns the machine of a participant that has lost its state in the middle of the ring, or of one that acts for it, with
    /// no token and no memory of any. `next` is what [`TokenRing::next`] last was: it has to be stored before what is sent
    /// after a change.
    ///
    /// # Errors
    /// [`Misuse::Size`], [`Misuse::Life`], [`Misuse::Peer`], [`Misuse::Tokens`].
    pub fn restarted(
        participants: usize,
        me: usize,
        life: u32,
        tokens: usize,
        next: usize,
    ) -> Result<Self, Misuse> {
        if me >= participants || participants > MAX_PARTICIPANTS {
            return Err(Misuse::Size { participants, me });
        }
        if life == 0 {
            return Err(Misuse::Life);
        }
        if next >= participants {
            return Err(Misuse::Peer { peer: next, participants });
        }
        if !(1..=8).contains(&tokens) {
            return Err(Misuse::Tokens { tokens });
        }
        let here = vec![None; tokens].into_boxed_slice();
        let (memory, link) = (Memory::new(participants, tokens), Link::new(participants, me, life, next));
        Ok(Self { me, standing: Standing::Idle, life, is_to_say: true, here, memory, link })
    }

    /// The process that this participant sends to at present; itself, if it is alone.
    pub fn next(&self) -> usize {
        self.link.next
    }

    /// Returns how many tokens the ring has, lost ones included.
    pub fn tokens(&self) -> usize {
        self.here.len()
    }

    /// Shows `visit` every token number here and in what is remembered, with the name of the token that it belongs to. Only
    /// differences between numbers of one token matter: a search may take states for the same that differ in all of them
    /// alike.
    #[doc(hidden)]
    pub fn visit_numbers(&mut self, mut visit: impl FnMut(usize, &mut u64)) {
        let tokens = self.here.len();
        self.here.iter_mut().flatten().for_each(|token| token.visit_numbers(tokens, &mut visit));
        self.memory.visit_numbers(&mut visit);
    }

    /// A token comes.
    fn token_comes(&mut self, token: RingToken) {
        let mut token = token;
        if !self.memory.is_new(&token) {
            return;
        }
        let made = self.memory.judge(&mut token);
        for other in self.here.iter_mut().flatten() {
            self.memory.meet(&mut token, other);
        }
        let name = usize::from(token.name);
        self.here[name] = Some(token);
        if let Some(made) = made {
            let name = usize::from(made.name);
            self.memory.sees(&made);
            self.here[name].get_or_insert(made);
        }
    }

    /// A ring of one: its tokens go round within it, until those that are lost are found out. None is on its way, since the
    /// links to it were cleared by those that left.
    fn go_round_alone(&mut self) {
        if self.link.next != self.me || self.here.iter().all(Option::is_none) {
            return;
        }
        while let Some(name) = self.here.iter().position(Option::is_none) {
            // The token that watches over it may be lost itself, and be made anew first.
            let tokens = self.here.len();
            let watcher = (1..tokens).map(|step| (name + tokens - step) % tokens);
            let Some(mut token) = watcher.into_iter().find_map(|watcher| self.here[watcher].take()) else {
                return;
            };
            token.number += 1;
            self.token_comes(token);
        }
    }

    /// Enters if the privilege is here and wanted; sends on what is not wanted, if the link is open.
    fn settle(&mut self, actions: &mut Actions) {
        let takes_part = !matches!(self.standing, Standing::Absent | Standing::Joining);
        if takes_part {
            self.go_round_alone();
        }
        if self.standing == Standing::Waiting
            && let Some(token) = &mut self.here[0]
        {
            token.number += 1;
            self.memory.sees(token);
            self.standing = Standing::Inside;
            actions.push(Action::Enter { fencing_token: token.number });
        }
        if !takes_part || !self.link.is_open() || self.link.next == self.me {
            return;
        }
        for name in 0..self.here.len() {
            if name == 0 && self.standing == Standing::Inside {
                continue;
            }
            if let Some(mut token) = self.here[name].take() {
                token.number += 1;
                self.memory.sees(&token);
                self.link.sends();
                actions.push(Action::Send { to: self.link.next, message: Say::Token(token) });
            }
        }
    }

    fn receive(&mut self, from: usize, message: Say, actions: &mut Actions) {
        match message {
            Say::Token(token) => self.token_comes(token),
            Say::Mark { round, to_leave } => {
                if to_leave && self.standing == Standing::Leaving {
                    self.link.is_marked(from, round);
                } else {
                    self.link.is_unmarked(from);
                    let message = Say::Clear { round, next: self.me };
                    actions.push(Action::Send { to: from, message });
                }
            }
            Say::Clear { round, next } => self.link.is_clear(from, round, next, actions),
            Say::Join { life } if self.standing != Standing::Joining => {
                self.link.wants_to_join(from, life, actions);
            }
            Say::Join { .. } => {}
            Say::Welcome { life, next } => {
                // It may have been sent to the life before, which asked as well.
                if self.standing == Standing::Joining && life <= self.life {
                    self.link.begins_at(next);
                    self.standing = Standing::Idle;
                    actions.push(Action::Joined);
                }
            }
            Say::Leave { .. } => self.link.wants_to_leave(from),
            Say::Restarted { .. } => self.link.marks_again(from, actions),
        }
    }

    /// Departs if the one before has asked for it, and all that was sent to the next one has come.
    fn depart(&mut self, actions: &mut Actions) {
        if self.standing != Standing::Leaving || self.here.iter().any(Option::is_some) {
            return;
        }
        if let Some((to, round)) = self.link.may_depart() {
            actions.push(Action::Send { to, message: Say::Clear { round, next: self.link.next } });
            self.life += 1;
            self.standing = Standing::Absent;
            (self.memory, self.link) = (
                Memory::new(self.participants(), self.here.len()),
                Link::new(self.participants(), self.me, self.life, self.me),
            );
            actions.push(Action::Departed);
        }
    }

    fn tell_all(&self, actions: &mut Actions, message: Say) {
        let (me, participants) = (self.me, self.participants());
        let others = (1..participants).map(|step| (me + step) % participants);
        actions.extend(others.map(|to| Action::Send { to, message }));
    }

    fn expect(&self, event: &'static str, expected: Standing) -> Result<(), Misuse> {
        let standing = self.standing;
        if standing == expected { Ok(()) } else { Err(Misuse::Standing { event, standing, expected }) }
    }

    fn check(&self, from: usize, message: Option<&Say>) -> Result<(), Misuse> {
        let participants = self.participants();
        if from == self.me || from >= participants {
            return Err(Misuse::Peer { peer: from, participants });
        }
        let wrong = match message {
            Some(Say::Token(token)) if usize::from(token.name) >= self.here.len() => {
                "its token is of a ring with more tokens"
            }
            Some(Say::Token(token)) if usize::from(token.counter) > participants => {
                "its token's counter is of a larger ring"
            }
            Some(Say::Token(token))
                if self.here[usize::from(token.name)].is_some() && self.memory.is_new(token) =>
            {
                "it is a second token of that name"
            }
            Some(Say::Clear { next, .. } | Say::Welcome { next, .. }) if *next >= participants => {
                "it names a participant that cannot be"
            }
            _ => return Ok(()),
        };
        Err(Misuse::Message { from, wrong })
    }
}

impl Machine for TokenRing {
    type Message = TokenRingMessage;

    const NEEDS: Channels = Channels { in_order: true, loses: false, repeats: false, loses_tokens: true };

    fn on(&mut self, event: Event<Say>) -> Result<Actions, Misuse> {
        let mut actions = Vec::new();
        match event {
            Event::Request => {
                self.expect("a request", Standing::Idle)?;
                self.standing = Standing::Waiting;
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
                self.standing = Standing::Joining;
                self.tell_all(&mut actions, Say::Join { life: self.life });
            }
            Event::Leave => {
                self.expect("a departure", Standing::Idle)?;
                self.standing = Standing::Leaving;
                self.tell_all(&mut actions, Say::Leave { life: self.life });
                self.link.begins_to_leave(&mut actions);
            }
            Event::Retry => match self.standing {
                Standing::Joining => self.tell_all(&mut actions, Say::Join { life: self.life }),
                Standing::Leaving => self.tell_all(&mut actions, Say::Leave { life: self.life }),
                _ => {}
            },
            Event::Receive { from, message } => {
                self.check(from, Some(&message))?;
                if self.standing != Standing::Absent {
                    self.receive(from, message, &mut actions);
                }
            }
            Event::Down { peer } => {
                self.check(peer, None)?;
                self.link.is_down(peer);
            }
            Event::Recreate { floor } => {
                if self.here.iter().any(Option::is_some) || self.standing == Standing::Absent {
                    return Err(Misuse::Recreate { wrong: "the machine has a token, or is absent" });
                }
                self.here = (0..self.here.len()).map(|name| Some(self.memory.made(name, floor))).collect();
                if self.standing == Standing::Joining {
                    // None is there: else one that is would have been told.
                    self.link.begins_at(self.me);
                    self.standing = Standing::Idle;
                    actions.push(Action::Joined);
                }
            }
        }
        if std::mem::take(&mut self.is_to_say) {
            self.tell_all(&mut actions, Say::Restarted { life: self.life });
            self.link.begins_again(&mut actions);
        }
        self.settle(&mut actions);
        if !matches!(self.standing, Standing::Absent | Standing::Joining) {
            self.link.go_on(self.standing == Standing::Leaving, &mut actions);
            // What was held back goes over the link as it is now, and a departure has to wait for that too.
            self.settle(&mut actions);
            self.depart(&mut actions);
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
        self.memory.participants()
    }

    fn has_token(&self, token: usize) -> bool {
        self.here.get(token).is_some_and(Option::is_some)
    }
}
