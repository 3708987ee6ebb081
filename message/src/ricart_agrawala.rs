//! A token on a mesh: its owner may enter without asking the others.
//!
//! Source: G. Ricart and A. K. Agrawala (author's response, CACM 26(2), 1983) and I. Suzuki and T. Kasami (ACM TOCS 3(4),
//! 1985); here as in a lecture's chapter 3, section 2.1 ("Algorithme de Ricart et Agrawala (Suzuki / Kasami)").
//!
//! ```text
//! enter:    if the token is not here: clock = clock + 1; broadcast (req, clock, i); wait for the token
//! leave:    token[i] = clock
//!           for j = i+1 .. n, 1 .. i-1: if requests[j] > token[j]: send the token to j, and no further
//! (req, k, j) comes:  requests[j] = max(requests[j], k); with the token here and none inside: as in leaving
//! ```
//!
//! Where the source slips or is silent:
//! - It gives n messages; that is n-1 requests and the token, or none with the token at home.
//! - Its prelude says that the token is here before it says that one is inside. A request that comes between would send the
//!   token away from the one that enters. Here both are one event.
//! - A token that comes twice is two privileges. Here the token has a number that grows with each hop and each entry, and
//!   one that is not larger than all that a machine has seen is dropped. The number at an entry is the fencing token.
//! - A request that comes twice, or late, is harmless: that is what `max` is for. One that is lost blocks its sender until
//!   it is sent again, with the same stamp ([`Event::Retry`]).
//! - It has no way to give up. Here a withdrawn request stands: the others have it, so the token comes for it, and is passed
//!   on at once, as after a section. If the participant wants again before, that is the same request, at no further message.
//! - It knows no departures. Here one that departs passes the token on, to a neighbour if none asks for it, and is free to go
//!   only when each present one has said that it sends no token any more, and with what number it sent the last; channels may
//!   be out of order. Stamps begin with the life number in their high bits, so that those of a participant that returns are
//!   larger than what a token remembers of it. A participant that joins is told of the requests that stand.
//! - It says that a lost token blocks all, and leaves the rest to "a regeneration algorithm". Here a token is made anew by
//!   [`Event::Recreate`], and by nothing else.

use super::{Action, Channels, Event, Machine, Message, Misuse, Standing, members::Members};

/// A participant's part in a token on a mesh.
///
/// A waiter whose request has reached the others is overtaken by each of them at most once.
///
/// ```
/// use turnlock_message::{Action, Event, Machine, RicartAgrawala};
///
/// let mut home = RicartAgrawala::founding(3, 0)?; // participant 0 has the token at first
/// assert_eq!(home.on(Event::Request)?, [Action::Enter { fencing_token: 1 }]); // no message
/// let mut other = RicartAgrawala::founding(3, 1)?;
/// assert_eq!(other.on(Event::Request)?.len(), 2); // a request to each of the others
/// # Ok::<(), turnlock_message::Misuse>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawala {
    members: Members,
    /// `dedans` is [`Standing::Inside`].
    standing: Standing,
    /// `horlog`: counts the requests of this participant; its life in the high half.
    clock: u64,
    /// `jetonprésent`, and `jeton` while it is.
    token: Option<MeshToken>,
    /// `requêtes`: the last request of each participant that came.
    requests: Box<[u64]>,
    /// The request `clock` has been broadcast, and the token has not come since.
    is_asked_for: bool,
    /// The largest number of the token when it came or was sent; 0: never.
    newest: u64,
    /// The number with which the token was last sent to each, in its present life.
    sent: Box<[u64]>,
    /// While leaving: the number with which each has said that it last sent the token to this participant, as long as that
    /// may still come.
    on_its_way: Box<[u64]>,
}

/// The token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MeshToken {
    /// Larger after each hop and each entry.
    pub number: u64,
    /// `jeton`: for each participant the stamp of its last request when the token last was there.
    pub visits: Box<[u64]>,
}

