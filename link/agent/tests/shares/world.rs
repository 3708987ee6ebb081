//! Hosts, each with a semaphore, programs and an agent; a network that delays and loses; the engine. And what must be true.

use crate::{
    fault::Fault,
    host::OneHost,
    store::{Store, Told},
};
use turnlock_link_agent::shares::{Action, Compare, Event, Operation, Reply, Request, ShareAgent, Snapshot};
use turnlock_link_agent::{Config, Nanoseconds};

pub const MILLISECOND: Nanoseconds = 1_000_000;
pub const TOTAL: u32 = 4;

/// As short as they can be, so that leases end.
pub const CONFIG: Config = Config {
    hold: 20 * MILLISECOND,
    lease: 900 * MILLISECOND,
    answer: 200 * MILLISECOND,
    fresh: 500 * MILLISECOND,
    fresh_at_home: 500 * MILLISECOND,
    ..DEFAULT
};
const DEFAULT: Config = Config {
    mode: turnlock_link_agent::Mode::Kept,
    hold: 0,
    hold_most: 0,
    block: 1,
    lease: 0,
    margin: 0,
    distrust: 0,
    answer: 0,
    fresh: 0,
    fresh_at_home: 0,
};

/// Something under way.
pub type Message = support::hosts::Message<Request, Event>;

/// Whether it could do harm where it comes late: what changes keys.
fn may_do_harm(message: &Message) -> bool {
    matches!(message, Message::Call { request: Request::Transaction { .. }, .. })
}

/// Whether it is a call of this host that takes permits that are free.
pub fn takes_at(message: &Message, at: usize) -> bool {
    matches!(message, Message::Call { host, request, .. } if *host == at && takes(request))
}

/// What can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A message comes: the one of this place, in the order in which they were sent.
    Deliver(usize),
    Lose(usize),
    /// It lies about, and comes when everything may have changed.
    Delay(usize),
    DeliverLate(usize),
    /// A program wants so many permits, and waits for them; or tries once.
    Want(usize, u32),
    Try(usize, u32),
    /// The program that has been inside longest leaves, or dies: its permits are back.
    Leave(usize),
    /// The last of those that wait gives up.
    GiveUp(usize),
    /// The agent has waited for those inside.
    Drained(usize),
    Kill(usize),
    /// The agent dies after the first of several things that it does at once.
    KillAmid(usize),
    Stop(usize),
    Resume(usize),
    /// The host is gone for good, with its programs.
    Vanish(usize),
    Start(usize),
    /// The host boots: its programs are gone, and its share.
    Boot(usize),
    Cut(usize),
    Mend(usize),
    Compact,
    /// The time goes on to when something is due.
    Wait,
    /// A person has a host forgotten that is gone.
    Forget(usize),
}

/// Everything at one moment.
#[derive(Clone, Debug)]
pub struct World {
    pub now: Nanoseconds,
    pub store: Store,
    pub hosts: Vec<OneHost>,
    pub messages: Vec<Message>,
    pub late: Vec<Message>,
    pub fault: Option<Fault>,
    pub entries: u32,
    pub refusals: u32,
}

/// What went wrong.
pub type Wrong = String;

