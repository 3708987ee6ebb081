//! What an agent asks, as calls to etcd.

use crate::{
    cluster::reason,
    keys::LockKeys,
    registration::Registration,
    snapshot::{self, number, revision},
    values::Stored,
};
use etcd_client::{
    Client, Compare as EtcdCompare, CompareOp, Error, GetOptions, PutOptions, Txn, TxnOp, TxnOpResponse,
};
use std::time::Duration;
use tokio::time::timeout;
use turnlock_link_agent::{Compare, Key, Operation, Reply, Request};

/// Why a call has no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// It was not carried out, or it is not known whether it was.
    Failed(String),
    /// The host was forgotten, or another agent follows this one: its word counts no more.
    Unregistered,
}

/// Carries out a request that has an answer.
pub async fn answer(
    mut client: Client,
    keys: LockKeys,
    registration: Registration,
    request: Request,
    limit: Duration,
) -> Result<Reply, NoAnswer> {
    let called = async {
        match request {
            Request::List => list(&mut client, &keys, &registration).await,
            Request::Transaction { compares, then } => {
                let transaction = transaction(&keys, &registration, &compares, &then);
                Ok(Reply::Committed(client.txn(transaction).await?.succeeded()))
            }
            Request::Grant { length } => {
                // Whole seconds.
                let seconds = length.div_ceil(1_000_000_000).max(1);
                let granted = client.lease_grant(revision(seconds), None).await?;
                Ok(Reply::Granted { lease: number(granted.id()) })
            }
            Request::KeepAlive { lease } => match client.lease_keep_alive(revision(lease)).await {
                Ok(_) => Ok(Reply::Alive(true)),
                Err(Error::LeaseKeepAliveError(_)) => Ok(Reply::Alive(false)),
                Err(error) => Err(error.into()),
            },
            Request::Revoke { lease } => {
                client.lease_revoke(revision(lease)).await?;
                Ok(Reply::Alive(false))
            }
            Request::Watch { .. } => Err(NoAnswer::Failed("a watch has no answer".into())),
        }
    };
    let silent = || NoAnswer::Failed(format!("no answer within {:.1} s", limit.as_secs_f64()));
    timeout(limit, called).await.unwrap_or_else(|_| Err(silent()))
}

impl From<Error> for NoAnswer {
    fn from(error: Error) -> Self {
        Self::Failed(reason(&error))
    }
}

/// By one read, with the registration: at one moment.
async fn list(client: &mut Client, keys: &LockKeys, registration: &Registration) -> Result<Reply, NoAnswer> {
    let all = TxnOp::get(keys.folder(), Some(GetOptions::new().with_prefix()));
    let own = TxnOp::get(registration.key(), None);
    let listed = client.txn(Txn::new().and_then([all, own])).await?;
    let at = listed.header().map_or(0, |header| header.revision());
    let mut ranges = listed.op_responses().into_iter();
    let (Some(TxnOpResponse::Get(all)), Some(TxnOpResponse::Get(own))) = (ranges.next(), ranges.next())
    else {
        return Err(NoAnswer::Failed("etcd answered two reads by something else".into()));
    };
    if !registration.is(own.kvs()) {
        return Err(NoAnswer::Unregistered);
    }
    snapshot::of(keys, at, all.kvs()).map(Reply::Listed).map_err(NoAnswer::Failed)
}

fn transaction(
    keys: &LockKeys,
    registration: &Registration,
    compares: &[Compare],
    then: &[Operation],
) -> Txn {
    let compares = compares.iter().map(|compare| match *compare {
        Compare::Created(key, at) => {
            EtcdCompare::create_revision(keys.key(key), CompareOp::Equal, revision(at))
        }
        Compare::Modified(key, at) => {
            EtcdCompare::mod_revision(keys.key(key), CompareOp::Equal, revision(at))
        }
    });
    let then = then.iter().map(|operation| match *operation {
        Operation::Hold => TxnOp::put(keys.key(Key::Held), keys.host().as_bytes(), None),
        Operation::Put { reserved, data } => {
            TxnOp::put(keys.key(Key::State), Stored::text(reserved, data), None)
        }
        Operation::Queue { lease } => {
            let options = PutOptions::new().with_lease(revision(lease));
            TxnOp::put(keys.key(Key::Place), keys.host().as_bytes(), Some(options))
        }
        Operation::Delete(key) => TxnOp::delete(keys.key(key), None),
    });
    Txn::new()
        .when(compares.chain([registration.compare()]).collect::<Vec<_>>())
        .and_then(then.collect::<Vec<_>>())
}
