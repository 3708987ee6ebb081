//! What one agent asks for programs that read, step by step.

use crate::{
    calls::{AWAY, HOME, answered, call, host, keys},
    world::{CONFIG, MILLISECOND},
};
use turnlock_link_agent::{
    Action, Agent, Compare, Config, Data, Event, Found, Key, Mode, Operation, Reader, Reply, Request,
    Snapshot, Watched, Wish,
};

const TO_READ: Found = Found { is_home_to_read: true, last_token: 110, token_end: 0, ..HOME };
const WANTS_TO_READ: Found = Found { wanted: Some(Wish::Read), ..AWAY };
const WRITE: Event = Event::Wanted { wish: Wish::Write };

/// The keys while these hosts read, as the revisions say, and these wait.
fn read_by(readers: &[(&str, u64)], places: &[(&str, u64)]) -> Snapshot {
    let readers = readers.iter().map(|(name, modified)| Reader { host: host(name), modified: *modified });
    Snapshot { readers: readers.collect(), ..keys(None, places) }
}

fn listed(known: Snapshot) -> Result<Reply, turnlock_link_agent::Failed> {
    Ok(Reply::Listed(known))
}

fn transaction(actions: &[Action]) -> (Vec<Compare>, Vec<Operation>) {
    let transactions: Vec<_> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Call { request: Request::Transaction { compares, then }, .. } => Some((compares, then)),
            _ => None,
        })
        .collect();
    let [(compares, then)] = &transactions[..] else { panic!("{actions:?}") };
    (compares.to_vec(), then.to_vec())
}

fn number_of_list(actions: &[Action]) -> u64 {
    let list = actions.iter().find_map(|action| match action {
        Action::Call { number, request: Request::List } => Some(*number),
        _ => None,
    });
    list.unwrap_or_else(|| panic!("{actions:?}"))
}

#[test]
fn one_that_reads_takes_that_beside_others_and_leaves_the_queue() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, WANTS_TO_READ, 0, 0);
    let actions = agent.on(0, answered(&actions, listed(read_by(&[("b", 22)], &[]))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Granted { lease: 7 })));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    // Behind a writer it waits, though others read.
    let queue = [("c", 23), ("a", 25)];
    let mut behind = agent.clone();
    let (_, request) = call(&behind.on(0, answered(&actions, listed(read_by(&[("b", 22)], &queue)))));
    assert_eq!(request, Request::Watch { what: Watched::Place(host("c")), from: 31 });
    let actions = agent.on(0, answered(&actions, listed(read_by(&[("b", 22)], &queue[1..]))));
    let compares = vec![
        Compare::Created(Key::Held, 0),
        Compare::Created(Key::Place, 25),
        Compare::Modified(Key::State, 20),
    ];
    let put = Operation::Put { reserved: 110, data: Data::Consistent, mode: Mode::Kept, is_taken: false };
    let reads = vec![Operation::Read { lease: None }, Operation::Delete(Key::Place), put];
    assert_eq!(transaction(&actions), (compares, reads));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    assert_eq!(actions[0], Action::BringHomeToRead { token: 110, data: Data::Consistent });
    let list = number_of_list(&actions);
    let known = listed(read_by(&[("b", 22), ("a", 28)], &[("c", 29)]));
    let actions = agent.on(0, Event::Answered { call: list, reply: known });
    // That others stand in the queue is nothing to it.
    assert_eq!(call(&actions).1, Request::Watch { what: Watched::Writer, from: 31 });
    assert!(!agent.on(CONFIG.fresh_at_home - 1, Event::Time).contains(&Action::MoveAway));
}

#[test]
fn a_writer_calls_those_that_read_and_waits_for_each_of_them() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, AWAY, 0, 0);
    let readers = [("b", 22), ("c", 23)];
    let actions = agent.on(0, answered(&actions, listed(read_by(&readers, &[]))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Granted { lease: 7 })));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    let actions = agent.on(0, answered(&actions, listed(read_by(&readers, &[("a", 25)]))));
    let calls = (vec![Compare::Created(Key::Place, 25)], vec![Operation::CallReaders { lease: 7 }]);
    assert_eq!(transaction(&actions), calls);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    let called = |readers| Snapshot { writer: Some(host("a")), ..read_by(readers, &[("a", 25)]) };
    let actions = agent.on(0, answered(&actions, listed(called(&readers))));
    let (watch, request) = call(&actions);
    assert_eq!(request, Request::Watch { what: Watched::Reader(host("c")), from: 31 });
    let actions = agent.on(0, Event::Changed { watch });
    let actions = agent.on(0, answered(&actions, listed(called(&readers[..1]))));
    let (watch, request) = call(&actions);
    assert_eq!(request, Request::Watch { what: Watched::Reader(host("b")), from: 31 });
    let actions = agent.on(0, Event::Changed { watch });
    let actions = agent.on(0, answered(&actions, listed(called(&[]))));
    let (compares, then) = transaction(&actions);
    assert!(compares.contains(&Compare::NoReaders) && compares.contains(&Compare::Created(Key::Held, 0)));
    assert!(
        then.contains(&Operation::Delete(Key::Writer)) && then.contains(&Operation::Hold { lease: None })
    );
}

