//! What happens while the engine is away, and where a host cannot reach it.

use crate::{
    Options,
    deaths::Ctl,
    engine::Etcd,
    host::{MODES, hosts},
    table,
};
use nix::sys::signal::Signal;
use std::{
    thread,
    time::{Duration, Instant},
};

/// Longer than a lease of 10 s.
const AWAY: Duration = Duration::from_secs(14);

/// Prints its tables.
pub fn measure(etcd: &Etcd, options: &Options) {
    away(etcd);
    cut_off(etcd, options);
}

fn away(etcd: &Etcd) {
    println!("etcd is killed, and is away for {} s.\n", AWAY.as_secs());
    let all = MODES.map(|(mode, of)| hosts(etcd, &format!("away-{mode}"), 2, of));
    let mut loopers = all
        .iter()
        .map(|all| {
            all[0].enter();
            let mut looper = all[0].program("looper", &[&AWAY.as_secs().to_string()]);
            looper.expect_number("begun");
            looper
        })
        .collect::<Vec<_>>();
    let mut holder = Ctl::begin(etcd, "away", &[]);
    holder.inside();
    let mut runs = Ctl::begin(etcd, "away-command", &["sh", "-c", "echo inside; exec sleep 1000"]);
    runs.inside();
    etcd.kill();
    let since = Instant::now();
    // At another host, which cannot have it.
    let mut others = all.iter().map(|all| all[1].program("looper", &["5"])).collect::<Vec<_>>();
    let mut newcomer = Ctl::begin(etcd, "away-new", &["true"]);
    let mut newcomer_ended = None;
    let mut holder_told = None;
    while since.elapsed() < AWAY {
        if holder_told.is_none() && holder.has_ended() {
            holder_told = Some(since.elapsed());
        }
        if newcomer_ended.is_none() && newcomer.has_ended() {
            newcomer_ended = Some((newcomer.ends(), since.elapsed()));
        }
        thread::sleep(Duration::from_millis(50));
    }
    let command_runs = !runs.has_ended();
    let mut row = vec!["programs at home, or a new `etcdctl lock`".to_owned()];
    let mut elsewhere = vec!["programs of other hosts that got in".to_owned()];
    for (looper, other) in loopers.iter_mut().zip(&mut others) {
        let (entries, last) = (looper.expect_number("entries"), looper.expect_number("last"));
        row.push(format!("{entries} entries, the last one after {}", table::time(last as f64 / 1e3)));
        other.expect_number("begun");
        elsewhere.push(other.expect_number("entries").to_string());
    }
    row.push(match newcomer_ended {
        Some((well, took)) => {
            format!("{} after {}", if well { "gets in" } else { "fails" }, table::time(took.as_secs_f64()))
        }
        None => "waits all the time".into(),
    });
    elsewhere.push("-".into());
    let told = holder_told
        .map_or("is not told".into(), |told| format!("is told after {}", table::time(told.as_secs_f64())));
    let inside = vec![
        "who is inside".to_owned(),
        "keeps the lock".into(),
        "has it until its deadline, 8 s after the lease was kept last".into(),
        format!("{told}; its command {}", if command_runs { "runs on, and is not" } else { "is ended" }),
    ];
    table::print(&["", "turnlock-link, kept", "leased", "`etcdctl lock`"], &[row, elsewhere, inside]);
    etcd.start();
}

fn cut_off(etcd: &Etcd, options: &Options) {
    println!(
        "\nThe agent, or etcdctl, stands still (SIGSTOP) with a program inside: its lease ends, and it cannot know.\n"
    );
    let rounds = 0..options.slow_rounds;
    let (leased, ctl) = thread::scope(|threads| {
        let leased =
            threads.spawn(|| rounds.clone().map(|round| stopped_agent(etcd, round)).collect::<Vec<_>>());
        let ctl: Vec<_> = rounds.clone().map(|_| stopped_ctl(etcd)).collect();
        (leased.join().unwrap(), ctl)
    });
    let told: Vec<Duration> = leased.iter().map(|(told, _)| *told).collect();
    let next: Vec<Duration> = leased.iter().map(|(_, next)| *next).collect();
    let before: Vec<Duration> = leased.iter().map(|(told, next)| next.saturating_sub(*told)).collect();
    let ctl_next: Vec<Duration> = ctl.iter().map(|(next, ..)| *next).collect();
    let runs_on = ctl.iter().filter(|(_, runs_on, _)| *runs_on).count();
    let ended = ctl.iter().filter(|(.., ended)| *ended).count();
    let all = ctl.len();
    let rows = [
        vec![
            "who is inside is told".to_owned(),
            "-".into(),
            table::times(&told),
            format!("{} of {all}", all - runs_on),
        ],
        vec![
            "another host is in".to_owned(),
            "not before it is forgotten".into(),
            table::times(&next),
            table::times(&ctl_next),
        ],
        vec![
            "told before that".to_owned(),
            "-".into(),
            table::times(&before),
            format!("runs on beside the next one: {runs_on} of {all}"),
        ],
        vec![
            "once it goes on, the command is ended within 5 s".to_owned(),
            "-".into(),
            "-".into(),
            format!("{ended} of {all}"),
        ],
    ];
    table::print(&["after so long", "turnlock-link, kept", "leased", "`etcdctl lock NAME command`"], &rows);
}

/// When the holder was told, and when the next one was in.
fn stopped_agent(etcd: &Etcd, round: u32) -> (Duration, Duration) {
    let all = hosts(etcd, &format!("stopped-{round}"), 2, MODES[1].1);
    let mut inside = all[0].program("told", &[]);
    inside.expect_number("inside");
    let mut waiter = all[1].waiter(1);
    let since = Instant::now();
    all[0].signal_agent(Signal::SIGSTOP);
    inside.expect_number("told");
    let told = since.elapsed();
    waiter.expect_number("inside");
    let next = since.elapsed();
    all[0].signal_agent(Signal::SIGCONT);
    (told, next)
}

/// When the next one was in; whether the command of the first one ran on then; whether it was ended within 5 s once etcdctl went on.
fn stopped_ctl(etcd: &Etcd) -> (Duration, bool, bool) {
    let mut holder = Ctl::begin(etcd, "stopped", &["sh", "-c", "echo $$; exec sleep 1000"]);
    let command = holder.inside();
    let runs = || std::path::Path::new("/proc").join(&command).exists();
    let mut waiter = Ctl::begin(etcd, "stopped", &[]);
    thread::sleep(Duration::from_secs(1));
    let since = Instant::now();
    holder.signal(Signal::SIGSTOP);
    waiter.inside();
    let (next, runs_on) = (since.elapsed(), runs());
    holder.signal(Signal::SIGCONT);
    thread::sleep(Duration::from_secs(5));
    let ended = !runs();
    if !ended {
        let pid = nix::unistd::Pid::from_raw(command.parse().unwrap());
        let _ = nix::sys::signal::kill(pid, Signal::SIGKILL);
    }
    holder.ends();
    waiter.interrupt();
    waiter.ends();
    (next, runs_on, ended)
}
