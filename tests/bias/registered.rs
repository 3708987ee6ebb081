//! How long the kernel's barrier takes, and whether it reached another process: by time, where a miss needs luck.
//!
//! A barrier that interrupts the other processor takes some microseconds, and one that does not takes a fraction of one. The
//! other process stores and looks as in [`super::kernel`]. It has one thread, and is registered for the barrier of registered
//! processes (`MEMBARRIER_CMD_GLOBAL_EXPEDITED`) in one of several ways. That barrier is not used by turnlock; what is seen of it
//! is told. The barrier of all processes, which is used, must miss nothing.

use super::kernel::{Barrier, Missed, Words, ask, membarrier, says_and_looks, stay_on, two_processors};
use libc::c_int;
use std::{hint::spin_loop, path::Path, thread, time::Duration};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    shared::{Shareable, Shared},
};

const TIMES: u64 = 2_000;
/// It takes the kernel some milliseconds to have all processes pass a barrier.
const TIMES_OF_ALL: u64 = 40;

// SAFETY: atomics, of which zeros are values.
unsafe impl Shareable for Words {}

/// How the other process registers, on its way to the processor where it stores and looks.
const WAYS: [(&str, &str); 4] = [
    ("not", "not registered"),
    ("there", "registered where it runs"),
    ("ends", "registered, then a thread of it ended there"),
    ("elsewhere", "ran there, registered on another processor, and went back"),
];

/// `words`: the file of the [`Words`], how, and the two processors.
pub fn registers_and_looks(words: &[String]) {
    let shared = Shared::<Words>::open(Path::new(&words[0]));
    let [here, there] = [2, 3].map(|at: usize| words[at].parse::<usize>().unwrap());
    let register = || membarrier(libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED).unwrap();
    stay_on(there);
    match words[1].as_str() {
        "not" => {}
        "there" => register(),
        "ends" => {
            register();
            thread::spawn(|| {}).join().unwrap();
        }
        "elsewhere" => {
            (0..1_000_000).for_each(|_| spin_loop());
            stay_on(here);
            register();
            stay_on(there);
        }
        way => panic!("it does not register like {way}"),
    }
    say("ready");
    says_and_looks(&shared, there);
    hear();
}

/// How many barriers missed the other process, and how long they took.
fn missed(command: c_int, times: u64, way: &str, [here, there]: [usize; 2]) -> (Missed, Vec<Duration>) {
    let place = Place::new();
    let path = place.lock_file();
    let shared = Shared::<Words>::open(&path);
    let [from, to] = [here, there].map(|processor| processor.to_string());
    let mut other = Actor::start("registers_and_looks", &[path.to_str().unwrap(), way, &from, &to]);
    other.expect("ready");
    stay_on(here);
    let mut took = Vec::new();
    let missed = ask(&shared, Barrier::Kernel(command), times, Some(&mut took));
    shared.end();
    other.tell("end");
    other.end_well();
    took.sort();
    (missed, took)
}

fn tell(what: &str, (missed, took): &(Missed, Vec<Duration>)) {
    let at = |tenth: usize| took.get(took.len() * tenth / 10).map_or(0.0, |took| took.as_secs_f64() * 1e6);
    println!(
        "{what}: missed {} of {} times; the barrier took {:.2} us (tenths 1 and 9: {:.2}, {:.2})",
        missed.times,
        missed.of,
        at(5),
        at(1),
        at(9)
    );
}

#[test]
fn how_long_the_barrier_takes_tells_whether_it_reached_another_process() {
    let _no_hang = NoHang::for_seconds(200);
    let Some(processors) = two_processors() else { return };
    // By a thread of its own, since it stays on one processor.
    thread::spawn(move || {
        if membarrier(libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED).is_ok() {
            for (way, what) in WAYS {
                tell(what, &missed(libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED, TIMES, way, processors));
            }
        }
        let all = missed(libc::MEMBARRIER_CMD_GLOBAL, TIMES_OF_ALL, "not", processors);
        tell("the barrier of all processes", &all);
        assert_eq!(all.0.times, 0);
    })
    .join()
    .unwrap();
}
