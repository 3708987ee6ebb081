//! The state of a search: machines, what is on its way between them, and what may still happen.

use crate::subject::{MOST_TOKENS, Subject};
use turnlock::message::{Action, Event, Message, Standing};

/// What may happen in a search, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many times each participant wants the section.
    pub requests: u8,
    /// Who does: those from this number on.
    pub wants: usize,
    /// How many times each may give up waiting.
    pub withdrawals: u8,
    /// How many times each may depart.
    pub departures: u8,
    /// Who may: those below this number.
    pub departs: usize,
    /// How many participants may die.
    pub deaths: u8,
    /// How many are not there at first: the last ones, which have departed.
    pub absent: usize,
    /// Who is not there may return, or come: with its state, if it departed and this says so.
    pub returns: Option<Kept>,
    /// Who may: those from this number on.
    pub comes: usize,
    /// Links keep the order.
    pub in_order: bool,
    /// How many messages may be lost that are not tokens.
    pub losses: u8,
    /// How many tokens may be lost.
    pub lost_tokens: u8,
    /// How many messages may come twice.
    pub repeats: u8,
    /// Hosts have their machines ask again while nothing is on its way to or from them.
    pub retries: bool,
    /// Or whenever they like.
    pub impatient: bool,
    /// Once all tokens are known to be lost, a ruling from outside has them made anew.
    pub rulings: bool,
    /// Such a ruling may come while a token is there.
    pub suspicions: u8,
    /// How many entries of others may overtake a waiter once its request has come to every peer.
    pub overtaken: Option<u8>,
}

/// What a departed participant brings back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    State,
    Nothing,
}

/// Nothing but requests, in order.
pub const QUIET: Plan = Plan {
    requests: 1,
    wants: 0,
    withdrawals: 0,
    departures: 0,
    departs: usize::MAX,
    deaths: 0,
    absent: 0,
    returns: None,
    comes: 0,
    in_order: true,
    losses: 0,
    lost_tokens: 0,
    repeats: 0,
    retries: false,
    impatient: false,
    rulings: false,
    suspicions: 0,
    overtaken: None,
};

/// A step. Messages are named by their place on their link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Request(u8),
    Withdraw(u8),
    Release(u8),
    Leave(u8),
    Retry(u8),
    Die(u8),
    Return(u8),
    Deliver(u8, u8, u8),
    Lose(u8, u8, u8),
    Repeat(u8, u8, u8),
    Down(u8, u8),
    Recreate(u8),
    Suspect(u8),
}

/// A participant's place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place<A> {
    There(A),
    /// Departed, with the state that it would return with.
    Gone(A),
    Dead,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World<A: Subject> {
    pub places: Vec<Place<A>>,
    /// What is on its way from the one to the other, at `from * n + to`.
    links: Vec<Vec<A::Message>>,
    /// A failure notice that is to come when its link is empty.
    down: Vec<bool>,
    requests: Vec<u8>,
    withdrawals: Vec<u8>,
    departures: Vec<u8>,
    lives: Vec<u32>,
    deaths: u8,
    losses: u8,
    lost_tokens: u8,
    repeats: u8,
    suspicions: u8,
    rulings: u8,
    /// Who was last told to begin anew, while it is there.
    ruled: Option<usize>,
    /// How often others entered since each waiting one's request is everywhere.
    overtaken: Vec<u8>,
    last_fencing_token: u64,
}

/// What a step did.
#[derive(Default)]
pub struct Done {
    /// Whom it served, as bits: entered, joined, departed.
    pub served: u8,
    pub wrong: Option<String>,
}

