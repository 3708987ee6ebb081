//! What waiting for something else than a lock costs: conditions and barriers beside the process-shared ones of POSIX.
//!
//! `cargo bench --bench coordination` prints the table. Two processes take turns by a mutex and a condition each (ping-pong: the time
//! of a turn), and 2, 4 or 8 processes meet at a barrier over and over (the time of a meeting). The contenders follow each other
//! directly, round after round; each figure is the median of the rounds, with the least and the most. glibc's conditions and barriers
//! do not survive the death of a waiter; turnlock's do. Absolute numbers belong to the machine.

#![allow(missing_docs)]

mod posix;

use harness::{
    align::align,
    introduce,
    place::Place,
    process::{Child, cores, pin},
    statistics::{median, spread},
};
use std::{
    error::Error,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};
use turnlock::LockFile;

const ROUNDS: usize = 9;
const TURNS: u32 = 20_000;
const MEETINGS: u32 = 4_000;
const LONGEST: Duration = Duration::from_secs(60);

/// What the processes of a round share besides a contender.
#[repr(C)]
struct Ground {
    posix: posix::Memory,
    turn: AtomicU32,
    ready: AtomicU32,
    began: AtomicU32,
}

/// What one process does in a round. `me` counts from 0.
type Play = fn(&Place, &Ground, usize, usize);

/// Begins when all processes of the round have come so far.
fn begin(ground: &Ground) {
    ground.ready.fetch_add(1, SeqCst);
    while ground.began.load(SeqCst) == 0 {
        thread::yield_now();
    }
}

/// Two processes hand a turn to and fro. `take(me)` waits for it, `give(me)` gives it to the other.
fn turns(ground: &Ground, me: u32, take_and_give: impl Fn(&AtomicU32, u32)) {
    begin(ground);
    for _ in 0..TURNS {
        take_and_give(&ground.turn, me);
    }
}

fn ping_pong_of_turnlock(place: &Place, ground: &Ground, me: usize, _: usize) {
    let file = LockFile::open(place.path()).unwrap();
    let mutex = file.mutex("turn").unwrap();
    let conditions = ["even", "odd"].map(|name| file.condition(name).unwrap());
    turns(ground, me as u32, |turn, me| {
        let mut guard = mutex.lock().unwrap();
        while turn.load(SeqCst) != me {
            conditions[me as usize].wait(&mut guard).unwrap();
        }
        turn.store(1 - me, SeqCst);
        conditions[1 - me as usize].notify_one().unwrap();
    });
}

fn ping_pong_of_posix(_: &Place, ground: &Ground, me: usize, _: usize) {
    turns(ground, me as u32, |turn, me| ground.posix.take_and_give(turn, me));
}

fn barrier_of_turnlock(place: &Place, ground: &Ground, _: usize, parties: usize) {
    let file = LockFile::open(place.path()).unwrap();
    let barrier = file.barrier("meeting", parties as u32).unwrap();
    begin(ground);
    for _ in 0..MEETINGS {
        barrier.wait().unwrap();
    }
}

fn barrier_of_posix(_: &Place, ground: &Ground, _: usize, _: usize) {
    begin(ground);
    for _ in 0..MEETINGS {
        ground.posix.meet();
    }
}

struct Row {
    name: &'static str,
    processes: usize,
    /// Into how many parts the time of a round goes.
    parts: u32,
    plays: Vec<(&'static str, bool, Play)>,
}

/// Returns the nanoseconds of a turn or a meeting.
fn round(row: &Row, play: Play, robust: bool) -> Result<f64, Box<dyn Error>> {
    let place = Place::new(None)?;
    let ground: *mut Ground = place.page();
    // SAFETY: the page is zeros, which is a value of it, and lies there as long as `place`.
    let ground = unsafe { &*ground };
    ground.posix.prepare(row.processes as u32, robust);
    let cores = cores();
    let mut children = Vec::new();
    for me in 0..row.processes {
        let life = || {
            pin(cores[me % cores.len()]);
            play(&place, ground, me, row.processes);
        };
        children.push(Child::fork(life)?);
    }
    let asked = Instant::now();
    while ground.ready.load(SeqCst) < row.processes as u32 {
        check(&mut children, asked)?;
    }
    let began = Instant::now();
    ground.began.store(1, SeqCst);
    while children.iter_mut().any(|child| child.ended().is_none()) {
        check(&mut children, began)?;
    }
    Ok(began.elapsed().as_nanos() as f64 / f64::from(row.parts))
}

fn check(children: &mut [Child], since: Instant) -> Result<(), Box<dyn Error>> {
    if since.elapsed() > LONGEST {
        return Err(format!("a round has not ended after {LONGEST:?}").into());
    }
    if children.iter_mut().any(|child| child.ended().is_some_and(|status| status != 0)) {
        return Err("a process of a round has failed".into());
    }
    thread::sleep(Duration::from_micros(200));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    introduce();
    let ping_pong: Vec<(&'static str, bool, Play)> = vec![
        ("turnlock", false, ping_pong_of_turnlock),
        ("pthread_cond, pthread_mutex", false, ping_pong_of_posix),
        ("pthread_cond, robust pthread_mutex", true, ping_pong_of_posix),
    ];
    let barriers: Vec<(&'static str, bool, Play)> =
        vec![("turnlock", false, barrier_of_turnlock), ("pthread_barrier", false, barrier_of_posix)];
    let mut rows = vec![Row { name: "ping-pong", processes: 2, parts: 2 * TURNS, plays: ping_pong }];
    for processes in [2, 4, 8] {
        rows.push(Row { name: "barrier", processes, parts: MEETINGS, plays: barriers.clone() });
    }
    let mut table = vec![
        ["what", "processes", "contender", "ns", "least .. most", "turnlock / it"].map(String::from).to_vec(),
    ];
    for row in &rows {
        let mut times = vec![Vec::new(); row.plays.len()];
        for _ in 0..ROUNDS {
            for ((_, robust, play), times) in row.plays.iter().zip(&mut times) {
                times.push(round(row, *play, *robust)?);
            }
        }
        let own = median(times[0].iter().copied());
        for ((name, ..), times) in row.plays.iter().zip(&times) {
            let (it, (least, most)) = (median(times.iter().copied()), spread(times.iter().copied()));
            table.push(vec![
                row.name.into(),
                row.processes.to_string(),
                (*name).into(),
                format!("{it:.0}"),
                format!("{least:.0} .. {most:.0}"),
                format!("{:.2}", own / it),
            ]);
        }
    }
    let mut text = String::new();
    align(&mut text, &table)?;
    print!("\n{text}");
    Ok(())
}
