//! The names of the keys in etcd: what stands where below the prefix.
//!
//! | key | value |
//! |---|---|
//! | `PREFIX/hosts/HOST` | which lock file has this host's name ([`crate::values::Registered`]) |
//! | `PREFIX/locks/LOCK/held`, `…/state`, `…/writer`, `…/queue/HOST`, `…/readers/HOST`, `…/read_by/HOST` | the keys of a lock (`turnlock_link_agent::Key`) |
//!
//! In LOCK `%` and `/` are written `%25` and `%2F`, so that a lock's name ends where it ends.

use turnlock_link_agent::{Host, Key, Watched};

/// What stands before all keys.
#[derive(Clone, Debug)]
pub struct Prefix(String);

/// The keys of one lock, for one host.
#[derive(Clone, Debug)]
pub struct LockKeys {
    folder: String,
    host: Host,
}

/// A key of a lock, as it was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    Held,
    State,
    Writer,
    Place(Host),
    Reading(Host),
    TakenBy(Host),
}

impl Prefix {
    /// Takes what the command line says: a last `/` makes no difference.
    pub fn new(prefix: &str) -> Self {
        Self(format!("{}/", prefix.trim_end_matches('/')))
    }

    /// Returns what all keys begin with.
    pub fn all(&self) -> &str {
        &self.0
    }

    /// Returns the key of a host's registration.
    pub fn host(&self, host: &str) -> String {
        format!("{}{host}", self.hosts())
    }

    /// Returns what the keys of all registrations begin with.
    pub fn hosts(&self) -> String {
        format!("{}hosts/", self.0)
    }

    /// Returns what the keys of all locks begin with.
    pub fn locks(&self) -> String {
        format!("{}locks/", self.0)
    }

    /// Returns the keys of a lock, for this host.
    pub fn lock(&self, lock: &str, host: &Host) -> LockKeys {
        let lock = lock.replace('%', "%25").replace('/', "%2F");
        LockKeys { folder: format!("{}{lock}/", self.locks()), host: host.clone() }
    }

    /// Returns the name of the lock, and which of its keys it is. `None`: it is of no lock.
    pub fn read(&self, key: &str) -> Option<(String, Read)> {
        let (lock, rest) = key.strip_prefix(&self.locks())?.split_once('/')?;
        Some((lock.replace("%2F", "/").replace("%25", "%"), read(rest)?))
    }
}

impl LockKeys {
    /// Returns what all keys of the lock begin with.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns the name of a key; those of which each host has one are this host's.
    pub fn key(&self, key: Key) -> String {
        match key {
            Key::Held => format!("{}held", self.folder),
            Key::State => format!("{}state", self.folder),
            Key::Writer => format!("{}writer", self.folder),
            Key::Place => self.place(&self.host),
            Key::Reading => self.reading(&self.host),
            Key::ReadBy => format!("{}{}", self.all_read_by(), self.host),
        }
    }

    /// Returns what the keys of all hosts begin with that have the privilege to read.
    pub fn all_readers(&self) -> String {
        self.reading("")
    }

    /// Likewise, that have not given it up.
    pub fn all_read_by(&self) -> String {
        format!("{}read_by/", self.folder)
    }

    /// Returns the host whose keys these are.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the key to watch, and whether it is what several begin with.
    pub fn watched(&self, what: &Watched) -> (String, bool) {
        match what {
            Watched::Held => (self.key(Key::Held), false),
            Watched::Place(host) => (self.place(host), false),
            Watched::Queue => (self.place(""), true),
            Watched::Reader(host) => (self.reading(host), false),
            Watched::Writer => (self.key(Key::Writer), false),
        }
    }

    /// Returns which key of the lock it is.
    pub fn read(&self, key: &str) -> Option<Read> {
        read(key.strip_prefix(&self.folder)?)
    }

    fn place(&self, host: &str) -> String {
        format!("{}queue/{host}", self.folder)
    }

    fn reading(&self, host: &str) -> String {
        format!("{}readers/{host}", self.folder)
    }
}

fn read(name: &str) -> Option<Read> {
    match name {
        "held" => Some(Read::Held),
        "state" => Some(Read::State),
        "writer" => Some(Read::Writer),
        _ => {
            let (kind, host) = name.split_once('/')?;
            match kind {
                "queue" => Some(Read::Place(host.into())),
                "readers" => Some(Read::Reading(host.into())),
                "read_by" => Some(Read::TakenBy(host.into())),
                _ => None,
            }
        }
    }
}

/// Checks the name of a host, which becomes the end of keys.
pub fn host(name: &str) -> Result<Host, String> {
    if name.is_empty() || name.len() > 255 || name.contains('/') || name.chars().any(char::is_control) {
        return Err("a host's name has 1 to 255 bytes, no / and no control characters".into());
    }
    Ok(name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let prefix = Prefix::new("app/");
        for name in ["a", "a/held", "100%", "%2F", "a/queue/b"] {
            let keys = prefix.lock(name, &"host".into());
            let read = |key| prefix.read(&keys.key(key));
            assert_eq!(read(Key::Held), Some((name.into(), Read::Held)));
            assert_eq!(read(Key::State), Some((name.into(), Read::State)));
            assert_eq!(read(Key::Place), Some((name.into(), Read::Place("host".into()))));
            assert_eq!(keys.read(&keys.key(Key::Place)), Some(Read::Place("host".into())));
            assert_eq!(read(Key::Writer), Some((name.into(), Read::Writer)));
            assert_eq!(read(Key::Reading), Some((name.into(), Read::Reading("host".into()))));
            assert_eq!(read(Key::ReadBy), Some((name.into(), Read::TakenBy("host".into()))));
            assert_eq!(keys.watched(&Watched::Reader("host".into())), (keys.key(Key::Reading), false));
        }
        assert_eq!(prefix.read("app/hosts/a"), None);
        assert_eq!(prefix.read("app/locks/a/other/b"), None);
        assert_eq!(
            prefix.lock("a", &"b".into()).watched(&Watched::Queue),
            ("app/locks/a/queue/".into(), true)
        );
    }

    #[test]
    fn names_of_hosts_are_checked() {
        assert!(host("db-1.example").is_ok());
        for bad in ["", "a/b", "a\n", &"x".repeat(256)] {
            assert!(host(bad).is_err(), "{bad:?}");
        }
    }
}
