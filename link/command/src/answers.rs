//! What an agent asks, as calls to etcd, whatever its keys are.

use crate::{
    cluster::why,
    members::Members,
    registration::Registration,
    snapshot::{number, revision},
};
use etcd_client::{Client, Compare, Error, GetOptions, KeyValue, Txn, TxnOp, TxnOpResponse};
use std::time::Duration;
use turnlock_link_agent::request::{Reply, Request};

/// Why a call has no answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// It was not carried out, or it is not known whether it was.
    Failed(String),
    /// The host was forgotten, or another agent follows this one: its word counts no more.
    Unregistered,
}

/// The keys of a lock or of a semaphore in etcd, for one host.
pub trait EtcdKeys: Clone + Send + Sync + 'static {
    /// What is known of them at one moment.
    type Snapshot: Send;
    type Compare: Send;
    type Operation: Send;
    type Watched: Send;

    /// Returns what all of them begin with.
    fn folder(&self) -> &str;

    /// Returns the key to watch, and whether it is what several begin with.
    fn watched(&self, what: &Self::Watched) -> (String, bool);

    /// Puts together what was listed.
    ///
    /// # Errors
    /// One of them is none of this program's.
    fn read(&self, revision: i64, found: &[KeyValue]) -> Result<Self::Snapshot, String>;

    fn compare(&self, compare: &Self::Compare) -> Compare;

    fn operate(&self, operation: &Self::Operation) -> Vec<TxnOp>;
}

/// What is asked of these keys.
pub type RequestOf<K> =
    Request<<K as EtcdKeys>::Compare, <K as EtcdKeys>::Operation, <K as EtcdKeys>::Watched>;

/// What is answered.
pub type Answer<K> = Result<Reply<<K as EtcdKeys>::Snapshot>, NoAnswer>;

/// Carries out a request that has an answer.
pub async fn answer<K: EtcdKeys>(
    members: Members,
    keys: K,
    registration: Registration,
    request: RequestOf<K>,
    limit: Duration,
) -> Answer<K> {
    match members.call(limit, |client| carry_out(client, &keys, &registration, request)).await {
        Ok(answer) => answer,
        Err(failed) => Err(NoAnswer::Failed(why(&failed))),
    }
}

async fn carry_out<K: EtcdKeys>(
    mut client: Client,
    keys: &K,
    registration: &Registration,
    request: RequestOf<K>,
) -> Result<Answer<K>, Error> {
    Ok(Ok(match request {
        Request::List => return list(&mut client, keys, registration).await,
        Request::Transaction { compares, then } => {
            let compares = compares.iter().map(|compare| keys.compare(compare));
            let compares: Vec<_> = compares.chain([registration.compare()]).collect();
            let then: Vec<_> = then.iter().flat_map(|operation| keys.operate(operation)).collect();
            let transaction = Txn::new().when(compares).and_then(then);
            Reply::Committed(client.txn(transaction).await?.succeeded())
        }
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
        Request::Watch { .. } => return Ok(Err(NoAnswer::Failed("a watch has no answer".into()))),
    }))
}

/// By one read, with the registration: at one moment.
async fn list<K: EtcdKeys>(
    client: &mut Client,
    keys: &K,
    registration: &Registration,
) -> Result<Answer<K>, Error> {
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
    Ok(keys.read(at, all.kvs()).map(Reply::Listed).map_err(NoAnswer::Failed))
}
