//! What one agent asks, step by step.

use crate::world::{CONFIG, MILLISECOND};
use std::sync::Arc;
use turnlock_link_agent::shares::{
    Action, Compare, Demand, Event, Found, Key, Operation, Place, Reply, Request, Share, ShareAgent,
    Snapshot, Total, Watched,
};
use turnlock_link_agent::{Failed, Host, Mode, NO_DEADLINE};

const NONE: Demand = Demand { used: 0, awaited: 0, first: 0 };

pub fn host(name: &str) -> Host {
    Arc::from(name)
}

/// The keys of a semaphore of 10 permits: what hosts have; who waits, since which revision, with what is needed and wanted.
pub fn keys(shares: &[(&str, u32)], places: &[(&str, u64, u32, u32)]) -> Snapshot {
    Snapshot {
        revision: 30,
        total: Some(Total { permits: 10, mode: Mode::Kept, modified: 5 }),
        shares: shares
            .iter()
            .map(|(name, permits)| Share { host: host(name), permits: *permits, modified: 20 })
            .collect(),
        taken: Vec::new(),
        places: places
            .iter()
            .map(|(name, created, needs, wants)| Place {
                host: host(name),
                created: *created,
                needs: *needs,
                wants: *wants,
            })
            .collect(),
    }
}

/// The only call among them.
pub fn call(actions: &[Action]) -> (u64, Request) {
    let calls: Vec<_> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Call { number, request } => Some((*number, request.clone())),
            _ => None,
        })
        .collect();
    let [call] = &calls[..] else { panic!("{actions:?}") };
    call.clone()
}

pub fn answered(actions: &[Action], reply: Result<Reply, Failed>) -> Event {
    Event::Answered { call: call(actions).0, reply }
}

pub fn listed(actions: &[Action], known: Snapshot) -> Event {
    answered(actions, Ok(Reply::Listed(known)))
}

fn agent(share: u32, demand: Demand) -> (ShareAgent, Vec<Action>) {
    ShareAgent::new(host("a"), CONFIG, Found { share, total: 10, until: NO_DEADLINE }, (0, demand), 0)
}

#[test]
fn it_takes_what_is_free_by_its_place_and_by_what_no_host_has_written_since() {
    let waits = Demand { used: 0, awaited: 7, first: 3 };
    let (mut agent, actions) = agent(0, waits);
    let actions = agent.on(0, waits, listed(&actions, keys(&[("b", 5)], &[])));
    let granted = Reply::Granted { lease: 7 };
    let actions = agent.on(0, waits, answered(&actions, Ok(granted)));
    // Of ten permits of two hosts, five are an equal part; seven are wanted.
    let queues = Request::Transaction {
        compares: vec![Compare::Created(Key::Place, 0)],
        then: vec![Operation::Queue { lease: 7, needs: 5, wants: 7 }],
    };
    assert_eq!(call(&actions).1, queues);
    let actions = agent.on(0, waits, answered(&actions, Ok(Reply::Committed(true))));
    let actions = agent.on(0, waits, listed(&actions, keys(&[("b", 8)], &[("a", 25, 5, 7)])));
    let takes = Request::Transaction {
        compares: vec![
            Compare::Created(Key::Place, 25),
            Compare::NoShareSince(30),
            Compare::Modified(Key::Total, 5),
        ],
        // The place stays: it needs more.
        then: vec![Operation::PutShare { permits: 2, lease: None }],
    };
    assert_eq!(call(&actions).1, takes);
    let actions = agent.on(0, waits, answered(&actions, Ok(Reply::Committed(true))));
    assert_eq!(actions[0], Action::SetShare { permits: 2 });
}

#[test]
fn what_is_idle_is_given_back_at_once_and_what_is_in_use_after_a_while() {
    let uses = Demand { used: 4, awaited: 0, first: 0 };
    let (mut agent, actions) = agent(10, uses);
    let actions = agent.on(0, uses, listed(&actions, keys(&[("a", 10)], &[("b", 25, 7, 9)])));
    assert!(actions.starts_with(&[Action::SetShare { permits: 4 }]), "{actions:?}");
    let Some(Action::Drain { number, below: 10 }) = actions.get(1) else { panic!("{actions:?}") };
    let actions = agent.on(0, uses, Event::Drained { number: *number, permits: 4 });
    let gives = Request::Transaction {
        compares: vec![Compare::Modified(Key::Share, 20)],
        then: vec![Operation::PutShare { permits: 4, lease: None }],
    };
    assert_eq!(call(&actions).1, gives);
    let actions = agent.on(0, uses, answered(&actions, Ok(Reply::Committed(true))));
    let still = keys(&[("a", 4), ("b", 6)], &[("b", 25, 7, 9)]);
    let actions = agent.on(0, uses, listed(&actions, still));
    assert!(!actions.iter().any(|action| matches!(action, Action::SetShare { .. })), "{actions:?}");
    assert!(actions.contains(&Action::WakeAt(CONFIG.hold)), "{actions:?}");
    // This host has less than an equal part: it gives only once the others might have.
    let actions = agent.on(CONFIG.hold, uses, Event::Time);
    assert!(actions.starts_with(&[Action::SetShare { permits: 3 }]), "{actions:?}");
}

