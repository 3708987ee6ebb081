//! The bakery by messages: each participant keeps its own `choosing` and number, and answers questions.
//!
//! Source: L. Lamport, "A New Solution of Dijkstra's Concurrent Programming Problem", CACM 17(8), 1974; by messages as in
//! a lecture's chapter 3, section 1 ("lorsque P_i veut connaître la valeur de num[j] ou choix[j], il la demande à P_j").
//!
//! ```text
//! enter:    choosing[i] = true; number[i] = 1 + max number[*]; choosing[i] = false
//!           for each j != i: wait until not choosing[j]; wait until number[j] = 0 or (number[i], i) < (number[j], j)
//! leave:    number[i] = 0
//! each number[j], choosing[j]: asked of j by a message, and answered by one
//! ```
//!
//! Where the source slips or is silent:
//! - It does not say how one waits for what another participant keeps. One asks again: here at each [`Event::Retry`], those
//!   that stand in the way. So the messages of an entry have no bound: 4(n-1) with none in the way, and 2 for each time that
//!   one is asked again.
//! - It asks each in turn, for `choosing` and then for the number. Here all are asked at once, and an answer has both, as
//!   they are at one moment; that moment is after the asker's own number was made known, which is all that the proof
//!   wants.
//! - Answers may be late. A question has a number, the same for all of one phase (before choosing, or after it), and an answer
//!   to another phase is dropped. So order, loss and repeats do no harm: a participant that is not answered asks again.
//! - Its numbers begin again at 1 when the queue is empty. Here they do not: each remembers the largest number that it has
//!   heard of, and answers with it. All peers present have heard of a number before its owner enters, so numbers (with
//!   the participant's, which breaks ties) are fencing tokens, and a death does not lose them. The source's drawback,
//!   numbers without a bound, is so the rule. 2^52 of them last longer than any of this.
//! - It knows neither departures nor deaths: a peer that is gone counts as one that is not choosing and has no number.
//!   A participant that joins begins no doorway before all peers present have said that they count it. If one ends in
//!   the meantime that had not said so, the others are asked anew: they know of its numbers.

use super::{Action, Channels, Event, Machine, Message, Misuse, Standing, members::Members};

/// A participant's part in the bakery by messages.
///
/// ```
/// use turnlock_message::{Action, Bakery, BakeryMessage, Event, Machine};
///
/// let mut ours = Bakery::founding(2, 0)?;
/// let asked = ours.on(Event::Request)?;
/// let [Action::Send { to: 1, message: BakeryMessage::Ask { question, number: 0 } }] = asked[..] else { panic!() };
/// // The other one has no number, so ours is 1; it is asked once more, now that it can know.
/// let message = BakeryMessage::Answer { question, choosing: false, number: 0, highest: 0 };
/// let asked = ours.on(Event::Receive { from: 1, message })?;
/// assert!(matches!(asked[..], [Action::Send { to: 1, message: BakeryMessage::Ask { number: 1, .. } }]));
/// # Ok::<(), turnlock_message::Misuse>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bakery {
    members: Members,
    standing: Standing,
    /// `choix[i]`.
    choosing: bool,
    /// `num[i]`; 0: none.
    number: u64,
    /// The largest number that this participant has taken or heard of.
    highest: u64,
    /// The number of the present phase's question; the life in its high half.
    question: u64,
    /// Which peers have answered the present question, and do not stand in the way.
    passed: Box<[bool]>,
}

/// The messages of a [`Bakery`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BakeryMessage {
    /// Asks for `choosing` and the number of the receiver.
    Ask {
        /// Comes back with the answer.
        question: u64,
        /// The asker's number; 0 while it is choosing.
        number: u64,
    },
    /// The answer.
    Answer {
        /// The question's.
        question: u64,
        /// `choix` of the sender.
        choosing: bool,
        /// `num` of the sender.
        number: u64,
        /// The largest number that the sender has taken or heard of.
        highest: u64,
    },
    /// The sender takes part from now on.
    Join {
        /// The life of the sender.
        life: u32,
        /// How often it has asked all to be let in, in this life, from 1.
        round: u32,
    },
    /// The answer to a join.
    Welcome {
        /// The life of the participant that joins.
        life: u32,
        /// The sender's own life.
        own: u32,
        /// The round in which it last asked; 0: it has not asked the sender.
        round: u32,
        /// The sender takes part: it knows what numbers have been given.
        knows: bool,
        /// The largest number that the sender has taken or heard of.
        highest: u64,
    },
    /// The sender takes part no more.
    Leave {
        /// The life of the sender.
        life: u32,
    },
}

use BakeryMessage as Say;

impl Message for BakeryMessage {
    fn token(&self) -> Option<usize> {
        None
    }

    fn kind(&self) -> &'static str {
        match self {
            Say::Ask { .. } => "ask",
            Say::Answer { .. } => "answer",
            Say::Join { .. } => "join",
            Say::Welcome { .. } => "welcome",
            Say::Leave { .. } => "leave",
        }
    }
}