/// The messages of a [`RicartAgrawala`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RicartAgrawalaMessage {
    /// `req`: the sender wants the token.
    Request {
        /// The sender's clock.
        stamp: u64,
    },
    /// `token`: the privilege.
    Token(MeshToken),
    /// The sender takes part from now on.
    Join {
        /// The life of the sender.
        life: u32,
    },
    /// The answer to a join.
    Welcome {
        /// The life of the participant that joins.
        life: u32,
        /// The sender's own life.
        own: u32,
    },
    /// The sender takes part no more, and wants to know when no token is on its way to it.
    Leave {
        /// The life of the sender.
        life: u32,
    },
    /// The answer to a departure: the sender sends no token there any more.
    Farewell {
        /// The life of the participant that leaves.
        life: u32,
        /// The number with which the sender last sent the token there; 0: never.
        sent: u64,
    },
}

use RicartAgrawalaMessage as Say;

impl Message for RicartAgrawalaMessage {
    fn token(&self) -> Option<usize> {
        matches!(self, Say::Token(_)).then_some(0)
    }

    fn kind(&self) -> &'static str {
        match self {
            Say::Request { .. } => "request",
            Say::Token(_) => "token",
            Say::Join { .. } => "join",
            Say::Welcome { .. } => "welcome",
            Say::Leave { .. } => "leave",
            Say::Farewell { .. } => "farewell",
        }
    }
}

type Actions = Vec<Action<RicartAgrawalaMessage>>;

impl RicartAgrawala {
    /// Returns the machine of participant `me`, present from the start beside `participants` - 1 others. Participant 0 has the
    /// token.
    ///
    /// # Errors
    /// [`Misuse::Size`].
    pub fn founding(participants: usize, me: usize) -> Result<Self, Misuse> {
        let mut made = Self::made(Members::founding(participants, me)?, Standing::Idle);
        made.token = (me == 0).then(|| MeshToken { number: 0, visits: vec![0; participants].into() });
        Ok(made)
    }

    /// Returns the machine of a participant that is not there yet, or has lost its state. `life` is larger than that of any
    /// earlier life of this number.
    ///
    /// # Errors
    /// [`Misuse::Size`], [`Misuse::Life`].
    pub fn absent(participants: usize, me: usize, life: u32) -> Result<Self, Misuse> {
        Ok(Self::made(Members::absent(participants, me, life)?, Standing::Absent))
    }

    fn made(members: Members, standing: Standing) -> Self {
        let none = vec![0; members.participants()].into_boxed_slice();
        let clock = first_stamp(members.life);
        let (token, is_asked_for) = (None, false);
        let (requests, sent) = (none.clone(), none);
        let on_its_way = sent.clone();
        Self { members, standing, clock, token, requests, is_asked_for, newest: 0, sent, on_its_way }
    }

    /// Returns the token, while it is here.
    pub fn token(&self) -> Option<&MeshToken> {
        self.token.as_ref()
    }

    /// Returns the stamp of this participant's last request: its life in the upper 32 bits, and how many requests it has made.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Returns the stamp of the last request of `peer` that came; 0: none.
    ///
    /// # Panics
    /// If `peer` is not below [`Machine::participants`].
    pub fn request_of(&self, peer: usize) -> u64 {
        self.requests[peer]
    }

    /// Sends the same to all that are present.
    fn broadcast(&self, actions: &mut Actions, message: &Say) {
        actions.extend(self.members.others().map(|to| Action::Send { to, message: message.clone() }));
    }

    /// Sends the same to all that have not answered.
    fn ask_again(&self, actions: &mut Actions, message: &Say) {
        let asked = self.members.all_others().filter(|peer| self.members.is_unanswered(*peer));
        actions.extend(asked.map(|to| Action::Send { to, message: message.clone() }));
    }

    /// Enters: the token is here, and the participant waits for it.
    fn enter(&mut self, actions: &mut Actions) {
        if let Some(token) = &mut self.token {
            self.standing = Standing::Inside;
            token.number += 1;
            self.newest = token.number;
            actions.push(Action::Enter { fencing_token: token.number });
        }
    }

