//! What one agent asks at a leased lock, step by step, and what it has its lock file do.

use crate::{
    calls::{AWAY, HOME, answered, call, host, keys},
    world::{CONFIG, MILLISECOND},
};
use turnlock_link_agent::{
    Action, Agent, Compare, Config, Data, Event, Failed, Found, Key, Mode, NO_DEADLINE, Nanoseconds,
    Operation, Reply, Request, Snapshot, Wish,
};

const LEASED: Config = Config { mode: Mode::Leased, ..CONFIG };
const WANTED: Event = Event::Wanted { wish: Wish::Write };
/// For so long after a call was sent that keeps the lease programs are admitted.
const ADMITS: Nanoseconds = LEASED.lease - LEASED.margin;

/// The keys of a leased lock that this host took last, and did not give up.
fn taken(by: Option<&str>, held: Option<&str>, places: &[(&str, u64)]) -> Snapshot {
    let mut keys = keys(held, places);
    let state = keys.state.as_mut().unwrap();
    (state.mode, state.taken_by) = (Mode::Leased, by.map(host));
    keys
}

fn put(reserved: u64, data: Data, is_taken: bool) -> Operation {
    Operation::Put { reserved, data, mode: Mode::Leased, is_taken }
}

fn list_of(actions: &[Action]) -> u64 {
    let list = actions.iter().find_map(|action| match action {
        Action::Call { number, request: Request::List } => Some(*number),
        _ => None,
    });
    list.unwrap_or_else(|| panic!("{actions:?}"))
}

/// An agent whose lock is home since the time 10, by a lease that was asked for at 0 and granted at 5.
fn at_home() -> Agent {
    let (mut agent, actions) = Agent::new(host("a"), LEASED, AWAY, 0, 0);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(taken(None, None, &[])))));
    assert_eq!(call(&actions).1, Request::Grant { length: LEASED.lease });
    let actions = agent.on(5, answered(&actions, Ok(Reply::Granted { lease: 7 })));
    let actions = agent.on(6, answered(&actions, Ok(Reply::Committed(true))));
    let actions = agent.on(7, answered(&actions, Ok(Reply::Listed(taken(None, None, &[("a", 25)])))));
    let Request::Transaction { then, .. } = call(&actions).1 else { panic!("{actions:?}") };
    let hold = Operation::Hold { lease: Some(7) };
    assert_eq!(then, [hold, Operation::Delete(Key::Place), put(116, Data::Consistent, true)]);
    let actions = agent.on(10, answered(&actions, Ok(Reply::Committed(true))));
    // The deadline comes first, and counts from when the lease was asked for. The lease is not ended.
    assert_eq!(actions[0], Action::Lease { until: ADMITS });
    assert_eq!(actions[1], Action::BringHome { first: 111, last: 116, data: Data::Consistent });
    let listed = Ok(Reply::Listed(taken(Some("a"), Some("a"), &[])));
    agent.on(10, Event::Answered { call: list_of(&actions[2..3]), reply: listed });
    agent
}

#[test]
fn programs_are_admitted_from_when_the_answered_call_was_sent() {
    let mut agent = at_home();
    let first_at = ADMITS / 4 + 5;
    let first = call(&agent.on(first_at, Event::Time));
    assert_eq!(first.1, Request::KeepAlive { lease: 7 });
    let second_at = first_at + ADMITS / 4;
    let second = call(&agent.on(second_at, Event::Time));
    // The answer to the one before comes late, and counts from when that one was sent.
    let late = second_at + 10 * MILLISECOND;
    let actions = agent.on(late, Event::Answered { call: first.0, reply: Ok(Reply::Alive(true)) });
    assert_eq!(actions[0], Action::Lease { until: first_at + ADMITS });
    let actions = agent.on(late, Event::Answered { call: second.0, reply: Err(Failed) });
    assert!(!actions.iter().any(|action| matches!(action, Action::Lease { .. })), "{actions:?}");
}

#[test]
fn a_lock_whose_deadline_passes_is_moved_away_and_lost_if_a_program_stays_inside() {
    let mut agent = at_home();
    assert!(!agent.on(ADMITS - 1, Event::Time).contains(&Action::MoveAway));
    assert!(agent.on(ADMITS, Event::Time).contains(&Action::MoveAway));
    let actions = agent.on(LEASED.lease - 1, Event::Time);
    assert!(
        actions.contains(&Action::WakeAt(LEASED.lease)) && !actions.contains(&Action::Lost),
        "{actions:?}"
    );
    assert!(agent.on(LEASED.lease, Event::Time).contains(&Action::Lost));
    assert!(!agent.on(LEASED.lease + 1, Event::Time).contains(&Action::Lost), "it is said once");
}