impl World {
    /// So many hosts, of which none has an agent yet. `stranger`: the first was set up with another number of permits.
    pub fn new(hosts: usize, stranger: bool, fault: Option<Fault>) -> Self {
        let total = |at: usize| if stranger && at == 0 { TOTAL - 1 } else { TOTAL };
        Self {
            now: 0,
            store: Store::default(),
            hosts: (0..hosts).map(|at| OneHost::new(at, CONFIG, total(at))).collect(),
            messages: Vec::new(),
            late: Vec::new(),
            fault,
            entries: 0,
            refusals: 0,
        }
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
            if host.is_gone {
                if self.store.now.share_of(&host.name).is_some() {
                    steps.push(Step::Forget(at));
                }
                continue;
            }
            steps.extend([Step::Vanish(at), Step::Boot(at)]);
            steps.push(if host.is_cut_off { Step::Mend(at) } else { Step::Cut(at) });
            steps.extend(match (&host.agent, &host.missed) {
                (None, _) => vec![Step::Start(at)],
                (Some(_), Some(_)) => vec![Step::Kill(at), Step::Resume(at)],
                (Some(_), None) => vec![Step::Kill(at), Step::KillAmid(at), Step::Stop(at)],
            });
            if host.waiting.len() < 3 {
                steps.extend(
                    (1..=host.total).flat_map(|permits| [Step::Want(at, permits), Step::Try(at, permits)]),
                );
            }
            if !host.waiting.is_empty() {
                steps.push(Step::GiveUp(at));
            }
            if !host.inside.is_empty() {
                steps.push(Step::Leave(at));
            }
            if host.missed.is_none() && host.clone().drained().is_some() {
                steps.push(Step::Drained(at));
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
            Step::Lose(at) => drop(self.messages.remove(at)),
            Step::Delay(at) => self.late.push(self.messages.remove(at)),
            Step::DeliverLate(at) => {
                let message = self.late.remove(at);
                self.deliver(message)?;
            }
            Step::Want(at, permits) => {
                self.hosts[at].waiting.push_back(permits);
                self.admit(at)?;
                if self.hosts[at].waiting.back() == Some(&permits) {
                    self.on(at, Event::Wanted { permits })?;
                }
            }
            Step::Try(at, permits) => {
                let host = &mut self.hosts[at];
                if host.waiting.is_empty() && host.used() + permits <= host.share {
                    host.inside.push_back(permits);
                    self.entries += 1;
                } else {
                    self.on(at, Event::Wanted { permits })?;
                }
            }
            Step::Leave(at) => {
                self.hosts[at].inside.pop_front();
                self.admit(at)?;
            }
            Step::GiveUp(at) => {
                self.hosts[at].waiting.pop_back();
                self.admit(at)?;
            }
            Step::Drained(at) => {
                if let Some(event) = self.hosts[at].drained() {
                    self.on(at, event)?;
                }
            }
            Step::Kill(at) => self.kill(at),
            Step::KillAmid(at) => self.hosts[at].dies_amid = true,
            Step::Stop(at) => self.hosts[at].missed = Some(Vec::new()),
            Step::Resume(at) => {
                let missed = self.hosts[at].missed.take().unwrap_or_default();
                missed.into_iter().chain([Event::Time]).try_for_each(|event| self.on(at, event))?;
            }
            Step::Vanish(at) => {
                self.boot(at);
                self.hosts[at].is_gone = true;
            }
            Step::Boot(at) => self.boot(at),
            Step::Start(at) => self.start(at)?,
            Step::Cut(at) => self.hosts[at].is_cut_off = true,
            Step::Mend(at) => self.hosts[at].is_cut_off = false,
            Step::Compact => {
                let mut told = Told::new();
                self.store.compact(&mut told);
                self.tell(told);
            }
            Step::Wait => self.wait()?,
            Step::Forget(at) => self.forget(at),
        }
        self.check()
    }

    fn deliver(&mut self, message: Message) -> Result<(), Wrong> {
        match message {
            Message::Call { host, .. } | Message::Event { host, .. } if self.hosts[host].is_cut_off => Ok(()),
            Message::Call { host, life, number, request } => {
                let name = self.hosts[host].name.clone();
                let before = self.store.now.clone();
                let mut told = Told::new();
                let reply = self.store.carry_out(self.now, &name, (host, life, number), &request, &mut told);
                self.check_turn(&before, host)?;
                self.tell(told);
                if let Some(reply) = reply {
                    self.messages.push(Message::Event {
                        host,
                        life,
                        event: Event::Answered { call: number, reply },
                    });
                }
                Ok(())
            }
            Message::Event { host, life, event } if self.hosts[host].life == life => self.on(host, event),
            Message::Event { .. } => Ok(()),
        }
    }

