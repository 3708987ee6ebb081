//! Lamport's queue: each participant keeps the whole queue, ordered by stamps.
//!
//! Source: L. Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", CACM 21(7), 1978; here as in a
//! lecture's chapter 3, section 2.3 ("Algorithme de Lamport : distribuer une file d'attente"), which keeps one message of
//! each participant in the place of a queue.
//!
//! ```text
//! enter:    broadcast (req, h, i); f[i] = (req, h, i); h = h + 1
//!           wait until for all j != i: stamp of f[i] < stamp of f[j]
//! leave:    broadcast (rel, h, i); f[i] = (rel, h, i); h = h + 1
//! (req, k, j) comes:  h = max(h, k) + 1; f[j] = (req, k, j); send (acq, h, i) to j
//! (rel, k, j) comes:  h = max(h, k) + 1; f[j] = (rel, k, j)
//! (acq, k, j) comes:  h = max(h, k) + 1; f[j] = (acq, k, j) unless a req is there
//! ```
//!
//! Where the source slips or is silent:
//! - The rule in words says that P_i may enter when "the message in f[j]" is a request and the oldest: f[i] is meant, as
//!   its program has it. That program in turn says "for all i != j" and compares f[i] with f[j], with i as the participant
//!   whose program it is: j is what runs.
//! - It does not say where clocks begin: here at 1, after the 0 that all begin with.
//! - It does not count messages. An entry costs n-1 requests, n-1 acknowledgements and n-1 releases: 3(n-1), the
//!   literature's number.
//! - It does not advance the clock after an acknowledgement, so two messages of one sender may have the same stamp. Here it
//!   advances with every event that sends. So a stamp is later than all before it from the same sender, and a message that
//!   is not later is a repetition, and is dropped: repeats are harmless.
//! - It has no way to give up: here a withdrawal is a release without a section.
//! - It knows neither departures nor deaths. A peer that is gone is left out of the rule, and its request with it. A
//!   participant that joins hears, before it may request, from each present one the request that stands, or else a
//!   stamp: so its clock is past all that it missed. If one ends in the meantime that had not told it, the others are
//!   asked anew: they know of its requests.

use super::{Action, Channels, Event, Machine, Message, Misuse, Standing, members::Members};

/// A participant's part in Lamport's queue.
///
/// Two are inside at once if channels are out of order, or lose a request: an acknowledgement that comes in its place says that
/// nothing older is on its way. A lost acknowledgement blocks its requester, a lost release all.
///
/// ```
/// use turnlock_message::{Action, Event, LamportQueue, Machine};
///
/// let mut alone = LamportQueue::founding(1, 0)?;
/// assert!(matches!(alone.on(Event::Request)?[..], [Action::Enter { .. }]));
/// # Ok::<(), turnlock_message::Misuse>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LamportQueue {
    members: Members,
    standing: Standing,
    /// `h`, the local clock: larger than every stamp sent or seen.
    clock: u64,
    /// `f`: the last message of each participant that counts.
    queue: Box<[Entry]>,
    /// The last stamp that came from each: none that is not later comes from there again.
    newest: Box<[u64]>,
}

/// What `f[j]` holds: the type and the clock of a message. Its participant is the place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    is_request: bool,
    clock: u64,
}

/// `(rel, 0, j)`, with which all begin.
const NOTHING: Entry = Entry { is_request: false, clock: 0 };

/// The messages of a [`LamportQueue`]. Clocks are Lamport's, without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LamportQueueMessage {
    /// `req`: the sender wants the critical section.
    Request {
        /// The sender's clock: the stamp is the pair of it and the sender's number.
        clock: u64,
    },
    /// `acq`: the sender has seen the request.
    Acknowledge {
        /// The sender's clock.
        clock: u64,
    },
    /// `rel`: the sender wants the critical section no more.
    Release {
        /// The sender's clock.
        clock: u64,
    },
    /// The sender takes part from now on.
    Join {
        /// The life of the sender.
        life: u32,
        /// How often it has asked all to be let in, in this life, from 1.
        round: u32,
    },
    /// The answer to a join, after a request or an acknowledgement.
    Welcome {
        /// The life of the participant that joins.
        life: u32,
        /// The sender's own life.
        own: u32,
        /// The round in which it last asked; 0: it has not asked the sender.
        round: u32,
        /// The sender takes part: it knows what numbers have been given.
        knows: bool,
    },
    /// The sender takes part no more.
    Leave {
        /// The life of the sender.
        life: u32,
    },
}

