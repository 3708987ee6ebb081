//! What one agent asks where permits are leased, step by step, and what it has its lock file do.

use crate::{
    calls::{answered, call, host, keys, listed},
    world::{CONFIG, MILLISECOND},
};
use turnlock_link_agent::shares::{
    Action, Compare, Demand, Event, Found, Key, Operation, Reply, Request, Share, ShareAgent, Snapshot, Total,
};
use turnlock_link_agent::{Config, Mode, NO_DEADLINE, Nanoseconds};

const LEASED: Config = Config { mode: Mode::Leased, ..CONFIG };
/// For so long after a call was sent that keeps the lease programs are admitted.
const ADMITS: Nanoseconds = LEASED.lease - LEASED.margin;
const NONE: Demand = Demand { used: 0, awaited: 0, first: 0 };
const WAITS: Demand = Demand { used: 0, awaited: 3, first: 3 };
const USES: Demand = Demand { used: 3, awaited: 0, first: 0 };

/// The keys of a leased semaphore: what hosts have, and what they took and have not given back.
fn leased(shares: &[(&str, u32)], taken: &[(&str, u32)], places: &[(&str, u64, u32, u32)]) -> Snapshot {
    let total = Some(Total { permits: 10, mode: Mode::Leased, modified: 5 });
    let record = |(name, permits): &(&str, u32)| Share { host: host(name), permits: *permits, modified: 21 };
    Snapshot { total, taken: taken.iter().map(record).collect(), ..keys(shares, places) }
}

fn agent(config: Config, found: Found, demand: Demand) -> (ShareAgent, Vec<Action>) {
    ShareAgent::new(host("a"), config, found, (0, demand), 0)
}

fn found(share: u32, until: Nanoseconds) -> Found {
    Found { share, total: 10, until }
}

/// The number of the wait for those inside.
fn drain_of(actions: &[Action]) -> u64 {
    let drain = actions.iter().find_map(|action| match action {
        Action::Drain { number, .. } => Some(*number),
        _ => None,
    });
    drain.unwrap_or_else(|| panic!("{actions:?}"))
}

/// The number of the call that asks for this.
fn call_of(actions: &[Action], asked: &Request) -> u64 {
    let number = actions.iter().find_map(|action| match action {
        Action::Call { number, request } if request == asked => Some(*number),
        _ => None,
    });
    number.unwrap_or_else(|| panic!("{actions:?}"))
}

fn list_of(actions: &[Action]) -> u64 {
    call_of(actions, &Request::List)
}

fn granted(lease: u64) -> Result<Reply, turnlock_link_agent::Failed> {
    Ok(Reply::Granted { lease })
}

fn transaction(compares: &[Compare], then: &[Operation]) -> Request {
    Request::Transaction { compares: compares.into(), then: then.into() }
}

/// One that waits, and stands first in the queue by a lease that was asked for at 0, with these keys.
fn first_in_the_queue(config: Config, known: Snapshot) -> (ShareAgent, Vec<Action>) {
    let (mut agent, actions) = agent(config, found(0, NO_DEADLINE), WAITS);
    let actions = agent.on(0, WAITS, listed(&actions, leased(&[], &[], &[])));
    // Nothing is asked before nothing is inside: a lease begins.
    let drained = Event::Drained { number: drain_of(&actions), permits: 0 };
    let actions = agent.on(0, WAITS, drained);
    assert_eq!(call(&actions).1, Request::Grant { length: LEASED.lease });
    let actions = agent.on(5, WAITS, answered(&actions, granted(7)));
    let actions = agent.on(6, WAITS, answered(&actions, Ok(Reply::Committed(true))));
    let actions = agent.on(7, WAITS, listed(&actions, known));
    (agent, actions)
}

/// One that has three permits since the time 8, by a lease that was asked for at 0.
fn at_home() -> ShareAgent {
    let (mut agent, actions) = first_in_the_queue(LEASED, leased(&[], &[], &[("a", 25, 3, 3)]));
    // The deadline is in the file before anything is taken, and counts from when the lease was asked for.
    assert_eq!(actions[0], Action::Lease { until: ADMITS });
    let takes = transaction(
        &[Compare::Created(Key::Place, 25), Compare::NoneTakenSince(30), Compare::Modified(Key::Total, 5)],
        &[Operation::PutShare { permits: 3, lease: Some(7) }, Operation::Delete(Key::Place)],
    );
    assert_eq!(call(&actions).1, takes);
    let actions = agent.on(8, WAITS, answered(&actions, Ok(Reply::Committed(true))));
    assert_eq!(actions[0], Action::SetShare { permits: 3 });
    let known = Ok(Reply::Listed(leased(&[("a", 3)], &[("a", 3)], &[])));
    agent.on(8, USES, Event::Answered { call: list_of(&actions), reply: known });
    agent
}

