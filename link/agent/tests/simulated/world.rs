//! Hosts, each with a lock, programs and an agent; a network that delays and loses; the engine.

use crate::{
    fault::Fault,
    host::{Cut, OneHost, Stopped},
    store::{Store, Told},
};
use std::collections::BTreeSet;
use support::hosts::DRIFT;
use turnlock_link_agent::{
    Action, Agent, Config, Data, Event, Mode, NO_DEADLINE, Nanoseconds, Reply, Request, Wish,
};

pub const MILLISECOND: Nanoseconds = 1_000_000;

/// As short as they can be, so that blocks end and leases too.
pub const CONFIG: Config = Config {
    mode: Mode::Kept,
    hold: 20 * MILLISECOND,
    hold_most: 70 * MILLISECOND,
    block: 6,
    lease: 900 * MILLISECOND,
    margin: 200 * MILLISECOND,
    distrust: 0,
    answer: 200 * MILLISECOND,
    fresh: 500 * MILLISECOND,
    fresh_at_home: 500 * MILLISECOND,
};

/// The hosts of a schedule.
#[derive(Clone, Debug)]
pub struct Setup {
    /// By how many thousandths the clock of each is fast.
    pub drifts: Vec<i64>,
    pub mode: Mode,
    /// One that is set up for the other mode.
    pub stranger: Option<usize>,
    pub fault: Option<Fault>,
    /// Programs also read.
    pub reads: bool,
    /// The engine ends leases before their time, and the agents know that it may.
    pub ends_early: bool,
}

/// Something under way.
pub type Message = support::hosts::Message<Request, Event>;

/// Whether it could do harm where it comes late: what changes keys, and what says that a lease was kept.
fn may_do_harm(message: &Message) -> bool {
    match message {
        Message::Call { request, .. } => matches!(request, Request::Transaction { .. }),
        Message::Event { event, .. } => {
            matches!(event, Event::Answered { reply: Ok(Reply::Alive(_) | Reply::Granted { .. }), .. })
        }
    }
}

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A message comes: the one of this place, in the order in which they were sent.
    Deliver(usize),
    Lose(usize),
    /// It lies about, and comes when everything may have changed.
    Delay(usize),
    DeliverLate(usize),
    /// A program wants the lock, and is admitted or not.
    Enter(usize, Wish),
    Leave(usize),
    /// A program dies inside.
    Die(usize),
    /// The agent has waited for those inside, and the lock is away.
    MoveAway(usize),
    Kill(usize),
    /// The agent dies after the first of several things that it does at once.
    KillAmid(usize),
    Stop(usize, Stopped),
    Resume(usize),
    /// The host is gone for good, with its programs.
    Vanish(usize),
    Start(usize),
    Cut(usize, Cut),
    Mend(usize),
    Compact,
    /// The engine ends the lease of the privilege before its time.
    EndEarly,
    /// The time goes on to when something is due.
    Wait,
    /// A person forgets a host that has the privilege, or that to read, and is gone.
    Forget,
}

/// Everything at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub now: Nanoseconds,
    pub store: Store,
    pub hosts: Vec<OneHost>,
    pub messages: Vec<Message>,
    pub late: Vec<Message>,
    pub fault: Option<Fault>,
    /// The mode of the first that took the privilege.
    pub mode: Option<Mode>,
    /// The largest token that a writer was given, and that a reader was.
    pub last_token: u64,
    pub last_read: u64,
    /// A program died inside, and none was told.
    pub is_torn: bool,
    /// Those that are gone, and must not run programs any more.
    pub gone: BTreeSet<usize>,
    pub entries: u32,
    pub homecomings: u32,
    /// Readers that came in beside one at another host.
    pub together: u32,
    /// How often an agent said that its lock is lost, or that it is refused.
    pub losses: u32,
    /// Programs that were inside when one came in at another host.
    pub overtaken: u32,
    pub refusals: u32,
    pub reads: bool,
    pub ends_early: bool,
    /// How often an agent found that its lease was ended early.
    pub robberies: u32,
}

