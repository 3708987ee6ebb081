//! The names and values of a semaphore's keys in etcd, below the prefix.
//!
//! | key | value |
//! |---|---|
//! | `PREFIX/semaphores/NAME/permits` | how many there are: `{"permits":10}`, and `"mode":"leased"` if they are |
//! | `…/shares/HOST` | how many a host has: `{"permits":3}` |
//! | `…/taken_by/HOST` | leased: how many it took and has not given back, likewise |
//! | `…/queue/HOST` | with which share its first waiter gets in, and with which one all do: `{"needs":3,"wants":7}` |
//!
//! NAME is written as that of a lock ([`crate::keys`]).

use crate::{
    keys::Prefix,
    snapshot::{foreign, number},
    values::StoredMode,
};
use etcd_client::KeyValue;
use serde::{Deserialize, Serialize};
use turnlock_link_agent::{
    Host,
    shares::{Key, Place, Share, Snapshot, Total, Watched},
};

/// The keys of one semaphore, for one host.
#[derive(Clone, Debug)]
pub struct SemaphoreKeys {
    folder: String,
    host: Host,
}

/// What stands in `permits`. It says nothing of the mode of those that are kept.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StoredTotal {
    pub permits: u32,
    #[serde(default, skip_serializing_if = "is_kept")]
    pub mode: StoredMode,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_kept(mode: &StoredMode) -> bool {
    *mode == StoredMode::Kept
}

/// What stands in `shares/HOST` and `taken_by/HOST`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StoredPermits {
    pub permits: u32,
}

/// What stands in `queue/HOST`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct StoredWish {
    pub needs: u32,
    pub wants: u32,
}

/// Returns what the keys of all semaphores begin with.
pub fn all(prefix: &Prefix) -> String {
    format!("{}semaphores/", prefix.all())
}

impl SemaphoreKeys {
    /// Returns the keys of the semaphore of this name, for this host.
    pub fn new(prefix: &Prefix, name: &str, host: &Host) -> Self {
        let name = name.replace('%', "%25").replace('/', "%2F");
        Self { folder: format!("{}{name}/", all(prefix)), host: host.clone() }
    }

    /// Returns what all keys of the semaphore begin with.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns what the keys of all shares begin with.
    pub fn shares(&self) -> String {
        format!("{}shares/", self.folder)
    }

    /// Likewise, of what hosts took and have not given back.
    pub fn all_taken(&self) -> String {
        format!("{}taken_by/", self.folder)
    }

    /// Returns the name of the key of that of a host.
    pub fn taken_by(&self, host: &str) -> String {
        self.all_taken() + host
    }

    fn queue(&self) -> String {
        format!("{}queue/", self.folder)
    }

    /// Returns the name of a key.
    pub fn key(&self, key: Key) -> String {
        match key {
            Key::Total => format!("{}permits", self.folder),
            Key::Share => self.shares() + &self.host,
            Key::TakenBy => self.taken_by(&self.host),
            Key::Place => self.queue() + &self.host,
        }
    }

    /// Returns the key to watch, and whether it is what several begin with.
    pub fn watched(&self, what: &Watched) -> (String, bool) {
        match what {
            Watched::Shares => (self.shares(), true),
            Watched::Queue => (self.queue(), true),
            Watched::Place(host) => (self.queue() + host, false),
        }
    }
}

/// Returns the name of the semaphore whose key this is, and what the key is called within its folder.
pub fn read<'a>(prefix: &Prefix, key: &'a str) -> Option<(String, &'a str)> {
    let (name, rest) = key.strip_prefix(&all(prefix))?.split_once('/')?;
    Some((name.replace("%2F", "/").replace("%25", "%"), rest))
}

/// Puts the keys of one semaphore together: each with what it is called within its folder.
///
/// # Errors
/// One of them is none of this program's.
pub fn assemble(revision: i64, found: &[(&str, &KeyValue)]) -> Result<Snapshot, String> {
    let mut snapshot = Snapshot { revision: number(revision), ..Snapshot::default() };
    for (name, pair) in found {
        let permits = || serde_json::from_slice(pair.value()).map(|StoredPermits { permits }| permits);
        let (created, modified) = (number(pair.create_revision()), number(pair.mod_revision()));
        let of_host = |folder| name.strip_prefix(folder).map(Host::from);
        if *name == "permits" {
            let StoredTotal { permits, mode } =
                serde_json::from_slice(pair.value()).map_err(|_| foreign(pair))?;
            snapshot.total = Some(Total { permits, mode: mode.into(), modified });
        } else if let Some(host) = of_host("shares/") {
            let permits = permits().map_err(|_| foreign(pair))?;
            snapshot.shares.push(Share { host, permits, modified });
        } else if let Some(host) = of_host("taken_by/") {
            let permits = permits().map_err(|_| foreign(pair))?;
            snapshot.taken.push(Share { host, permits, modified });
        } else if let Some(host) = of_host("queue/") {
            let wish: StoredWish = serde_json::from_slice(pair.value()).map_err(|_| foreign(pair))?;
            snapshot.places.push(Place { host, created, needs: wish.needs, wants: wish.wants });
        } else {
            return Err(foreign(pair));
        }
    }
    snapshot.places.sort_by_key(|place| place.created);
    Ok(snapshot)
}

/// Returns the text of a value.
pub fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it has numbers only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let prefix = Prefix::new("app");
        for name in ["jobs", "a/b", "100%", "%2F"] {
            let keys = SemaphoreKeys::new(&prefix, name, &"host".into());
            let of = |key| read(&prefix, &keys.key(key)).map(|(name, rest)| (name, rest.to_owned()));
            assert_eq!(of(Key::Total), Some((name.into(), "permits".into())));
            assert_eq!(of(Key::Share), Some((name.into(), "shares/host".into())));
            assert_eq!(of(Key::TakenBy), Some((name.into(), "taken_by/host".into())));
            assert_eq!(of(Key::Place), Some((name.into(), "queue/host".into())));
        }
        assert_eq!(read(&prefix, "app/locks/a/held"), None);
        let total = |mode| text(&StoredTotal { permits: 7, mode });
        assert_eq!(total(StoredMode::Kept), r#"{"permits":7}"#);
        assert_eq!(total(StoredMode::Leased), r#"{"permits":7,"mode":"leased"}"#);
        let read: StoredTotal = serde_json::from_str(r#"{"permits":7}"#).unwrap();
        assert_eq!(read.mode, StoredMode::Kept);
        assert_eq!(text(&StoredWish { needs: 3, wants: 7 }), r#"{"needs":3,"wants":7}"#);
    }
}
