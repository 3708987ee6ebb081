//! A member that is behind the others, and catches up.

use crate::{
    cables::{Switch, alone},
    host::{Agency, Host},
    member::{MEMBERS, Member},
    program::now,
    register::Register,
};

/// In milliseconds. So it takes a member some seconds to say that it has no leader, and not one.
const SLOW_ELECTIONS: [&str; 4] = ["--heartbeat-interval", "500", "--election-timeout", "5000"];

#[test]
fn an_agent_that_comes_to_a_member_which_is_behind_stays_the_agent_of_its_host() {
    alone(|| {
        support::watchdog::a_test_begins();
        let switch = Switch::new(MEMBERS + 3).unwrap();
        let mut members: Vec<_> =
            (0..MEMBERS).map(|place| Member::begin(&switch, place, &SLOW_ELECTIONS).unwrap()).collect();
        support::until("the members have a leader", || members.iter().all(Member::answers));
        let leader = members.iter().position(Member::is_leader).unwrap();
        // The host's agent goes to these, in this order; last to the leader.
        let (first, behind) = ((leader + 1) % MEMBERS, (leader + 2) % MEMBERS);
        for other in [leader, first] {
            switch.cut(&members[other].station, &members[behind].station);
            switch.cut(&members[behind].station, &members[other].station);
        }
        let mut host = Host::begin(&switch, first, Agency::default()).unwrap();
        // What it wrote down there the one behind does not have.
        members[first].kill();
        support::until("the agent asks the member that is behind who has the host's name", || {
            host.tend().unwrap();
            members[behind].reads() > 0
        });
        for other in [leader, first] {
            switch.heal(&members[other].station, &members[behind].station);
            switch.heal(&members[behind].station, &members[other].station);
        }
        let folder = tempfile::tempdir().unwrap();
        Register::create(&folder.path().join("register"));
        host.start_program(folder.path(), 1, false);
        let since = now();
        support::until("a program gets in, and the agent goes on", || {
            host.tend().unwrap();
            host.entered_last() > since
        });
        assert_eq!(host.starts, 1, "{}", host.said());
        host.dismiss_programs();
    });
}
