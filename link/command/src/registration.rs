//! A host's name in etcd: which lock file has it, so that no second one takes it.

use crate::{
    cluster::Cluster, exit, failure::Failure, keys::Prefix, members::Members, os, print::fit,
    values::Registered,
};
use etcd_client::{Client, Compare, CompareOp, GetOptions, KeyValue, Txn, TxnOp};
use std::path::Path;
use turnlock::inspect;
use turnlock_link_agent::Host;

/// That this agent is the one of its host.
#[derive(Clone, Debug)]
pub struct Registration {
    key: String,
    /// The revision of its last change.
    modified: i64,
}

impl Registration {
    /// Writes down that this lock file has the host's name. `home`: one of its locks that is home, if there is one.
    ///
    /// # Errors
    /// Another file has the name, or this file has another; or the file has locks that are home, and no agent of it was ever here.
    pub async fn register(
        members: &Members,
        cluster: &Cluster,
        host: &Host,
        path: &Path,
        home: Option<&str>,
    ) -> Result<Self, Failure> {
        let (prefix, file) = (cluster.prefix(), identity(path)?);
        let key = prefix.host(host);
        let all = GetOptions::new().with_prefix();
        let get = |mut client: Client| async move { client.get(prefix.hosts(), Some(all)).await };
        let found = cluster.call(members, get).await?;
        let own = found.kvs().iter().find(|pair| pair.key() == key.as_bytes());
        check(prefix, host, &file, own, found.kvs(), home)?;
        let compare = match own {
            Some(own) => Compare::mod_revision(key.as_str(), CompareOp::Equal, own.mod_revision()),
            None => Compare::create_revision(key.as_str(), CompareOp::Equal, 0),
        };
        let value = Registered { file, pid: std::process::id(), forgotten: false }.text();
        let put = TxnOp::put(key.as_str(), value, None);
        let put = Txn::new().when([compare]).and_then([put]);
        let written = cluster.call(members, |mut client| async move { client.txn(put).await }).await?;
        if !written.succeeded() {
            let why = format!(
                "another agent began as host {host:?} at this very moment: every host has a name of its own, so use another one"
            );
            return Err(Failure::new(exit::FAILED, why));
        }
        Ok(Self { key, modified: written.header().map_or(0, |header| header.revision()) })
    }

    /// Returns its key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns whether what was read at its key is still what this agent wrote.
    pub fn is(&self, found: &[KeyValue]) -> bool {
        found.iter().any(|pair| pair.mod_revision() == self.modified)
    }

    /// Returns the comparison of every transaction.
    pub fn compare(&self) -> Compare {
        Compare::mod_revision(self.key.as_str(), CompareOp::Equal, self.modified)
    }
}

/// Returns what names a lock file, and no other.
fn identity(path: &Path) -> Result<String, Failure> {
    let file = inspect::snapshot(path).map_err(|error| Failure::of_file(&error))?;
    let machine =
        os::machine().map_err(|error| Failure::of_system("cannot tell which machine this is", error))?;
    Ok(format!("{machine}:{}:{}", file.path.display(), file.created_unix_seconds))
}

fn check(
    prefix: &Prefix,
    host: &Host,
    file: &str,
    own: Option<&KeyValue>,
    all: &[KeyValue],
    home: Option<&str>,
) -> Result<(), Failure> {
    let refused = |why: String| Err(Failure::new(exit::FAILED, why));
    let registered = own.map(|pair| Registered::read(pair.value()).ok_or(pair));
    match registered {
        Some(Err(pair)) => {
            let key = String::from_utf8_lossy(pair.key());
            return refused(format!(
                "the key {key} in etcd is not one of turnlock-link: use another --prefix"
            ));
        }
        Some(Ok(other)) if other.file != file && !other.forgotten => {
            let theirs = fit(&other.file);
            return refused(format!(
                "host {host:?} is the lock file {theirs} (machine, path, time of creation), and this one is {file}: every host has a name \
                 of its own, so use another one; if that file is gone or was grown, and its programs have ended: turnlock-link forget {host}"
            ));
        }
        _ => {}
    }
    let of_file = |pair: &&KeyValue| Registered::read(pair.value()).filter(|other| other.file == file);
    if let Some(lock) = home
        && own.is_none()
        && !all.iter().any(|pair| of_file(&pair).is_some())
    {
        return refused(format!(
            "{lock:?} is home in this lock file, and no host {host:?} was ever below {:?} of this etcd: the file is linked to another \
             etcd, or by another --prefix or --host; use those",
            prefix.all()
        ));
    }
    let has_file = |pair: &&KeyValue| of_file(pair).is_some_and(|other| !other.forgotten);
    let key = prefix.host(host);
    match all.iter().filter(|pair| pair.key() != key.as_bytes()).find(has_file) {
        Some(pair) => {
            let name = String::from_utf8_lossy(pair.key());
            let name = name.strip_prefix(&prefix.hosts()).unwrap_or(&name).to_owned();
            refused(format!(
                "this lock file is host {name:?}: start its agent with --host {name}; to give it another name, end its programs, and first \
                 say turnlock-link forget {name}"
            ))
        }
        None => Ok(()),
    }
}
