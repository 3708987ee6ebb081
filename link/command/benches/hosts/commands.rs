//! An entry by each, where no other wants the lock; and the order in which those are served that wait.

use crate::{
    Options,
    deaths::Ctl,
    engine::Etcd,
    host::{Host, MODES, hosts, turnlock},
    table,
};
use etcd_client::{Client, LockOptions};
use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use support::{actor::Actor, limit};

/// Prints its tables.
pub fn measure(etcd: &Etcd, options: &Options) {
    let mut rows = Vec::new();
    let mut row = |what: &str, (times, requests): (Vec<Duration>, f64)| {
        rows.push(vec![what.to_owned(), table::times(&times), format!("{requests:.1}")]);
    };
    for (mode, of) in MODES {
        let all = hosts(etcd, &format!("moved-{mode}"), 2, of);
        all[0].enter();
        let mut next = all.iter().cycle().skip(1);
        row(
            &format!("a program, where the lock is idle at another host, {mode}"),
            each(etcd, options, || next.next().expect("it goes round").enter()),
        );
        if let Some(turnlock) = turnlock() {
            let host = &all[0];
            host.enter();
            let run = || {
                let mut command = Command::new(&turnlock);
                ended(command.args(["run", "--lock", &host.lock]).arg(host.path()).arg("true"));
            };
            row(&format!("`turnlock run FILE true`, where it is home, {mode}"), each(etcd, options, run));
        }
    }
    row(
        "a program, by etcd's lock service, with a connection and a lease that it has",
        by_the_service(etcd, options),
    );
    row(
        "`etcdctl lock NAME true`",
        each(etcd, options, || ended(&mut etcd.ctl(&["lock", "commands", "true"]))),
    );
    row("for scale: `etcdctl get NAME`", each(etcd, options, || ended(&mut etcd.ctl(&["get", "commands"]))));
    table::print(&["an entry by", "median (from .. to)", "requests to etcd each"], &rows);
    println!("\nOrder: a holder at host a; then, one after another, programs wait at b, c, b, c.\n");
    let rows = MODES.map(|(mode, of)| vec![format!("turnlock-link, {mode}"), order(etcd, mode, of)]);
    let ctl = vec!["`etcdctl lock`".to_owned(), order_of_ctl(etcd)];
    table::print(&["by", "served"], &[&rows[..], &[ctl]].concat());
}

fn ended(command: &mut Command) {
    let status = limit::status(command.stdin(Stdio::null()).stdout(Stdio::null())).unwrap();
    assert!(status.success(), "{command:?}: {status}");
}

/// How long each takes, and how many requests it makes.
fn each(etcd: &Etcd, options: &Options, mut enter: impl FnMut()) -> (Vec<Duration>, f64) {
    enter();
    // What comes after it.
    thread::sleep(Duration::from_millis(500));
    let before = etcd.requests();
    let times = (0..options.rounds)
        .map(|_| {
            let began = Instant::now();
            enter();
            let took = began.elapsed();
            thread::sleep(Duration::from_millis(50));
            took
        })
        .collect();
    (times, (etcd.requests() - before) as f64 / f64::from(options.rounds))
}

fn by_the_service(etcd: &Etcd, options: &Options) -> (Vec<Duration>, f64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let endpoint = etcd.endpoint();
    let (mut client, lease) = runtime.block_on(async {
        let mut client = Client::connect([endpoint], None).await.unwrap();
        let lease = client.lease_grant(600, None).await.unwrap().id();
        (client, lease)
    });
    each(etcd, options, || {
        runtime.block_on(async {
            let with = LockOptions::new().with_lease(lease);
            let locked = client.lock("service", Some(with)).await.unwrap();
            client.unlock(locked.key()).await.unwrap();
        });
    })
}

/// In which order those are served that wait.
fn order(etcd: &Etcd, mode: &str, options: &[&str]) -> String {
    let all = hosts(etcd, &format!("order-{mode}"), 3, options);
    let mut holder = all[0].holder();
    let mut waiters: Vec<(&str, &Host, Actor)> = Vec::new();
    for (name, host, waiting) in [("b", 1, 1), ("c", 2, 1), ("b", 1, 2), ("c", 2, 2)] {
        waiters.push((name, &all[host], all[host].waiter(waiting)));
        // Until its host stands in the queue.
        thread::sleep(Duration::from_millis(500));
    }
    holder.tell("leave");
    holder.expect("left");
    let mut tokens: Vec<(u64, &str)> = thread::scope(|threads| {
        let waits = waiters.into_iter().map(|(name, _, mut waiter)| {
            threads.spawn(move || {
                let token = waiter.expect_number("inside");
                waiter.tell("leave");
                waiter.expect("left");
                (token, name)
            })
        });
        let waits: Vec<_> = waits.collect();
        waits.into_iter().map(|waits| waits.join().unwrap()).collect()
    });
    tokens.sort_unstable();
    tokens.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

fn order_of_ctl(etcd: &Etcd) -> String {
    let mut holder = Ctl::begin(etcd, "order", &[]);
    holder.inside();
    let waiters: Vec<(&str, Ctl)> = ["b", "c", "b", "c"]
        .into_iter()
        .map(|name| {
            // It says when it was inside.
            let waiter = Ctl::begin(etcd, "order", &["date", "+%s%N"]);
            thread::sleep(Duration::from_millis(500));
            (name, waiter)
        })
        .collect();
    holder.interrupt();
    let mut ends: Vec<(u64, &str)> =
        waiters.into_iter().map(|(name, mut waiter)| (waiter.inside().parse().unwrap(), name)).collect();
    ends.sort_unstable();
    ends.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}