    /// The postlude: the token goes to the next one that has asked for it since it last was there. It stays if none has.
    fn pass_on(&mut self, actions: &mut Actions) {
        let Some(token) = &mut self.token else { return };
        token.visits[self.members.me()] = self.clock;
        self.is_asked_for = false;
        let asks = |peer: &usize| self.requests[*peer] > token.visits[*peer];
        let next = self.members.others().find(asks);
        if let Some(to) = next {
            self.send_token(to, actions);
        }
    }

    fn send_token(&mut self, to: usize, actions: &mut Actions) {
        if let Some(mut token) = self.token.take() {
            token.number += 1;
            (self.newest, self.sent[to]) = (token.number, token.number);
            actions.push(Action::Send { to, message: Say::Token(token) });
        }
    }

    fn receive(&mut self, from: usize, message: Say, actions: &mut Actions) {
        match message {
            Say::Request { stamp } => {
                self.requests[from] = self.requests[from].max(stamp);
                if self.standing != Standing::Inside {
                    self.pass_on(actions);
                }
            }
            Say::Token(token) => {
                // One that came before, or that was replaced by a newer one.
                if token.number <= self.newest {
                    return;
                }
                self.newest = token.number;
                self.token = Some(token);
                self.use_token(actions);
            }
            Say::Join { life } => {
                let is_news = self.members.joins(from, life);
                if is_news {
                    // What was sent to an earlier life does not come to this one.
                    self.sent[from] = 0;
                }
                let own = self.members.life;
                actions.push(Action::Send { to: from, message: Say::Welcome { life, own } });
                if self.standing == Standing::Leaving {
                    // It may have the token by and by, and has to know, as the others do.
                    if is_news {
                        self.members.expect_also(from);
                    }
                    actions.push(Action::Send { to: from, message: Say::Leave { life: own } });
                } else if is_news && self.is_asked_for {
                    actions.push(Action::Send { to: from, message: Say::Request { stamp: self.clock } });
                }
            }
            Say::Welcome { life, own } => {
                self.members.joins(from, own);
                if self.standing == Standing::Joining && life == self.members.life {
                    self.members.has_answered(from);
                }
            }
            Say::Leave { life } => {
                self.members.leaves(from, life);
                let farewell = Say::Farewell { life, sent: self.sent[from] };
                actions.push(Action::Send { to: from, message: farewell });
            }
            Say::Farewell { life, sent } => {
                if self.standing == Standing::Leaving && life == self.members.life {
                    self.on_its_way[from] = sent;
                    self.members.has_answered(from);
                }
            }
        }
    }

    /// The token has come, or has been made.
    fn use_token(&mut self, actions: &mut Actions) {
        if self.standing == Standing::Waiting {
            self.enter(actions);
        } else {
            self.pass_on(actions);
        }
    }

    /// Departs if all have answered, and no token is on its way.
    fn settle(&mut self, actions: &mut Actions) {
        if !self.members.all_answered() {
            return;
        }
        if self.standing == Standing::Joining {
            self.standing = Standing::Idle;
            actions.push(Action::Joined);
        } else if self.standing == Standing::Leaving
            && self.on_its_way.iter().all(|sent| *sent <= self.newest)
        {
            // A token that none asks for goes to a neighbour that stays. With none there it goes with this participant: the
            // next one that joins has one made.
            let neighbour = self.members.others().next();
            neighbour.into_iter().for_each(|to| self.send_token(to, actions));
            self.token = None;
            self.is_asked_for = false;
            self.members.life += 1;
            self.standing = Standing::Absent;
            actions.push(Action::Departed);
        }
    }

    fn expect(&self, event: &'static str, expected: Standing) -> Result<(), Misuse> {
        let standing = self.standing;
        if standing == expected { Ok(()) } else { Err(Misuse::Standing { event, standing, expected }) }
    }

