//! A process that does what it is told with one lock, and says what came of it.

use super::{
    actor::{Actor, hear, say},
    descriptor,
    either::{Held, Lock},
};
use std::{path::Path, time::Duration};
use turnlock::LockFile;

/// The role, to be named in `roles!`. Words: the lock file (its path, or what [`descriptor::open`] knows), the lock's
/// name, and what it is: `mutex`; or a ring, to take part `on-demand` or as `member`.
///
/// It hears `lock`, `try`, `for <milliseconds>`, `mark`, `unlock`, and says `taken <fencing token> <owner-dead or well>`,
/// `done` or `error <number>`.
pub fn puppet(words: &[String]) {
    let file = descriptor::open(LockFile::options().label("puppet"), &words[0]).unwrap();
    let lock = match words[2].as_str() {
        "mutex" => Lock::Mutex(file.mutex(&words[1]).unwrap()),
        how => Lock::Ring(file.ring_options().member(how == "member").open(&words[1]).unwrap()),
    };
    let mut guard: Option<Held> = None;
    say("ready");
    loop {
        let order = hear();
        let (order, milliseconds) = order.split_once(' ').unwrap_or((&order, ""));
        let taken = match order {
            "lock" => lock.lock(),
            "try" => lock.try_lock(),
            "for" => lock.lock_for(Duration::from_millis(milliseconds.parse().unwrap())),
            "mark" | "unlock" => {
                let done = match order {
                    "mark" => guard.as_mut().unwrap().mark_consistent(),
                    _ => guard.take().unwrap().unlock(),
                };
                say(&done.map_or_else(|error| format!("error {}", error.code()), |()| "done".into()));
                continue;
            }
            other => panic!("{other}: no order that a puppet knows"),
        };
        match taken {
            Ok(got) => {
                let consistent = if got.acquired().previous_owner_died { "owner-dead" } else { "well" };
                say(&format!("taken {} {consistent}", got.fencing_token()));
                guard = Some(got);
            }
            Err(error) => say(&format!("error {}", error.code())),
        }
    }
}

/// What a puppet said of its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It has it, with this fencing token; and whether its previous owner died.
    Taken(u64, bool),
    Done,
    Error(i32),
}

/// The string to pull.
pub struct Puppet(pub Actor);

impl Puppet {
    /// A process at the lock called `name` in the file at `path`, ready to hear.
    pub fn at(path: &Path, name: &str) -> Self {
        Self::by_words(path.to_str().unwrap(), name)
    }

    /// Likewise, at a ring, whichever it is: as `member`, or on demand.
    pub fn at_ring(path: &Path, name: &str, member: bool) -> Self {
        Self::start(path.to_str().unwrap(), name, if member { "member" } else { "on-demand" })
    }

    /// One that is told by `file` how to come by the lock file.
    pub fn by_words(file: &str, name: &str) -> Self {
        Self::start(file, name, "mutex")
    }

    fn start(file: &str, name: &str, what: &str) -> Self {
        let mut actor = Actor::start("puppet", &[file, name, what]);
        actor.expect("ready");
        Self(actor)
    }

    /// One that has the lock.
    pub fn that_holds(path: &Path, name: &str) -> Self {
        let mut puppet = Self::at(path, name);
        let said = puppet.ask("try");
        assert!(matches!(said, Said::Taken(_, false)), "{said:?}");
        puppet
    }

    /// Gives it an order and waits until it is carried out.
    pub fn ask(&mut self, order: &str) -> Said {
        self.0.tell(order);
        self.hear()
    }

    /// What came of the last order.
    pub fn hear(&mut self) -> Said {
        let line = self.0.hear();
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["taken", token, consistent] => Said::Taken(token.parse().unwrap(), consistent == "owner-dead"),
            ["error", number] => Said::Error(number.parse().unwrap()),
            ["done"] => Said::Done,
            _ => panic!("a puppet said {line:?}"),
        }
    }
}