use LamportQueueMessage as Say;

impl Message for LamportQueueMessage {
    fn token(&self) -> Option<usize> {
        None
    }

    fn kind(&self) -> &'static str {
        match self {
            Say::Request { .. } => "request",
            Say::Acknowledge { .. } => "acknowledge",
            Say::Release { .. } => "release",
            Say::Join { .. } => "join",
            Say::Welcome { .. } => "welcome",
            Say::Leave { .. } => "leave",
        }
    }
}

type Actions = Vec<Action<LamportQueueMessage>>;

impl LamportQueue {
    /// Returns the machine of participant `me`, present from the start beside `participants` - 1 others.
    ///
    /// # Errors
    /// [`Misuse::Size`].
    pub fn founding(participants: usize, me: usize) -> Result<Self, Misuse> {
        Ok(Self::made(Members::founding(participants, me)?, Standing::Idle))
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
        let queue = vec![NOTHING; members.participants()].into_boxed_slice();
        let newest = vec![0; members.participants()].into_boxed_slice();
        Self { members, standing, clock: 1, queue, newest }
    }

    /// Returns the local clock: larger than every stamp that this participant has sent or seen.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Returns the clock of the last message of `participant`, or of this one, that counts here: of its request while that
    /// stands. 0: none has come.
    ///
    /// # Panics
    /// If `participant` is not below [`Machine::participants`].
    pub fn last_clock_of(&self, participant: usize) -> u64 {
        self.queue[participant].clock
    }

    /// Returns whether a request of `participant` stands, as far as this participant has heard.
    ///
    /// # Panics
    /// As [`Self::last_clock_of`].
    pub fn has_request_of(&self, participant: usize) -> bool {
        self.queue[participant].is_request
    }

    /// Tells all that are present, with one stamp, which is returned.
    fn broadcast(&mut self, actions: &mut Actions, say: impl Fn(u64) -> Say) -> u64 {
        let clock = self.tick();
        actions.extend(self.members.others().map(|to| Action::Send { to, message: say(clock) }));
        clock
    }

    /// Returns the stamp of an event that sends.
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock - 1
    }

    /// `maj`: moves the clock past what came. Returns whether the message is news, not a repetition.
    fn advance(&mut self, from: usize, clock: u64) -> bool {
        let is_news = clock > self.newest[from];
        if is_news {
            self.newest[from] = clock;
            self.clock = self.clock.max(clock) + 1;
        }
        is_news
    }

    /// Enters if the own request is the oldest of all that is known of the peers present.
    fn enter_if_oldest(&mut self, actions: &mut Actions) {
        let me = self.members.me();
        let own = (self.queue[me].clock, me);
        if self.standing == Standing::Waiting
            && self.members.others().all(|peer| own < (self.queue[peer].clock, peer))
        {
            self.standing = Standing::Inside;
            actions.push(Action::Enter { fencing_token: fencing_token(own) });
        }
    }

    fn receive(&mut self, from: usize, message: Say, actions: &mut Actions) {
        match message {
            Say::Request { clock } => {
                if self.advance(from, clock) {
                    self.queue[from] = Entry { is_request: true, clock };
                    let clock = self.tick();
                    actions.push(Action::Send { to: from, message: Say::Acknowledge { clock } });
                }
            }
            Say::Acknowledge { clock } => {
                if self.advance(from, clock) && !self.queue[from].is_request {
                    self.queue[from].clock = clock;
                }
            }
            Say::Release { clock } => {
                if self.advance(from, clock) {
                    self.queue[from] = Entry { is_request: false, clock };
                }
            }
            Say::Join { life, round } => self.welcome(from, life, round, actions),
            Say::Welcome { life, own, round, knows } => {
                self.members.joins(from, own);
                if self.standing == Standing::Joining
                    && life == self.members.life
                    && self.members.has_welcomed(from, round, knows)
                {
                    let message = Say::Join { life, round: self.members.round() };
                    actions.push(Action::Send { to: from, message });
                }
            }
            Say::Leave { life } => self.members.leaves(from, life),
        }
    }

    /// A peer joins, or asks anew: it is told of a request of ours first, or else a stamp, so that its clock is past all that this
    /// participant knows of before it requests.
    fn welcome(&mut self, from: usize, life: u32, round: u32, actions: &mut Actions) {
        let is_news = self.members.asks_to_join(from, life, round);
        if is_news {
            (self.queue[from], self.newest[from]) = (NOTHING, 0);
        }
        let stamp = match self.standing {
            // With the stamp that it has.
            Standing::Waiting | Standing::Inside if is_news => {
                Say::Request { clock: self.queue[self.members.me()].clock }
            }
            _ => Say::Acknowledge { clock: self.tick() },
        };
        let (own, knows) = (self.members.life, self.members.takes_part());
        let welcome = Say::Welcome { life, own, round, knows };
        actions.extend([stamp, welcome].map(|message| Action::Send { to: from, message }));
    }

    fn ask_to_join(&self, actions: &mut Actions) {
        let message = Say::Join { life: self.members.life, round: self.members.round() };
        actions.extend(self.members.to_be_asked().map(|to| Action::Send { to, message }));
    }

    fn expect(&self, event: &'static str, expected: Standing) -> Result<(), Misuse> {
        let standing = self.standing;
        if standing == expected { Ok(()) } else { Err(Misuse::Standing { event, standing, expected }) }
    }
}

