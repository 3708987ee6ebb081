//! The state of a search through what a ring in a lock file does: the machines that ship, at a model of the file's words and
//! mailboxes, each of whose stores is a step by itself where another one's death may come between.

use super::plan::{Fault, Plan, Step};
use turnlock::message::{Action, DemandRing, Event, Machine, RingToken, Standing, TokenRingMessage as Say};

/// Who takes part, in which life.
pub type At = (u8, u8);

/// What one that takes part does across several steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Doing {
    Nothing,
    Greets,
    CallsForToken,
    /// Before another call of it.
    Attends,
    Sends {
        token: RingToken,
        to: At,
        stores: u8,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Actor {
    pub machine: DemandRing,
    /// The lives that messages are exchanged with; 0: none.
    pub known: Vec<u8>,
    pub doing: Doing,
}

/// The words of one peer_record, and who is behind them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PeerRecord {
    pub life: u8,
    pub is_present: bool,
    pub waits: bool,
    /// Where which token is sent, and whether it is in the mailbox.
    pub sends: Option<(At, u8, bool)>,
    /// It is to look.
    pub is_called: bool,
    pub actor: Option<Actor>,
    /// How many stores of ending its life are done, once it has no actor; and whether others are to be called over it.
    pub ended: u8,
    pub is_news: bool,
    pub lives: u8,
    pub requests: u8,
    pub withdrawals: u8,
    pub departures: u8,
    pub overtaken: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub peer_records: Vec<PeerRecord>,
    /// From the one to the other, at `from * n + to`: the lives of both, and the message.
    pub mail: Vec<Vec<(u8, u8, Say)>>,
    pub records: [Option<At>; 2],
    /// The lock's fencing token.
    pub number: u64,
    pub deaths: u8,
    pub deaths_of_reapers: u8,
    pub most_overtaken: Option<u8>,
    pub fault: Option<Fault>,
}

pub type Wrong = Option<String>;

impl World {
    pub fn new(plan: &Plan) -> Self {
        let n = plan.participants;
        let peer_record = |me: usize| PeerRecord {
            life: 0,
            is_present: false,
            waits: false,
            sends: None,
            is_called: false,
            actor: None,
            ended: END,
            is_news: false,
            lives: plan.lives + u8::from(me < plan.there),
            requests: plan.requests,
            withdrawals: plan.withdrawals,
            departures: plan.departures,
            overtaken: 0,
        };
        let mut world = Self {
            peer_records: (0..n).map(peer_record).collect(),
            mail: vec![Vec::new(); n * n],
            records: [None; 2],
            number: 1,
            deaths: plan.deaths,
            deaths_of_reapers: plan.deaths_of_reapers,
            most_overtaken: plan.overtaken,
            fault: plan.fault,
        };
        (0..plan.there).for_each(|me| world.begin(me));
        for me in 0..plan.there {
            assert_eq!(world.greet(me), None);
        }
        while let Some(me) = (0..n).find(|me| world.peer_records[*me].is_called) {
            assert_eq!(world.look(me, false), None);
        }
        world
    }

    pub fn n(&self) -> usize {
        self.peer_records.len()
    }

    pub fn standing(&self, me: usize) -> Standing {
        self.peer_records[me].actor.as_ref().map_or(Standing::Absent, |actor| actor.machine.standing())
    }

    /// Who waits.
    pub fn waiting(&self) -> Option<usize> {
        (0..self.n()).find(|me| self.standing(*me) == Standing::Waiting)
    }

    pub fn has_waiter(&self) -> bool {
        self.peer_records.iter().any(|peer_record| peer_record.is_present && peer_record.waits)
    }

    pub fn steps(&self, steps: &mut Vec<Step>) {
        steps.clear();
        for me in 0..self.n() {
            let (who, peer_record) = (me as u8, &self.peer_records[me]);
            let Some(actor) = &peer_record.actor else {
                if peer_record.ended < END {
                    steps.push(Step::End(who));
                    if self.deaths_of_reapers > 0 && peer_record.ended > 0 {
                        steps.push(Step::EndAgain(who));
                    }
                } else if peer_record.lives > 0 && peer_record.requests > 0 {
                    steps.push(Step::Begin(who));
                }
                continue;
            };
            if self.deaths > 0 {
                steps.push(Step::Die(who));
            }
            match actor.doing {
                Doing::Greets => steps.push(Step::Greet(who)),
                Doing::CallsForToken => steps.push(Step::CallForToken(who)),
                Doing::Attends => steps.push(Step::Attend(who)),
                Doing::Sends { .. } => steps.push(Step::Send(who)),
                Doing::Nothing => {
                    self.steps_of_one_who_is_free(who, peer_record, actor.machine.standing(), steps)
                }
            }
        }
    }