/// What went wrong.
pub type Wrong = String;

impl World {
    /// These hosts, of which none has an agent yet.
    pub fn new(setup: &Setup) -> Self {
        let host = |(at, drift): (usize, &i64)| {
            let mode = match setup.mode {
                Mode::Kept if setup.stranger == Some(at) => Mode::Leased,
                Mode::Leased if setup.stranger == Some(at) => Mode::Kept,
                mode => mode,
            };
            let distrusts = setup.ends_early && setup.fault != Some(Fault::TrustsTheEngine);
            let differ = 2 * CONFIG.lease / 1000 * DRIFT as u64;
            let distrust = if distrusts { CONFIG.lease + differ } else { 0 };
            OneHost::new(at, Config { mode, distrust, ..CONFIG }, *drift)
        };
        Self {
            now: 0,
            store: Store::default(),
            hosts: setup.drifts.iter().enumerate().map(host).collect(),
            messages: Vec::new(),
            late: Vec::new(),
            fault: setup.fault,
            mode: None,
            last_token: 0,
            last_read: 0,
            is_torn: false,
            gone: BTreeSet::new(),
            entries: 0,
            homecomings: 0,
            together: 0,
            losses: 0,
            overtaken: 0,
            refusals: 0,
            reads: setup.reads,
            ends_early: setup.ends_early,
            robberies: 0,
        }
    }

