//! What an agent asks, as calls to etcd.

use crate::{
    cluster::why,
    keys::LockKeys,
    members::Members,
    registration::Registration,
    snapshot::{self, number, revision},
    values::Stored,
};
use etcd_client::{
    Client, Compare as EtcdCompare, CompareOp, DeleteOptions, Error, GetOptions, PutOptions, Txn, TxnOp,
    TxnOpResponse,
};
use std::time::Duration;
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
    members: Members,
    keys: LockKeys,
    registration: Registration,
    request: Request,
    limit: Duration,
) -> Result<Reply, NoAnswer> {
    match members.call(limit, |client| carry_out(client, &keys, &registration, request)).await {
        Ok(answer) => answer,
        Err(failed) => Err(NoAnswer::Failed(why(&failed))),
    }
}

async fn carry_out(
    mut client: Client,
    keys: &LockKeys,
    registration: &Registration,
    request: Request,
) -> Result<Result<Reply, NoAnswer>, Error> {
    Ok(Ok(match request {
        Request::List => return list(&mut client, keys, registration).await,
        Request::Transaction { compares, then } => {
            let transaction = transaction(keys, registration, &compares, &then);
            Reply::Committed(client.txn(transaction).await?.succeeded())
        }
        Request::Watch { .. } => return Ok(Err(NoAnswer::Failed("a watch has no answer".into()))),
        of_lease => self::of_lease(client, of_lease).await?,
    }))
}

/// Carries out a request that is about a lease.
pub async fn of_lease(mut client: Client, request: Request) -> Result<Reply, Error> {
    Ok(match request {
        Request::Grant { length } => {
            // Whole seconds.
            let seconds = length.div_ceil(1_000_000_000).max(1);
            Reply::Granted { lease: number(client.lease_grant(revision(seconds), None).await?.id()) }
        }
        Request::KeepAlive { lease } => match client.lease_keep_alive(revision(lease)).await {
            Ok(_) => Reply::Alive(true),
            Err(Error::LeaseKeepAliveError(_)) => Reply::Alive(false),
            Err(error) => return Err(error),
        },
        Request::Revoke { lease } => {
            client.lease_revoke(revision(lease)).await?;
            Reply::Alive(false)
        }
        Request::List | Request::Transaction { .. } | Request::Watch { .. } => {
            unreachable!("{request:?} is about no lease")
        }
    })
}

/// By one read, with the registration: at one moment.
async fn list(
    client: &mut Client,
    keys: &LockKeys,
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
    Ok(snapshot::of(keys, at, all.kvs()).map(Reply::Listed).map_err(NoAnswer::Failed))
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
        // Of a range etcd compares each key, and where there is none, 0.
        Compare::NoReaders => {
            EtcdCompare::create_revision(keys.all_readers(), CompareOp::Equal, 0).with_prefix()
        }
    });
    let put = |key, lease: Option<u64>| {
        let options = lease.map(|lease| PutOptions::new().with_lease(revision(lease)));
        TxnOp::put(keys.key(key), keys.host().as_bytes(), options)
    };
    let then = then.iter().flat_map(|operation| match *operation {
        Operation::Hold { lease } => vec![put(Key::Held, lease)],
        Operation::Put { reserved, data, mode, is_taken } => {
            let taken_by = is_taken.then(|| &**keys.host());
            vec![TxnOp::put(keys.key(Key::State), Stored::text(reserved, data, mode, taken_by), None)]
        }
        Operation::Queue { lease } => vec![put(Key::Place, Some(lease))],
        Operation::Read { lease: None } => vec![put(Key::Reading, None)],
        Operation::Read { lease } => vec![put(Key::Reading, lease), put(Key::ReadBy, None)],
        Operation::CallReaders { lease } => vec![put(Key::Writer, Some(lease))],
        Operation::ForgetReaders => {
            vec![TxnOp::delete(keys.all_read_by(), Some(DeleteOptions::new().with_prefix()))]
        }
        Operation::Delete(key) => vec![TxnOp::delete(keys.key(key), None)],
    });
    Txn::new()
        .when(compares.chain([registration.compare()]).collect::<Vec<_>>())
        .and_then(then.collect::<Vec<_>>())
}