    /// A host takes permits in its turn only, and those that there are.
    fn check_turn(&self, before: &Snapshot, at: usize) -> Result<(), Wrong> {
        let (name, now) = (&self.hosts[at].name, &self.store.now);
        let of = |known: &Snapshot| known.share_of(name).map_or(0, |share| share.permits);
        if of(now) > of(before) && before.places.iter().map(|place| &place.host).next() != Some(name) {
            return Err(format!("{name} took permits before its turn"));
        }
        let all: u32 = now.shares.iter().map(|share| share.permits).sum();
        match now.total {
            Some(total) if all > total.permits => Err(format!("{name} took more permits than there are")),
            Some(_) if before.total.is_some_and(|total| Some(total) != now.total) => {
                Err(format!("{name} changed how many there are"))
            }
            _ => Ok(()),
        }
    }

    fn tell(&mut self, told: Told) {
        for watch in told {
            let event = Event::Changed { watch: watch.number };
            self.messages.push(Message::Event { host: watch.host, life: watch.life, event });
        }
    }

    /// The agent of a host is told something, and does what it decides.
    pub fn on(&mut self, at: usize, event: Event) -> Result<(), Wrong> {
        let (now, host) = (self.now, &mut self.hosts[at]);
        if let Some(missed) = &mut host.missed {
            missed.push(event);
            return Ok(());
        }
        let demand = host.demand();
        let event = match event {
            Event::Answered { call, reply: Ok(Reply::Listed(mut known)) }
                if self.fault == Some(Fault::TakesFirst) =>
            {
                known.places.retain(|place| place.host == host.name);
                Event::Answered { call, reply: Ok(Reply::Listed(known)) }
            }
            Event::Answered { call, reply: Ok(Reply::Listed(mut known)) }
                if self.fault == Some(Fault::IgnoresTotal) =>
            {
                known.total = known
                    .total
                    .map(|total| turnlock_link_agent::shares::Total { permits: host.total, ..total });
                Event::Answered { call, reply: Ok(Reply::Listed(known)) }
            }
            event => event,
        };
        let actions = host.agent.as_mut().map(|agent| agent.on(now, demand, event));
        self.act(at, actions.unwrap_or_default())
    }

    fn act(&mut self, at: usize, actions: Vec<Action>) -> Result<(), Wrong> {
        let fault = self.fault;
        let actions = Fault::apply(fault, &self.hosts[at], actions);
        let are_several = actions.iter().filter(|action| !matches!(action, Action::WakeAt(_))).count() > 1;
        let mut wakes_at = None;
        for action in actions {
            let host = &mut self.hosts[at];
            let dies = are_several && std::mem::take(&mut host.dies_amid);
            match action {
                Action::Call { number, request } => {
                    host.numbers = host.numbers.max(number);
                    let grows = grows_to(&request).filter(|share| *share > host.share);
                    let is_own = !takes(&request);
                    match (fault, grows) {
                        (Some(Fault::GrowsUnasked), Some(_)) if is_own => {
                            let event = Event::Answered { call: number, reply: Ok(Reply::Committed(true)) };
                            self.on(at, event)?;
                            continue;
                        }
                        (Some(Fault::GrowsBeforeAnswer), Some(share)) => {
                            host.share = share;
                            self.admit(at)?;
                        }
                        _ => {}
                    }
                    let life = self.hosts[at].life;
                    self.messages.push(Message::Call { host: at, life, number, request });
                }
                Action::SetShare { permits } => {
                    host.share = permits;
                    self.admit(at)?;
                }
                Action::Drain { number, below } => {
                    let is_first = !std::mem::replace(&mut host.has_drained, true);
                    host.drain = Some((number, below));
                    host.numbers = host.numbers.max(number);
                    match fault {
                        Some(Fault::GivesBackUndrained) => self.says_drained(at)?,
                        Some(Fault::TrustsPredecessor) if is_first => self.says_drained(at)?,
                        _ => {}
                    }
                }
                Action::WakeAt(at) => wakes_at = Some(at),
                Action::Robbed => return Err(format!("{} was robbed", host.name)),
                Action::Refused { total } if total == host.total => {
                    return Err(format!("{} is refused for what it is set up for", host.name));
                }
                Action::Refused { .. } => self.refusals += 1,
                Action::Left => return Err(format!("{} left, and was not asked to", host.name)),
            }
            if dies {
                self.kill(at);
                return Ok(());
            }
        }
        self.hosts[at].wakes_at = wakes_at;
        Ok(())
    }