    fn check(&self, from: usize, message: &Say) -> Result<(), Misuse> {
        self.members.check(from)?;
        match message {
            Say::Token(token) if token.visits.len() != self.members.participants() => {
                Err(Misuse::Message { from, wrong: "its token is for another number of participants" })
            }
            Say::Token(token) if self.token.is_some() && token.number > self.newest => {
                Err(Misuse::Message { from, wrong: "it is a second token" })
            }
            _ => Ok(()),
        }
    }
}

impl Machine for RicartAgrawala {
    type Message = RicartAgrawalaMessage;

    const NEEDS: Channels = Channels { in_order: false, loses: true, repeats: true, loses_tokens: false };

    fn on(&mut self, event: Event<Say>) -> Result<Actions, Misuse> {
        let mut actions = Vec::new();
        match event {
            Event::Request => {
                self.expect("a request", Standing::Idle)?;
                self.standing = Standing::Waiting;
                if self.token.is_some() {
                    self.enter(&mut actions);
                } else if !self.is_asked_for {
                    self.clock += 1;
                    self.is_asked_for = true;
                    self.broadcast(&mut actions, &Say::Request { stamp: self.clock });
                }
            }
            Event::Withdraw => {
                self.expect("a withdrawal", Standing::Waiting)?;
                self.standing = Standing::Idle;
            }
            Event::Release => {
                self.expect("a release", Standing::Inside)?;
                self.standing = Standing::Idle;
                self.pass_on(&mut actions);
            }
            Event::Join => {
                self.expect("a join", Standing::Absent)?;
                self.members.forget();
                // Whatever was sent in an earlier life has come, or never will.
                self.sent.fill(0);
                self.clock = self.clock.max(first_stamp(self.members.life));
                self.members.expect(|_, _| true);
                self.standing = Standing::Joining;
                self.ask_again(&mut actions, &Say::Join { life: self.members.life });
            }
            Event::Leave => {
                self.expect("a departure", Standing::Idle)?;
                self.on_its_way.fill(0);
                self.members.expect(|members, peer| members.is_present(peer));
                self.standing = Standing::Leaving;
                self.ask_again(&mut actions, &Say::Leave { life: self.members.life });
                self.pass_on(&mut actions);
            }
            Event::Retry => match self.standing {
                Standing::Waiting => self.broadcast(&mut actions, &Say::Request { stamp: self.clock }),
                Standing::Joining => self.ask_again(&mut actions, &Say::Join { life: self.members.life }),
                Standing::Leaving => self.ask_again(&mut actions, &Say::Leave { life: self.members.life }),
                Standing::Absent | Standing::Idle | Standing::Inside => {}
            },
            Event::Receive { from, message } => {
                self.check(from, &message)?;
                if self.standing != Standing::Absent {
                    self.receive(from, message, &mut actions);
                }
            }
            Event::Down { peer } => {
                self.members.check(peer)?;
                self.members.is_down(peer);
                // A token that it sent has come by now, or was lost with it.
                self.on_its_way[peer] = 0;
            }
            Event::Recreate { floor } => {
                if self.token.is_some() || self.standing == Standing::Absent {
                    return Err(Misuse::Recreate { wrong: "the machine has the token, or is absent" });
                }
                let number = floor.max(self.newest) + 1;
                self.newest = number;
                self.token = Some(MeshToken { number, visits: vec![0; self.members.participants()].into() });
                self.use_token(&mut actions);
            }
        }
        self.settle(&mut actions);
        Ok(actions)
    }

    fn standing(&self) -> Standing {
        self.standing
    }

    fn me(&self) -> usize {
        self.members.me()
    }

    fn participants(&self) -> usize {
        self.members.participants()
    }

    fn has_token(&self, token: usize) -> bool {
        token == 0 && self.token.is_some()
    }
}

/// Larger than every stamp of an earlier life.
fn first_stamp(life: u32) -> u64 {
    u64::from(life) << 32
}
