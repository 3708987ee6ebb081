//! The agents of this host's linked semaphores: what happens to them, and what they want done. As [`crate::agents`] has those of locks.

mod calls;
mod keys;
mod local;
pub mod seen;

pub use local::{LocalSemaphores, Named, is_semaphore, open};

use crate::{
    answers::{Answer, NoAnswer},
    desk::{self, Desk, Heard, REST},
    exit,
    failure::Failure,
    keys::Prefix,
    members::Members,
    os, print,
    registration::Registration,
    semaphores::{keys::SemaphoreKeys, local::Local},
    sentences,
    silence::Silence,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    task::{spawn, spawn_blocking},
    time::sleep,
};
use turnlock::{Error, LinkedSemaphore};
use turnlock_link_agent::{
    Config, Failed, Host, Nanoseconds,
    shares::{Action, Event, ShareAgent},
};

/// So often a wait for those inside looks whether it still counts.
const LOOK: Duration = Duration::from_millis(500);

/// What comes to the agents.
enum Told {
    /// A program wanted so many permits of the semaphore of this place.
    Wanted(usize, u32),
    /// What programs want cannot be told any more.
    Broken(Error),
    /// What was waited for, in a wait of this number, has come, or not.
    Drained(usize, (u64, u32), Result<u32, Error>),
    /// The answer to a call.
    Answered { semaphore: usize, call: u64, answer: Answer<SemaphoreKeys> },
}

/// A semaphore's agent, and what it waits for.
struct One {
    local: Local,
    keys: SemaphoreKeys,
    agent: ShareAgent,
    wakes_at: Option<Nanoseconds>,
    /// The number of the wait for those inside that counts; 0: none does.
    drain: Arc<AtomicU64>,
    has_left: bool,
}

/// All agents of semaphores of this process.
pub struct Semaphores {
    desk: Desk<Told>,
    all: Vec<One>,
    silence: Silence,
    leaves: bool,
}

impl Semaphores {
    /// Begins, within the runtime, with what the lock file says.
    pub fn begin(
        members: Members,
        prefix: &Prefix,
        host: &Host,
        registration: Registration,
        config: Config,
        file: LocalSemaphores,
    ) -> Result<Self, Failure> {
        let desk = Desk::begin(members, registration, config)?;
        let (wanted, failed) = (desk.tell.clone(), desk.tell.clone());
        let semaphores = file.tell_wishes(
            move |at, permits| wanted.send(Told::Wanted(at, permits)).is_ok(),
            move |error| drop(failed.send(Told::Broken(error))),
        )?;
        let now = os::now();
        let mut begun = Self { desk, all: Vec::new(), silence: Silence::default(), leaves: false };
        for (at, local) in semaphores.into_iter().enumerate() {
            let begins = (now, local.demand());
            let (agent, actions) = ShareAgent::new(host.clone(), config, local.found(), begins, 0);
            let keys = SemaphoreKeys::new(prefix, &local.name, host);
            let drain = Arc::default();
            begun.all.push(One { local, keys, agent, wakes_at: None, drain, has_left: false });
            begun.act(at, actions)?;
        }
        Ok(begun)
    }

    /// Returns the names of the semaphores, for messages.
    pub fn names(&self) -> String {
        self.all.iter().map(|one| format!("{:?}", one.local.name)).collect::<Vec<_>>().join(", ")
    }

    /// Runs until it is asked to end, or cannot go on. `leaves`: it gives up what the host has before it ends.
    pub async fn run(mut self, leaves: bool) -> Result<(), Failure> {
        loop {
            let due = self.all.iter().filter_map(|one| one.wakes_at).min();
            let mut is_asked_to_end = false;
            match self.desk.hear(due).await? {
                Heard::Told(told) => {
                    if !self.on_told(told)? {
                        return Err(self.give_way().await);
                    }
                }
                Heard::Time => self.on_time()?,
                Heard::Changed(at, watch) => self.tell(at, Event::Changed { watch })?,
                Heard::Unregistered => return Err(self.give_way().await),
                Heard::IsAskedToEnd => is_asked_to_end = true,
            }
            if is_asked_to_end {
                if !leaves || std::mem::replace(&mut self.leaves, true) {
                    return Ok(());
                }
                print::message("it was asked to end: it gives back all permits, once its programs have");
                (0..self.all.len()).try_for_each(|at| self.tell(at, Event::Leave))?;
            }
            if self.all.iter().all(|one| one.has_left) {
                print::message("all its permits are given back, and other hosts may have them");
                return Ok(());
            }
        }
    }