    fn admit(&mut self, at: usize) -> Result<(), Wrong> {
        self.entries += self.hosts[at].admit();
        self.check()
    }

    fn says_drained(&mut self, at: usize) -> Result<(), Wrong> {
        let Some((number, _)) = self.hosts[at].drain.take() else { return Ok(()) };
        let permits = self.hosts[at].share;
        self.on(at, Event::Drained { number, permits })
    }

    /// The agent dies; what it asked for last comes when the next one is at it.
    fn kill(&mut self, at: usize) {
        self.hosts[at].kill_agent();
        let is_its = |message: &mut Message| {
            matches!(message, Message::Call { host, .. } if *host == at) && may_do_harm(message)
        };
        self.late.extend(self.messages.extract_if(.., is_its));
    }

    fn boot(&mut self, at: usize) {
        self.kill(at);
        let host = &mut self.hosts[at];
        host.share = 0;
        (host.inside, host.waiting) = Default::default();
    }

    pub fn start(&mut self, at: usize) -> Result<(), Wrong> {
        let host = &mut self.hosts[at];
        host.life += 1;
        host.has_drained = false;
        let (name, found, now) = (host.name.clone(), host.found(), (self.now, host.demand()));
        let (agent, actions) = ShareAgent::new(name, host.config, found, now, host.numbers);
        host.agent = Some(agent);
        self.act(at, actions)
    }

    /// To the next moment at which something is due.
    pub fn wait(&mut self) -> Result<(), Wrong> {
        let wakes = self.hosts.iter().filter(|host| host.missed.is_none()).filter_map(|host| host.wakes_at);
        let Some(next) = wakes.chain(self.store.next_end()).min() else { return Ok(()) };
        self.now = self.now.max(next);
        let mut told = Told::new();
        self.store.tick(self.now, &mut told);
        self.tell(told);
        for at in 0..self.hosts.len() {
            let (now, host) = (self.now, &mut self.hosts[at]);
            if host.missed.is_none() && host.wakes_at.take_if(|at| *at <= now).is_some() {
                self.on(at, Event::Time)?;
            }
        }
        Ok(())
    }

    pub fn forget(&mut self, at: usize) {
        let mut told = Told::new();
        let name = self.hosts[at].name.clone();
        self.store.forget(&name, &mut told);
        self.tell(told);
    }

    /// No more permits are inside, over all hosts, than there are; and no file has a larger share than the engine has for its host.
    pub fn check(&self) -> Result<(), Wrong> {
        let total = self.store.now.total.map_or(0, |total| total.permits);
        let used: u32 = self.hosts.iter().map(OneHost::used).sum();
        if used > total {
            return Err(format!("{used} permits are inside, of {total}"));
        }
        for host in &self.hosts {
            let has = self.store.now.share_of(&host.name).map_or(0, |share| share.permits);
            if host.share > has {
                let (name, share) = (&host.name, host.share);
                return Err(format!("the file of {name} has a share of {share}, and the engine {has}"));
            }
            if host.used() > has {
                let (name, used) = (&host.name, host.used());
                return Err(format!("{used} permits are inside at {name}, for which the engine has {has}"));
            }
        }
        Ok(())
    }
}

/// What a request makes the share of its host.
fn grows_to(request: &Request) -> Option<u32> {
    let Request::Transaction { then, .. } = request else { return None };
    then.iter().find_map(|operation| match operation {
        Operation::PutShare { permits } => Some(*permits),
        _ => None,
    })
}

/// Whether it takes permits that are free.
fn takes(request: &Request) -> bool {
    let Request::Transaction { compares, .. } = request else { return false };
    compares.iter().any(|compare| matches!(compare, Compare::NoShareSince(_)))
}
