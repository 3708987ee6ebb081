//! What a semaphore costs the engine: the calls of its agents, counted over an engine that answers a millisecond after it was asked.

use crate::{
    host::OneHost,
    store::{Store, Told},
    world::MILLISECOND,
};
use support::hosts::{Next, Timeline};
use turnlock_link_agent::shares::{Action, Event, Request, ShareAgent};
use turnlock_link_agent::{Config, Mode, Nanoseconds};

const SECOND: Nanoseconds = 1_000 * MILLISECOND;
/// What is counted.
const SECONDS: u64 = 20;
/// So long a program has a permit, or three tenths of that, one after another.
const INSIDE: Nanoseconds = 10 * MILLISECOND;

enum Due {
    Call(u64, Request),
    Event(Event),
    Leave,
}

/// What was counted, after a few seconds.
#[derive(Default)]
struct Counted {
    calls: u64,
    leases: u64,
    takes: u64,
    /// Permits that were inside, times nanoseconds.
    used: u64,
}

struct Semaphore {
    store: Store,
    /// How many programs of each host want a permit all the time.
    hosts: Vec<(OneHost, usize)>,
    timeline: Timeline<Due>,
    counted: Counted,
}

impl Semaphore {
    fn new(mode: Mode, total: u32, programs: &[usize]) -> Self {
        let config = Config { mode, ..Config::default() };
        let hosts =
            programs.iter().enumerate().map(|(at, programs)| (OneHost::new(at, config, total, 0), *programs));
        let mut semaphore = Self {
            store: Store::default(),
            hosts: hosts.collect(),
            timeline: Timeline::default(),
            counted: Counted::default(),
        };
        for at in 0..semaphore.hosts.len() {
            let (host, programs) = &mut semaphore.hosts[at];
            host.waiting.extend((0..*programs).map(|_| 1));
            let now = (host.clock(0), host.demand());
            let (agent, actions) = ShareAgent::new(host.name.clone(), config, host.found(), now, 0);
            host.agent = Some(agent);
            semaphore.act(at, actions);
        }
        semaphore
    }

    fn on(&mut self, at: usize, event: Event) {
        let (now, host) = (self.timeline.now, &mut self.hosts[at].0);
        let (clock, demand) = (host.clock(now), host.demand());
        let actions = host.agent.as_mut().unwrap().on(clock, demand, event);
        self.act(at, actions);
    }

    fn admit(&mut self, at: usize) {
        let (entered, waits) =
            (self.hosts[at].0.admit(self.timeline.now), !self.hosts[at].0.waiting.is_empty());
        for one in 0..entered {
            self.timeline.after(INSIDE * u64::from(7 + one % 7) / 10, at, Due::Leave);
        }
        if waits {
            self.timeline.after(1_000, at, Due::Event(Event::Wanted { permits: 1 }));
        }
        if let Some(event) = self.hosts[at].0.drained() {
            self.timeline.after(1_000, at, Due::Event(event));
        }
    }

    fn act(&mut self, at: usize, actions: Vec<Action>) {
        let mut wakes_at = None;
        for action in actions {
            match action {
                Action::Call { number, request } => {
                    self.counted.calls += 1;
                    self.counted.leases += u64::from(is_of_lease(&request));
                    self.timeline.after(MILLISECOND / 2, at, Due::Call(number, request));
                }
                Action::Lease { until } => {
                    self.hosts[at].0.until = until;
                    self.admit(at);
                }
                Action::SetShare { permits } => {
                    self.counted.takes += u64::from(permits > self.hosts[at].0.share);
                    self.hosts[at].0.share = permits;
                    self.admit(at);
                }
                Action::Drain { number, below } => {
                    self.hosts[at].0.drain = Some((number, below));
                    self.admit(at);
                }
                Action::WakeAt(at) => wakes_at = Some(at),
                Action::Robbed | Action::Lost | Action::Refused { .. } | Action::Left => panic!("{action:?}"),
            }
        }
        self.hosts[at].0.wakes_at = wakes_at;
    }

    fn run_until(&mut self, end: Nanoseconds) {
        loop {
            let (before, wakes) = (
                self.timeline.now,
                self.hosts.iter().map(|(host, _)| host.wakes_at.map(|clock| host.time_of(clock))),
            );
            let next = self.timeline.go_on(end, wakes);
            let (now, used): (_, u32) =
                (self.timeline.now, self.hosts.iter().map(|(host, _)| host.used()).sum());
            self.counted.used += u64::from(used) * (now - before);
            let mut told = Told::new();
            self.store.tick(now, &mut told);
            match next {
                Next::Nothing => return,
                Next::Wake(at) => {
                    self.hosts[at].0.wakes_at = None;
                    self.on(at, Event::Time);
                }
                Next::Due(at, Due::Event(event)) => self.on(at, event),
                Next::Due(at, Due::Leave) => {
                    self.hosts[at].0.inside.pop_front();
                    // And another one wants it, soon.
                    self.hosts[at].0.waiting.push_back(1);
                    self.admit(at);
                }
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

fn is_of_lease(request: &Request) -> bool {
    matches!(request, Request::Grant { .. } | Request::KeepAlive { .. } | Request::Revoke { .. })
}

/// Counts, and prints a row of the table in `docs/hosts.md`.
fn count(mode: Mode, name: &str, total: u32, programs: &[usize]) -> (f64, f64) {
    let mut semaphore = Semaphore::new(mode, total, programs);
    semaphore.run_until(5 * SECOND);
    semaphore.counted = Counted::default();
    semaphore.run_until((5 + SECONDS) * SECOND);
    let Counted { calls, leases, takes, used } = semaphore.counted;
    let (keys, watches) = semaphore.store.size();
    let per_second = |count: u64| count as f64 / SECONDS as f64;
    let in_use = used as f64 / (f64::from(total) * (SECONDS * SECOND) as f64);
    println!(
        "{name}, {mode:?}: {keys} keys, {watches} watches, {:.1} calls a second, {:.1} of them for leases, {:.1} takes, {:.0} % in use",
        per_second(calls),
        per_second(leases),
        per_second(takes),
        100.0 * in_use
    );
    (per_second(calls), in_use)
}

#[test]
fn what_a_semaphore_costs_the_engine() {
    for mode in [Mode::Kept, Mode::Leased] {
        // Each host that has permits keeps a lease.
        let least = if mode == Mode::Kept { 1.0 } else { 2.0 };
        assert_eq!(count(mode, "wanted by none of 100 hosts", 10, &[0; 100]).0, 0.0);
        let one = [&[10], &[0; 99][..]].concat();
        let (calls, in_use) =
            count(mode, "used by one of 100 hosts, with as many programs as permits", 10, &one);
        assert!(calls < least && in_use > 0.9, "{calls} {in_use}");
        let (calls, in_use) = count(mode, "by 2 hosts, with half as many programs each", 10, &[5, 5]);
        assert!(calls < least && in_use > 0.9, "{calls} {in_use}");
        for (hosts, least) in [(2, 0.8), (3, 0.8), (10, 0.3)] {
            let name = format!("wanted by {hosts} hosts, with 20 programs each");
            let (_, in_use) = count(mode, &name, 10, &vec![20; hosts]);
            assert!(in_use > least, "{in_use}");
        }
        let (_, in_use) = count(mode, "wanted by 3 hosts, 100 permits, 200 programs each", 100, &[200; 3]);
        assert!(in_use > 0.8, "{in_use}");
    }
}
