//! An agent in a process of its own, which does what it is told.

use std::{ops::RangeInclusive, path::Path, time::Duration};
use support::actor::{Actor, hear, say};
use turnlock::{LinkAgent, Linkable, LinkedData, LinkedLock, LockFile, Mutex, inspect};

/// What the agents' lock is called.
pub const NAME: &str = "accounts";
/// As many tokens as an agent reserves at a time.
pub const BLOCK: u64 = 1 << 36;

/// The file at `path`, and its linked lock.
pub fn linked(path: &Path) -> (LockFile, Mutex) {
    let file = LockFile::open(path).unwrap();
    let mutex = file.mutex_options().linked(true).patience(Duration::ZERO).open(NAME).unwrap();
    (file, mutex)
}

/// An agent of this process, and the lock that it has.
pub fn agent_of(file: &LockFile, mutex: &Mutex) -> (LinkAgent, LinkedLock) {
    attached(file, mutex)
}

/// Likewise, of a lock of any kind.
pub fn attached(file: &LockFile, lock: &impl Linkable) -> (LinkAgent, LinkedLock) {
    let agent = file.link_agent("agent").unwrap();
    let linked = agent.attach(lock).unwrap();
    (agent, linked)
}

/// The next tokens of this lock, so many.
pub fn next_tokens(linked: &LinkedLock, tokens: u64) -> RangeInclusive<u64> {
    let first = linked.last_token() + 1;
    first..=first + tokens - 1
}

/// Brings it home as it is, with a whole block.
pub fn bring_home(linked: &LinkedLock) {
    linked.bring_home(next_tokens(linked, BLOCK), linked.data()).unwrap();
}

/// How often a waiter at the only lock of the file was passed over: while a lock is away, never; once it is home, where a busy machine
/// does not run the waiter for long enough.
pub fn passed_over(path: &Path) -> u64 {
    inspect::snapshot(path).unwrap().locks[0].counters.passed_over
}

/// The role. Words: the lock file. It attaches, says `home` or `away`, and hears `home` and `away`, which it does and says.
pub fn agent(words: &[String]) {
    let (file, mutex) = linked(Path::new(&words[0]));
    let (_agent, linked) = agent_of(&file, &mutex);
    assert_eq!(linked.data(), LinkedData::Consistent);
    say(if linked.is_home() { "home" } else { "away" });
    loop {
        match hear().as_str() {
            "home" => bring_home(&linked),
            "away" => linked.move_away().unwrap(),
            other => panic!("{other}: no order that an agent knows"),
        }
        say("done");
    }
}

/// An agent in a process of its own.
pub struct AgentProcess(pub Actor);

impl AgentProcess {
    /// One that finds the lock so.
    pub fn that_finds(path: &Path, found: &str) -> Self {
        let mut actor = Actor::start("agent", &[path.to_str().unwrap()]);
        actor.expect(found);
        Self(actor)
    }

    /// Has it carry out an order.
    pub fn ask(&mut self, order: &str) {
        self.0.tell(order);
        self.0.expect("done");
    }
}
