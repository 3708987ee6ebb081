//! Hosts, each with a semaphore, programs and an agent; a network that delays and loses; the engine. And what must be true.

use crate::{
    fault::Fault,
    host::OneHost,
    store::{Store, Told},
};
use support::hosts::DRIFT;
use turnlock_link_agent::shares::{Action, Compare, Event, Operation, Reply, Request, ShareAgent, Snapshot};
use turnlock_link_agent::{Config, Mode, NO_DEADLINE, Nanoseconds};

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
    mode: Mode::Kept,
    hold: 0,
    hold_most: 0,
    block: 1,
    lease: 0,
    margin: 200 * MILLISECOND,
    distrust: 0,
    answer: 0,
    fresh: 0,
    fresh_at_home: 0,
};

/// The hosts of a schedule.
#[derive(Clone, Debug)]
pub struct Setup {
    /// By how many thousandths the clock of each is fast.
    pub drifts: Vec<i64>,
    pub mode: Mode,
    /// The first was set up with another number of permits, or for the other mode.
    pub stranger: Option<Stranger>,
    pub fault: Option<Fault>,
    /// The engine ends leases before their time, and the agents know that it may.
    pub ends_early: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stranger {
    OfNumber,
    OfMode,
}

impl Setup {
    /// So many hosts, whose clocks are right.
    pub fn of(hosts: usize, mode: Mode, fault: Option<Fault>) -> Self {
        Self { drifts: vec![0; hosts], mode, stranger: None, fault, ends_early: false }
    }
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
    /// The engine ends the lease of a host's share before its time.
    EndEarly(usize),
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
    pub ends_early: bool,
    pub entries: u32,
    pub refusals: u32,
    /// How often a host took what was its own again, after its lease had ended.
    pub reclaims: u32,
    /// How often an agent said that permits are lost that are inside.
    pub losses: u32,
}

/// What went wrong.
pub type Wrong = String;

impl World {
    /// These hosts, of which none has an agent yet.
    pub fn new(setup: &Setup) -> Self {
        let host = |(at, drift): (usize, &i64)| {
            let stranger = setup.stranger.filter(|_| at == 0);
            let total = if stranger == Some(Stranger::OfNumber) { TOTAL - 1 } else { TOTAL };
            let mode = match setup.mode {
                Mode::Kept if stranger == Some(Stranger::OfMode) => Mode::Leased,
                Mode::Leased if stranger == Some(Stranger::OfMode) => Mode::Kept,
                mode => mode,
            };
            let distrusts = setup.ends_early && setup.fault != Some(Fault::TrustsTheEngine);
            let differ = 2 * CONFIG.lease / 1000 * DRIFT as u64;
            let distrust = if distrusts { CONFIG.lease + differ } else { 0 };
            let mut host = OneHost::new(at, Config { mode, distrust, ..CONFIG }, total, *drift);
            host.admits_late = setup.fault == Some(Fault::AdmitsAfterDeadline);
            host
        };
        Self {
            now: 0,
            store: Store::default(),
            hosts: setup.drifts.iter().enumerate().map(host).collect(),
            messages: Vec::new(),
            late: Vec::new(),
            fault: setup.fault,
            ends_early: setup.ends_early,
            entries: 0,
            refusals: 0,
            reclaims: 0,
            losses: 0,
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
            if self.ends_early && self.store.now.share_of(&host.name).is_some() {
                steps.push(Step::EndEarly(at));
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
                let is_open = host.is_open(self.now) || host.admits_late;
                if is_open && host.waiting.is_empty() && host.used() + permits <= host.share {
                    host.inside.push_back(permits);
                    self.entered(at, 1)?;
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
            Step::EndEarly(at) => {
                let (mut told, name) = (Told::new(), self.hosts[at].name.clone());
                self.store.end_early(&name, &mut told);
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

    /// A host takes permits in its turn only, and those that there are. What nobody took when its lease ended it has again.
    fn check_turn(&mut self, before: &Snapshot, at: usize) -> Result<(), Wrong> {
        let (name, now) = (&self.hosts[at].name, &self.store.now);
        let of = |known: &Snapshot| known.share_of(name).map_or(0, |share| share.permits);
        let had = before.taken_by(name).map_or(0, |record| record.permits);
        self.reclaims += u32::from(of(now) > of(before) && of(now) <= had);
        if of(now) > of(before).max(had) && before.places.iter().map(|place| &place.host).next() != Some(name)
        {
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
        let (clock, demand) = (host.clock(now), host.demand());
        let event = Fault::hear(self.fault, host, event);
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
        let actions = host.agent.as_mut().map(|agent| agent.on(clock, demand, event));
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
                Action::Lease { until } => {
                    if host.until == NO_DEADLINE && (host.share > 0 || host.used() > 0) {
                        return Err(format!("a lease begins at {} while permits are inside", host.name));
                    }
                    host.until = until;
                    self.admit(at)?;
                }
                Action::SetShare { permits } => {
                    host.share = permits;
                    self.admit(at)?;
                }
                Action::Drain { number, below } => {
                    let is_first = !std::mem::replace(&mut host.has_drained, true);
                    host.drain = Some((number, below));
                    let is_lost = !host.is_open(self.now) && host.share == 0;
                    host.numbers = host.numbers.max(number);
                    match fault {
                        Some(Fault::GivesBackUndrained) => self.says_drained(at)?,
                        Some(Fault::GrowsOverLost) if is_lost => self.says_drained(at)?,
                        Some(Fault::TrustsPredecessor) if is_first => self.says_drained(at)?,
                        _ => {}
                    }
                }
                Action::WakeAt(at) => wakes_at = Some(at),
                Action::Lost if !host.is_leased() => return Err(format!("{} lost what it keeps", host.name)),
                Action::Lost => self.losses += 1,
                Action::Robbed => return Err(format!("{} was robbed", host.name)),
                Action::Refused { total, mode } if (total, mode) == (host.total, host.config.mode) => {
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
        let now = self.now;
        let entered = self.hosts[at].admit(now);
        self.entered(at, entered)?;
        self.check()
    }

    /// Programs came in: their host has as many permits as are inside.
    fn entered(&mut self, at: usize, entries: u32) -> Result<(), Wrong> {
        self.entries += entries;
        let (host, has) = (&self.hosts[at], self.has(at));
        if entries > 0 && host.used() > has {
            let (name, used) = (&host.name, host.used());
            return Err(format!(
                "a program came in at {name}, where {used} are inside and the engine has {has}"
            ));
        }
        Ok(())
    }

    /// What the engine has for a host; where it ends leases before their time, what nobody has taken since.
    fn has(&self, at: usize) -> u32 {
        let name = &self.hosts[at].name;
        let record = self.store.now.taken_by(name).filter(|_| self.ends_early);
        self.store.now.share_of(name).or(record).map_or(0, |share| share.permits)
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
        (host.share, host.until) = (0, NO_DEADLINE);
        (host.inside, host.waiting) = Default::default();
    }

    pub fn start(&mut self, at: usize) -> Result<(), Wrong> {
        let host = &mut self.hosts[at];
        host.life += 1;
        host.has_drained = false;
        let (name, found, now) = (host.name.clone(), host.found(), (host.clock(self.now), host.demand()));
        let (agent, actions) = ShareAgent::new(name, host.config, found, now, host.numbers);
        host.agent = Some(agent);
        self.act(at, actions)
    }

    /// To the next moment at which something is due.
    pub fn wait(&mut self) -> Result<(), Wrong> {
        let runs = self.hosts.iter().filter(|host| host.missed.is_none());
        let wakes = runs.filter_map(|host| Some(host.time_of(host.wakes_at?)));
        // Programs look at their deadline by themselves; and when it does not matter any more who is inside.
        let deadlines = self.hosts.iter().filter(|host| host.until != NO_DEADLINE && host.counts(self.now));
        let ends = deadlines.flat_map(|host| {
            let (told, lost) = (host.until, host.until + host.told_before());
            [told, lost].map(|clock| host.time_of(clock)).into_iter().filter(|time| *time > self.now)
        });
        let Some(next) = wakes.chain(ends).chain(self.store.next_end()).min() else { return Ok(()) };
        self.now = self.now.max(next);
        let mut told = Told::new();
        self.store.tick(self.now, &mut told);
        self.tell(told);
        for at in 0..self.hosts.len() {
            let host = &mut self.hosts[at];
            let clock = host.clock(self.now);
            if host.missed.is_none() && host.wakes_at.take_if(|at| *at <= clock).is_some() {
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

    /// No more permits are inside, over all hosts, than there are, but for those who were told long ago that theirs are not their own any
    /// more; and no file that admits programs has a larger share than the engine has for its host.
    pub fn check(&self) -> Result<(), Wrong> {
        let (now, total) = (self.now, self.store.now.total);
        let permits = total.map_or(0, |total| total.permits);
        let counting = self.hosts.iter().filter(|host| host.counts(now));
        let used: u32 = counting.map(OneHost::used).sum();
        if used > permits {
            return Err(format!("{used} permits are inside, of {permits}"));
        }
        for (at, host) in self.hosts.iter().enumerate().filter(|(_, host)| host.is_open(now)) {
            let (name, has) = (&host.name, self.has(at));
            if host.share > has {
                let share = host.share;
                return Err(format!("the file of {name} has a share of {share}, and the engine {has}"));
            }
            if host.used() > has {
                let used = host.used();
                return Err(format!("{used} permits are inside at {name}, for which the engine has {has}"));
            }
            if host.share > 0 && total.is_some_and(|total| total.mode != host.config.mode) {
                return Err(format!("{name} has permits in another mode than the others"));
            }
        }
        Ok(())
    }
}

/// What a request makes the share of its host.
fn grows_to(request: &Request) -> Option<u32> {
    let Request::Transaction { then, .. } = request else { return None };
    then.iter().find_map(|operation| match operation {
        Operation::PutShare { permits, .. } => Some(*permits),
        _ => None,
    })
}

/// Whether it takes permits that are free.
fn takes(request: &Request) -> bool {
    let Request::Transaction { compares, .. } = request else { return false };
    compares.iter().any(|compare| matches!(compare, Compare::NoShareSince(_) | Compare::NoneTakenSince(_)))
}