#[test]
fn what_comes_free_is_given_back_piece_by_piece() {
    let uses = |used| Demand { used, awaited: 0, first: 0 };
    let (mut agent, actions) = agent(5, uses(5));
    agent.on(0, uses(5), listed(&actions, keys(&[("a", 5)], &[("b", 25, 9, 9)])));
    let actions = agent.on(CONFIG.hold, uses(5), Event::Time);
    let [Action::SetShare { permits: 1 }, Action::Drain { number, below: 5 }, ..] = &actions[..] else {
        panic!("{actions:?}")
    };
    let actions = agent.on(CONFIG.hold, uses(4), Event::Drained { number: *number, permits: 4 });
    let gives = Request::Transaction {
        compares: vec![Compare::Modified(Key::Share, 20)],
        then: vec![Operation::PutShare { permits: 4, lease: None }],
    };
    assert_eq!(call(&actions).1, gives);
    let actions = agent.on(CONFIG.hold, uses(4), answered(&actions, Ok(Reply::Committed(true))));
    let actions = agent.on(CONFIG.hold, uses(4), listed(&actions, keys(&[("a", 4)], &[("b", 25, 9, 9)])));
    assert!(actions.iter().any(|action| matches!(action, Action::Drain { below: 4, .. })), "{actions:?}");
}

#[test]
fn what_was_given_back_is_taken_again_by_a_transaction() {
    let (mut agent, actions) = agent(2, NONE);
    // The agent before it may have sent a call that gives three back, which has not come.
    let actions = agent.on(0, NONE, listed(&actions, keys(&[("a", 5)], &[])));
    let again = Request::Transaction {
        compares: vec![Compare::Modified(Key::Share, 20)],
        then: vec![Operation::PutShare { permits: 5, lease: None }],
    };
    assert_eq!(call(&actions).1, again);
    let actions = agent.on(0, NONE, answered(&actions, Ok(Reply::Committed(true))));
    assert_eq!(actions[0], Action::SetShare { permits: 5 });
}

#[test]
fn a_drain_of_before_says_nothing_of_the_share_that_is_now() {
    let uses = Demand { used: 6, awaited: 0, first: 0 };
    let (mut agent, actions) = agent(8, uses);
    let actions = agent.on(0, uses, listed(&actions, keys(&[("a", 8), ("b", 2)], &[("b", 25, 3, 4)])));
    let Some(Action::Drain { number: before, .. }) = actions.get(1) else { panic!("{actions:?}") };
    // The other one wants no more, and this host goes on with what it had; then another one comes.
    let watch = actions.iter().find_map(|action| match action {
        Action::Call { number, request: Request::Watch { what: Watched::Queue, .. } } => Some(*number),
        _ => None,
    });
    let actions = agent.on(0, uses, Event::Changed { watch: watch.unwrap() });
    let actions = agent.on(0, uses, listed(&actions, keys(&[("a", 8), ("b", 2)], &[])));
    let actions = agent.on(0, uses, answered(&actions, Ok(Reply::Committed(true))));
    assert_eq!(actions[0], Action::SetShare { permits: 8 });
    let actions = agent.on(0, uses, listed(&actions, keys(&[("a", 8), ("b", 2)], &[("b", 29, 3, 4)])));
    assert!(actions.iter().any(|action| matches!(action, Action::SetShare { permits: 6 })), "{actions:?}");
    let actions = agent.on(MILLISECOND, uses, Event::Drained { number: *before, permits: 6 });
    let gives = |action: &Action| matches!(action, Action::Call { request: Request::Transaction { .. }, .. });
    assert!(!actions.iter().any(gives), "{actions:?}");
}

#[test]
fn a_host_that_was_forgotten_makes_its_share_smaller_and_says_so() {
    let (mut agent, actions) = agent(5, NONE);
    let actions = agent.on(0, NONE, listed(&actions, keys(&[("b", 3)], &[])));
    assert!(actions.starts_with(&[Action::Robbed, Action::SetShare { permits: 0 }]), "{actions:?}");
}

#[test]
fn one_that_leaves_gives_all_back() {
    let (mut agent, actions) = agent(5, NONE);
    agent.on(0, NONE, listed(&actions, keys(&[("a", 5)], &[])));
    let actions = agent.on(0, NONE, Event::Leave);
    let actions = agent.on(0, NONE, listed(&actions, keys(&[("a", 5)], &[])));
    let Some(Action::Drain { number, .. }) = actions.get(1) else { panic!("{actions:?}") };
    let actions = agent.on(0, NONE, Event::Drained { number: *number, permits: 0 });
    let gives = Request::Transaction {
        compares: vec![Compare::Modified(Key::Share, 20)],
        then: vec![Operation::Delete(Key::Share)],
    };
    assert_eq!(call(&actions).1, gives);
    let actions = agent.on(0, NONE, answered(&actions, Ok(Reply::Committed(true))));
    assert!(agent.on(0, NONE, listed(&actions, keys(&[], &[]))).contains(&Action::Left));
}

#[test]
fn an_idle_share_that_no_other_host_wants_makes_no_calls_for_a_long_time() {
    let (mut agent, actions) = agent(5, NONE);
    let actions = agent.on(0, NONE, listed(&actions, keys(&[("a", 5)], &[])));
    assert_eq!(call(&actions).1, Request::Watch { what: Watched::Queue, from: 31 });
    assert!(actions.contains(&Action::WakeAt(CONFIG.fresh_at_home)), "{actions:?}");
}