    fn steps_of_one_who_is_free(
        &self,
        who: u8,
        peer_record: &PeerRecord,
        standing: Standing,
        steps: &mut Vec<Step>,
    ) {
        if peer_record.is_called {
            steps.push(Step::Look(who));
            if self.deaths > 0 {
                steps.push(Step::DieTaking(who));
            }
        }
        match standing {
            Standing::Idle => {
                if peer_record.requests > 0 {
                    steps.push(Step::Request(who));
                }
                if peer_record.departures > 0 {
                    steps.push(Step::Detach(who));
                }
            }
            Standing::Waiting if peer_record.withdrawals > 0 => steps.push(Step::Withdraw(who)),
            Standing::Inside => steps.push(Step::Release(who)),
            _ => {}
        }
    }

    /// Takes a step. Returns what is wrong with that, or with the state that it leads to.
    pub fn take(&mut self, step: Step) -> Wrong {
        let wrong = match step {
            Step::Begin(me) => {
                self.begin(me.into());
                None
            }
            Step::Greet(me) => self.greet(me.into()),
            Step::Request(me) => {
                self.peer_records[usize::from(me)].requests -= 1;
                let wrong = self.tell(me.into(), Event::Request);
                if self.standing(me.into()) == Standing::Waiting {
                    self.does(me.into(), Doing::CallsForToken);
                }
                wrong
            }
            Step::CallForToken(me) => {
                self.does(me.into(), Doing::Nothing);
                self.call_for_token(me.into());
                None
            }
            Step::Withdraw(me) => {
                self.peer_records[usize::from(me)].withdrawals -= 1;
                self.peer_records[usize::from(me)].overtaken = 0;
                let wrong = self.tell(me.into(), Event::Withdraw);
                self.does(me.into(), Doing::Attends);
                wrong
            }
            Step::Release(me) => {
                let wrong = self.tell(me.into(), Event::Release);
                self.does(me.into(), Doing::Attends);
                wrong
            }
            Step::Attend(me) => {
                self.does(me.into(), Doing::Nothing);
                self.attend(me.into(), false)
            }
            Step::Look(me) => self.look(me.into(), false),
            Step::DieTaking(me) => {
                let before = self.records;
                let wrong = self.look(me.into(), true);
                if self.peer_records[usize::from(me)].actor.is_none() {
                    assert_ne!(self.records, before);
                    self.deaths -= 1;
                }
                wrong
            }
            Step::Send(me) => self.send(me.into()),
            Step::Die(me) => {
                self.deaths -= 1;
                self.dies(me.into());
                None
            }
            Step::Detach(me) => {
                self.peer_records[usize::from(me)].departures -= 1;
                self.dies(me.into());
                None
            }
            Step::End(me) => {
                self.end(me.into());
                None
            }
            Step::EndAgain(me) => {
                self.deaths_of_reapers -= 1;
                self.peer_records[usize::from(me)].ended = 0;
                None
            }
        };
        wrong.or_else(|| self.wrong_with_tokens())
    }

    pub fn does(&mut self, me: usize, doing: Doing) {
        if let Some(actor) = &mut self.peer_records[me].actor {
            actor.doing = doing;
        }
    }

    pub fn dies(&mut self, me: usize) {
        let peer_record = &mut self.peer_records[me];
        (peer_record.actor, peer_record.ended, peer_record.is_called, peer_record.overtaken) =
            (None, 0, false, 0);
    }

    pub fn tell(&mut self, me: usize, event: Event<Say>) -> Wrong {
        let actor = self.peer_records[me].actor.as_mut()?;
        let told = actor.machine.on(event.clone());
        self.call(me);
        match told {
            Ok(actions) => self.carry_out(me, actions),
            Err(misuse) => Some(format!("participant {me} refuses {event:?}: {misuse}")),
        }
    }

