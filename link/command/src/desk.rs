//! Where the agents of a process are told what happens, and ask etcd: those of locks at one, those of semaphores at another.

use crate::{
    answers::{self, Answer, EtcdKeys, RequestOf},
    failure::Failure,
    members::Members,
    os::Timer,
    print,
    registration::Registration,
    snapshot::revision,
    watches::{self, Seen, Watch},
};
use std::{fmt::Display, sync::Arc, thread, time::Duration};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::{spawn, spawn_blocking},
    time::sleep,
};
use turnlock::{Error, LinkAgent};
use turnlock_link_agent::{Config, Nanoseconds, request::Request};

/// The rest after what was to be done with a lock file could not be, as when that has no free slot.
pub const REST: Duration = Duration::from_secs(1);
/// How long a look for programs that want something takes at most: as long as the end of the agent may wait for it.
const LOOK: Duration = Duration::from_secs(1);

/// What there is to be told, besides `T`, which its owner has sent to it.
pub enum Heard<T> {
    Told(T),
    /// The time has come.
    Time,
    /// What the watch of this number is about has changed, of the lock of this place, or that cannot be told any more.
    Changed(usize, u64),
    /// The host was forgotten, or another agent follows.
    Unregistered,
    /// By a signal.
    IsAskedToEnd,
}

pub struct Desk<T> {
    members: Members,
    pub registration: Registration,
    pub config: Config,
    pub tell: UnboundedSender<T>,
    told: UnboundedReceiver<T>,
    watch: UnboundedSender<Watch>,
    seen: UnboundedReceiver<Seen>,
    timer: Timer,
    rings: UnboundedReceiver<()>,
    terminate: Signal,
    interrupt: Signal,
}

fn cannot_wait(error: std::io::Error) -> Failure {
    Failure::of_system("cannot wait", error)
}

impl<T: Send + 'static> Desk<T> {
    /// Begins, within the runtime.
    pub fn begin(members: Members, registration: Registration, config: Config) -> Result<Self, Failure> {
        let (tell, told) = unbounded_channel();
        let (watch, asked) = unbounded_channel();
        let (see, seen) = unbounded_channel();
        let (ring, rings) = unbounded_channel();
        spawn(watches::watch(members.clone(), registration.clone(), asked, see));
        let timer = Timer::new(move || ring.send(()).is_ok()).map_err(cannot_wait)?;
        let terminate = signal(SignalKind::terminate()).map_err(cannot_wait)?;
        let interrupt = signal(SignalKind::interrupt()).map_err(cannot_wait)?;
        Ok(Self {
            members,
            registration,
            config,
            tell,
            told,
            watch,
            seen,
            timer,
            rings,
            terminate,
            interrupt,
        })
    }

    /// Returns what comes next. `due`: when the time is to be told.
    pub async fn hear(&mut self, due: Option<Nanoseconds>) -> Result<Heard<T>, Failure> {
        self.timer.set(due).map_err(cannot_wait)?;
        Ok(tokio::select! {
            told = self.told.recv() => Heard::Told(told.expect("this holds a sender")),
            seen = self.seen.recv() => match seen {
                Some(Seen::Changed { lock, number }) => Heard::Changed(lock, number),
                Some(Seen::Unregistered) | None => Heard::Unregistered,
            },
            _ = self.rings.recv() => Heard::Time,
            _ = self.terminate.recv() => Heard::IsAskedToEnd,
            _ = self.interrupt.recv() => Heard::IsAskedToEnd,
        })
    }

    /// Asks etcd for the agent of this place. Returns whether `answered` will be told of it.
    pub fn ask<K: EtcdKeys>(
        &self,
        (at, number): (usize, u64),
        keys: &K,
        request: RequestOf<K>,
        answered: impl FnOnce(Answer<K>) -> T + Send + 'static,
    ) -> bool {
        if let Request::Watch { what, from } = &request {
            let (key, is_folder) = keys.watched(what);
            // If no one receives it, the host is not registered any more, and that was told.
            let _ = self.watch.send(Watch { lock: at, number, key, is_folder, from: revision(*from) });
            return false;
        }
        let (members, keys, registration) = (self.members.clone(), keys.clone(), self.registration.clone());
        // The agent gives up after that.
        let limit = Duration::from_nanos(self.config.answer);
        let is_told = !matches!(request, Request::Revoke { .. });
        let tell = self.tell.clone();
        spawn(async move {
            let answer = answers::answer(members, keys, registration, request, limit).await;
            if is_told {
                let _ = tell.send(answered(answer));
            }
        });
        is_told
    }
}

/// Has `wanted` called with the place of each of the linked ones that a program wants, and with what it wants, by a thread of its own, for as long
/// as it returns `true`. `failed` is called if that cannot be told any more.
pub fn tell_wishes<L: Send + Sync + 'static, W: 'static>(
    agent: LinkAgent,
    linked: Vec<Arc<L>>,
    take: impl Fn(&L) -> Option<W> + Send + 'static,
    wanted: impl Fn(usize, W) -> bool + Send + 'static,
    failed: impl FnOnce(Error) + Send + 'static,
) -> Result<(), Failure> {
    let look = move || {
        loop {
            match agent.wait(LOOK) {
                Ok(false) => {}
                Ok(true) => {
                    let wishes = linked.iter().map(|one| take(one)).enumerate();
                    for (at, wish) in wishes.filter_map(|(at, wish)| Some((at, wish?))) {
                        if !wanted(at, wish) {
                            return;
                        }
                    }
                }
                Err(error) => return failed(error),
            }
        }
    };
    let began = thread::Builder::new().name("wishes".into()).spawn(look);
    began.map(drop).map_err(|error| Failure::of_system("cannot begin a thread", error))
}

/// Returns once that is done for all of these, by threads that may block, whatever it takes. `sentence` says of one that it was not.
pub async fn for_good<L: Send + Sync + 'static, D: Send + 'static>(
    all: impl Iterator<Item = (String, Arc<L>)>,
    act: fn(&L) -> Result<D, Error>,
    sentence: fn(&str, &dyn Display) -> String,
) {
    let one = move |(name, linked): (String, Arc<L>)| async move {
        loop {
            let linked = linked.clone();
            let why = match spawn_blocking(move || act(&linked)).await {
                Ok(Ok(_)) => return,
                Ok(Err(error)) => error.to_string(),
                Err(error) => error.to_string(),
            };
            print::message(&sentence(&name, &why));
            sleep(REST).await;
        }
    };
    let tasks: Vec<_> = all.map(|each| spawn(one(each))).collect();
    for task in tasks {
        let _ = task.await;
    }
}
