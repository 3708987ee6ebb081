//! A command that runs under the lease of a linked lock.

use super::*;
use turnlock::{LinkedLock, LockFile};

/// `CLOCK_BOOTTIME`, in nanoseconds, so long from now.
fn in_time(time: Duration) -> u64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap();
    let seconds: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
    (Duration::from_secs_f64(seconds) + time).as_nanos() as u64
}

fn at_home(fixture: &Fixture, act: impl FnOnce(&LinkedLock)) {
    let file = LockFile::open(&fixture.file).unwrap();
    let mutex = file.mutex("accounts").unwrap();
    let agent = file.link_agent("agent").unwrap();
    let linked = agent.attach(&mutex).unwrap();
    let first = linked.last_token() + 1;
    linked.bring_home(first..=first + 1000, linked.data()).unwrap();
    act(&linked);
}

fn with_linked_lock() -> Fixture {
    let fixture = Fixture::new();
    let created = limit::output(&mut fixture.command("create", &["--linked", "accounts"], &[])).unwrap();
    assert!(created.status.success(), "{}", errors(&created));
    fixture
}

/// What becomes of a command, while whose lock is leased for `time`.
fn run_for(time: Duration, script: &str) -> Output {
    let fixture = with_linked_lock();
    let mut output = None;
    at_home(&fixture, |linked| {
        linked.set_lease_end(in_time(time)).unwrap();
        output = Some(fixture.run(&["--lock", "accounts"], &["sh", "-c", script]));
    });
    output.unwrap()
}

#[test]
fn a_command_is_asked_to_end_before_the_lease_does_and_is_killed_if_it_does_not() {
    let output = run_for(Duration::from_secs(4), "exec sleep 60");
    assert_eq!(output.status.code(), Some(128 + 15), "{}", errors(&output));
    assert!(errors(&output).contains("was not renewed: asked the command to end"), "{}", errors(&output));
    let output = run_for(Duration::from_secs(4), "trap '' TERM; while :; do sleep 0.1; done");
    assert_eq!(output.status.code(), Some(128 + 9), "{}", errors(&output));
    assert!(errors(&output).contains("was not renewed: killed the command"), "{}", errors(&output));
}

#[test]
fn a_command_whose_lease_is_renewed_runs_to_its_end() {
    let fixture = with_linked_lock();
    at_home(&fixture, |linked| {
        linked.set_lease_end(in_time(Duration::from_secs(60))).unwrap();
        let output = fixture.run(&["--lock", "accounts"], &["sh", "-c", "exit 7"]);
        assert_eq!((output.status.code(), errors(&output).as_str()), (Some(7), ""));
        assert!(fixture.status_text().contains("free, leased for"), "{}", fixture.status_text());
        linked.set_lease_end(1).unwrap();
        assert!(fixture.status_text().contains("its lease has ended"), "{}", fixture.status_text());
        let output = fixture.run(&["--lock", "accounts", "--try", "-E", "75"], &["true"]);
        assert_eq!(output.status.code(), Some(75));
    });
}

#[test]
fn a_command_that_reads_under_the_lease_of_a_rwlock_does_not_outlive_it() {
    let fixture = Fixture::new();
    let created = limit::output(&mut fixture.command("create", &["--linked-rwlock", "cache"], &[])).unwrap();
    assert!(created.status.success(), "{}", errors(&created));
    assert!(fixture.status_text().contains("): away, no agent"), "{}", fixture.status_text());
    let in_vain = fixture.run(&["--lock", "cache", "--shared", "--timeout", "0.01"], &["true"]);
    assert_eq!(in_vain.status.code(), Some(1), "{}", errors(&in_vain));
    let file = LockFile::open(&fixture.file).unwrap();
    let agent = file.link_agent("agent").unwrap();
    let linked = agent.attach(&file.rwlock("cache").unwrap()).unwrap();
    let first = linked.last_token() + 1;
    linked.bring_home(first..=first + 1000, linked.data()).unwrap();
    linked.set_lease_end(in_time(Duration::from_secs(4))).unwrap();
    let output = fixture.run(&["--lock", "cache", "--shared"], &["sleep", "60"]);
    assert_eq!(output.status.code(), Some(128 + 15), "{}", errors(&output));
    assert!(errors(&output).contains("was not renewed: asked the command to end"), "{}", errors(&output));
}

#[test]
fn a_command_runs_with_permits_that_this_host_has_of_a_linked_semaphore() {
    let fixture = Fixture::new();
    let created =
        |wanted| limit::output(&mut fixture.command("create", &["--linked-semaphore", wanted], &[])).unwrap();
    let refused = created("jobs");
    assert!(errors(&refused).contains("is not NAME=N"), "{}", errors(&refused));
    assert!(created("jobs=10").status.success());
    let text = fixture.status_text();
    assert!(
        text.contains("0 of this host's 0 permits taken, 10 over all hosts, no agent is attached"),
        "{text}"
    );
    let run = |options: &[&str]| {
        let permits = ["--lock", "jobs", "--permits", "3"];
        fixture.run(&[&permits, options].concat(), &["sh", "-c", "exit 7"]).status.code()
    };
    assert_eq!(run(&["--timeout", "0.01"]), Some(1));
    let file = LockFile::open(&fixture.file).unwrap();
    let agent = file.link_agent("agent").unwrap();
    let linked = agent.attach_semaphore(&file.semaphore("jobs").unwrap()).unwrap();
    linked.set_share(4).unwrap();
    assert_eq!(run(&[]), Some(7));
    let text = fixture.status_text();
    assert!(text.contains("0 of this host's 4 permits taken, 10 over all hosts\n"), "{text}");
}

#[test]
fn a_command_that_has_permits_under_a_lease_does_not_outlive_it() {
    let fixture = Fixture::new();
    let file = LockFile::open(&fixture.file).unwrap();
    let jobs = file.semaphore_options().permits(4).linked(true).open("jobs").unwrap();
    let agent = file.link_agent("agent").unwrap();
    let linked = agent.attach_semaphore(&jobs).unwrap();
    linked.set_lease_end(in_time(Duration::from_secs(4))).unwrap();
    linked.set_share(2).unwrap();
    let output = fixture.run(&["--lock", "jobs", "--permits", "1"], &["sleep", "60"]);
    assert_eq!(output.status.code(), Some(128 + 15), "{}", errors(&output));
    assert!(errors(&output).contains("the lease of jobs ends in"), "{}", errors(&output));
}