impl<A: Subject> World<A> {
    pub fn new(machines: Vec<A>, plan: &Plan) -> Self {
        let n = machines.len();
        let mut world = Self {
            places: machines.into_iter().map(Place::There).collect(),
            links: vec![Vec::new(); n * n],
            down: vec![false; n * n],
            requests: (0..n).map(|me| if me < plan.wants { 0 } else { plan.requests }).collect(),
            withdrawals: vec![plan.withdrawals; n],
            departures: (0..n).map(|me| if me < plan.departs { plan.departures } else { 0 }).collect(),
            lives: vec![1; n],
            deaths: plan.deaths,
            losses: plan.losses,
            lost_tokens: plan.lost_tokens,
            repeats: plan.repeats,
            suspicions: plan.suspicions,
            rulings: 0,
            ruled: None,
            overtaken: vec![0; n],
            last_fencing_token: 0,
        };
        for me in 0..n {
            assert!(world.tell(me, Event::Retry, plan).wrong.is_none());
        }
        for me in n - plan.absent..n {
            world.has_departed(me, plan);
        }
        world
    }

    /// Has a participant depart before the search begins, and all that is on its way because of that come.
    fn has_departed(&mut self, me: usize, plan: &Plan) {
        assert!(self.tell(me, Event::Leave, plan).wrong.is_none());
        let mut steps = Vec::new();
        loop {
            self.steps(plan, &mut steps);
            let is_token = |from: u8, to: u8, at: u8| {
                let link = usize::from(from) * self.n() + usize::from(to);
                self.links[link][usize::from(at)].token().is_some()
            };
            let is_message = |step: &&Step| match step {
                Step::Deliver(from, to, at) => !is_token(*from, *to, *at),
                Step::Down(..) => true,
                _ => false,
            };
            // Tokens never rest on a ring: only as long as it waits for one.
            let is_any = |step: &&Step| matches!(step, Step::Deliver(..)) && self.machine(me).is_some();
            let step = steps.iter().find(is_message).or_else(|| steps.iter().find(is_any));
            let Some(step) = step else { return };
            assert!(self.take(*step, plan).wrong.is_none());
        }
    }

    pub fn n(&self) -> usize {
        self.places.len()
    }

    fn is_dead(&self, who: u8) -> bool {
        matches!(self.places[usize::from(who)], Place::Dead)
    }

    fn machine(&self, me: usize) -> Option<&A> {
        match &self.places[me] {
            Place::There(machine) => Some(machine),
            _ => None,
        }
    }

    pub fn standing(&self, me: usize) -> Standing {
        self.machine(me).map_or(Standing::Absent, A::standing)
    }

    /// Who waits for something that others have to do, as bits.
    pub fn pending(&self) -> u8 {
        let is_pending = |me: &usize| match self.standing(*me) {
            Standing::Waiting | Standing::Joining => true,
            // If no participant stays, none can take over from it.
            Standing::Leaving => {
                let stays = |peer| !matches!(self.standing(peer), Standing::Absent | Standing::Leaving);
                (0..self.n()).any(stays)
            }
            _ => false,
        };
        (0..self.n()).filter(is_pending).fold(0, |bits, me| bits | 1 << me)
    }

    fn has_token_on_its_way(&self) -> bool {
        self.links.iter().flatten().any(|message| message.token().is_some())
    }

    /// A token that there is twice, where no message is repeated.
    pub fn doubled_token(&self, plan: &Plan) -> Option<usize> {
        let count = |token: usize| {
            let here =
                (0..self.n()).filter_map(|me| self.machine(me)).filter(|machine| machine.has_token(token));
            let on_its_way = self.links.iter().flatten().filter(|message| message.token() == Some(token));
            here.count() + on_its_way.count()
        };
        (0..MOST_TOKENS).find(|token| plan.repeats == 0 && count(*token) > 1)
    }

    /// No token is anywhere.
    pub fn is_without_tokens(&self) -> bool {
        !self.has_token_on_its_way()
            && (0..self.n()).filter_map(|me| self.machine(me)).all(|machine| {
                machine.tokens() > 0 && (0..machine.tokens()).all(|token| !machine.has_token(token))
            })
    }