/// It, after its host was suspended for longer than the lease with programs inside, and what it lists then.
fn after_the_end(known: Snapshot) -> (ShareAgent, Vec<Action>) {
    let (mut agent, now) = (at_home(), 10 * LEASED.lease);
    let actions = agent.on(now, USES, Event::Time);
    let keep = actions.iter().find_map(|action| match action {
        Action::Call { number, request: Request::KeepAlive { lease: 7 } } => Some(*number),
        _ => None,
    });
    let over = Event::Answered { call: keep.unwrap(), reply: Ok(Reply::Alive(false)) };
    let list = list_of(&actions);
    let actions = agent.on(now, USES, over);
    assert!(!actions.iter().any(|action| matches!(action, Action::Lease { .. })), "{actions:?}");
    let actions = agent.on(now, USES, Event::Answered { call: list, reply: Ok(Reply::Listed(known)) });
    (agent, actions)
}

#[test]
fn programs_are_admitted_from_when_the_answered_call_was_sent_and_told_once_of_a_loss() {
    let mut agent = at_home();
    let sent = ADMITS / 4 + 5;
    let keep = call(&agent.on(sent, USES, Event::Time));
    assert_eq!(keep.1, Request::KeepAlive { lease: 7 });
    let mut unheard = agent.clone();
    let late = sent + 100 * MILLISECOND;
    let actions = agent.on(late, USES, Event::Answered { call: keep.0, reply: Ok(Reply::Alive(true)) });
    assert_eq!(actions[0], Action::Lease { until: sent + ADMITS });
    // Without that answer.
    assert!(!unheard.on(ADMITS, USES, Event::Time).contains(&Action::Lost));
    assert!(!unheard.on(LEASED.lease - 1, USES, Event::Time).contains(&Action::Lost));
    assert!(unheard.on(LEASED.lease, USES, Event::Time).contains(&Action::Lost));
    assert!(!unheard.on(LEASED.lease + 1, USES, Event::Time).contains(&Action::Lost), "it is said once");
}

#[test]
fn what_nobody_took_after_the_lease_the_host_takes_again() {
    let (mut agent, actions) = after_the_end(leased(&[], &[("a", 3)], &[]));
    assert_eq!(call(&actions).1, Request::Grant { length: LEASED.lease });
    let now = 10 * LEASED.lease;
    let actions = agent.on(now, USES, answered(&actions, granted(8)));
    let again = transaction(
        &[Compare::Modified(Key::TakenBy, 21)],
        &[Operation::PutShare { permits: 3, lease: Some(8) }],
    );
    assert_eq!(call(&actions).1, again);
    let actions = agent.on(now + 1, USES, answered(&actions, Ok(Reply::Committed(true))));
    // The file's share is what it was.
    assert_eq!(actions[0], Action::Lease { until: now + ADMITS });
    assert!(!actions.iter().any(|action| matches!(action, Action::SetShare { .. })), "{actions:?}");
}

#[test]
fn what_somebody_took_is_gone_and_none_is_inside_before_more_is_taken() {
    let (mut agent, actions) = after_the_end(leased(&[("b", 8)], &[("b", 8)], &[]));
    assert_eq!(actions[0], Action::SetShare { permits: 0 });
    let now = 10 * LEASED.lease;
    let more = Demand { used: 3, awaited: 1, first: 1 };
    let waits = agent.on(now, more, Event::Wanted { permits: 1 });
    assert!(!waits.iter().any(|action| matches!(action, Action::Call { .. })), "{waits:?}");
    let drained = Event::Drained { number: drain_of(&actions), permits: 0 };
    let actions = agent.on(now, WAITS, drained);
    assert_eq!(call(&actions).1, Request::Grant { length: LEASED.lease });
}

#[test]
fn what_nobody_took_and_nobody_wants_is_given_back() {
    let (mut agent, actions) = agent(LEASED, found(3, 40), NONE);
    let actions = agent.on(100, NONE, listed(&actions, leased(&[], &[("a", 3)], &[])));
    let drained = Event::Drained { number: drain_of(&actions), permits: 0 };
    let actions = agent.on(100, NONE, drained);
    let gives = transaction(&[Compare::Modified(Key::TakenBy, 21)], &[Operation::Delete(Key::TakenBy)]);
    assert_eq!(call(&actions).1, gives);
}