#[test]
fn one_that_reads_gives_that_up_for_a_writer_of_another_host_after_its_hold_and_for_its_own_at_once() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, TO_READ, 0, 0);
    let actions = agent.on(0, answered(&actions, listed(read_by(&[("a", 24)], &[]))));
    let (watch, _) = call(&actions);
    let mut own = agent.clone();
    let called = |readers| Snapshot { writer: Some(host("b")), ..read_by(readers, &[("b", 25)]) };
    let actions = agent.on(0, Event::Changed { watch });
    let actions = agent.on(0, answered(&actions, listed(called(&[("a", 24)]))));
    assert!(!actions.contains(&Action::MoveAway));
    assert!(!agent.on(CONFIG.hold - 1, Event::Time).contains(&Action::MoveAway));
    assert!(agent.on(CONFIG.hold, Event::Time).contains(&Action::MoveAway));
    let now = CONFIG.hold + MILLISECOND;
    // They want to read again, behind the writer.
    agent.on(now, Event::Wanted { wish: Wish::Read });
    let actions = agent.on(now, Event::MovedAway { last_token: 110, data: Data::Consistent });
    let actions = agent.on(now, answered(&actions, listed(called(&[("a", 24)]))));
    let gives_up = (vec![Compare::Modified(Key::Reading, 24)], vec![Operation::Delete(Key::Reading)]);
    assert_eq!(transaction(&actions), gives_up);
    let actions = agent.on(now, answered(&actions, Ok(Reply::Committed(true))));
    let actions = agent.on(now, answered(&actions, listed(called(&[]))));
    assert_eq!(call(&actions).1, Request::Grant { length: CONFIG.lease });

    assert!(!own.on(5, Event::Wanted { wish: Wish::Read }).contains(&Action::MoveAway), "it is admitted");
    assert!(own.on(5, WRITE).contains(&Action::MoveAway));
    let actions = own.on(6, Event::MovedAway { last_token: 110, data: Data::Consistent });
    let actions = own.on(6, answered(&actions, listed(read_by(&[("a", 24)], &[]))));
    assert_eq!(transaction(&actions), gives_up);
}

#[test]
fn a_writers_wish_outlives_a_homecoming_to_read() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, WANTS_TO_READ, 0, 0);
    let actions = agent.on(0, answered(&actions, listed(read_by(&[], &[]))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Granted { lease: 7 })));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    let actions = agent.on(0, answered(&actions, listed(read_by(&[], &[("a", 25)]))));
    agent.on(0, WRITE);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    assert!(matches!(actions[0], Action::BringHomeToRead { .. }), "{actions:?}");
    let list = number_of_list(&actions);
    let known = listed(read_by(&[("a", 28)], &[]));
    assert!(agent.on(0, Event::Answered { call: list, reply: known }).contains(&Action::MoveAway));
}

#[test]
fn one_whose_answer_was_lost_goes_on_with_what_it_took_and_writes_it_again() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, WANTS_TO_READ, 0, 0);
    let actions = agent.on(0, answered(&actions, listed(read_by(&[("a", 24)], &[]))));
    let (compares, then) = transaction(&actions);
    assert_eq!(compares, [Compare::Modified(Key::Reading, 24), Compare::Modified(Key::State, 20)]);
    assert_eq!(then[0], Operation::Read { lease: None });
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    assert!(matches!(actions[0], Action::BringHomeToRead { .. }), "{actions:?}");
}

#[test]
fn one_that_was_forgotten_while_it_read_moves_its_lock_away_and_says_so() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, TO_READ, 0, 0);
    let actions = agent.on(0, answered(&actions, listed(read_by(&[("b", 24)], &[]))));
    assert!(actions.starts_with(&[Action::Robbed, Action::MoveAway]), "{actions:?}");
}

#[test]
fn a_writer_leaves_a_reader_alone_whose_lease_may_have_been_ended_early_until_that_one_says_so() {
    let config = Config { mode: Mode::Leased, distrust: CONFIG.lease, ..CONFIG };
    let (mut agent, actions) = Agent::new(host("a"), config, AWAY, 0, 0);
    let known = |read_by: &[Reader]| {
        let mut known = Snapshot { read_by: read_by.into(), ..keys(None, &[("a", 25)]) };
        known.state.as_mut().unwrap().mode = Mode::Leased;
        known
    };
    let silent = [Reader { host: host("b"), modified: 24 }];
    let actions = agent.on(0, answered(&actions, listed(Snapshot { places: Vec::new(), ..known(&silent) })));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Granted { lease: 7 })));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    let calls = |actions: &[Action]| actions.iter().any(|action| matches!(action, Action::Call { .. }));
    let mut told = agent.clone();
    let waits = agent.on(0, answered(&actions, listed(known(&silent))));
    assert!(!calls(&waits), "{waits:?}");
    let (_, then) = transaction(&told.on(0, answered(&actions, listed(known(&[])))));
    assert!(!then.contains(&Operation::ForgetReaders));
    // Its place is kept meanwhile, and the keys are looked at again.
    let now = config.lease - 1;
    let actions = agent.on(now, Event::Time);
    let kept = actions.iter().find_map(|action| match action {
        Action::Call { number, request: Request::KeepAlive { .. } } => Some(*number),
        _ => None,
    });
    let list = Event::Answered { call: number_of_list(&actions), reply: listed(known(&silent)) };
    agent.on(now, Event::Answered { call: kept.unwrap(), reply: Ok(Reply::Alive(true)) });
    assert!(!calls(&agent.on(now, list)));
    let (_, then) = transaction(&agent.on(config.lease, Event::Time));
    assert!(then.contains(&Operation::ForgetReaders) && then.contains(&Operation::Hold { lease: Some(7) }));
}