    /// Returns whether every participant has been told of every death, and what the machines depend on is nowhere.
    fn may_be_ruled(&self, machine: &A) -> bool {
        let none_knows = || {
            (0..self.n()).all(|peer| matches!(self.standing(peer), Standing::Absent | Standing::Joining))
                && machine.standing() == Standing::Joining
                && (0..self.n()).all(|peer| self.links[peer * self.n() + machine.me()].is_empty())
        };
        !self.down.contains(&true)
            && if machine.tokens() > 0 {
                // One that joins makes a ring of its own: only where none takes part.
                let takes_part = |peer| !matches!(self.standing(peer), Standing::Absent | Standing::Joining);
                let joins = machine.standing() == Standing::Joining;
                self.is_without_tokens() && !(joins && (0..self.n()).any(takes_part))
            } else {
                // It does not know by itself either.
                let is_without = || machine.clone().on(Event::Recreate { floor: 0 }).is_ok();
                self.ruled.is_none() && none_knows() && is_without()
            }
    }

    /// Nothing but tokens, which never rest on a ring.
    fn is_quiet_around(&self, me: usize) -> bool {
        let n = self.n();
        (0..n).all(|peer| {
            let mut messages = self.links[me * n + peer].iter().chain(&self.links[peer * n + me]);
            messages.all(|message| message.token().is_some())
        })
    }

    /// All that can happen next.
    pub fn steps(&self, plan: &Plan, steps: &mut Vec<Step>) {
        steps.clear();
        let n = self.n();
        for me in 0..n {
            let to = me as u8;
            let Some(machine) = self.machine(me) else {
                let is_forgotten =
                    (0..n).all(|peer| self.links[me * n + peer].is_empty() && !self.down[me * n + peer]);
                if plan.returns.is_some() && is_forgotten && me >= plan.comes && self.requests[me] > 0 {
                    steps.push(Step::Return(to));
                }
                continue;
            };
            match machine.standing() {
                Standing::Idle => {
                    if self.requests[me] > 0 {
                        steps.push(Step::Request(to));
                    }
                    if self.departures[me] > 0 {
                        steps.push(Step::Leave(to));
                    }
                }
                Standing::Waiting if self.withdrawals[me] > 0 => steps.push(Step::Withdraw(to)),
                Standing::Inside => steps.push(Step::Release(to)),
                _ => {}
            }
            let asks =
                matches!(machine.standing(), Standing::Waiting | Standing::Joining | Standing::Leaving);
            if plan.retries && asks && (plan.impatient || self.is_quiet_around(me)) {
                steps.push(Step::Retry(to));
            }
            if self.deaths > 0 {
                steps.push(Step::Die(to));
            }
            if plan.rulings && self.may_be_ruled(machine) {
                steps.push(Step::Recreate(to));
            } else if self.suspicions > 0 && (0..machine.tokens()).all(|token| !machine.has_token(token)) {
                steps.push(Step::Suspect(to));
            }
        }
        for link in 0..n * n {
            let (from, to) = ((link / n) as u8, (link % n) as u8);
            let messages = &self.links[link];
            if messages.is_empty() && self.down[link] {
                steps.push(Step::Down(from, to));
            }
            for at in 0..messages.len() {
                // On a link without order the messages are sorted: the same one comes once.
                if !plan.in_order && at > 0 && messages[at] == messages[at - 1] {
                    continue;
                }
                let index = at as u8;
                if at == 0 || !plan.in_order {
                    steps.push(Step::Deliver(from, to, index));
                }
                let lost = if messages[at].token().is_some() { self.lost_tokens } else { self.losses };
                // Of what the dead have sent the last may be lost with them.
                let dies_with_its_sender = self.is_dead(from) && (at + 1 == messages.len() || !plan.in_order);
                if lost > 0 || dies_with_its_sender {
                    steps.push(Step::Lose(from, to, index));
                }
                if self.repeats > 0 {
                    steps.push(Step::Repeat(from, to, index));
                }
            }
        }
    }

