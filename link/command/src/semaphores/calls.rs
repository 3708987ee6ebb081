//! What an agent of a semaphore asks, in etcd's terms.

use super::keys::{SemaphoreKeys, StoredPermits, StoredTotal, StoredWish, assemble, text};
use crate::{
    answers::EtcdKeys,
    snapshot::{foreign, revision},
};
use etcd_client::{Compare as EtcdCompare, CompareOp, KeyValue, PutOptions, TxnOp};
use turnlock_link_agent::shares::{Compare, Key, Operation, Snapshot, Watched};

impl EtcdKeys for SemaphoreKeys {
    type Snapshot = Snapshot;
    type Compare = Compare;
    type Operation = Operation;
    type Watched = Watched;

    fn folder(&self) -> &str {
        SemaphoreKeys::folder(self)
    }

    fn watched(&self, what: &Watched) -> (String, bool) {
        SemaphoreKeys::watched(self, what)
    }

    fn read(&self, revision: i64, found: &[KeyValue]) -> Result<Snapshot, String> {
        let named = found.iter().map(|pair| {
            let name = pair.key_str().ok().and_then(|key| key.strip_prefix(self.folder()));
            Ok((name.ok_or_else(|| foreign(pair))?, pair))
        });
        assemble(revision, &named.collect::<Result<Vec<_>, String>>()?)
    }

    fn compare(&self, compare: &Compare) -> EtcdCompare {
        match *compare {
            Compare::Created(key, at) => {
                EtcdCompare::create_revision(self.key(key), CompareOp::Equal, revision(at))
            }
            Compare::Modified(key, at) => {
                EtcdCompare::mod_revision(self.key(key), CompareOp::Equal, revision(at))
            }
            // Of each key that is there; where there is none it holds.
            Compare::NoShareSince(at) => {
                EtcdCompare::mod_revision(self.shares(), CompareOp::Less, revision(at) + 1).with_prefix()
            }
            Compare::NoneTakenSince(at) => {
                EtcdCompare::mod_revision(self.all_taken(), CompareOp::Less, revision(at) + 1).with_prefix()
            }
        }
    }

    fn operate(&self, operation: &Operation) -> Vec<TxnOp> {
        let with = |lease| Some(PutOptions::new().with_lease(revision(lease)));
        let permits_at = |key, permits| {
            move |options| TxnOp::put(self.key(key), text(&StoredPermits { permits }), options)
        };
        match *operation {
            Operation::PutTotal { permits, mode } => {
                let total = StoredTotal { permits, mode: mode.into() };
                vec![TxnOp::put(self.key(Key::Total), text(&total), None)]
            }
            Operation::PutShare { permits, lease: None } => vec![permits_at(Key::Share, permits)(None)],
            Operation::PutShare { permits, lease: Some(lease) } => {
                vec![permits_at(Key::Share, permits)(with(lease)), permits_at(Key::TakenBy, permits)(None)]
            }
            Operation::Queue { lease, needs, wants } => {
                vec![TxnOp::put(self.key(Key::Place), text(&StoredWish { needs, wants }), with(lease))]
            }
            Operation::Delete(key) => vec![TxnOp::delete(self.key(key), None)],
            Operation::Forget(ref host) => vec![TxnOp::delete(self.taken_by(host), None)],
        }
    }
}
