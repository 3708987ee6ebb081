//! Programs of three hosts enter while all that can fail fails.

use crate::{
    cables::alone,
    faults::Fault,
    host::{Agency, Kind},
    program::PERMITS,
    world::{HOSTS, World},
};
use std::{collections::BTreeMap, time::Duration};
use support::Dice;

/// The length of a lease, in seconds, of which the last fifth is margin.
const LEASE: u64 = 3;
/// How long the lease of a place in the queue of a kept lock is, in seconds.
const PLACE: u64 = 10;

/// How long nothing fails, between faults.
const CALM: Duration = Duration::from_millis(300);

/// For how long faults come at random, once each of them has come: `TURNLOCK_NETWORK_LONG` seconds.
fn seconds() -> u64 {
    std::env::var("TURNLOCK_NETWORK_LONG").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The faults that come: those with `TURNLOCK_NETWORK_FAULTS` in their names.
fn faults() -> Vec<Fault> {
    let part = std::env::var("TURNLOCK_NETWORK_FAULTS").unwrap_or_default();
    let is_meant = |fault: &Fault| fault.is_allowed() && format!("{fault:?}").contains(&part);
    Fault::ALL.into_iter().filter(is_meant).collect()
}

fn seed() -> u64 {
    std::env::var("TURNLOCK_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// How the hosts are set up. One has a clock of its own: it booted twelve days before the others.
pub fn agencies(is_leased: bool) -> [Agency; HOSTS] {
    let mut options = vec!["--hold".to_owned(), "5".to_owned()];
    if is_leased {
        options.extend(["--lease".to_owned(), LEASE.to_string()]);
    }
    [0, 0, 1_000_000].map(|booted_earlier| Agency {
        options: options.clone(),
        booted_earlier,
        ..Agency::default()
    })
}

/// What happened, for people.
#[derive(Default)]
struct Told {
    /// How often each fault came about, and how long it took at most until all hosts were in again.
    faults: BTreeMap<Fault, (u32, Duration)>,
    seed: u64,
}

#[test]
fn a_lock_that_is_kept_stays_one() {
    alone(|| everything_fails(false, Kind::Mutex));
}

#[test]
fn a_lock_that_is_leased_stays_one_but_for_who_was_told() {
    alone(|| everything_fails(true, Kind::Mutex));
}

#[test]
fn a_rwlock_that_is_kept_stays_one_and_is_read_by_several_hosts_at_once() {
    alone(|| everything_fails(false, Kind::RwLock));
}

#[test]
fn a_rwlock_that_is_leased_stays_one_but_for_who_was_told() {
    alone(|| everything_fails(true, Kind::RwLock));
}

#[test]
fn of_a_semaphore_that_is_kept_no_more_permits_are_taken_than_there_are() {
    alone(|| everything_fails(false, Kind::Semaphore));
}

#[test]
fn of_a_semaphore_that_is_leased_no_more_permits_are_taken_than_there_are_but_by_who_was_told() {
    alone(|| everything_fails(true, Kind::Semaphore));
}

fn everything_fails(is_leased: bool, kind: Kind) {
    support::watchdog::a_test_begins();
    let mut told = Told { seed: seed(), ..Told::default() };
    let mut dice = Dice::of_stream(told.seed, u64::from(is_leased) + 2 * kind as u64);
    let agencies = agencies(is_leased).map(|agency| Agency { kind, ..agency });
    let mut world = World::begin(is_leased, agencies).unwrap();
    world.start_programs();
    world.until_each_host_is_in();
    let all = faults();
    let mut left = all.clone();
    // Some need others to be there at that moment, as a leader or a program inside.
    for _ in 0..5 * all.len() {
        let Some(at) = (0..left.len()).nth(dice.roll(left.len().max(1) as u64) as usize) else { break };
        let fault = left.remove(at);
        if fails(&mut world, &[fault], length_of(fault, is_leased), &mut dice, &mut told) == 0 {
            left.push(fault);
        }
    }
    let until = crate::program::now() + seconds() * 1_000_000_000;
    while crate::program::now() < until {
        let faults: Vec<_> =
            (0..1 + dice.roll(3)).map(|_| all[dice.roll(all.len() as u64) as usize]).collect();
        // Now and then as long as what it is about takes.
        let length = match faults[..] {
            [fault] => length_of(fault, is_leased),
            _ => Duration::from_millis(dice.roll(6_000)),
        };
        fails(&mut world, &faults, length, &mut dice, &mut told);
    }
    let (checked, history) = world.is_over();
    let seen = checked.unwrap_or_else(|wrong| panic!("seed {}: {wrong}", told.seed));
    let starts: u32 = world.hosts.iter().map(|host| host.starts).sum();
    println!(
        "{}, {kind:?}: {} entries {:?}, {} of them reads, {} beside one at another host, {} permits at most, {} hand-overs, {} deaths inside, {} told, {} torn, {} ended inside, {} void, {} waits in vain, {starts} agents",
        if is_leased { "leased" } else { "kept" },
        seen.all(),
        seen.entries,
        seen.reads,
        seen.together,
        seen.most,
        seen.hand_overs,
        seen.deaths,
        seen.told,
        seen.torn,
        seen.ended,
        history.void,
        history.late,
    );
    for (fault, (times, longest)) in &told.faults {
        println!("  {fault:?}: {times} times, all in again after {:.1} s at most", longest.as_secs_f64());
    }
    let came = told.faults.len();
    assert_eq!(came, all.len(), "each fault comes about");
    match kind {
        Kind::Mutex => {}
        Kind::RwLock => assert!(seen.together > 50, "{seen:?}"),
        Kind::Semaphore => assert!(seen.together > 10 && seen.most == PERMITS, "{seen:?}"),
    }
    let dies = all.contains(&Fault::ProgramKilled);
    assert!(seen.hand_overs > 50 && (seen.deaths > 0 || !dies), "{seen:?}");
}

/// These fail, one after the other, for so long; then nothing fails any more, and each host gets in. Returns how many of them came about.
fn fails(world: &mut World, faults: &[Fault], length: Duration, dice: &mut Dice, told: &mut Told) -> usize {
    let mut came = Vec::new();
    for fault in faults {
        let part = dice.roll(100) as u32;
        if fault.begins(world, dice) {
            came.push(*fault);
        }
        world.goes_on(if faults.len() > 1 { length * part / 100 / faults.len() as u32 } else { length });
    }
    world.heal();
    let took = world.until_each_host_is_in();
    world.goes_on(CALM);
    for fault in &came {
        let (times, longest) = told.faults.entry(*fault).or_default();
        *times += 1;
        *longest = took.max(*longest);
    }
    came.len()
}

/// How long it lasts: longer than a lease where leases are about it, and than two of a host that may have its lock taken over, since this etcd may
/// end leases early.
fn length_of(fault: Fault, is_leased: bool) -> Duration {
    use Fault::{AgentStopped, HostCutOff, LeaderCutOff, LeaderStopped};
    let beyond_a_lease = match (is_leased, fault) {
        (true, AgentStopped | HostCutOff) => 2 * LEASE,
        (true, LeaderCutOff | LeaderStopped) => LEASE,
        (false, AgentStopped) => PLACE,
        _ => 0,
    };
    Duration::from_millis(1_200 + beyond_a_lease * 1_000)
}
