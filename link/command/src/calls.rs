//! What an agent of a lock asks, in etcd's terms.

use crate::{
    answers::EtcdKeys,
    keys::LockKeys,
    snapshot::{self, revision},
    values::Stored,
};
use etcd_client::{Compare as EtcdCompare, CompareOp, DeleteOptions, KeyValue, PutOptions, TxnOp};
use turnlock_link_agent::{Compare, Key, Operation, Snapshot, Watched};

impl EtcdKeys for LockKeys {
    type Snapshot = Snapshot;
    type Compare = Compare;
    type Operation = Operation;
    type Watched = Watched;

    fn folder(&self) -> &str {
        LockKeys::folder(self)
    }

    fn watched(&self, what: &Watched) -> (String, bool) {
        LockKeys::watched(self, what)
    }

    fn read(&self, revision: i64, found: &[KeyValue]) -> Result<Snapshot, String> {
        snapshot::of(self, revision, found)
    }

    fn compare(&self, compare: &Compare) -> EtcdCompare {
        match *compare {
            Compare::Created(key, at) => {
                EtcdCompare::create_revision(self.key(key), CompareOp::Equal, revision(at))
            }
            Compare::Modified(key, at) => {
                EtcdCompare::mod_revision(self.key(key), CompareOp::Equal, revision(at))
            }
            // Of a range etcd compares each key, and where there is none, 0.
            Compare::NoReaders => {
                EtcdCompare::create_revision(self.all_readers(), CompareOp::Equal, 0).with_prefix()
            }
        }
    }

    fn operate(&self, operation: &Operation) -> Vec<TxnOp> {
        let put = |key, lease: Option<u64>| {
            let options = lease.map(|lease| PutOptions::new().with_lease(revision(lease)));
            TxnOp::put(self.key(key), self.host().as_bytes(), options)
        };
        match *operation {
            Operation::Hold { lease } => vec![put(Key::Held, lease)],
            Operation::Put { reserved, data, mode, is_taken } => {
                let taken_by = is_taken.then(|| &**self.host());
                vec![TxnOp::put(self.key(Key::State), Stored::text(reserved, data, mode, taken_by), None)]
            }
            Operation::Queue { lease } => vec![put(Key::Place, Some(lease))],
            Operation::Read { lease: None } => vec![put(Key::Reading, None)],
            Operation::Read { lease } => vec![put(Key::Reading, lease), put(Key::ReadBy, None)],
            Operation::CallReaders { lease } => vec![put(Key::Writer, Some(lease))],
            Operation::ForgetReaders => {
                vec![TxnOp::delete(self.all_read_by(), Some(DeleteOptions::new().with_prefix()))]
            }
            Operation::Delete(key) => vec![TxnOp::delete(self.key(key), None)],
        }
    }
}
