//! What a lock costs the engine: the calls of its agents, counted over an engine that answers a millisecond after it was asked.

use crate::{
    host::{LockFile, OneHost},
    store::{Store, Told},
    world::MILLISECOND,
};
use std::collections::BTreeMap;
use support::hosts::{Next, Timeline};
use turnlock_link_agent::{Action, Agent, Config, Event, Mode, Nanoseconds, Request, Wish};

const SECOND: Nanoseconds = 1_000 * MILLISECOND;
/// What is counted.
const SECONDS: u64 = 20;

/// What the programs of a host do.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// They want the lock all the time.
    Always,
    /// They want to read all the time.
    Reads,
    /// They took it once, and have not wanted it since.
    Once,
    /// One of them stays inside.
    Inside,
    Never,
}

impl Use {
    fn wish(self) -> Option<Wish> {
        match self {
            Self::Never => None,
            Self::Reads => Some(Wish::Read),
            Self::Always | Self::Once | Self::Inside => Some(Wish::Write),
        }
    }
}

enum Due {
    Call(u64, Request),
    Event(Event),
}

/// What was counted, beginning when every host had its turn, or a few seconds have passed.
#[derive(Default)]
struct Counted {
    calls: BTreeMap<&'static str, u64>,
    hand_overs: u64,
    keys: u64,
    watches: u64,
}

impl Counted {
    fn calls(&self) -> u64 {
        self.calls.values().sum()
    }

    fn per_second(&self, count: u64) -> f64 {
        count as f64 / SECONDS as f64
    }
}

struct Lock {
    store: Store,
    hosts: Vec<(OneHost, Use)>,
    timeline: Timeline<Due>,
    counted: Counted,
}

impl Lock {
    fn new(mode: Mode, uses: &[Use]) -> Self {
        let config = Config { mode, ..Config::default() };
        let mut hosts: Vec<_> = uses.iter().map(|uses| (OneHost::new(0, config, 0), *uses)).collect();
        for (at, (host, _)) in hosts.iter_mut().enumerate() {
            host.name = format!("host-{at}").into();
        }
        let mut lock = Self {
            store: Store::default(),
            hosts,
            timeline: Timeline::default(),
            counted: Counted::default(),
        };
        for at in 0..lock.hosts.len() {
            let (host, uses) = &mut lock.hosts[at];
            host.file.wanted = uses.wish();
            let (agent, actions) = Agent::new(host.name.clone(), config, host.found(), 0, 0);
            host.agent = Some(agent);
            lock.act(at, actions);
        }
        lock
    }

    fn on(&mut self, at: usize, event: Event) {
        let actions = self.hosts[at].0.agent.as_mut().unwrap().on(self.timeline.now, event);
        self.act(at, actions);
    }

    fn act(&mut self, at: usize, actions: Vec<Action>) {
        let mut wakes_at = None;
        for action in actions {
            let (host, uses) = &mut self.hosts[at];
            match action {
                Action::Call { number, request } => {
                    let kind = match request {
                        Request::List => "list",
                        Request::Transaction { .. } => "transaction",
                        Request::KeepAlive { .. } => "keep alive",
                        Request::Grant { .. } | Request::Revoke { .. } => "lease",
                        Request::Watch { .. } => "watch",
                    };
                    *self.counted.calls.entry(kind).or_default() += 1;
                    self.timeline.after(MILLISECOND / 2, at, Due::Call(number, request));
                }
                Action::BringHome { first, last, data } => {
                    host.file = LockFile {
                        is_home: true,
                        is_to_read: false,
                        last_token: first - 1,
                        token_end: last,
                        data,
                        ..host.file.clone()
                    };
                    self.counted.hand_overs += 1;
                }
                Action::BringHomeToRead { token, data } => {
                    host.file = LockFile {
                        is_home: true,
                        is_to_read: true,
                        last_token: token,
                        token_end: 0,
                        data,
                        ..host.file.clone()
                    };
                    self.counted.hand_overs += 1;
                }
                // A program is inside for a thousandth of a millisecond, and others want the lock then.
                Action::MoveAway if *uses == Use::Inside => {}
                Action::MoveAway => {
                    host.file.is_home = false;
                    host.file.last_token += u64::from(!host.file.is_to_read);
                    let event = Event::MovedAway { last_token: host.file.last_token, data: host.file.data };
                    let wish = uses.wish().filter(|_| *uses != Use::Once);
                    self.timeline.after(1_000, at, Due::Event(event));
                    if let Some(wish) = wish {
                        self.timeline.after(1_000, at, Due::Event(Event::Wanted { wish }));
                    }
                }
                Action::Lease { until } => host.file.until = until,
                Action::WakeAt(at) => wakes_at = Some(at),
                Action::Extend { .. } => {}
                Action::Robbed | Action::Lost | Action::Refused { .. } => {
                    panic!("{}: {action:?}", host.name);
                }
            }
        }
        self.hosts[at].0.wakes_at = wakes_at;
    }

