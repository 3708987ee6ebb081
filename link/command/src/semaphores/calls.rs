//! What an agent of a semaphore asks, in etcd's terms.

use super::keys::{SemaphoreKeys, StoredPermits, StoredWish, assemble, text};
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
        }
    }

    fn operate(&self, operation: &Operation) -> Vec<TxnOp> {
        vec![match *operation {
            Operation::PutTotal { permits } => {
                TxnOp::put(self.key(Key::Total), text(&StoredPermits { permits }), None)
            }
            Operation::PutShare { permits } => {
                TxnOp::put(self.key(Key::Share), text(&StoredPermits { permits }), None)
            }
            Operation::Queue { lease, needs, wants } => {
                let options = PutOptions::new().with_lease(revision(lease));
                TxnOp::put(self.key(Key::Place), text(&StoredWish { needs, wants }), Some(options))
            }
            Operation::Delete(key) => TxnOp::delete(self.key(key), None),
        }]
    }
}
