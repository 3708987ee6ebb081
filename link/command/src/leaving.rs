//! A host that gives up what it has, so that others go on while it is down.
//!
//! Its agents begin anew, and are shown one more host that wants the lock, behind all others; what programs of their own host want they are
//! not told. So they move the lock away and give the privilege up, by the same transactions as for a host that there is.

use turnlock_link_agent::{Host, Place, Snapshot};

/// How far an agent is with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// It does not leave.
    No,
    /// It begins anew once the calls that are under way have ended: one of them may take the privilege.
    AwaitsAnswers,
    /// It gives up what it has.
    Leaves,
    /// The host has nothing of the lock.
    HasLeft,
}

/// The first number of an agent's calls that begins anew, beyond those of the one before it.
pub const FIRST_NUMBER: u64 = 1 << 40;

/// Returns the keys as an agent that leaves is shown them.
pub fn with_one_more_host(mut known: Snapshot) -> Snapshot {
    // No host has this name, and no key was created so late.
    known.places.push(Place { host: Host::from(""), created: u64::MAX });
    // Nor does it wait any more, where another one does.
    known.writer.get_or_insert(Host::from(""));
    known
}

/// Returns whether this host has nothing of the lock in these keys.
pub fn has_nothing(known: &Snapshot, host: &Host) -> bool {
    known.held.as_ref().is_none_or(|held| held.host != *host)
        && known.places.iter().all(|place| place.host != *host)
        && known.readers.iter().chain(&known.read_by).all(|reader| reader.host != *host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnlock_link_agent::{
        Action, Agent, Config, Data, Event, Found, Held, Key, Mode, NO_DEADLINE, Operation, Reader, Reply,
        Request, State,
    };

    /// Answers the only call.
    fn answer(agent: &mut Agent, actions: &[Action], reply: Reply) -> Vec<Action> {
        let number = actions.iter().find_map(|action| match action {
            Action::Call { number, .. } => Some(*number),
            _ => None,
        });
        agent.on(1, Event::Answered { call: number.expect("it calls"), reply: Ok(reply) })
    }

    fn known_of_none() -> Snapshot {
        let (places, readers, read_by) = (Vec::new(), Vec::new(), Vec::new());
        Snapshot { revision: 9, held: None, state: None, places, readers, read_by, writer: None }
    }

    #[test]
    fn one_that_reads_gives_that_up_too() {
        let host = Host::from("a");
        let readers = vec![Reader { host: host.clone(), modified: 7 }];
        let known = Snapshot { readers, ..known_of_none() };
        assert!(!has_nothing(&known, &host) && has_nothing(&known_of_none(), &host));
        let found = Found {
            is_home: true,
            is_home_to_read: true,
            last_token: 15,
            token_end: 0,
            data: Data::Consistent,
            wanted: None,
            until: NO_DEADLINE,
        };
        let config = Config { hold: 0, ..Config::default() };
        let (mut agent, actions) = Agent::new(host, config, found, 1, FIRST_NUMBER);
        let shown = with_one_more_host(known);
        let actions = answer(&mut agent, &actions, Reply::Listed(shown.clone()));
        assert!(actions.contains(&Action::MoveAway), "{actions:?}");
        let actions = agent.on(1, Event::MovedAway { last_token: 15, data: Data::Consistent });
        let actions = answer(&mut agent, &actions, Reply::Listed(shown));
        let gives_up = actions.iter().any(|action| match action {
            Action::Call { request: Request::Transaction { then, .. }, .. } => {
                then[..] == [Operation::Delete(Key::Reading)]
            }
            _ => false,
        });
        assert!(gives_up, "{actions:?}");
    }

    #[test]
    fn an_agent_that_is_shown_one_more_host_gives_up_what_no_other_wants() {
        let host = Host::from("a");
        let state = Some(State {
            modified: 8,
            reserved: 20,
            data: Data::Consistent,
            mode: Mode::Kept,
            taken_by: None,
        });
        let held = Some(Held { host: host.clone(), created: 7 });
        let known = Snapshot { revision: 9, held, state, ..known_of_none() };
        assert!(!has_nothing(&known, &host));
        let found = Found {
            is_home: true,
            is_home_to_read: false,
            last_token: 15,
            token_end: 20,
            data: Data::Consistent,
            wanted: None,
            until: NO_DEADLINE,
        };
        let config = Config { hold: 0, ..Config::default() };
        let (mut agent, actions) = Agent::new(host.clone(), config, found, 1, FIRST_NUMBER);
        let shown = with_one_more_host(known.clone());
        let actions = answer(&mut agent, &actions, Reply::Listed(shown.clone()));
        assert!(actions.contains(&Action::MoveAway), "{actions:?}");
        let actions = agent.on(1, Event::MovedAway { last_token: 16, data: Data::Inconsistent });
        let actions = answer(&mut agent, &actions, Reply::Listed(shown));
        let gives_up = actions.iter().any(|action| match action {
            Action::Call { request: Request::Transaction { then, .. }, .. } => {
                matches!(then[0], Operation::Put { data: Data::Inconsistent, .. }) && then.len() == 2
            }
            _ => false,
        });
        assert!(gives_up, "{actions:?}");
        assert!(has_nothing(&Snapshot { held: None, ..known }, &host));
    }
}
