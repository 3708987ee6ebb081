//! A host that is said to be gone.

use crate::{
    engine::etcd,
    host::{Host, failed, linked, status},
};
use nix::sys::signal::Signal;
use support::until;

#[test]
fn the_next_holder_is_told_when_a_host_that_had_the_lock_is_forgotten() {
    let Some(etcd) = etcd() else { return };
    let (mut a, b) = (Host::new(&etcd, "a"), Host::new(&etcd, "b"));
    let (mut holder, first) = a.holder();
    a.kill_agent();
    holder.kill();
    assert!(b.is_closed());
    let forgotten = linked(&etcd, &["forget", "a"]);
    assert!(forgotten.status.success(), "{forgotten:?}");
    let said = String::from_utf8(forgotten.stdout).unwrap();
    assert_eq!(said, "host \"a\" is forgotten; others may have \"accounts\"\n");
    let (second, told) = b.enter();
    assert!(second > first && told, "{first} {second} {told}");
    // Its own agent moves away what is home there, and it is one of the hosts again.
    a.start();
    until("it is away", || !a.is_home());
    let (third, _) = a.enter();
    assert!(third > second, "{second} {third}");
}

#[test]
fn an_agent_whose_host_is_forgotten_moves_its_locks_away_and_ends() {
    let Some(etcd) = etcd() else { return };
    let (mut a, b) = (Host::new(&etcd, "a"), Host::new(&etcd, "b"));
    a.enter();
    assert!(linked(&etcd, &["forget", "a"]).status.success());
    let (code, said) = a.agent_ends();
    assert!(
        code == Some(1) && said.contains("was forgotten") && said.contains("all its locks are away"),
        "{code:?} {said}"
    );
    assert!(!a.is_home() && a.is_closed());
    let (second, told) = b.enter();
    assert!(told, "the host may have been inside");
    a.start();
    assert!(a.enter().0 > second);
}

#[test]
fn a_host_that_has_no_lock_and_no_agent_is_not_forgotten() {
    let Some(etcd) = etcd() else { return };
    let mut a = Host::new(&etcd, "a");
    a.enter();
    let (code, said) = failed(&etcd, &["forget", "b"]);
    assert!(code == Some(1) && said.contains("host \"b\" has no lock"), "{code:?} {said}");
    assert_eq!(status(&etcd).0, Some("a".into()));
    a.kill_agent();
    assert!(linked(&etcd, &["forget", "a"]).status.success());
    let (code, said) = failed(&etcd, &["forget", "a"]);
    assert!(code == Some(1) && said.contains("host \"a\" has no lock"), "{code:?} {said}");
}

#[test]
fn an_agent_that_was_stopped_while_its_host_was_forgotten_moves_its_locks_away_when_it_goes_on() {
    let Some(etcd) = etcd() else { return };
    let (mut a, b) = (Host::new(&etcd, "a"), Host::new(&etcd, "b"));
    let (first, _) = a.enter();
    a.signal_agent(Signal::SIGSTOP);
    assert!(b.is_closed(), "a host that is silent keeps what it has");
    assert!(linked(&etcd, &["forget", "a"]).status.success());
    let (second, told) = b.enter();
    assert!(second > first && told, "{first} {second} {told}");
    a.signal_agent(Signal::SIGCONT);
    let (code, said) = a.agent_ends();
    assert!(code == Some(1) && said.contains("all its locks are away"), "{code:?} {said}");
    assert!(!a.is_home() && a.is_closed());
    assert_eq!(b.enter(), (second + 1, false));
}
