//! What one agent asks, step by step.

use crate::world::{CONFIG, MILLISECOND};
use std::sync::Arc;
use turnlock_link_agent::{
    Action, Agent, Compare, Config, Data, Event, Failed, Found, Held, Host, Key, Mode, NO_DEADLINE,
    Operation, Place, Reply, Request, Snapshot, State, Watched, Wish,
};

pub const HOME: Found = Found {
    is_home: true,
    is_home_to_read: false,
    last_token: 105,
    token_end: 110,
    data: Data::Consistent,
    wanted: None,
    until: NO_DEADLINE,
};
pub const AWAY: Found = Found {
    is_home: false,
    is_home_to_read: false,
    last_token: 105,
    token_end: 0,
    data: Data::Consistent,
    wanted: Some(Wish::Write),
    until: NO_DEADLINE,
};

pub fn host(name: &str) -> Host {
    Arc::from(name)
}

/// The keys while `held` has the privilege, and these wait for it.
pub fn keys(held: Option<&str>, places: &[(&str, u64)]) -> Snapshot {
    Snapshot {
        revision: 30,
        held: held.map(|name| Held { host: host(name), created: 20 }),
        state: Some(State {
            modified: 20,
            reserved: 110,
            data: Data::Consistent,
            mode: Mode::Kept,
            taken_by: None,
        }),
        places: places.iter().map(|(name, created)| Place { host: host(name), created: *created }).collect(),
        readers: Vec::new(),
        read_by: Vec::new(),
        writer: None,
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

/// The answer to the only call.
pub fn answered(actions: &[Action], reply: Result<Reply, Failed>) -> Event {
    Event::Answered { call: call(actions).0, reply }
}

#[test]
fn programs_of_a_host_go_on_for_as_long_as_was_said_after_another_host_was_seen_to_want_the_lock() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, HOME, 0, 0);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(keys(Some("a"), &[])))));
    let (watch, request) = call(&actions);
    assert_eq!(request, Request::Watch { what: Watched::Queue, from: 31 });
    let seen = 3 * MILLISECOND;
    let actions = agent.on(seen, Event::Changed { watch });
    let actions = agent.on(seen, answered(&actions, Ok(Reply::Listed(keys(Some("a"), &[("b", 25)])))));
    assert!(actions.contains(&Action::WakeAt(seen + CONFIG.hold)), "{actions:?}");
    let actions = agent.on(seen + CONFIG.hold - 1, Event::Time);
    assert!(!actions.contains(&Action::MoveAway));
    let actions = agent.on(seen + CONFIG.hold, Event::Time);
    assert!(actions.contains(&Action::MoveAway), "{actions:?}");
}

#[test]
fn a_lock_at_home_that_no_other_host_wants_makes_no_calls_for_a_long_time() {
    let config = Config { fresh_at_home: 100 * CONFIG.fresh, ..CONFIG };
    let (mut agent, actions) = Agent::new(host("a"), config, HOME, 0, 0);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(keys(Some("a"), &[])))));
    let (watch, _) = call(&actions);
    assert!(actions.contains(&Action::WakeAt(config.fresh_at_home)), "{actions:?}");
    let at = config.fresh_at_home - 1;
    assert_eq!(agent.on(at, Event::Time), [Action::WakeAt(config.fresh_at_home)]);
    // Once another wants it, what is known is looked at again as soon as while waiting.
    let actions = agent.on(at, Event::Changed { watch });
    let actions = agent.on(at, answered(&actions, Ok(Reply::Listed(keys(Some("a"), &[("b", 25)])))));
    let moves = agent.on(at + config.hold, Event::Time);
    assert!(!actions.contains(&Action::MoveAway) && moves.contains(&Action::MoveAway), "{moves:?}");
    assert!(moves.contains(&Action::WakeAt(at + config.fresh)), "{moves:?}");
}