    fn run_until(&mut self, end: Nanoseconds) {
        loop {
            let wakes = self.hosts.iter().map(|(host, _)| host.wakes_at);
            let next = self.timeline.go_on(end, wakes);
            let (now, mut told) = (self.timeline.now, Told::new());
            self.store.tick(now, &mut told);
            match next {
                Next::Nothing => return,
                Next::Wake(at) => {
                    self.hosts[at].0.wakes_at = None;
                    self.on(at, Event::Time);
                }
                Next::Due(at, Due::Event(event)) => self.on(at, event),
                Next::Due(at, Due::Call(number, request)) => {
                    let name = self.hosts[at].0.name.clone();
                    let reply = self.store.carry_out(now, &name, (at, 0, number), &request, &mut told);
                    if let Some(reply) = reply {
                        let event = Event::Answered { call: number, reply };
                        self.timeline.after(MILLISECOND / 2, at, Due::Event(event));
                    }
                }
            }
            for watch in told {
                let event = Event::Changed { watch: watch.number };
                self.timeline.after(MILLISECOND / 2, watch.host, Due::Event(event));
            }
        }
    }
}

/// Counts for so many seconds, after a while.
fn count(mode: Mode, uses: &[Use]) -> Counted {
    let mut lock = Lock::new(mode, uses);
    lock.run_until(10 * SECOND);
    lock.counted = Counted::default();
    lock.run_until((10 + SECONDS) * SECOND);
    let (keys, watches) = lock.store.size();
    Counted { keys, watches, ..lock.counted }
}

#[test]
fn what_one_lock_costs_the_engine() {
    println!(
        "| a lock | mode | keys | watches | calls a second | of these keep leases | hand-overs a second | calls each |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let read = |hosts| vec![Use::Reads; hosts];
    let contended = |hosts| vec![Use::Always; hosts];
    let rows = [
        ("away at 100 hosts, wanted by none", vec![Use::Never; 100]),
        ("home at one of 100 hosts, wanted by no other", [vec![Use::Once], vec![Use::Never; 99]].concat()),
        ("held for long at one host, wanted by 10 others", [vec![Use::Inside], contended(10)].concat()),
        ("wanted by 2 hosts all the time", contended(2)),
        ("by 10 hosts", contended(10)),
        ("by 100 hosts", contended(100)),
        ("read at 10 hosts all the time, and never written", vec![Use::Reads; 10]),
        ("at 100 hosts", vec![Use::Reads; 100]),
        ("read at 10 hosts, and written at another, all the time", [read(10), contended(1)].concat()),
        ("at 100 hosts", [read(100), contended(1)].concat()),
    ];
    for (what, uses) in rows {
        for mode in [Mode::Kept, Mode::Leased] {
            let counted = count(mode, &uses);
            let kept = counted.calls.get("keep alive").copied().unwrap_or_default();
            let each = if counted.hand_overs == 0 {
                "-".into()
            } else {
                format!("{:.1}", counted.calls() as f64 / counted.hand_overs as f64)
            };
            println!(
                "| {what} | {mode:?} | {} | {} | {:.2} | {:.2} | {:.1} | {each} |",
                counted.keys,
                counted.watches,
                counted.per_second(counted.calls()),
                counted.per_second(kept),
                counted.per_second(counted.hand_overs),
            );
            let is_used = uses.iter().any(|uses| *uses != Use::Never);
            assert!(is_used || counted.calls() == 0, "a lock that none wants costs nothing");
            let wants = |uses: &Use| matches!(uses, Use::Always | Use::Reads);
            let others_want = uses.iter().all(wants) && uses.contains(&Use::Always);
            assert_eq!(others_want, counted.hand_overs > 0);
        }
    }
}
