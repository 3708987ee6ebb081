//! Hosts and cables: network namespaces, each kept by a process, and a pair of virtual Ethernet interfaces between each two.

use crate::sockets::address;
use nix::sched::{CloneFlags, setns, unshare};
use std::{
    fs::File,
    io::{self, Write},
    process::Command,
};
use support::{
    actor::{Actor, hear, say},
    limit,
};

/// The role: keeps a network namespace of its own until it is dismissed.
pub fn host(_: &[String]) {
    match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => say("apart"),
        Err(errno) => say(&format!("a network namespace: {errno}")),
    }
    hear();
}

/// This process goes to where that host is.
pub fn enter_host(pid: &str) {
    let namespace = File::open(format!("/proc/{pid}/ns/net")).expect("the host is there");
    setns(namespace, CloneFlags::CLONE_NEWNET).expect("its creator may enter it");
}

/// All hosts, each with a cable to each other one.
pub struct Cables {
    hosts: Vec<Actor>,
}

impl Cables {
    /// Lays cables between `n` hosts, or says why that cannot be here.
    fn lay(n: usize) -> Result<Self, String> {
        let mut hosts: Vec<Actor> = (0..n).map(|_| Actor::start("host", &[])).collect();
        for host in &mut hosts {
            let said = host.hear();
            if said != "apart" {
                return Err(said);
            }
        }
        let cables = Self { hosts };
        for one in 0..n {
            for other in one + 1..n {
                let [pid, other_pid] = [one, other].map(|host| cables.pid(host));
                let (name, other_name) = (format!("to{other}"), format!("to{one}"));
                let pair = [
                    "link",
                    "add",
                    &name,
                    "netns",
                    &pid,
                    "type",
                    "veth",
                    "peer",
                    "name",
                    &other_name,
                    "netns",
                ];
                ip(&[], &[&pair[..], &[&other_pid]].concat())?;
                for (host, peer) in [(one, other), (other, one)] {
                    let address = format!("{}/24", address(host, peer));
                    cables.ip_at(host, &["address", "add", &address, "dev", &format!("to{peer}")])?;
                    cables.ip_at(host, &["link", "set", &format!("to{peer}"), "up"])?;
                }
            }
        }
        Ok(cables)
    }

    /// As [`Cables::lay`]; says so if it cannot be, for a test to leave out what it would have shown.
    pub fn between(n: usize) -> Option<Self> {
        // Past the test harness, which keeps what is printed by a test that goes well.
        let say = |why| writeln!(io::stderr(), "LEFT OUT, since this machine does not allow it: {why}");
        Self::lay(n).map_err(|why| drop(say(why))).ok()
    }

    pub fn pid(&self, host: usize) -> String {
        self.hosts[host].pid().to_string()
    }

    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Pulls the cable between two hosts out.
    pub fn cut(&self, one: usize, other: usize) {
        self.ip_at(one, &["link", "set", &format!("to{other}"), "down"]).unwrap();
    }

    /// Puts it in again.
    pub fn heal(&self, one: usize, other: usize) {
        self.ip_at(one, &["link", "set", &format!("to{other}"), "up"]).unwrap();
    }

    fn ip_at(&self, host: usize, words: &[&str]) -> Result<(), String> {
        ip(&["nsenter", "--net", "--target", &self.pid(host)], words)
    }
}

fn ip(prefix: &[&str], words: &[&str]) -> Result<(), String> {
    let all = [prefix, &["ip"], words].concat();
    let done = limit::output(Command::new(all[0]).args(&all[1..]))
        .map_err(|error| format!("{}: {error}", all[0]))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.success() { Ok(()) } else { Err(format!("{}: {}", all.join(" "), said.trim())) }
}
