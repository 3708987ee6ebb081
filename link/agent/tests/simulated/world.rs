//! Hosts, each with a lock, programs and an agent; a network that delays and loses; the engine; and what must be true.

use crate::{
    fault::Fault,
    store::{Store, Told},
};
use std::{collections::BTreeSet, sync::Arc};
use turnlock_link_agent::{Action, Agent, Config, Data, Event, Found, Host, Nanoseconds, Request};

pub const MILLISECOND: Nanoseconds = 1_000_000;

/// As short as they can be, so that blocks end and leases too.
pub const CONFIG: Config = Config {
    hold: 20 * MILLISECOND,
    block: 6,
    lease: 900 * MILLISECOND,
    answer: 200 * MILLISECOND,
    fresh: 500 * MILLISECOND,
    fresh_at_home: 500 * MILLISECOND,
};

/// What lies in a host's lock file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LockFile {
    is_home: bool,
    last_token: u64,
    token_end: u64,
    data: Data,
    is_wanted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct OneHost {
    name: Host,
    file: LockFile,
    /// A program is inside.
    is_inside: bool,
    /// It died there, and the next one is to be told: what the lock's own word says when it is reaped.
    agent: Option<Agent>,
    life: u32,
    wakes_at: Option<Nanoseconds>,
    /// The agent waits for the lock, to move it away.
    is_leaving: bool,
    is_cut_off: bool,
    /// When it was first told to leave since the agent could see that another wants the lock; for the bound on local passes.
    numbers: u64,
}

/// Something under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Message {
    Call { host: usize, life: u32, number: u64, request: Request },
    Event { host: usize, life: u32, event: Event },
}

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A message comes: the one of this place, in the order in which they were sent.
    Deliver(usize),
    Lose(usize),
    /// A program wants the lock, and is admitted or not.
    Enter(usize),
    Leave(usize),
    /// A program dies inside.
    Die(usize),
    /// The agent has waited for those inside, and the lock is away.
    MoveAway(usize),
    Kill(usize),
    Start(usize),
    Cut(usize),
    Mend(usize),
    Compact,
    /// The time goes on to when something is due.
    Wait,
    /// A person forgets the host that has the privilege, which is gone.
    Forget,
}

/// Everything at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    now: Nanoseconds,
    store: Store,
    hosts: Vec<OneHost>,
    messages: Vec<Message>,
    fault: Option<Fault>,
    /// The largest token that a program was given.
    last_token: u64,
    /// A program died inside, and none was told.
    is_torn: bool,
    /// Those that were forgotten, and must not run programs any more.
    gone: BTreeSet<usize>,
    pub entries: u32,
    pub homecomings: u32,
}

/// What went wrong.
pub type Wrong = String;

impl World {
    /// So many hosts, of which none has an agent yet.
    pub fn new(hosts: usize, fault: Option<Fault>) -> Self {
        let host = |at: usize| OneHost {
            name: Arc::from(["a", "b", "c", "d"][at]),
            file: LockFile {
                is_home: false,
                // Each host's own first token, as its wall clock had it.
                last_token: 100 + at as u64,
                token_end: 0,
                data: Data::Consistent,
                is_wanted: false,
            },
            is_inside: false,
            agent: None,
            life: 0,
            wakes_at: None,
            is_leaving: false,
            is_cut_off: false,
            numbers: 0,
        };
        Self {
            now: 0,
            store: Store::default(),
            hosts: (0..hosts).map(host).collect(),
            messages: Vec::new(),
            fault,
            last_token: 0,
            is_torn: false,
            gone: BTreeSet::new(),
            entries: 0,
            homecomings: 0,
        }
    }