    /// Takes a step.
    pub fn take(&mut self, step: Step, plan: &Plan) -> Done {
        let n = self.n();
        let link = |from: u8, to: u8| usize::from(from) * n + usize::from(to);
        match step {
            Step::Request(me) => {
                self.requests[usize::from(me)] -= 1;
                self.tell(me.into(), Event::Request, plan)
            }
            Step::Withdraw(me) => {
                self.withdrawals[usize::from(me)] -= 1;
                self.overtaken[usize::from(me)] = 0;
                self.tell(me.into(), Event::Withdraw, plan)
            }
            Step::Release(me) => self.tell(me.into(), Event::Release, plan),
            Step::Leave(me) => {
                self.departures[usize::from(me)] -= 1;
                self.tell(me.into(), Event::Leave, plan)
            }
            Step::Retry(me) => self.tell(me.into(), Event::Retry, plan),
            Step::Die(me) => self.die(me.into(), plan),
            Step::Return(me) => self.comes_back(me.into(), plan),
            Step::Deliver(from, to, at) => {
                let message = self.links[link(from, to)].remove(at.into());
                self.tell(to.into(), Event::Receive { from: from.into(), message }, plan)
            }
            Step::Lose(from, to, at) => {
                let message = self.links[link(from, to)].remove(at.into());
                if !self.is_dead(from) {
                    *(if message.token().is_some() { &mut self.lost_tokens } else { &mut self.losses }) -= 1;
                }
                Done::default()
            }
            Step::Repeat(from, to, at) => {
                self.repeats -= 1;
                let message = self.links[link(from, to)][usize::from(at)].clone();
                self.send(from.into(), to.into(), message, plan);
                Done::default()
            }
            Step::Down(peer, to) => {
                self.down[link(peer, to)] = false;
                self.tell(to.into(), Event::Down { peer: peer.into() }, plan)
            }
            Step::Recreate(me) | Step::Suspect(me) => {
                if let Step::Suspect(_) = step {
                    self.suspicions -= 1;
                }
                self.rulings += 1;
                self.ruled = Some(me.into());
                let floor = self.last_fencing_token.max(u64::from(self.rulings) << 32);
                self.tell(me.into(), Event::Recreate { floor }, plan)
            }
        }
    }

    fn tell(&mut self, me: usize, event: Event<A::Message>, plan: &Plan) -> Done {
        let mut done = Done::default();
        let Place::There(machine) = &mut self.places[me] else { return done };
        let actions = match machine.on(event.clone()) {
            Ok(actions) => actions,
            Err(misuse) => {
                done.wrong = Some(format!("participant {me} refuses {event:?}: {misuse}"));
                return done;
            }
        };
        for action in actions {
            match action {
                Action::Send { to, message } => self.send(me, to, message, plan),
                Action::Enter { fencing_token } => {
                    done.served |= 1 << me;
                    self.enters(me, fencing_token, plan, &mut done);
                }
                Action::Joined => done.served |= 1 << me,
                Action::Departed => {
                    done.served |= 1 << me;
                    self.is_gone(me);
                }
            }
        }
        done
    }

    fn send(&mut self, from: usize, to: usize, message: A::Message, plan: &Plan) {
        if self.machine(to).is_none() {
            return;
        }
        let n = self.n();
        let messages = &mut self.links[from * n + to];
        messages.push(message);
        if !plan.in_order {
            messages.sort_by_key(crate::search::fingerprint);
        }
    }

    fn enters(&mut self, me: usize, fencing_token: u64, plan: &Plan, done: &mut Done) {
        let inside: Vec<usize> =
            (0..self.n()).filter(|peer| self.standing(*peer) == Standing::Inside).collect();
        if inside.len() > 1 {
            done.wrong = Some(format!("participants {inside:?} are inside at once"));
        } else if fencing_token <= self.last_fencing_token {
            done.wrong = Some(format!(
                "participant {me} enters with fencing token {fencing_token} after {}",
                self.last_fencing_token
            ));
        }
        self.last_fencing_token = fencing_token;
        self.overtaken[me] = 0;
        let Some(most) = plan.overtaken else { return };
        for peer in 0..self.n() {
            let is_known = self.links[peer * self.n()..(peer + 1) * self.n()]
                .iter()
                .flatten()
                .all(|message| message.kind() != "request");
            if self.standing(peer) == Standing::Waiting && is_known {
                self.overtaken[peer] += 1;
                if self.overtaken[peer] > most {
                    done.wrong = Some(format!("participant {peer} is overtaken by more than {most} entries"));
                }
            }
        }
    }

