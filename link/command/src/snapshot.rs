//! The keys of a lock at one moment, from what etcd lists.

use crate::{
    keys::{LockKeys, Read},
    values::Stored,
};
use etcd_client::KeyValue;
use turnlock_link_agent::{Held, Host, Place, Reader, Snapshot};

/// Reads the keys of one lock.
///
/// # Errors
/// One of them is none of this program's.
pub fn of(keys: &LockKeys, revision: i64, found: &[KeyValue]) -> Result<Snapshot, String> {
    let read = found.iter().map(|pair| Ok((keys.read(pair.key_str().map_err(|_| foreign(pair))?), pair)));
    assemble(revision, read.collect::<Result<Vec<_>, String>>()?)
}

/// Puts the keys of one lock together.
///
/// # Errors
/// As [`of`].
pub fn assemble(revision: i64, found: Vec<(Option<Read>, &KeyValue)>) -> Result<Snapshot, String> {
    let mut snapshot = Snapshot {
        revision: number(revision),
        held: None,
        state: None,
        places: Vec::new(),
        readers: Vec::new(),
        read_by: Vec::new(),
        writer: None,
    };
    let reader = |host, pair: &KeyValue| Reader { host, modified: number(pair.mod_revision()) };
    for (key, pair) in found {
        match key {
            Some(Read::Held) => {
                let host = Host::from(pair.value_str().map_err(|_| foreign(pair))?);
                snapshot.held = Some(Held { host, created: number(pair.create_revision()) });
            }
            Some(Read::State) => {
                let modified = number(pair.mod_revision());
                snapshot.state = Some(Stored::read(pair.value(), modified).ok_or_else(|| foreign(pair))?);
            }
            Some(Read::Place(host)) => {
                snapshot.places.push(Place { host, created: number(pair.create_revision()) });
            }
            Some(Read::Reading(host)) => snapshot.readers.push(reader(host, pair)),
            Some(Read::TakenBy(host)) => snapshot.read_by.push(reader(host, pair)),
            Some(Read::Writer) => {
                snapshot.writer = Some(Host::from(pair.value_str().map_err(|_| foreign(pair))?));
            }
            None => return Err(foreign(pair)),
        }
    }
    snapshot.places.sort_by_key(|place| place.created);
    Ok(snapshot)
}

/// Returns a revision of etcd's as the agent counts it.
pub fn number(revision: i64) -> u64 {
    u64::try_from(revision).expect("etcd counts revisions from 1")
}

/// Returns a revision of the agent's as etcd counts it.
pub fn revision(number: u64) -> i64 {
    i64::try_from(number).expect("it came from etcd")
}

/// Returns what is said of a key that is none of this program's.
pub fn foreign(pair: &KeyValue) -> String {
    format!(
        "the key {} in etcd, {:?}, is not one of turnlock-link, or of a later one: use a prefix that nothing else writes below",
        String::from_utf8_lossy(pair.key()),
        String::from_utf8_lossy(pair.value())
    )
}