    /// What can happen now.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for at in 0..self.messages.len().min(4) {
            steps.extend([Step::Deliver(at), Step::Lose(at)]);
        }
        for (at, host) in self.hosts.iter().enumerate() {
            if self.gone.contains(&at) {
                continue;
            }
            steps.push(match (&host.agent, host.is_cut_off) {
                (None, _) => Step::Start(at),
                (Some(_), _) => Step::Kill(at),
            });
            steps.push(if host.is_cut_off { Step::Mend(at) } else { Step::Cut(at) });
            if host.is_inside {
                steps.extend([Step::Leave(at), Step::Die(at)]);
            } else {
                steps.push(Step::Enter(at));
                if host.is_leaving {
                    steps.push(Step::MoveAway(at));
                }
            }
        }
        if self.store.held.is_some() {
            steps.push(Step::Forget);
        }
        steps.extend([Step::Compact, Step::Wait]);
        steps
    }

    /// Lets it happen.
    pub fn go(&mut self, step: Step) -> Result<(), Wrong> {
        match step {
            Step::Deliver(at) => {
                let message = self.messages.remove(at);
                self.deliver(message)?;
            }
            Step::Lose(at) => {
                self.messages.remove(at);
            }
            Step::Enter(at) => self.enter(at)?,
            Step::Leave(at) => self.hosts[at].is_inside = false,
            Step::Die(at) => {
                let host = &mut self.hosts[at];
                host.is_inside = false;
                host.file.data = host.file.data.max(Data::Inconsistent);
                self.is_torn = true;
            }
            Step::MoveAway(at) => self.move_away(at)?,
            Step::Kill(at) => {
                let host = &mut self.hosts[at];
                (host.agent, host.wakes_at, host.is_leaving) = (None, None, false);
            }
            Step::Start(at) => self.start(at)?,
            Step::Cut(at) => self.hosts[at].is_cut_off = true,
            Step::Mend(at) => self.hosts[at].is_cut_off = false,
            Step::Compact => {
                let mut told = Told::new();
                self.store.compact(&mut told);
                self.tell(told);
            }
            Step::Wait => self.wait()?,
            Step::Forget => self.forget(),
        }
        self.check()
    }

    fn deliver(&mut self, message: Message) -> Result<(), Wrong> {
        let (Message::Call { host, .. } | Message::Event { host, .. }) = message;
        // What a host that is cut off sends, and is sent, is lost.
        if self.hosts[host].is_cut_off {
            return Ok(());
        }
        match message {
            Message::Call { host, life, number, request } => {
                let before = self.store.held.clone();
                let (first, place) =
                    (self.store.first_place(), self.store.place_of(&self.hosts[host].name).cloned());
                let (mut told, name) = (Told::new(), self.hosts[host].name.clone());
                let reply = self.store.carry_out(self.now, &name, (host, life, number), &request, &mut told);
                let after = &self.store.held;
                if before.is_none() && after.is_some() && place.map(|place| place.created) != first {
                    return Err(format!("{name} took the privilege before its turn"));
                }
                if before.as_ref().is_some_and(|held| held.host != name) && before != *after {
                    return Err(format!("{name} took the privilege from the host that has it"));
                }
                self.tell(told);
                if let Some(reply) = reply {
                    let event = Event::Answered { call: number, reply };
                    self.messages.push(Message::Event { host, life, event });
                }
            }
            Message::Event { host, life, event } => {
                if self.hosts[host].life == life {
                    self.on(host, event)?;
                }
            }
        }
        Ok(())
    }

    fn tell(&mut self, told: Told) {
        for watch in told {
            let event = Event::Changed { watch: watch.number };
            self.messages.push(Message::Event { host: watch.host, life: watch.life, event });
        }
    }

    /// The agent of a host is told something, and does what it decides.
    fn on(&mut self, at: usize, event: Event) -> Result<(), Wrong> {
        let now = self.now;
        let actions = self.hosts[at].agent.as_mut().map(|agent| agent.on(now, event));
        self.act(at, actions.unwrap_or_default())
    }

    fn act(&mut self, at: usize, actions: Vec<Action>) -> Result<(), Wrong> {
        let fault = self.fault;
        let mut wakes_at = None;
        for action in Fault::apply(fault, actions) {
            let host = &mut self.hosts[at];
            match action {
                Action::Call { number, request } => {
                    host.numbers = host.numbers.max(number);
                    self.messages.push(Message::Call { host: at, life: host.life, number, request });
                }
                Action::MoveAway => {
                    host.is_leaving = true;
                    if fault == Some(Fault::GivesUpBeforeAway) {
                        // It says that it is away, and a program is inside still.
                        let event =
                            Event::MovedAway { last_token: host.file.last_token, data: host.file.data };
                        self.on(at, event)?;
                    }
                }
                Action::BringHome { first, last, data } => {
                    if host.file.is_home || first <= host.file.last_token || last < first {
                        return Err(format!(
                            "the lock file of {} refuses the block {first}-{last}",
                            host.name
                        ));
                    }
                    let data = if fault == Some(Fault::ForgetsDeaths) { Data::Consistent } else { data };
                    host.file = LockFile {
                        is_home: true,
                        last_token: first - 1,
                        token_end: last,
                        data,
                        is_wanted: false,
                    };
                    self.homecomings += 1;
                }
                Action::Extend { last } => host.file.token_end = host.file.token_end.max(last),
                Action::WakeAt(at) => wakes_at = Some(at),
                Action::Robbed => return Err(format!("{} was robbed", host.name)),
            }
        }
        self.hosts[at].wakes_at = wakes_at;
        Ok(())
    }

    fn enter(&mut self, at: usize) -> Result<(), Wrong> {
        let host = &mut self.hosts[at];
        if !host.file.is_home || host.file.last_token >= host.file.token_end {
            host.file.is_wanted = true;
            return self.on(at, Event::Wanted);
        }
        host.file.last_token += 1;
        host.is_inside = true;
        self.entries += 1;
        let (token, told) = (host.file.last_token, host.file.data != Data::Consistent);
        host.file.data = Data::Consistent;
        if token <= self.last_token {
            return Err(format!("{} gave out token {token} after {}", host.name, self.last_token));
        }
        if self.is_torn && !told {
            return Err(format!("a program of {} was not told of a death", host.name));
        }
        self.is_torn = false;
        self.last_token = token;
        self.on(at, Event::Used { last_token: token })
    }

    fn move_away(&mut self, at: usize) -> Result<(), Wrong> {
        let host = &mut self.hosts[at];
        host.is_leaving = false;
        host.file.is_home = false;
        let event = Event::MovedAway { last_token: host.file.last_token, data: host.file.data };
        self.on(at, event)
    }

    fn start(&mut self, at: usize) -> Result<(), Wrong> {
        let host = &mut self.hosts[at];
        host.life += 1;
        let file = &host.file;
        let found = Found {
            is_home: file.is_home,
            last_token: file.last_token,
            token_end: file.token_end,
            data: file.data,
            is_wanted: file.is_wanted,
        };
        let (agent, actions) = Agent::new(host.name.clone(), CONFIG, found, self.now, host.numbers);
        host.agent = Some(agent);
        self.act(at, actions)
    }

    /// To the next moment at which something is due.
    fn wait(&mut self) -> Result<(), Wrong> {
        let wakes = self.hosts.iter().filter_map(|host| host.wakes_at);
        let Some(next) = wakes.chain(self.store.next_end()).min() else { return Ok(()) };
        self.now = self.now.max(next);
        let mut told = Told::new();
        self.store.tick(self.now, &mut told);
        self.tell(told);
        for at in 0..self.hosts.len() {
            if self.hosts[at].wakes_at.is_some_and(|at| at <= self.now) {
                self.hosts[at].wakes_at = None;
                self.on(at, Event::Time)?;
            }
        }
        Ok(())
    }

    /// The host is gone with all its programs.
    fn forget(&mut self) {
        let Some(held) = &self.store.held else { return };
        let at = self.hosts.iter().position(|host| host.name == held.host).unwrap();
        let host = &mut self.hosts[at];
        self.is_torn |= host.is_inside;
        (host.agent, host.wakes_at, host.is_inside, host.is_leaving) = (None, None, false, false);
        host.file.is_home = false;
        self.gone.insert(at);
        let mut told = Told::new();
        self.store.forget(0, &mut told);
        self.tell(told);
    }

    fn check(&self) -> Result<(), Wrong> {
        let inside = self.hosts.iter().filter(|host| host.is_inside).count();
        if inside > 1 {
            return Err("two inside".into());
        }
        for host in self.hosts.iter().filter(|host| host.file.is_home) {
            if self.store.held.as_ref().is_none_or(|held| held.host != host.name) {
                return Err(format!("the lock is home at {}, which has not the privilege", host.name));
            }
        }
        Ok(())
    }

    /// From here on nothing fails: whoever wants the lock gets in, and soon. Returns how many steps that took.
    pub fn settles(&mut self) -> Result<u32, Wrong> {
        for at in (0..self.hosts.len()).filter(|at| !self.gone.contains(at)).collect::<Vec<_>>() {
            self.hosts[at].is_cut_off = false;
            if self.hosts[at].agent.is_none() {
                self.go(Step::Start(at))?;
            }
        }
        let mut to_enter: BTreeSet<usize> =
            (0..self.hosts.len()).filter(|at| !self.gone.contains(at)).collect();
        for steps in 0..2_000 {
            if to_enter.is_empty() {
                return Ok(steps);
            }
            if !self.messages.is_empty() {
                self.go(Step::Deliver(0))?;
                continue;
            }
            for at in 0..self.hosts.len() {
                if self.hosts[at].is_inside {
                    self.go(Step::Leave(at))?;
                }
                if self.hosts[at].is_leaving {
                    self.go(Step::MoveAway(at))?;
                }
            }
            for at in to_enter.clone() {
                self.go(Step::Enter(at))?;
                if self.hosts[at].is_inside {
                    to_enter.remove(&at);
                    self.go(Step::Leave(at))?;
                }
            }
            if self.messages.is_empty() {
                self.go(Step::Wait)?;
            }
        }
        Err(format!("{to_enter:?} want the lock, and do not get it: {self:#?}"))
    }
}
