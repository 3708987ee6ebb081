//! The contenders: turnlock in its forms, its peers, and the physical limit.

mod boost;
mod ping_pong;
mod turnlock_c;

use harness::contender::{
    Contender, Family, Group, Kind, Lock, boxed, file_lock, library, pthread, semaphore, ticket,
    turnlock_rust,
};
use std::time::Duration;

// The names that bars speak of.
pub const RUST: &str = "turnlock Rust";
pub const C_ABI: &str = "turnlock C ABI";
pub const STRICT: &str = "turnlock Rust, patience 0";
pub const ROBUST: &str = "pthread robust";
pub const PI: &str = "pthread PI";
pub const TICKET: &str = "ticket spin lock";
pub const PING_PONG: &str = "cache-line ping-pong";

/// All contenders, in the order of the tables.
pub fn all() -> Vec<Contender> {
    let patient = |patience| Ok(boxed(turnlock_rust::Family::new(Some(patience))));
    let pthread = |variant| Ok(boxed(pthread::Family(variant)));
    vec![
        turnlock(RUST, "the Rust API, default options", Ok(boxed(turnlock_rust::Family::new(None)))),
        turnlock(C_ABI, "libturnlock.so, loaded at run time", turnlock_c::Family::new().map(boxed)),
        turnlock(STRICT, "strictly first come first served", patient(Duration::ZERO)),
        turnlock(
            "turnlock Rust, patience 200 us",
            "others may pass for 200 microseconds",
            patient(Duration::from_micros(200)),
        ),
        peer("pthread normal", "process-shared mutex", pthread(pthread::Variant::Normal)),
        peer("pthread adaptive", "spins before it sleeps", pthread(pthread::Variant::Adaptive)),
        peer(ROBUST, "survives its owner's death, as turnlock does", pthread(pthread::Variant::Robust)),
        peer(PI, "priority inheritance", pthread(pthread::Variant::PriorityInheritance)),
        peer("POSIX semaphore", "sem_wait, sem_post", Ok(boxed(semaphore::Posix))),
        peer("SysV semaphore", "semop, without SEM_UNDO", Ok(boxed(semaphore::SysV))),
        peer("flock", "a system call each", Ok(boxed(file_lock::Flock))),
        peer("OFD lock", "F_OFD_SETLKW on one byte", Ok(boxed(file_lock::Ofd))),
        peer("Boost.Interprocess", "interprocess_mutex", boost::Family::new().map(boxed)),
        peer(TICKET, "first come first served; spins, then yields its core", Ok(boxed(ticket::Family))),
        Contender {
            name: PING_PONG,
            about: "two processes pass one word to and fro: the physical limit",
            group: Group::Limit,
            kind: Ok(boxed(ping_pong::Family)),
        },
    ]
}

fn turnlock(name: &'static str, about: &'static str, kind: Result<Box<dyn Kind>, String>) -> Contender {
    Contender { name, about, group: Group::Turnlock, kind }
}

fn peer(name: &'static str, about: &'static str, kind: Result<Box<dyn Kind>, String>) -> Contender {
    Contender { name, about, group: Group::Peer, kind }
}
