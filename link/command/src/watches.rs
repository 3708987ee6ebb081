//! All watches of an agent's process, over one stream.

use crate::{members::Members, print, registration::Registration};
use etcd_client::{
    Client, Error, WatchOptions, WatchRequestSender, WatchResponse, WatchResponseStream, WatchStream,
};
use std::{collections::HashMap, time::Duration};
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender},
    time::sleep,
};

/// A watch of a lock, which takes the place of the one before it.
#[derive(Debug)]
pub struct Watch {
    /// Which lock's, by its place.
    pub lock: usize,
    pub number: u64,
    pub key: String,
    /// Whether all keys that begin so are watched.
    pub is_folder: bool,
    pub from: i64,
}

/// What is said of a watch.
#[derive(Debug)]
pub enum Seen {
    /// What it is about has changed, or that cannot be told any more. It is over.
    Changed { lock: usize, number: u64 },
    /// The host was forgotten, or another agent follows this one.
    Unregistered,
}

/// The number of the watch of the registration; the others count on from it.
const REGISTRATION: i64 = 1;
/// How long the stream may take to open.
const OPENED: Duration = Duration::from_secs(5);
/// The rest after it did not open, or broke.
const REST: Duration = Duration::from_millis(250);

/// Watches, until no one sends watches any more. The stream is opened anew whenever it breaks.
pub async fn watch(
    members: Members,
    registration: Registration,
    mut asked: UnboundedReceiver<Watch>,
    seen: UnboundedSender<Seen>,
) {
    loop {
        // Watches that are asked for before it is open are begun then, from the revision that they name on.
        if asked.is_closed() {
            return;
        }
        match members.call(OPENED, |client| open(client, &registration)).await {
            Ok((_, false)) => {
                let _ = seen.send(Seen::Unregistered);
                return;
            }
            Ok((stream, true)) => {
                let (requests, responses) = stream.split();
                let mut opened = Opened { requests, watching: HashMap::new(), last: REGISTRATION };
                let is_over = opened.go_on(responses, &mut asked, &seen).await;
                // What they are about may have changed since.
                for (lock, number) in opened.watching.into_values() {
                    let _ = seen.send(Seen::Changed { lock, number });
                }
                if is_over {
                    return;
                }
            }
            Err(_) => {}
        }
        sleep(REST).await;
    }
}

/// Opens the stream, with the watch of the registration, if that is what it was, which is returned besides. What is watched begins after what was
/// read: a member that is behind the others would tell of the registration itself when it catches up.
async fn open(mut client: Client, registration: &Registration) -> Result<(WatchStream, bool), Error> {
    let found = client.get(registration.key(), None).await?;
    let read = found.header().map_or(0, |header| header.revision());
    let options = WatchOptions::new().with_watch_id(REGISTRATION).with_start_revision(read + 1);
    let stream = client.watch_client().watch(registration.key(), Some(options)).await?;
    Ok((stream, registration.is(found.kvs())))
}

/// An open stream.
struct Opened {
    requests: WatchRequestSender,
    /// The lock and the number of each watch, by its number on the stream.
    watching: HashMap<i64, (usize, u64)>,
    last: i64,
}

impl Opened {
    /// Returns when it breaks, or is not needed any more; that is `true`.
    async fn go_on(
        &mut self,
        mut responses: WatchResponseStream,
        asked: &mut UnboundedReceiver<Watch>,
        seen: &UnboundedSender<Seen>,
    ) -> bool {
        loop {
            tokio::select! {
                watch = asked.recv() => {
                    let Some(watch) = watch else { return true };
                    if !self.begin(watch).await {
                        return false;
                    }
                }
                response = responses.message() => {
                    let Ok(Some(response)) = response else { return false };
                    if !self.on(&response, seen).await {
                        return false;
                    }
                }
            }
        }
    }

    async fn begin(&mut self, watch: Watch) -> bool {
        let before = self.watching.iter().find(|(_, (lock, _))| *lock == watch.lock).map(|(id, _)| *id);
        if let Some(before) = before {
            self.watching.remove(&before);
            if self.requests.cancel(before).await.is_err() {
                return false;
            }
        }
        self.last += 1;
        self.watching.insert(self.last, (watch.lock, watch.number));
        let mut options = WatchOptions::new().with_watch_id(self.last).with_start_revision(watch.from);
        if watch.is_folder {
            options = options.with_prefix();
        }
        self.requests.watch(watch.key, Some(options)).await.is_ok()
    }

    /// Returns whether the stream is of use still.
    async fn on(&mut self, response: &WatchResponse, seen: &UnboundedSender<Seen>) -> bool {
        let id = response.watch_id();
        if response.events().is_empty() && !response.canceled() {
            return true;
        }
        if id == REGISTRATION {
            if !response.events().is_empty() {
                let _ = seen.send(Seen::Unregistered);
            }
            return !response.canceled();
        }
        let Some((lock, number)) = self.watching.remove(&id) else { return true };
        let _ = seen.send(Seen::Changed { lock, number });
        if response.canceled() && response.compact_revision() == 0 {
            // The member has no leader, or refuses: for a reason that the next list meets, too.
            print::message(&format!("etcd ended a watch: {}", response.cancel_reason()));
            return true;
        }
        response.canceled() || self.requests.cancel(id).await.is_ok()
    }
}