impl Machine for LamportQueue {
    type Message = LamportQueueMessage;

    const NEEDS: Channels = Channels { in_order: true, loses: false, repeats: true, loses_tokens: false };

    fn on(&mut self, event: Event<Say>) -> Result<Actions, Misuse> {
        let (me, mut actions) = (self.members.me(), Vec::new());
        match event {
            Event::Request => {
                self.expect("a request", Standing::Idle)?;
                let clock = self.broadcast(&mut actions, |clock| Say::Request { clock });
                self.queue[me] = Entry { is_request: true, clock };
                self.standing = Standing::Waiting;
            }
            Event::Withdraw | Event::Release => {
                match event {
                    Event::Withdraw => self.expect("a withdrawal", Standing::Waiting)?,
                    _ => self.expect("a release", Standing::Inside)?,
                }
                let clock = self.broadcast(&mut actions, |clock| Say::Release { clock });
                self.queue[me] = Entry { is_request: false, clock };
                self.standing = Standing::Idle;
            }
            Event::Join => {
                self.expect("a join", Standing::Absent)?;
                self.queue.fill(NOTHING);
                self.newest.fill(0);
                self.members.begins_to_join();
                self.standing = Standing::Joining;
                self.ask_to_join(&mut actions);
            }
            Event::Leave => {
                self.expect("a departure", Standing::Idle)?;
                let message = Say::Leave { life: self.members.life };
                actions.extend(self.members.others().map(|to| Action::Send { to, message }));
                self.members.life += 1;
                self.standing = Standing::Absent;
                actions.push(Action::Departed);
            }
            Event::Retry => {}
            Event::Receive { from, message } => {
                self.members.check(from)?;
                if self.standing != Standing::Absent {
                    self.receive(from, message, &mut actions);
                }
            }
            Event::Down { peer } => {
                self.members.check(peer)?;
                self.members.is_down_with_its_numbers(peer);
            }
            Event::Recreate { floor } => {
                self.members.begins_anew(self.standing)?;
                self.clock = self.clock.max((floor >> PARTICIPANT_BITS) + 1);
            }
        }
        if self.standing == Standing::Joining && self.members.asks_anew() {
            self.ask_to_join(&mut actions);
        }
        if self.standing == Standing::Joining && self.members.may_take_part() {
            self.standing = Standing::Idle;
            actions.push(Action::Joined);
            // Those that were told before that this one does not know.
            for (to, life, round) in self.members.unsure() {
                let clock = self.tick();
                actions.push(Action::Send { to, message: Say::Acknowledge { clock } });
                let welcome = Say::Welcome { life, own: self.members.life, round, knows: true };
                actions.push(Action::Send { to, message: welcome });
            }
        }
        self.enter_if_oldest(&mut actions);
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

    fn has_token(&self, _: usize) -> bool {
        false
    }
}

/// 4096 participants.
const PARTICIPANT_BITS: u32 = 12;

/// Returns a stamp as one number, in the same order.
fn fencing_token((clock, participant): (u64, usize)) -> u64 {
    clock << PARTICIPANT_BITS | participant as u64
}