type Actions = Vec<Action<BakeryMessage>>;

impl Bakery {
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
        let passed = vec![false; members.participants()].into_boxed_slice();
        let question = u64::from(members.life) << 32;
        Self { members, standing, choosing: false, number: 0, highest: 0, question, passed }
    }

    /// Returns whether it is choosing a number: others wait until it has.
    pub fn is_choosing(&self) -> bool {
        self.choosing
    }

    /// Returns its number; 0: it has none.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the largest number that it has taken or heard of.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Returns whether `peer` has answered the present question and does not stand in the way.
    ///
    /// # Panics
    /// If `peer` is not below [`Machine::participants`].
    pub fn has_passed(&self, peer: usize) -> bool {
        self.passed[peer]
    }

    /// Asks all anew.
    fn next_question(&mut self, actions: &mut Actions) {
        self.question += 1;
        self.passed.fill(false);
        self.ask(actions);
    }

    /// Asks those that have not answered yet, or stand in the way.
    fn ask(&self, actions: &mut Actions) {
        let message = Say::Ask { question: self.question, number: self.number };
        let asked = self.members.others().filter(|peer| !self.passed[*peer]);
        actions.extend(asked.map(|to| Action::Send { to, message }));
    }

    /// Chooses a number, or enters, if none that is present is left to be asked.
    fn go_on(&mut self, actions: &mut Actions) {
        while self.standing == Standing::Waiting && self.members.others().all(|peer| self.passed[peer]) {
            if self.choosing {
                self.highest += 1;
                self.number = self.highest;
                self.choosing = false;
                self.next_question(actions);
            } else {
                self.standing = Standing::Inside;
                let fencing_token = self.number << PARTICIPANT_BITS | self.members.me() as u64;
                actions.push(Action::Enter { fencing_token });
            }
        }
    }

    fn receive(&mut self, from: usize, message: Say, actions: &mut Actions) {
        match message {
            Say::Ask { question, number } => {
                self.highest = self.highest.max(number);
                let Self { choosing, number, highest, .. } = *self;
                let answer = Say::Answer { question, choosing, number, highest };
                actions.push(Action::Send { to: from, message: answer });
            }
            Say::Answer { question, choosing, number, highest } => {
                self.highest = self.highest.max(highest);
                let is_ahead = number != 0 && (number, from) < (self.number, self.members.me());
                if question == self.question && (self.choosing || !(choosing || is_ahead)) {
                    self.passed[from] = true;
                }
            }
            Say::Join { life, round } => {
                if self.members.asks_to_join(from, life, round) {
                    // It has no number, and its first doorway begins after this and asks for ours.
                    self.passed[from] = true;
                }
                let (own, knows) = (self.members.life, self.members.takes_part());
                let welcome = Say::Welcome { life, own, round, knows, highest: self.highest };
                actions.push(Action::Send { to: from, message: welcome });
            }
            Say::Welcome { life, own, round, knows, highest } => {
                self.highest = self.highest.max(highest);
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

    fn expect(&self, event: &'static str, expected: Standing) -> Result<(), Misuse> {
        let standing = self.standing;
        if standing == expected { Ok(()) } else { Err(Misuse::Standing { event, standing, expected }) }
    }

    fn ask_to_join(&self, actions: &mut Actions) {
        let message = Say::Join { life: self.members.life, round: self.members.round() };
        actions.extend(self.members.to_be_asked().map(|to| Action::Send { to, message }));
    }
}

impl Machine for Bakery {
    type Message = BakeryMessage;

    const NEEDS: Channels = Channels { in_order: false, loses: true, repeats: true, loses_tokens: false };

    fn on(&mut self, event: Event<Say>) -> Result<Actions, Misuse> {
        let mut actions = Vec::new();
        match event {
            Event::Request => {
                self.expect("a request", Standing::Idle)?;
                self.standing = Standing::Waiting;
                self.choosing = true;
                self.next_question(&mut actions);
            }
            Event::Withdraw | Event::Release => {
                match event {
                    Event::Withdraw => self.expect("a withdrawal", Standing::Waiting)?,
                    _ => self.expect("a release", Standing::Inside)?,
                }
                (self.choosing, self.number) = (false, 0);
                self.standing = Standing::Idle;
            }
            Event::Join => {
                self.expect("a join", Standing::Absent)?;
                self.question = self.question.max(u64::from(self.members.life) << 32);
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
            Event::Retry => match self.standing {
                Standing::Waiting => self.ask(&mut actions),
                Standing::Joining => self.ask_to_join(&mut actions),
                _ => {}
            },
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
                self.highest = self.highest.max(floor >> PARTICIPANT_BITS);
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
                let (own, highest) = (self.members.life, self.highest);
                let message = Say::Welcome { life, own, round, knows: true, highest };
                actions.push(Action::Send { to, message });
            }
        }
        self.go_on(&mut actions);
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
