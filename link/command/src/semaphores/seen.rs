//! What is in etcd of all semaphores, for people; and how a host that is gone is forgotten there.

use super::keys::{self, SemaphoreKeys};
use crate::{
    cluster::Cluster,
    exit,
    failure::Failure,
    members::Members,
    snapshot::{foreign, revision},
    values::StoredMode,
};
use etcd_client::{Client, Compare, CompareOp, GetOptions, KeyValue, Txn, TxnOp};
use serde::Serialize;
use std::collections::BTreeMap;
use turnlock_link_agent::{
    Host,
    shares::{Key, Share, Snapshot},
};

/// A semaphore, as `turnlock-link status` shows it.
#[derive(Debug, Serialize)]
pub struct Shown {
    semaphore: String,
    /// How many there are over all hosts.
    permits: u32,
    mode: StoredMode,
    /// How many of them no host has.
    free: u32,
    /// How many each host has, if it has any.
    shares: BTreeMap<String, u32>,
    /// How many each host had whose lease ended before it gave them back.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ended: BTreeMap<String, u32>,
    /// The hosts that wait for more, in their order.
    waiting: Vec<String>,
}

impl Shown {
    pub fn new(semaphore: String, known: &Snapshot) -> Self {
        let permits = known.total.map_or(0, |total| total.permits);
        let of = |share: &Share| (share.host.to_string(), share.permits);
        // No host has this name.
        let nobody = Host::from("");
        Self {
            semaphore,
            permits,
            mode: known.total.map_or(StoredMode::Kept, |total| total.mode.into()),
            free: known.free(permits),
            shares: known.shares.iter().map(of).collect(),
            ended: known.ended(&nobody).map(of).collect(),
            waiting: known.places.iter().map(|place| place.host.to_string()).collect(),
        }
    }

    /// In a sentence.
    pub fn text(&self) -> String {
        let Self { semaphore, permits, mode, free, shares, ended, waiting } = self;
        let mode = match mode {
            StoredMode::Kept => "kept",
            StoredMode::Leased => "leased",
        };
        let shares: String =
            shares.iter().map(|(host, share)| format!("{share} at host {host:?}, ")).collect();
        let ended: String = ended
            .iter()
            .map(|(host, share)| format!(", of which {share} were at host {host:?} when its lease ended"))
            .collect();
        let waiting =
            if waiting.is_empty() { String::new() } else { format!("; waiting: {}", waiting.join(", ")) };
        format!("semaphore {semaphore:?}, {permits} permits ({mode}): {shares}{free} at none{ended}{waiting}")
    }
}

/// Returns all semaphores below the prefix, by name.
pub async fn all(members: &Members, cluster: &Cluster) -> Result<BTreeMap<String, Snapshot>, Failure> {
    let prefix = cluster.prefix();
    let folder = keys::all(prefix);
    let get =
        |mut client: Client| async move { client.get(folder, Some(GetOptions::new().with_prefix())).await };
    let found = cluster.call(members, get).await?;
    let at = found.header().map_or(0, |header| header.revision());
    let of_etcd = |why| Failure::new(exit::FAILED, why);
    let mut by_name: BTreeMap<String, Vec<(&str, &KeyValue)>> = BTreeMap::new();
    for pair in found.kvs() {
        let key = pair.key_str().ok().and_then(|key| keys::read(prefix, key));
        let (name, rest) = key.ok_or_else(|| of_etcd(foreign(pair)))?;
        by_name.entry(name).or_default().push((rest, pair));
    }
    let put_together =
        |(name, pairs): (String, Vec<_>)| Ok((name, keys::assemble(at, &pairs).map_err(of_etcd)?));
    by_name.into_iter().map(put_together).collect()
}

/// Has no host of this name have permits, or wait for some. Returns the names of the semaphores of which it had permits.
pub async fn forget(members: &Members, cluster: &Cluster, host: &Host) -> Result<Vec<String>, Failure> {
    /// How often a semaphore is tried whose share changes meanwhile: its host is not gone at all.
    const TRIES: u32 = 20;
    let mut had = Vec::new();
    for tried in 0..=TRIES {
        let mut is_done = true;
        for (name, known) in all(members, cluster).await? {
            let (share, place) = (known.share_of(host), known.place_of(host));
            let record = known.taken_by(host);
            if share.is_none() && record.is_none() && place.is_none() {
                continue;
            }
            let of = SemaphoreKeys::new(cluster.prefix(), &name, host);
            let written = share.map_or(0, |share| share.modified);
            let compare = Compare::mod_revision(of.key(Key::Share), CompareOp::Equal, revision(written));
            let deletes = [Key::Share, Key::TakenBy, Key::Place].map(|key| TxnOp::delete(of.key(key), None));
            let change = Txn::new().when([compare]).and_then(deletes);
            let changed = cluster.call(members, |mut client| async move { client.txn(change).await }).await?;
            is_done &= changed.succeeded();
            if changed.succeeded() && (share.is_some() || record.is_some()) {
                had.push(name);
            }
        }
        if is_done {
            return Ok(had);
        }
        if tried == TRIES {
            break;
        }
    }
    let why = format!(
        "host {host:?} is not gone: its share of a semaphore changes while it is looked at; end its agent, and see that its programs have ended"
    );
    Err(Failure::new(exit::FAILED, why))
}
