//! The members of the cluster: one connection at a time, to the next one when a member fails.

use etcd_client::{Client, ConnectOptions, Error};
use std::{future::Future, sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::timeout};

/// How a call to a member ended that has no answer.
#[derive(Debug)]
pub enum CallFailed {
    /// Nothing came within the limit.
    Late(Duration),
    /// What etcd, or the connection, says.
    Error(Error),
}

/// All members, of which one is in use.
#[derive(Clone)]
pub struct Members(Arc<Shared>);

struct Shared {
    endpoints: Vec<String>,
    options: ConnectOptions,
    present: Mutex<Present>,
}

struct Present {
    /// `None`: to be connected.
    client: Option<Client>,
    /// How many members were in use before this one.
    turn: usize,
}

impl Members {
    /// Takes the members, of which there is one at least. Connects to none yet.
    pub fn new(endpoints: &[String], options: ConnectOptions) -> Self {
        let present = Mutex::new(Present { client: None, turn: 0 });
        Self(Arc::new(Shared { endpoints: endpoints.into(), options, present }))
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.0.endpoints.len()
    }

    /// Calls the member that is in use, within this limit. If that fails by the member's fault, the next call is to the next one.
    pub async fn call<T, F: Future<Output = Result<T, Error>>>(
        &self,
        limit: Duration,
        call: impl FnOnce(Client) -> F,
    ) -> Result<T, CallFailed> {
        let mut turn = None;
        let called = timeout(limit, async {
            let client = self.client(&mut turn).await?;
            call(client).await
        });
        let failed = match called.await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if !is_of_member(&error) => return Err(CallFailed::Error(error)),
            Ok(Err(error)) => CallFailed::Error(error),
            Err(_) => CallFailed::Late(limit),
        };
        if let Some(turn) = turn {
            self.leave(turn).await;
        }
        Err(failed)
    }

    /// Has the next call be to the next member, unless another one was chosen since this turn.
    async fn leave(&self, turn: usize) {
        let mut present = self.0.present.lock().await;
        // The only one is connected again by the connection itself.
        if present.turn == turn && self.count() > 1 {
            *present = Present { client: None, turn: turn + 1 };
        }
    }

    /// Returns the member in use, and says which turn it is.
    async fn client(&self, turn: &mut Option<usize>) -> Result<Client, Error> {
        let mut present = self.0.present.lock().await;
        *turn = Some(present.turn);
        if let Some(client) = &present.client {
            return Ok(client.clone());
        }
        let endpoint = &self.0.endpoints[present.turn % self.count()];
        let client = Client::connect([endpoint], Some(self.0.options.clone())).await?;
        present.client = Some(client.clone());
        Ok(client)
    }
}

/// Returns whether another member may do what this one did not: it cannot be reached, has no leader, or is about to end.
fn is_of_member(error: &Error) -> bool {
    /// Of gRPC.
    const UNAVAILABLE: i32 = 14;
    match error {
        Error::GRpcStatus(status) => status.code() as i32 == UNAVAILABLE,
        Error::TransportError(_) | Error::IoError(_) => true,
        _ => false,
    }
}