    /// What programs want.
    pub fn wishes(&self) -> &'static [Wish] {
        if self.reads { &[Wish::Read, Wish::Write] } else { &[Wish::Write] }
    }

    /// What can happen now.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for at in 0..self.messages.len().min(4) {
            steps.extend([Step::Deliver(at), Step::Lose(at)]);
            if may_do_harm(&self.messages[at]) && self.late.len() < 2 {
                steps.push(Step::Delay(at));
            }
        }
        steps.extend((0..self.late.len()).map(Step::DeliverLate));
        for (at, host) in self.hosts.iter().enumerate() {
            if self.gone.contains(&at) {
                continue;
            }
            steps.push(Step::Vanish(at));
            match host.cut_off {
                None => steps.extend([Step::Cut(at, Cut::Both), Step::Cut(at, Cut::Sent)]),
                Some(_) => steps.push(Step::Mend(at)),
            }
            match (&host.agent, host.stopped) {
                (_, Some(Stopped::All)) => {
                    steps.push(Step::Resume(at));
                    continue;
                }
                (None, _) => steps.extend([Step::Start(at), Step::Stop(at, Stopped::All)]),
                (Some(_), Some(Stopped::Agent)) => steps.extend([Step::Kill(at), Step::Resume(at)]),
                (Some(_), None) => {
                    let stops = [Step::Stop(at, Stopped::Agent), Step::Stop(at, Stopped::All)];
                    steps.extend([Step::Kill(at), Step::KillAmid(at)].into_iter().chain(stops));
                }
            }
            if host.inside.is_some() {
                steps.extend([Step::Leave(at), Step::Die(at)]);
            } else {
                steps.extend(self.wishes().iter().map(|wish| Step::Enter(at, *wish)));
                if host.is_leaving && host.stopped.is_none() {
                    steps.push(Step::MoveAway(at));
                }
            }
        }
        if self.store.held.is_some() || !self.store.readers.is_empty() {
            steps.push(Step::Forget);
            if self.ends_early {
                steps.push(Step::EndEarly);
            }
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
            Step::Delay(at) => self.late.push(self.messages.remove(at)),
            Step::DeliverLate(at) => {
                let message = self.late.remove(at);
                self.deliver(message)?;
            }
            Step::Enter(at, wish) => self.enter(at, wish)?,
            Step::Leave(at) => self.hosts[at].inside = None,
            Step::Die(at) => self.die(at),
            Step::MoveAway(at) => self.move_away(at)?,
            Step::Kill(at) => self.kill(at),
            Step::KillAmid(at) => self.hosts[at].dies_amid = true,
            Step::Stop(at, who) => self.hosts[at].stopped = Some(who),
            Step::Resume(at) => self.resume(at)?,
            Step::Vanish(at) => self.vanish(at),
            Step::Start(at) => self.start(at)?,
            Step::Cut(at, cut) => self.hosts[at].cut_off = Some(cut),
            Step::Mend(at) => self.hosts[at].cut_off = None,
            Step::Compact => {
                let mut told = Told::new();
                self.store.compact(&mut told);
                self.tell(told);
            }
            Step::EndEarly => {
                let mut told = Told::new();
                self.store.end_early(&mut told);
                self.tell(told);
            }
            Step::Wait => self.wait()?,
            Step::Forget => self.forget(),
        }
        self.check()
    }

    fn deliver(&mut self, message: Message) -> Result<(), Wrong> {
        let (Message::Call { host, .. } | Message::Event { host, .. }) = message;
        match (self.hosts[host].cut_off, &message) {
            (Some(Cut::Both), _) | (Some(Cut::Sent), Message::Call { .. }) => return Ok(()),
            _ => {}
        }
        match message {
            Message::Call { host, life, number, request } => {
                let (before, read_before) =
                    (self.store.held.clone(), self.store.reader(&self.hosts[host].name).cloned());
                let (first, place) =
                    (self.store.first_place(), self.store.place_of(&self.hosts[host].name).cloned());
                let (mut told, name) = (Told::new(), self.hosts[host].name.clone());
                let reply = self.store.carry_out(self.now, &name, (host, life, number), &request, &mut told);
                let after = &self.store.held;
                let takes = before.is_none() && after.is_some()
                    || read_before.is_none() && self.store.reader(&name).is_some();
                if takes && place.map(|place| place.created) != first {
                    return Err(format!("{name} took the privilege before its turn"));
                }
                if before.as_ref().is_some_and(|held| held.host != name) && before != *after {
                    return Err(format!("{name} took the privilege from the host that has it"));
                }
                let mode = self.store.state.as_ref().map(|state| state.mode);
                if self.mode.is_some() && mode != self.mode {
                    return Err(format!("{name} has the lock in another mode than the hosts before it"));
                }
                self.mode = mode;
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
    pub fn on(&mut self, at: usize, event: Event) -> Result<(), Wrong> {
        let host = &mut self.hosts[at];
        if host.stopped.is_some() {
            host.missed.push(event);
            return Ok(());
        }
        let (clock, event) = (host.clock(self.now), Fault::hear(self.fault, host, event));
        let actions = host.agent.as_mut().map(|agent| agent.on(clock, event));
        self.act(at, actions.unwrap_or_default())
    }

    fn act(&mut self, at: usize, actions: Vec<Action>) -> Result<(), Wrong> {
        let fault = self.fault;
        let clock = self.hosts[at].clock(self.now);
        let actions = Fault::apply(fault, &self.hosts[at], clock, actions);
        let are_several = actions.iter().filter(|action| !matches!(action, Action::WakeAt(_))).count() > 1;
        let mut wakes_at = None;
        for action in actions {
            let host = &mut self.hosts[at];
            let dies = are_several && std::mem::take(&mut host.dies_amid);
            match action {
                Action::Call { number, request } => {
                    host.numbers = host.numbers.max(number);
                    if matches!(request, Request::KeepAlive { .. }) {
                        host.kept_at = clock;
                    }
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
                    let file = &mut host.file;
                    (file.is_home, file.is_to_read, file.wanted, file.data) = (true, false, None, data);
                    (file.last_token, file.token_end) = (first - 1, last);
                    self.homecomings += 1;
                }
                Action::BringHomeToRead { token, data } => {
                    if host.file.is_home || token < host.file.last_token {
                        return Err(format!("the lock file of {} refuses readers of {token}", host.name));
                    }
                    let data = if fault == Some(Fault::ForgetsDeaths) { Data::Consistent } else { data };
                    let block = if fault == Some(Fault::AdmitsWritersToRead) { CONFIG.block } else { 0 };
                    let file = &mut host.file;
                    (file.is_home, file.is_to_read, file.data) = (true, true, data);
                    file.wanted = file.wanted.filter(|wish| *wish == Wish::Write);
                    (file.last_token, file.token_end) = (token, token + block);
                    self.homecomings += 1;
                }
                Action::Extend { last } => host.file.token_end = host.file.token_end.max(last),
                Action::WakeAt(at) => wakes_at = Some(at),
                Action::Lease { until } => host.file.until = until,
                Action::Robbed if self.ends_early => self.robberies += 1,
                Action::Robbed => return Err(format!("{} was robbed", host.name)),
                Action::Lost if !host.is_leased() => return Err(format!("{} lost what it keeps", host.name)),
                Action::Lost => self.losses += 1,
                Action::Refused { mode } if mode == host.config.mode => {
                    return Err(format!("{} is refused for what it is set up for", host.name));
                }
                Action::Refused { .. } => self.refusals += 1,
            }
            if dies {
                self.kill(at);
                return Ok(());
            }
        }
        self.hosts[at].wakes_at = wakes_at;
        Ok(())
    }

    /// The agent dies; what it asked for last comes when the next one is at it.
    fn kill(&mut self, at: usize) {
        self.hosts[at].kill_agent();
        let is_its = |message: &mut Message| {
            matches!(message, Message::Call { host, .. } if *host == at) && may_do_harm(message)
        };
        self.late.extend(self.messages.extract_if(.., is_its));
    }

    fn resume(&mut self, at: usize) -> Result<(), Wrong> {
        let host = &mut self.hosts[at];
        host.stopped = None;
        let mut missed = std::mem::take(&mut host.missed);
        missed.push(Event::Time);
        missed.into_iter().try_for_each(|event| self.on(at, event))
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
        let (name, clock) = (host.name.clone(), host.clock(self.now));
        let (agent, actions) = Agent::new(name, host.config, host.found(), clock, host.numbers);
        host.agent = Some(agent);
        self.act(at, actions)
    }

    /// To the next moment at which something is due.
    fn wait(&mut self) -> Result<(), Wrong> {
        let wakes = self
            .hosts
            .iter()
            .filter_map(|host| Some(host.time_of(host.wakes_at?)).filter(|_| host.stopped.is_none()));
        // Programs look at their deadline by themselves.
        let deadlines = self
            .hosts
            .iter()
            .filter(|host| host.admits(Wish::Read, self.now) && host.file.until != NO_DEADLINE)
            .map(|host| host.time_of(host.file.until));
        let Some(next) = wakes.chain(deadlines).chain(self.store.next_end()).min() else { return Ok(()) };
        self.now = self.now.max(next);
        let mut told = Told::new();
        self.store.tick(self.now, &mut told);
        self.tell(told);
        for at in 0..self.hosts.len() {
            let host = &mut self.hosts[at];
            let clock = host.clock(self.now);
            if host.stopped.is_none() && host.wakes_at.take_if(|at| *at <= clock).is_some() {
                self.on(at, Event::Time)?;
            }
        }
        Ok(())
    }

    /// The host is gone with all its programs.
    fn vanish(&mut self, at: usize) {
        self.die(at);
        let host = &mut self.hosts[at];
        host.kill_agent();
        host.file.is_home = false;
        self.gone.insert(at);
    }

    /// So is the one that has the privilege, or the first that has it to read, and a person has it forgotten.
    pub fn forget(&mut self) {
        let held = self.store.held.as_ref().map(|held| &held.host);
        let Some(name) = held.or(self.store.readers.first().map(|(reader, _)| &reader.host)).cloned() else {
            return;
        };
        self.forget_host(self.hosts.iter().position(|host| host.name == name).unwrap());
    }

    pub fn forget_host(&mut self, at: usize) {
        self.vanish(at);
        let mut told = Told::new();
        let name = self.hosts[at].name.clone();
        if self.fault != Some(Fault::ForgetsNoReader) || self.store.reader(&name).is_none() {
            self.store.forget(&name, 0, &mut told);
        }
        self.tell(told);
    }
}