#[test]
fn a_host_that_was_suspended_has_the_time_of_a_move_before_its_lock_is_lost() {
    let mut agent = at_home();
    let resumed = 100 * LEASED.lease;
    let actions = agent.on(resumed, Event::Time);
    assert!(actions.contains(&Action::MoveAway) && !actions.contains(&Action::Lost), "{actions:?}");
    assert!(!agent.on(resumed + LEASED.hold - 1, Event::Time).contains(&Action::Lost));
    assert!(agent.on(resumed + LEASED.hold, Event::Time).contains(&Action::Lost));
}

/// The agent, after its host was suspended for longer than the lease and a program was inside who left, and what it lists then.
fn after_the_end(known: Snapshot) -> (Agent, Vec<Action>) {
    let (mut agent, resumed) = (at_home(), 10 * LEASED.lease);
    let actions = agent.on(resumed, Event::Time);
    let keep = actions.iter().find_map(|action| match action {
        Action::Call { number, request: Request::KeepAlive { .. } } => Some(*number),
        _ => None,
    });
    // What it had asked for before says nothing any more.
    agent.on(resumed, Event::Answered { call: keep.unwrap(), reply: Ok(Reply::Alive(false)) });
    let rested = resumed + LEASED.answer;
    let actions = agent.on(rested, Event::MovedAway { last_token: 113, data: Data::Inconsistent });
    let listed = Event::Answered { call: list_of(&actions), reply: Ok(Reply::Listed(known)) };
    let actions = agent.on(rested, listed);
    (agent, actions)
}

#[test]
fn a_host_that_no_other_took_over_from_still_says_what_it_knows_of_the_data() {
    let (mut agent, actions) = after_the_end(taken(Some("a"), None, &[]));
    let says = Request::Transaction {
        compares: vec![Compare::Created(Key::Held, 0), Compare::Modified(Key::State, 20)],
        then: vec![put(113, Data::Inconsistent, false)],
    };
    assert_eq!(call(&actions).1, says);
    // Then it is as any host without the privilege.
    let now = 20 * LEASED.lease;
    let actions = agent.on(now, answered(&actions, Ok(Reply::Committed(true))));
    let actions = agent.on(now, answered(&actions, Ok(Reply::Listed(taken(None, None, &[])))));
    assert_eq!(actions, []);
    assert_eq!(call(&agent.on(now, WANTED)).1, Request::Grant { length: LEASED.lease });
}

#[test]
fn a_host_that_another_took_over_from_says_nothing() {
    let (_, actions) = after_the_end(taken(Some("b"), Some("b"), &[]));
    assert!(!actions.iter().any(|action| matches!(action, Action::Call { .. })), "{actions:?}");
    // Nor if the other one is gone again.
    let (_, actions) = after_the_end(taken(Some("b"), None, &[]));
    assert!(!actions.iter().any(|action| matches!(action, Action::Call { .. })), "{actions:?}");
}

#[test]
fn what_another_host_left_with_its_lease_is_told_as_a_death() {
    let (mut agent, actions) = Agent::new(host("a"), LEASED, AWAY, 0, 0);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(taken(Some("b"), None, &[])))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Granted { lease: 7 })));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(taken(Some("b"), None, &[("a", 25)])))));
    let Request::Transaction { then, .. } = call(&actions).1 else { panic!("{actions:?}") };
    assert!(then.contains(&put(116, Data::Inconsistent, true)), "{then:?}");
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    let home = Action::BringHome { first: 111, last: 116, data: Data::Inconsistent };
    assert!(actions.contains(&home), "{actions:?}");
}

