//! How long it takes until the next one is in, after a process died, or a host.

use crate::{
    Options,
    engine::Etcd,
    host::{MODES, hosts},
    table,
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    io::BufReader,
    process::{Child, ChildStdout, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::limit;

/// How long the next one has waited before.
const WAITED: Duration = Duration::from_secs(1);

/// An `etcdctl lock`. Killed when it is dropped.
pub struct Ctl {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Ctl {
    /// One that begins to wait. `command`: what runs under the lock; if nothing does, it is held.
    pub fn begin(etcd: &Etcd, name: &str, command: &[&str]) -> Self {
        // What looks like an option is the command's.
        let mut ctl = etcd.ctl(&["lock", name, "--"]);
        ctl.args(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = ctl.spawn().expect("etcdctl (Debian: apt-get install etcd-client)");
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Waits until it has the lock: it, or its command, says something.
    pub fn inside(&mut self) -> String {
        limit::line(&mut self.output, &mut self.child).expect("it gets the lock")
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// As Ctrl-C: it unlocks.
    pub fn interrupt(&self) {
        self.signal(Signal::SIGINT);
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.ends();
    }

    /// Waits until it has ended. Returns whether it has done so well.
    pub fn ends(&mut self) -> bool {
        limit::end_of(&mut self.child, "etcdctl").success()
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }
}

impl Drop for Ctl {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Prints its table.
pub fn measure(etcd: &Etcd, options: &Options) {
    let columns =
        ["until the next one is in, median (from .. to)", "turnlock-link, kept", "leased", "`etcdctl lock`"];
    let many = |of: &mut dyn FnMut() -> Duration, rounds: u32| {
        table::times(&(0..rounds).map(|_| of()).collect::<Vec<_>>())
    };
    let mut same = vec!["a program is killed inside; the next one is at its host".to_owned()];
    let mut other = vec!["likewise; the next one is at another host".to_owned()];
    for (mode, of) in MODES {
        for (row, at) in [(&mut same, 0), (&mut other, 1)] {
            let all = hosts(etcd, &format!("killed-{mode}-{at}"), 2, of);
            let mut killed = || {
                let mut holder = all[0].holder();
                let mut waiter = all[at].waiter(1);
                thread::sleep(WAITED);
                let since = Instant::now();
                holder.kill_without_waiting();
                waiter.expect_number("inside");
                let took = since.elapsed();
                waiter.tell("leave");
                waiter.expect("left");
                took
            };
            row.push(many(&mut killed, options.slow_rounds));
        }
    }
    let killed_command = || {
        let mut holder = Ctl::begin(etcd, "killed", &["sh", "-c", "echo $$; exec sleep 1000"]);
        let command: i32 = holder.inside().parse().unwrap();
        let mut waiter = Ctl::begin(etcd, "killed", &[]);
        thread::sleep(WAITED);
        let since = Instant::now();
        kill(Pid::from_raw(command), Signal::SIGKILL).unwrap();
        waiter.inside();
        let took = since.elapsed();
        waiter.interrupt();
        waiter.ends();
        took
    };
    let killed_ctl = || {
        let mut holder = Ctl::begin(etcd, "killed", &[]);
        holder.inside();
        let mut waiter = Ctl::begin(etcd, "killed", &[]);
        thread::sleep(WAITED);
        let since = Instant::now();
        holder.kill();
        waiter.inside();
        let took = since.elapsed();
        waiter.interrupt();
        waiter.ends();
        took
    };
    let ctl = many(&mut { killed_command }, options.slow_rounds);
    same.push(format!("its command: {ctl}"));
    let (leased, dead) = thread::scope(|threads| {
        let leased =
            threads.spawn(|| many(&mut || dead_host(etcd, "leased", MODES[1].1, false), options.slow_rounds));
        let dead = many(&mut { killed_ctl }, options.slow_rounds);
        (leased.join().unwrap(), dead)
    });
    other.push(format!("etcdctl itself: {dead}"));
    let forgotten = many(&mut || dead_host(etcd, "kept", MODES[0].1, true), options.slow_rounds);
    let host = vec![
        "a host is killed: its agent and its programs".to_owned(),
        "not before it is forgotten".into(),
        leased,
        dead,
    ];
    let forget = vec!["`turnlock-link forget`".to_owned(), forgotten, "-".into(), "-".into()];
    table::print(&columns, &[same, other, host, forget]);
}

/// A host dies, with a program inside: how long it takes until one is in that waits at another; or, from when it is forgotten.
fn dead_host(etcd: &Etcd, mode: &str, options: &[&str], is_forgotten: bool) -> Duration {
    // A lock of its own in each round: the host that is dead comes back to none.
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().file_name().unwrap().to_str().unwrap().trim_start_matches('.');
    let mut all = hosts(etcd, &format!("dead-{mode}-{name}"), 2, options);
    let mut holder = all[0].holder();
    let mut waiter = all[1].waiter(1);
    thread::sleep(WAITED);
    let mut since = Instant::now();
    all[0].kill_agent();
    holder.kill();
    if is_forgotten {
        // Longer than a lease.
        thread::sleep(Duration::from_secs(12));
        assert!(!support::queue_at(&all[1].path(), &all[1].lock).is_empty(), "it waits still");
        since = Instant::now();
        all[0].forget(etcd);
    }
    waiter.expect_number("inside");
    since.elapsed()
}