#[test]
fn it_gives_up_what_it_took_by_its_revision_and_what_is_left_of_the_block() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, AWAY, 0, 0);
    // It queues, under a lease.
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(keys(None, &[])))));
    assert_eq!(call(&actions).1, Request::Grant { length: CONFIG.lease });
    let actions = agent.on(0, answered(&actions, Ok(Reply::Granted { lease: 7 })));
    let queues = Request::Transaction {
        compares: vec![Compare::Created(Key::Place, 0)],
        then: vec![Operation::Queue { lease: 7 }],
    };
    assert_eq!(call(&actions).1, queues);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    // It is the first.
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(keys(None, &[("a", 25)])))));
    let takes = Request::Transaction {
        compares: vec![
            Compare::Created(Key::Held, 0),
            Compare::NoReaders,
            Compare::Created(Key::Place, 25),
            Compare::Modified(Key::State, 20),
        ],
        then: vec![
            Operation::Hold { lease: None },
            Operation::Delete(Key::Place),
            Operation::Put { reserved: 116, data: Data::Consistent, mode: Mode::Kept, is_taken: false },
        ],
    };
    assert_eq!(call(&actions).1, takes);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    assert!(
        actions.contains(&Action::BringHome { first: 111, last: 116, data: Data::Consistent }),
        "{actions:?}"
    );
    let list = actions.iter().find_map(|action| match action {
        Action::Call { number, request: Request::List } => Some(*number),
        _ => None,
    });
    // Another wants it. Three tokens were used.
    let listed =
        Event::Answered { call: list.unwrap(), reply: Ok(Reply::Listed(keys(Some("a"), &[("b", 28)]))) };
    agent.on(0, listed);
    assert!(agent.on(CONFIG.hold, Event::Time).contains(&Action::MoveAway));
    let now = CONFIG.hold + MILLISECOND;
    let actions = agent.on(now, Event::MovedAway { last_token: 113, data: Data::Inconsistent });
    let actions = agent.on(now, answered(&actions, Ok(Reply::Listed(keys(Some("a"), &[("b", 28)])))));
    let gives_up = Request::Transaction {
        compares: vec![Compare::Created(Key::Held, 20), Compare::Modified(Key::State, 20)],
        then: vec![
            Operation::Put { reserved: 113, data: Data::Inconsistent, mode: Mode::Kept, is_taken: false },
            Operation::Delete(Key::Held),
        ],
    };
    assert_eq!(call(&actions).1, gives_up);
}

#[test]
fn one_that_waits_watches_the_one_before_it_and_lists_again_when_that_cannot_be_told() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, AWAY, 0, 0);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(keys(Some("b"), &[("c", 22)])))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Granted { lease: 7 })));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    let queue = [("c", 22), ("d", 23), ("a", 25), ("e", 26)];
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(keys(Some("b"), &queue)))));
    let (watch, request) = call(&actions);
    assert_eq!(request, Request::Watch { what: Watched::Place(host("d")), from: 31 });
    // Compacted, or the connection was lost.
    let actions = agent.on(0, Event::Changed { watch });
    assert_eq!(call(&actions).1, Request::List);
    // The place is gone with its lease: it queues anew, at the end.
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(keys(Some("b"), &[("e", 26)])))));
    let actions = agent.on(0, answered(&actions, Err(Failed)));
    assert_eq!(actions, [Action::WakeAt(CONFIG.answer / 8)], "it rests");
    let actions = agent.on(CONFIG.answer / 8, Event::Time);
    let actions =
        agent.on(CONFIG.answer / 8, answered(&actions, Ok(Reply::Listed(keys(Some("b"), &[("e", 26)])))));
    assert_eq!(call(&actions).1, Request::Grant { length: CONFIG.lease });
}

#[test]
fn an_engine_that_does_not_answer_stops_no_program_at_home() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, HOME, 0, 0);
    let mut number = call(&actions).0;
    for at in 1..50 {
        let now = at * CONFIG.answer;
        let actions = agent.on(now, Event::Time);
        assert!(!actions.contains(&Action::MoveAway) && call(&actions).0 > number, "{actions:?}");
        number = call(&actions).0;
    }
}

#[test]
fn a_host_that_was_forgotten_moves_its_lock_away_and_says_so() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, HOME, 0, 0);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(keys(Some("b"), &[])))));
    assert!(actions.starts_with(&[Action::Robbed, Action::MoveAway]), "{actions:?}");
}