#[test]
fn a_lock_whose_lease_may_have_been_ended_early_is_left_alone_until_its_host_has_closed_it() {
    let config = Config { distrust: LEASED.lease, ..LEASED };
    let (mut agent, actions) = Agent::new(host("a"), config, AWAY, 0, 0);
    let ended = taken(Some("b"), None, &[("a", 25)]);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(taken(Some("b"), None, &[])))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Granted { lease: 7 })));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    let listed = Ok(Reply::Listed(ended.clone()));
    assert_eq!(agent.on(0, answered(&actions, listed)), [Action::WakeAt(ADMITS / 4)]);
    let mut given_up = agent.clone();
    // It looks again, and keeps the lease of its place, and that is all.
    let actions = agent.on(LEASED.lease - 1, Event::Time);
    let listed = Event::Answered { call: list_of(&actions), reply: Ok(Reply::Listed(ended)) };
    let kept = actions.iter().find_map(|action| match action {
        Action::Call { number, request: Request::KeepAlive { lease: 7 } } => Some(*number),
        _ => None,
    });
    let kept = Event::Answered { call: kept.unwrap(), reply: Ok(Reply::Alive(true)) };
    for event in [kept, listed] {
        assert_eq!(agent.on(LEASED.lease - 1, event), [Action::WakeAt(LEASED.lease)]);
    }
    let takes = |actions: &[Action]| matches!(call(actions).1, Request::Transaction { .. });
    assert!(takes(&agent.on(LEASED.lease, Event::Time)));
    // Once the other host has said what it knows of the data, nothing is waited for.
    let soon = LEASED.fresh;
    let actions = given_up.on(soon, Event::Time);
    let known = taken(None, None, &[("a", 25)]);
    let listed = Event::Answered { call: list_of(&actions), reply: Ok(Reply::Listed(known)) };
    assert!(takes(&given_up.on(soon, listed)));
}

#[test]
fn a_lock_comes_home_by_a_lease_that_goes_on_alone() {
    let (mut agent, actions) = Agent::new(host("a"), LEASED, AWAY, 0, 0);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(taken(None, None, &[])))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Granted { lease: 7 })));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    let known = taken(None, None, &[("a", 25)]);
    let takes = agent.on(0, answered(&actions, Ok(Reply::Listed(known.clone()))));
    // The agent was stopped for longer than its lease admits programs, and the answer that it has the privilege lay there.
    let actions = agent.on(ADMITS, answered(&takes, Ok(Reply::Committed(true))));
    assert!(!actions.iter().any(|action| matches!(action, Action::BringHome { .. })), "{actions:?}");
    // The lease is kept first. Then the privilege, which is this host's, comes home by it.
    let keep = actions.iter().find_map(|action| match action {
        Action::Call { number, request: Request::KeepAlive { lease: 7 } } => Some(*number),
        _ => None,
    });
    let held = taken(Some("a"), Some("a"), &[]);
    let listed = Event::Answered { call: list_of(&actions), reply: Ok(Reply::Listed(held)) };
    let actions = agent.on(ADMITS, listed);
    assert!(!actions.iter().any(|action| matches!(action, Action::Call { .. })), "{actions:?}");
    let kept = Event::Answered { call: keep.unwrap(), reply: Ok(Reply::Alive(true)) };
    let actions = agent.on(ADMITS + 3, kept);
    let actions = agent.on(ADMITS + 4, answered(&actions, Ok(Reply::Committed(true))));
    assert_eq!(actions[0], Action::Lease { until: 2 * ADMITS });
    assert!(matches!(actions[1], Action::BringHome { .. }), "{actions:?}");
}

#[test]
fn an_agent_that_finds_its_lock_home_has_the_privilege_have_its_own_lease() {
    // By the lease of the agent before it, which was longer.
    let found = Found { until: 2 * LEASED.lease, ..HOME };
    let (mut agent, actions) = Agent::new(host("a"), LEASED, found, 0, 0);
    let known = taken(Some("a"), Some("a"), &[]);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(known))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Granted { lease: 9 })));
    // From when the call is carried out the new lease counts, so the file has the earlier deadline before.
    assert_eq!(actions[0], Action::Lease { until: ADMITS });
    let attaches = Request::Transaction {
        compares: vec![Compare::Created(Key::Held, 20), Compare::Modified(Key::State, 20)],
        then: vec![Operation::Hold { lease: Some(9) }, put(110, Data::Consistent, true)],
    };
    assert_eq!(call(&actions).1, attaches);
    agent.on(1, answered(&actions, Ok(Reply::Committed(true))));
    let (keep, _) = call(&agent.on(ADMITS / 4, Event::Time));
    let actions = agent.on(ADMITS / 4 + 1, Event::Answered { call: keep, reply: Ok(Reply::Alive(true)) });
    assert_eq!(actions[0], Action::Lease { until: ADMITS / 4 + ADMITS });
}

#[test]
fn a_leased_lock_that_is_home_without_a_deadline_is_closed() {
    let (mut agent, actions) = Agent::new(host("a"), LEASED, HOME, 0, 0);
    let known = taken(Some("a"), Some("a"), &[]);
    let actions = agent.on(30, answered(&actions, Ok(Reply::Listed(known))));
    assert!(actions.starts_with(&[Action::Lease { until: 30 }, Action::MoveAway]), "{actions:?}");
}

