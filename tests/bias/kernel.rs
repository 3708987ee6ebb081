//! What the barriers stand on: that the kernel's reach every thread, also where threads end.
//!
//! Two threads, each on a processor of its own. One stores a word and loads another with nothing but the compiler's barrier
//! between; before that it stores to words that the other processor has, so that its store waits long in its buffer. The other
//! one stores, asks for the barrier and loads. If both loads miss, the barrier did not reach the first.

use libc::c_int;
use std::{
    io,
    mem::{size_of, zeroed},
    sync::atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
        compiler_fence, fence,
    },
    thread,
    time::{Duration, Instant},
};
use support::NoHang;

const TIMES: u64 = 10_000;
/// It takes the kernel some milliseconds to have all processes pass a barrier.
const TIMES_OF_ALL: u64 = 40;
/// Rounds are tried for so long at most until something is missed without the kernel; as a rule it is in the first. Beside programs
/// that compute the two threads seldom run at the same time.
const LONGEST_ALONE: Duration = Duration::from_secs(120);
/// On a busy machine fewer, in so long.
const LONGEST: Duration = Duration::from_secs(2);
const BUSY: usize = 40;
/// In the place of a number of turns.
const NO_MORE: u64 = u64::MAX;

/// A word in a cache line of its own, its neighbour's included, which processors fetch too.
#[repr(align(128))]
#[derive(Default)]
struct Word(AtomicU64);

#[repr(C)]
#[derive(Default)]
pub struct Words {
    busy: [[Word; 8]; BUSY / 8],
    said: Word,
    asked: Word,
    turn: Word,
    saw: Word,
    done: Word,
}

impl Words {
    /// Ends [`says_and_looks`].
    pub fn end(&self) {
        self.turn.0.store(NO_MORE, Release);
    }
}

/// What the one that asks does between its store and its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Barrier {
    /// Its own full fence.
    Own,
    /// This command of membarrier.
    Kernel(c_int),
}

impl Barrier {
    fn pass(self) {
        match self {
            Barrier::Own => fence(SeqCst),
            Barrier::Kernel(command) => membarrier(command).unwrap(),
        }
    }
}

pub fn membarrier(command: c_int) -> io::Result<()> {
    // SAFETY: takes numbers and touches no memory.
    match unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The processors that this process may run on.
pub fn processors() -> Vec<usize> {
    // SAFETY: zeros are a set without members; the kernel fills it in.
    let set = unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set), 0);
        set
    };
    // SAFETY: below the size of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|at| unsafe { libc::CPU_ISSET(*at, &set) }).collect()
}

pub fn stay_on(processor: usize) {
    // SAFETY: a set with one member; the kernel reads it.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(processor, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set), 0);
    }
}

/// Stores and looks, once for each turn of the one that asks.
pub fn says_and_looks(words: &Words, processor: usize) {
    stay_on(processor);
    for time in 1.. {
        while words.turn.0.load(Acquire) < time {
            std::hint::spin_loop();
        }
        if words.turn.0.load(Relaxed) == NO_MORE {
            return;
        }
        words.busy.as_flattened().iter().for_each(|word| word.0.store(time, Relaxed));
        words.said.0.store(time, Relaxed);
        compiler_fence(SeqCst);
        words.saw.0.store(words.asked.0.load(Relaxed), Relaxed);
        words.done.0.store(time, Release);
    }
}

/// How often both missed the other's store, of how many times.
#[derive(Default)]
pub struct Missed {
    pub times: u64,
    pub of: u64,
}

impl Missed {
    fn add(self, other: Self) -> Self {
        Self { times: self.times + other.times, of: self.of + other.of }
    }
}

/// Asks [`says_and_looks`] for at most so many turns: as many as there is time for. `told` hears how long each barrier took, which
/// costs time between the store and the barrier.
pub fn ask(words: &Words, barrier: Barrier, times: u64, mut told: Option<&mut Vec<Duration>>) -> Missed {
    let (began, mut missed) = (Instant::now(), Missed::default());
    for time in (1..=times).take_while(|_| began.elapsed() < LONGEST) {
        words.busy.as_flattened().iter().for_each(|word| word.0.store(0, Relaxed));
        words.said.0.store(0, Relaxed);
        words.turn.0.store(time, Release);
        (0..time * 7 % 200).for_each(|_| std::hint::spin_loop());
        words.asked.0.store(time, Relaxed);
        match &mut told {
            Some(told) => {
                let began = Instant::now();
                barrier.pass();
                told.push(began.elapsed());
            }
            None => barrier.pass(),
        }
        let seen = words.said.0.load(Relaxed);
        while words.done.0.load(Acquire) < time {
            std::hint::spin_loop();
        }
        missed.times += u64::from(seen != time && words.saw.0.load(Relaxed) != time);
        missed.of = time;
    }
    missed
}

/// A thread has ended on the processor of the one that does not ask, right before that began.
fn missed(barrier: Barrier, [here, there]: [usize; 2], times: u64) -> Missed {
    let words = Words::default();
    stay_on(here);
    thread::scope(|threads| {
        threads.spawn(|| stay_on(there)).join().unwrap();
        threads.spawn(|| says_and_looks(&words, there));
        let missed = ask(&words, barrier, times, None);
        words.end();
        missed
    })
}

/// Two processors, if the machine has so many and its kernel the barriers that are used; else it is told what is missing.
pub fn two_processors() -> Option<[usize; 2]> {
    let [here, there, ..] = processors()[..] else {
        println!("with one processor nothing can be shown");
        return None;
    };
    if !turnlock::inspect::has_membarrier() {
        println!("this kernel has not both barriers, so neither is used");
        return None;
    }
    Some([here, there])
}

/// The kernel's barriers for the threads of one process and for those of all processes miss no thread. One side's fence
/// alone misses some: else nothing was shown. What the barrier for registered processes misses is only told: it is not used.
#[test]
fn the_kernels_barriers_reach_a_thread_that_comes_after_one_that_ended() {
    let _no_hang = NoHang::for_seconds(200);
    let Some([here, there]) = two_processors() else { return };
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED).unwrap();
    let has_expedited = membarrier(libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED).is_ok();
    thread::spawn(move || {
        let of = |barrier, times| missed(barrier, [here, there], times);
        let often = |command| {
            (0..6).map(|_| of(Barrier::Kernel(command), TIMES)).fold(Missed::default(), Missed::add)
        };
        let began = Instant::now();
        let rounds = std::iter::repeat_with(|| of(Barrier::Own, TIMES));
        let alone = rounds
            .take_while(|missed| missed.times > 0 || began.elapsed() < LONGEST_ALONE)
            .find(|missed| missed.times > 0);
        let private = often(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        let all = of(Barrier::Kernel(libc::MEMBARRIER_CMD_GLOBAL), TIMES_OF_ALL);
        let tell = |missed: &Missed, what| println!("missed {} of {} times {what}", missed.times, missed.of);
        tell(&private, "with the kernel's barrier for one process");
        tell(&all, "with that for all processes");
        if has_expedited {
            let expedited = often(libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED);
            tell(&expedited, "with that for registered processes, which is not used");
        }
        let alone = alone.expect("nothing was missed without the kernel: nothing is shown");
        tell(&alone, "without the kernel");
        assert_eq!((private.times, all.times), (0, 0));
    })
    .join()
    .unwrap();
}