    /// Counts the entry of `me` for each waiter that it overtakes.
    pub fn overtakes(&mut self, me: usize) -> Wrong {
        self.peer_records[me].overtaken = 0;
        let most = self.most_overtaken?;
        for peer in 0..self.n() {
            if self.standing(peer) == Standing::Waiting {
                self.peer_records[peer].overtaken += 1;
                if self.peer_records[peer].overtaken > most {
                    return Some(format!("participant {peer} is overtaken by more than {most} entries"));
                }
            }
        }
        None
    }

    pub fn carry_out(&mut self, me: usize, actions: Vec<Action<Say>>) -> Wrong {
        let mut wrong = None;
        let n = self.n();
        for action in actions {
            match action {
                Action::Send { to, message } => {
                    let Some(actor) = &mut self.peer_records[me].actor else { continue };
                    let life = actor.known[to];
                    match message {
                        Say::Token(token) if life == 0 || actor.doing != Doing::Nothing => {
                            wrong =
                                Some(format!("participant {me} sends {token:?} to no peer, or two at once"));
                        }
                        Say::Token(token) => {
                            actor.doing = Doing::Sends { token, to: (to as u8, life), stores: 0 };
                            if !self.has_waiter() {
                                wrong = Some(format!("{token:?} goes on, and nobody waits"));
                            }
                        }
                        _ if life == 0 => {}
                        _ => {
                            self.mail[me * n + to].push((self.peer_records[me].life, life, message));
                            self.call(to);
                        }
                    }
                }
                Action::Enter { fencing_token } => {
                    let inside = (0..n).filter(|peer| self.standing(*peer) == Standing::Inside).count();
                    if inside > 1 {
                        wrong = Some(format!("participant {me} is inside beside another one"));
                    } else if fencing_token <= self.number {
                        wrong = Some(format!("fencing token {fencing_token} after {}", self.number));
                    }
                    self.number = fencing_token;
                    wrong = wrong.or_else(|| self.overtakes(me));
                }
                Action::Joined | Action::Departed => {}
            }
        }
        self.peer_records[me].waits = self.standing(me) == Standing::Waiting;
        wrong
    }

    /// Each token is at one place at most, and the record says where.
    fn wrong_with_tokens(&self) -> Wrong {
        for token in 0..2 {
            let is_it = |message: &Say| matches!(message, Say::Token(it) if usize::from(it.name) == token);
            let mut at = Vec::new();
            for (me, peer_record) in self.peer_records.iter().enumerate() {
                let us = (me as u8, peer_record.life);
                let Some(actor) = &peer_record.actor else { continue };
                match &actor.doing {
                    Doing::Sends { token: it, stores: 0..=1, .. } if usize::from(it.name) == token => {
                        at.push(us)
                    }
                    Doing::Sends { token: it, to, stores: 2 } if usize::from(it.name) == token => {
                        at.push(*to)
                    }
                    _ => {}
                }
                if actor.machine.has_token(token) {
                    at.push(us);
                }
            }
            for (link, letters) in self.mail.iter().enumerate() {
                let to = (link % self.n()) as u8;
                at.extend(letters.iter().filter(|letter| is_it(&letter.2)).map(|letter| (to, letter.1)));
            }
            // What is on its way to a life that is over never comes.
            at.retain(|at| self.has_life(*at));
            if at.len() > 1 {
                return Some(format!("token {token} is there twice: {at:?}"));
            }
            if let Some(at) = at.first().filter(|at| self.records[token] != Some(**at)) {
                return Some(format!(
                    "token {token} is at {at:?}, and by the record at {:?}",
                    self.records[token]
                ));
            }
        }
        None
    }

    /// Counts the lock's fencing token and ping's number from where they are the least.
    pub fn normalise(&mut self) {
        let mut least = self.number;
        self.visit_numbers(|number| least = least.min(*number));
        self.number -= least - 1;
        self.visit_numbers(|number| *number -= least - 1);
    }

    fn visit_numbers(&mut self, mut visit: impl FnMut(&mut u64)) {
        for actor in self.peer_records.iter_mut().filter_map(|peer_record| peer_record.actor.as_mut()) {
            actor.machine.visit_number(&mut visit);
            if let Doing::Sends { token, .. } = &mut actor.doing
                && token.name == 0
            {
                visit(&mut token.number);
            }
        }
        for (.., message) in self.mail.iter_mut().flatten() {
            if let Say::Token(token) = message
                && token.name == 0
            {
                visit(&mut token.number);
            }
        }
    }
}

/// The stores of ending a life.
pub const END: u8 = 7;
