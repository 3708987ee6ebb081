//! `turnlock-link status`: what is in etcd.

use crate::{
    cluster::Cluster,
    exit,
    failure::Failure,
    keys::Read,
    members::Members,
    print::{self, fit},
    semaphores::seen,
    snapshot::assemble,
    values::{Registered, StoredData},
};
use etcd_client::{Client, GetOptions, KeyValue};
use serde::Serialize;
use std::collections::BTreeMap;
use tokio::runtime;
use turnlock_link_agent::{Mode, Snapshot};

/// Show which host has each linked lock, and which wait for it
///
/// What is in etcd, below the prefix. What a lock file knows, `turnlock status` shows on its host.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  shown
  1  a key below the prefix is not one of turnlock-link
  64  the command line is wrong
  69  etcd cannot be reached, or refuses
  71  something else went wrong, or standard output cannot be written to

EXAMPLES
  turnlock-link status --endpoints 10.0.0.1:2379
  turnlock-link status --json | jq '.locks[] | select(.host == null)'")]
pub struct Status {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cluster: Cluster,
}

/// What is below a prefix.
#[derive(Serialize)]
struct Shown {
    prefix: String,
    hosts: Vec<ShownHost>,
    locks: Vec<ShownLock>,
    semaphores: Vec<seen::Shown>,
}

#[derive(Serialize)]
struct ShownHost {
    host: String,
    /// Machine, path and time of creation.
    file: String,
    forgotten: bool,
}

#[derive(Serialize)]
struct ShownLock {
    lock: String,
    /// "kept": the privilege stays with a host that cannot be reached; "leased": it ends with a lease.
    mode: &'static str,
    /// The host that has the privilege.
    host: Option<String>,
    /// Those that have it to read.
    reading: Vec<String>,
    /// Those that wait for it, in their order.
    waiting: Vec<String>,
    /// The last fencing token that is reserved. A decimal string.
    reserved: String,
    data: StoredData,
}

impl Status {
    /// Runs it.
    pub fn run(&self) -> Result<(), Failure> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::of_system("cannot begin", error))?;
        let shown = runtime.block_on(self.shown())?;
        if !self.json {
            return print::result(&shown.text());
        }
        let text = serde_json::to_string_pretty(&shown);
        print::result(&(text.map_err(|error| Failure::of_system("cannot write JSON", error))? + "\n"))
    }

    async fn shown(&self) -> Result<Shown, Failure> {
        let members = self.cluster.connect().await?;
        let prefix = self.cluster.prefix();
        let all = GetOptions::new().with_prefix();
        let get = |mut client: Client| async move { client.get(prefix.hosts(), Some(all)).await };
        let found = self.cluster.call(&members, get).await?;
        let hosts = found.kvs().iter().filter_map(|pair| {
            let host = pair.key_str().ok()?.strip_prefix(&prefix.hosts())?.to_owned();
            let Registered { file, forgotten, .. } = Registered::read(pair.value())?;
            Some(ShownHost { host, file, forgotten })
        });
        let locks = locks(&members, &self.cluster).await?.into_iter().map(|(lock, known)| ShownLock {
            lock,
            mode: match known.state.as_ref().map(|state| state.mode) {
                Some(Mode::Leased) => "leased",
                _ => "kept",
            },
            reading: known.readers.iter().map(|reader| reader.host.to_string()).collect(),
            host: known.held.map(|held| held.host.to_string()),
            waiting: known.places.iter().map(|place| place.host.to_string()).collect(),
            reserved: known.state.as_ref().map_or(0, |state| state.reserved).to_string(),
            data: known.state.map_or(StoredData::Consistent, |state| state.data.into()),
        });
        let semaphores = seen::all(&members, &self.cluster).await?.into_iter();
        let semaphores = semaphores.map(|(name, known)| seen::Shown::new(name, &known)).collect();
        Ok(Shown { prefix: prefix.all().into(), hosts: hosts.collect(), locks: locks.collect(), semaphores })
    }
}

impl Shown {
    fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |what: String| {
            text += &fit(&what);
            text.push('\n');
        };
        let number = |of: usize, what| format!("{of} {what}{}", if of == 1 { "" } else { "s" });
        let (hosts, locks) = (number(self.hosts.len(), "host"), number(self.locks.len(), "lock"));
        let semaphores = match self.semaphores.len() {
            0 => String::new(),
            several => format!(", {}", number(several, "semaphore")),
        };
        line(format!("{hosts}, {locks}{semaphores} below {:?}", self.prefix));
        for ShownHost { host, file, forgotten } in &self.hosts {
            let forgotten = if *forgotten { ", forgotten" } else { "" };
            line(format!("host {host:?}: {file}{forgotten}"));
        }
        for lock in &self.locks {
            let at = match (&lock.host, &lock.reading[..]) {
                (Some(host), _) => format!("at host {host:?}"),
                (None, []) => "at no host".into(),
                (None, [host]) => format!("read at host {host:?}"),
                (None, hosts) => format!("read at {} hosts: {}", hosts.len(), hosts.join(", ")),
            };
            let waiting = match lock.waiting.len() {
                0 => String::new(),
                _ => format!("; waiting: {}", lock.waiting.join(", ")),
            };
            let data = match lock.data {
                StoredData::Consistent => "",
                StoredData::Inconsistent => "; a holder died, and the next one is told",
                StoredData::NotRecoverable => "; closed: a holder died, and its data was not repaired",
            };
            let (name, mode, reserved) = (&lock.lock, lock.mode, &lock.reserved);
            line(format!(
                "lock {name:?}: {at} ({mode}), fencing tokens up to {reserved} are reserved{waiting}{data}"
            ));
        }
        self.semaphores.iter().for_each(|semaphore| line(semaphore.text()));
        text
    }
}

/// Returns all locks below the prefix, by name.
pub async fn locks(members: &Members, cluster: &Cluster) -> Result<BTreeMap<String, Snapshot>, Failure> {
    let prefix = cluster.prefix();
    let all = GetOptions::new().with_prefix();
    let get = |mut client: Client| async move { client.get(prefix.locks(), Some(all)).await };
    let found = cluster.call(members, get).await?;
    let mut by_lock: BTreeMap<String, Vec<(Option<Read>, &KeyValue)>> = BTreeMap::new();
    for pair in found.kvs() {
        // What is of no lock is refused when it is put together.
        let key = pair.key_str().ok().and_then(|key| prefix.read(key));
        let (name, key) = key.map_or((String::new(), None), |(name, key)| (name, Some(key)));
        by_lock.entry(name).or_default().push((key, pair));
    }
    let at = found.header().map_or(0, |header| header.revision());
    let put_together = |(name, pairs)| Ok((name, assemble(at, pairs)?));
    let locks: Result<_, String> = by_lock.into_iter().map(put_together).collect();
    locks.map_err(|why| Failure::new(exit::FAILED, why))
}