    fn on_time(&mut self) -> Result<(), Failure> {
        let now = os::now();
        for at in 0..self.all.len() {
            if self.all[at].wakes_at.take_if(|due| *due <= now).is_some() {
                self.tell(at, Event::Time)?;
            }
        }
        Ok(())
    }

    /// Returns whether this is the host's agent still.
    fn on_told(&mut self, told: Told) -> Result<bool, Failure> {
        match told {
            Told::Wanted(at, permits) => self.tell(at, Event::Wanted { permits })?,
            Told::Broken(error) => return Err(Failure::of_file(&error)),
            Told::Drained(at, (number, _), Ok(permits)) => {
                self.tell(at, Event::Drained { number, permits })?
            }
            Told::Drained(at, wait, Err(error)) => {
                if matches!(error, Error::Damaged { .. } | Error::Replaced { .. } | Error::Closed) {
                    return Err(Failure::of_file(&error));
                }
                print::message(&sentences::not_drained(&self.all[at].local.name, &error));
                self.drain(at, wait, REST);
            }
            Told::Answered { answer: Err(NoAnswer::Unregistered), .. } => return Ok(false),
            Told::Answered { semaphore, call, answer } => {
                self.silence.note(&answer, self.desk.config.mode);
                self.tell(semaphore, Event::Answered { call, reply: answer.map_err(|_| Failed) })?;
            }
        }
        Ok(true)
    }

    fn tell(&mut self, at: usize, event: Event) -> Result<(), Failure> {
        let one = &mut self.all[at];
        let actions = one.agent.on(os::now(), one.local.demand(), event);
        self.act(at, actions)
    }

    fn act(&mut self, at: usize, actions: Vec<Action>) -> Result<(), Failure> {
        let mut wakes_at = None;
        for action in actions {
            let one = &mut self.all[at];
            match action {
                Action::Call { number, request } => {
                    let answered = move |answer| Told::Answered { semaphore: at, call: number, answer };
                    self.desk.ask((at, number), &one.keys, request, answered);
                }
                Action::SetShare { permits } => {
                    one.drain.store(0, Relaxed);
                    one.local.linked.set_share(permits).map_err(|error| Failure::of_file(&error))?;
                }
                Action::Drain { number, below } => {
                    one.drain.store(number, Relaxed);
                    self.drain(at, (number, below), Duration::ZERO);
                }
                Action::WakeAt(time) => wakes_at = Some(time),
                // A first one begins while no program is inside: that is not waited for.
                Action::Lease { until } => one.local.admit_until(until)?,
                Action::Lost => print::message(&sentences::lost_permits(&one.local.name)),
                Action::Robbed => print::message(&sentences::robbed_of_permits(&one.local.name)),
                Action::Refused { total, mode } => {
                    let (name, ours) = (&one.local.name, one.local.linked.total());
                    print::message(&match total == ours {
                        true => sentences::refused(name, mode),
                        false => sentences::other_total(name, ours, total),
                    });
                }
                Action::Left => one.has_left = true,
            }
        }
        self.all[at].wakes_at = wakes_at;
        Ok(())
    }

    /// Waits for the programs that are inside by a thread that may block, however long they take, while that wait counts.
    fn drain(&self, at: usize, (number, below): (u64, u32), rest: Duration) {
        let (linked, tell) = (self.all[at].local.linked.clone(), self.desk.tell.clone());
        let counts = self.all[at].drain.clone();
        let wait = move || {
            while counts.load(Relaxed) == number {
                match linked.drain_for(below, LOOK) {
                    Err(Error::TimedOut(_)) => {}
                    drained => return Some(drained),
                }
            }
            None
        };
        spawn(async move {
            sleep(rest).await;
            // A thread that panicked has said so.
            if let Ok(Some(drained)) = spawn_blocking(wait).await {
                let _ = tell.send(Told::Drained(at, (number, below), drained));
            }
        });
    }

    /// The host was forgotten, or another agent follows: its programs get no permits any more. Returns why it ends, once those that have some have
    /// given them back.
    async fn give_way(self) -> Failure {
        print::message(&format!(
            "{} is not this agent's any more: the host was forgotten, or another agent began under its name; it has no permits from now on",
            self.desk.registration.key()
        ));
        let all = self.all.into_iter().map(|one| (one.local.name, one.local.linked));
        let gives_all = |linked: &LinkedSemaphore| {
            // Those inside are told, if there is a lease.
            let ended = linked.lease_end().min(os::now());
            linked.set_lease_end(ended)?;
            linked.set_share(0).and_then(|()| linked.drain(0).map(drop))
        };
        desk::for_good(all, gives_all, sentences::not_drained).await;
        Failure::new(
            exit::FAILED,
            "it ends, since it is not the agent of its host any more; its programs have no permits",
        )
    }
}