#[test]
fn nothing_is_written_by_a_lease_whose_deadline_has_passed_before_that_is_kept() {
    let (mut agent, more) = (at_home(), Demand { used: 3, awaited: 2, first: 2 });
    // What this host gives back it may have again, and takes by a transaction.
    let known = leased(&[("a", 5)], &[("a", 5)], &[]);
    let actions = agent.on(LEASED.fresh + 8, more, Event::Time);
    let keeps = call_of(&actions, &Request::KeepAlive { lease: 7 });
    let listed = |actions: &[Action]| Event::Answered {
        call: call_of(actions, &Request::List),
        reply: Ok(Reply::Listed(known.clone())),
    };
    let again = agent.clone().on(LEASED.fresh + 9, more, listed(&actions));
    let takes = transaction(
        &[Compare::Modified(Key::Share, 20)],
        &[Operation::PutShare { permits: 5, lease: Some(7) }],
    );
    assert_eq!(call(&again).1, takes);
    // It has not heard of its lease, and knows no more whether it runs.
    let actions = agent.on(ADMITS, more, listed(&actions));
    assert!(
        !actions
            .iter()
            .any(|action| matches!(action, Action::Call { request: Request::Transaction { .. }, .. }))
    );
    let kept = Event::Answered { call: keeps, reply: Ok(Reply::Alive(true)) };
    call_of(&agent.on(ADMITS + 1, more, kept), &takes);
}

#[test]
fn an_agent_has_the_share_that_it_finds_have_its_own_lease() {
    // By the lease of the agent before it, which was longer.
    let (mut agent, actions) = agent(LEASED, found(3, 2 * LEASED.lease), USES);
    let actions = agent.on(0, USES, listed(&actions, leased(&[("a", 3)], &[("a", 3)], &[])));
    let actions = agent.on(0, USES, answered(&actions, granted(9)));
    assert_eq!(actions[0], Action::Lease { until: ADMITS });
    let attaches = transaction(
        &[Compare::Modified(Key::Share, 20)],
        &[Operation::PutShare { permits: 3, lease: Some(9) }],
    );
    assert_eq!(call(&actions).1, attaches);
}

#[test]
fn a_share_without_a_deadline_is_closed_before_it_is_leased() {
    let ours: &[(&str, u32)] = &[("a", 3)];
    for (shares, taken) in [(ours, ours), (&[], ours), (&[], &[])] {
        let (mut agent, actions) = agent(LEASED, found(3, NO_DEADLINE), USES);
        let actions = agent.on(0, USES, listed(&actions, leased(shares, taken, &[])));
        let is_first = |action: &Action| matches!(action, Action::Lease { .. });
        assert!(actions.contains(&Action::SetShare { permits: 0 }), "{actions:?}");
        assert!(!actions.iter().any(is_first), "programs are inside");
        let drained = Event::Drained { number: drain_of(&actions), permits: 0 };
        let actions = agent.on(0, WAITS, drained);
        assert_eq!(call(&actions).1, Request::Grant { length: LEASED.lease });
    }
}

#[test]
fn of_a_host_whose_lease_ended_as_much_is_taken_as_is_needed_and_not_before_that_is_trusted() {
    let ended = leased(&[], &[("b", 6), ("c", 4)], &[("a", 25, 3, 3)]);
    let takes_of_one = |actions: &[Action]| {
        let Request::Transaction { then, .. } = call(actions).1 else { panic!("{actions:?}") };
        let [Operation::PutShare { permits: 3, .. }, Operation::Forget(of), ..] = &then[..] else {
            panic!("{then:?}")
        };
        assert_eq!(&**of, "b");
        assert!(!then.contains(&Operation::Forget(host("c"))), "{then:?}");
    };
    takes_of_one(&first_in_the_queue(LEASED, ended.clone()).1);
    let config = Config { distrust: LEASED.lease, ..LEASED };
    let (mut agent, actions) = first_in_the_queue(config, ended.clone());
    let takes = |action: &Action| matches!(action, Action::Call { request: Request::Transaction { .. }, .. });
    assert!(!actions.iter().any(takes), "{actions:?}");
    let soon = LEASED.lease + 6;
    let actions = agent.on(soon, WAITS, Event::Time);
    let kept = actions.iter().find_map(|action| match action {
        Action::Call { number, request: Request::KeepAlive { lease: 7 } } => Some(*number),
        _ => None,
    });
    agent.on(soon, WAITS, Event::Answered { call: kept.unwrap(), reply: Ok(Reply::Alive(true)) });
    let known = Event::Answered { call: list_of(&actions), reply: Ok(Reply::Listed(ended)) };
    let actions = agent.on(soon, WAITS, known);
    assert!(!actions.iter().any(takes), "{actions:?}");
    takes_of_one(&agent.on(LEASED.lease + 7, WAITS, Event::Time));
}

#[test]
fn an_agent_of_another_mode_is_refused_and_leaves_what_it_finds() {
    let (mut agent, actions) = agent(CONFIG, found(3, 2 * LEASED.lease), USES);
    let known = leased(&[("a", 3)], &[("a", 3)], &[("a", 25, 3, 3)]);
    let actions = agent.on(0, USES, listed(&actions, known));
    assert_eq!(actions[0], Action::Refused { total: 10, mode: Mode::Leased });
    let leaves = transaction(&[Compare::Created(Key::Place, 25)], &[Operation::Delete(Key::Place)]);
    assert_eq!(call(&actions).1, leaves);
    assert!(!actions.iter().any(|action| matches!(action, Action::SetShare { .. } | Action::Lease { .. })));
}