#[test]
fn a_lock_that_is_kept_has_no_deadline_left() {
    let found = Found { until: 40, ..AWAY };
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, found, 0, 0);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(keys(None, &[])))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Granted { lease: 7 })));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(keys(None, &[("a", 25)])))));
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    assert_eq!(actions[0], Action::Lease { until: NO_DEADLINE });
    assert!(matches!(actions[1], Action::BringHome { .. }), "{actions:?}");
}

#[test]
fn one_that_a_person_took_the_lease_from_admits_no_program_from_then_on() {
    let mut agent = at_home();
    let now = LEASED.fresh + 20;
    let actions = agent.on(now, Event::Time);
    let listed =
        Event::Answered { call: list_of(&actions), reply: Ok(Reply::Listed(taken(None, None, &[]))) };
    let actions = agent.on(now, listed);
    let told = [Action::Lease { until: now }, Action::Robbed, Action::MoveAway];
    assert!(actions.starts_with(&told), "{actions:?}");
}

#[test]
fn an_agent_of_another_mode_is_refused_and_leaves_the_queue() {
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, AWAY, 0, 0);
    // Both queued before any host had taken the privilege.
    let known = taken(Some("b"), Some("b"), &[("a", 25)]);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(known))));
    assert_eq!(actions[0], Action::Refused { mode: Mode::Leased });
    let leaves = Request::Transaction {
        compares: vec![Compare::Created(Key::Place, 25)],
        then: vec![Operation::Delete(Key::Place)],
    };
    assert_eq!(call(&actions).1, leaves);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Committed(true))));
    let known = taken(Some("b"), Some("b"), &[]);
    let actions = agent.on(0, answered(&actions, Ok(Reply::Listed(known))));
    assert_eq!(actions, [Action::WakeAt(CONFIG.fresh)], "it is said once, and nothing is asked for");
    // The lock has its mode now.
    let actions = agent.on(CONFIG.fresh, Event::Time);
    let actions = agent.on(CONFIG.fresh, answered(&actions, Ok(Reply::Listed(keys(None, &[])))));
    assert_eq!(call(&actions).1, Request::Grant { length: CONFIG.lease });
}

#[test]
fn the_hold_grows_while_both_hosts_contend_up_to_its_bound() {
    let mut now = 0;
    let (mut agent, actions) = Agent::new(host("a"), CONFIG, AWAY, 0, 0);
    let mut actions = agent.on(now, answered(&actions, Ok(Reply::Listed(keys(None, &[])))));
    for (hold, wanted_after) in [(20, 20), (40, 40), (70, 70), (70, 71), (20, 0), (40, 0)] {
        actions = agent.on(now, answered(&actions, Ok(Reply::Granted { lease: 7 })));
        actions = agent.on(now, answered(&actions, Ok(Reply::Committed(true))));
        actions = agent.on(now, answered(&actions, Ok(Reply::Listed(keys(None, &[("a", 25)])))));
        actions = agent.on(now, answered(&actions, Ok(Reply::Committed(true))));
        let contended = Ok(Reply::Listed(keys(Some("a"), &[("b", 28)])));
        agent.on(now, Event::Answered { call: list_of(&actions), reply: contended });
        assert!(!agent.on(now + hold * MILLISECOND - 1, Event::Time).contains(&Action::MoveAway), "{hold}");
        now += hold * MILLISECOND;
        assert!(agent.on(now, Event::Time).contains(&Action::MoveAway), "{hold}");
        actions = agent.on(now, Event::MovedAway { last_token: 0, data: Data::Consistent });
        let held = Ok(Reply::Listed(keys(Some("a"), &[("b", 28)])));
        actions = agent.on(now, answered(&actions, held));
        actions = agent.on(now, answered(&actions, Ok(Reply::Committed(true))));
        now += wanted_after * MILLISECOND;
        agent.on(now, WANTED);
        actions = agent.on(now, answered(&actions, Ok(Reply::Listed(keys(None, &[])))));
    }
}

#[test]
fn a_config_that_cannot_be_kept_is_refused() {
    let refused = |config: Config| config.check().unwrap_err();
    assert_eq!(Config::default().check(), Ok(()));
    assert_eq!(Config { mode: Mode::Leased, ..Config::default() }.check(), Ok(()));
    assert!(refused(Config { block: 0, ..CONFIG }).contains("at least 1"));
    for margin in [0, LEASED.lease / 100 - 1, LEASED.lease / 2 + 1] {
        assert!(refused(Config { margin, ..LEASED }).contains("are margin"));
        assert_eq!(Config { margin, ..CONFIG }.check(), Ok(()), "a lock that is kept has no margin");
    }
}