    /// Every peer is told, after what is on its way from `me`; what is on its way to `me` is lost.
    fn has_ended(&mut self, me: usize) {
        let n = self.n();
        self.overtaken[me] = 0;
        self.ruled = self.ruled.filter(|ruled| *ruled != me);
        for peer in 0..n {
            self.links[peer * n + me].clear();
            self.down[peer * n + me] = false;
            self.down[me * n + peer] = self.machine(peer).is_some();
        }
    }

    fn is_gone(&mut self, me: usize) {
        let Place::There(machine) = self.places[me].clone() else { return };
        self.places[me] = Place::Gone(machine);
        self.has_ended(me);
    }

    fn die(&mut self, me: usize, plan: &Plan) -> Done {
        self.deaths -= 1;
        let Place::There(machine) = &self.places[me] else { return Done::default() };
        self.lives[me] += 1;
        if let Some(restarted) = machine.restarted(self.lives[me]) {
            self.overtaken[me] = 0;
            if machine.standing() == Standing::Joining {
                // It has no place yet that could be taken up.
                self.places[me] = Place::There(A::at(machine, me, self.lives[me]));
                return self.tell(me, Event::Join, plan);
            }
            self.places[me] = Place::There(restarted);
            return self.tell(me, Event::Retry, plan);
        } else {
            self.places[me] = Place::Dead;
            self.has_ended(me);
        }
        Done::default()
    }

    fn comes_back(&mut self, me: usize, plan: &Plan) -> Done {
        self.lives[me] += 1;
        let like = self.places.iter().find_map(|place| match place {
            Place::There(machine) | Place::Gone(machine) => Some(machine),
            Place::Dead => None,
        });
        let machine = match (&self.places[me], like) {
            (Place::Gone(machine), _) if plan.returns == Some(Kept::State) => machine.clone(),
            (Place::Gone(machine), _) => A::at(machine, me, self.lives[me]),
            (_, Some(other)) => A::at(other, me, self.lives[me]),
            // No participant is left to return to.
            (_, None) => return Done::default(),
        };
        self.places[me] = Place::There(machine);
        let mut done = self.tell(me, Event::Join, plan);
        for peer in 0..self.n() {
            if peer != me && self.machine(peer).is_none() && done.wrong.is_none() {
                let also = self.tell(me, Event::Down { peer }, plan);
                done.served |= also.served;
                done.wrong = also.wrong;
            }
        }
        done
    }

    /// Takes from the numbers of which only differences matter what they have in common.
    pub fn normalise(&mut self) {
        let mut least = [u64::MAX; MOST_TOKENS];
        self.visit_numbers(|token, number| {
            if *number != 0 {
                least[token] = least[token].min(*number);
            }
        });
        if least[0] == u64::MAX {
            return;
        }
        // One that is smaller than all that there are is as good as any other such.
        self.last_fencing_token = self.last_fencing_token.max(least[0] - 1) - (least[0] - 1);
        self.visit_numbers(|token, number| {
            if *number != 0 {
                *number -= least[token] - 1;
            }
        });
    }

    fn visit_numbers(&mut self, mut visit: impl FnMut(usize, &mut u64)) {
        let mut tokens = 0;
        for place in &mut self.places {
            if let Place::There(machine) = place {
                tokens = machine.tokens();
                machine.visit_numbers(&mut visit);
            }
        }
        for message in self.links.iter_mut().flatten() {
            A::visit_numbers_of(message, tokens, &mut visit);
        }
    }
}
