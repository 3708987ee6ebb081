//! What an agent of a semaphore asks, as calls to etcd.

use super::keys::{SemaphoreKeys, StoredPermits, StoredWish, assemble, text};
use crate::{
    answers::{self, NoAnswer},
    cluster::why,
    members::Members,
    registration::Registration,
    snapshot::{foreign, revision},
};
use etcd_client::{
    Client, Compare as EtcdCompare, CompareOp, Error, GetOptions, PutOptions, Txn, TxnOp, TxnOpResponse,
};
use std::time::Duration;
use turnlock_link_agent::shares::{Compare, Key, Operation, Reply, Request};

/// Carries out a request. `None`: it has no answer.
pub async fn answer(
    members: Members,
    keys: SemaphoreKeys,
    registration: Registration,
    request: Request,
    limit: Duration,
) -> Option<Result<Reply, NoAnswer>> {
    let failed = |failed| Err(NoAnswer::Failed(why(&failed)));
    Some(match request {
        Request::Lease(request) => {
            let has_answer = !matches!(request, turnlock_link_agent::Request::Revoke { .. });
            let answer = members.call(limit, |client| answers::of_lease(client, request)).await;
            return has_answer.then(|| answer.map_or_else(failed, |reply| Ok(Reply::Lease(reply))));
        }
        Request::List => {
            let answer = members.call(limit, |client| list(client, &keys, &registration)).await;
            answer.unwrap_or_else(failed)
        }
        Request::Transaction { compares, then } => {
            let transaction = transaction(&keys, &registration, &compares, &then);
            let answer = members.call(limit, |mut client| async move { client.txn(transaction).await }).await;
            answer.map_or_else(failed, |response| Ok(Reply::Committed(response.succeeded())))
        }
        Request::Watch { .. } => return None,
    })
}

/// By one read, with the registration: at one moment.
async fn list(
    mut client: Client,
    keys: &SemaphoreKeys,
    registration: &Registration,
) -> Result<Result<Reply, NoAnswer>, Error> {
    let all = TxnOp::get(keys.folder(), Some(GetOptions::new().with_prefix()));
    let own = TxnOp::get(registration.key(), None);
    let listed = client.txn(Txn::new().and_then([all, own])).await?;
    let at = listed.header().map_or(0, |header| header.revision());
    let mut ranges = listed.op_responses().into_iter();
    let (Some(TxnOpResponse::Get(all)), Some(TxnOpResponse::Get(own))) = (ranges.next(), ranges.next())
    else {
        return Ok(Err(NoAnswer::Failed("etcd answered two reads by something else".into())));
    };
    if !registration.is(own.kvs()) {
        return Ok(Err(NoAnswer::Unregistered));
    }
    let named = all.kvs().iter().map(|pair| {
        let name = pair.key_str().ok().and_then(|key| key.strip_prefix(keys.folder()));
        Ok((name.ok_or_else(|| foreign(pair))?, pair))
    });
    let known = named.collect::<Result<Vec<_>, _>>().and_then(|named| assemble(at, &named));
    Ok(known.map(Reply::Listed).map_err(NoAnswer::Failed))
}

fn transaction(
    keys: &SemaphoreKeys,
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
        // Of each key that is there; where there is none it holds.
        Compare::NoShareSince(at) => {
            EtcdCompare::mod_revision(keys.shares(), CompareOp::Less, revision(at) + 1).with_prefix()
        }
    });
    let then = then.iter().map(|operation| match *operation {
        Operation::PutTotal { permits } => {
            TxnOp::put(keys.key(Key::Total), text(&StoredPermits { permits }), None)
        }
        Operation::PutShare { permits } => {
            TxnOp::put(keys.key(Key::Share), text(&StoredPermits { permits }), None)
        }
        Operation::Queue { lease, needs, wants } => {
            let options = PutOptions::new().with_lease(revision(lease));
            TxnOp::put(keys.key(Key::Place), text(&StoredWish { needs, wants }), Some(options))
        }
        Operation::Delete(key) => TxnOp::delete(keys.key(key), None),
    });
    Txn::new()
        .when(compares.chain([registration.compare()]).collect::<Vec<_>>())
        .and_then(then.collect::<Vec<_>>())
}
