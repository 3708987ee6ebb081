//! The agents of one host: what happens to them, and what they want done.

use crate::{
    answers::{self, NoAnswer},
    exit,
    failure::Failure,
    keys::{LockKeys, Prefix},
    leaving::{self, Leaving},
    local::{self, Local, LocalFile},
    members::Members,
    os::{self, Timer},
    print,
    registration::Registration,
    sentences,
    silence::Silence,
    snapshot::revision,
    watches::{self, Seen, Watch},
};
use std::{sync::Arc, time::Duration};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::{spawn, spawn_blocking},
    time::sleep,
};
use turnlock::{Error, LinkedLock};
use turnlock_link_agent::{
    Action, Agent, Config, Event, Failed, Found, Host, NO_DEADLINE, Nanoseconds, Reply, Request, Snapshot,
    Wish,
};

/// How often an agent is told which tokens were used, while its lock is home: a block lasts for minutes.
const TOLD_TOKENS: Nanoseconds = 10_000_000_000;
/// The rest after a lock could not be moved away, as when the file has no free slot.
const REST: Duration = Duration::from_secs(1);

/// What comes to the agents.
enum Told {
    /// A program wants the lock of this place.
    Wanted(usize, Wish),
    /// The time has come.
    Time,
    /// What programs want cannot be told any more.
    Broken(Error),
    /// The lock of this place was moved away, or was not.
    MovedAway(usize, Result<(), Error>),
    /// The answer to a call.
    Answered { lock: usize, call: u64, answer: Result<Reply, NoAnswer> },
}

/// A lock's agent, and what it waits for.
struct One {
    local: Local,
    keys: LockKeys,
    agent: Agent,
    wakes_at: Option<Nanoseconds>,
    told_token: u64,
    /// How many calls are under way.
    calls: usize,
    leaving: Leaving,
}

/// All agents of this process.
pub struct Agents {
    members: Members,
    registration: Registration,
    config: Config,
    all: Vec<One>,
    tell: UnboundedSender<Told>,
    told: UnboundedReceiver<Told>,
    watch: UnboundedSender<Watch>,
    seen: UnboundedReceiver<Seen>,
    tokens_at: Nanoseconds,
    silence: Silence,
}

impl Agents {
    /// Begins, within the runtime, with what the lock file says.
    pub fn begin(
        members: Members,
        prefix: &Prefix,
        host: &Host,
        registration: Registration,
        config: Config,
        file: LocalFile,
    ) -> Result<Self, Failure> {
        let (tell, told) = unbounded_channel();
        let (watch, asked) = unbounded_channel();
        let (see, seen) = unbounded_channel();
        spawn(watches::watch(members.clone(), registration.clone(), asked, see));
        let (wanted, failed) = (tell.clone(), tell.clone());
        let locks = file
            .tell_wishes(
                move |at, wish| wanted.send(Told::Wanted(at, wish)).is_ok(),
                move |error| drop(failed.send(Told::Broken(error))),
            )
            .map_err(|error| Failure::of_system("cannot begin a thread", error))?;
        let now = os::now();
        let mut agents = Self {
            members,
            registration,
            config,
            all: Vec::new(),
            tell,
            told,
            watch,
            seen,
            tokens_at: now + TOLD_TOKENS,
            silence: Silence::default(),
        };
        for (at, local) in locks.into_iter().enumerate() {
            let found = local.found();
            let (agent, actions) = Agent::new(host.clone(), config, found, now, 0);
            let keys = prefix.lock(&local.name, host);
            let told_token = found.last_token;
            agents.all.push(One {
                local,
                keys,
                agent,
                wakes_at: None,
                told_token,
                calls: 0,
                leaving: Leaving::No,
            });
            agents.act(at, actions)?;
        }
        Ok(agents)
    }

    /// Returns the names of the locks, for messages.
    pub fn names(&self) -> String {
        self.all.iter().map(|one| format!("{:?}", one.local.name)).collect::<Vec<_>>().join(", ")
    }

    /// Runs until it is asked to end, or cannot go on. `leaves`: it gives up what the host has before it ends.
    pub async fn run(mut self, leaves: bool) -> Result<(), Failure> {
        let of_system = |error| Failure::of_system("cannot wait", error);
        let rings = self.tell.clone();
        let mut timer = Timer::new(move || rings.send(Told::Time).is_ok()).map_err(of_system)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(of_system)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(of_system)?;
        loop {
            timer.set(self.next()).map_err(of_system)?;
            let is_registered = tokio::select! {
                told = self.told.recv() => self.on_told(told.expect("this holds a sender"))?,
                seen = self.seen.recv() => self.on_seen(seen)?,
                _ = terminate.recv() => {
                    if !(leaves && self.begin_to_leave()?) {
                        return Ok(());
                    }
                    true
                }
                _ = interrupt.recv() => {
                    if !(leaves && self.begin_to_leave()?) {
                        return Ok(());
                    }
                    true
                }
            };
            if self.all.iter().all(|one| one.leaving == Leaving::HasLeft) {
                print::message("all its locks are away, and other hosts may have them");
                return Ok(());
            }
            if !is_registered {
                return Err(self.give_way().await);
            }
        }
    }

    /// When something is due next.
    fn next(&self) -> Option<Nanoseconds> {
        let is_home = self.all.iter().any(|one| one.local.linked.is_home());
        let tokens = is_home.then_some(self.tokens_at);
        self.all.iter().filter_map(|one| one.wakes_at).chain(tokens).min()
    }

    fn on_time(&mut self) -> Result<(), Failure> {
        let now = os::now();
        for at in 0..self.all.len() {
            if self.all[at].wakes_at.is_some_and(|due| due <= now) {
                self.all[at].wakes_at = None;
                self.tell(at, Event::Time)?;
            }
        }
        if self.tokens_at <= now {
            self.tokens_at = now + TOLD_TOKENS;
            for at in 0..self.all.len() {
                self.tell_tokens(at)?;
            }
        }
        Ok(())
    }

    /// Tells an agent which tokens were used, if some were.
    fn tell_tokens(&mut self, at: usize) -> Result<(), Failure> {
        let last_token = self.all[at].local.linked.last_token();
        if !self.all[at].local.linked.is_home() || last_token == self.all[at].told_token {
            return Ok(());
        }
        self.all[at].told_token = last_token;
        self.tell(at, Event::Used { last_token })
    }

    fn on_seen(&mut self, seen: Option<Seen>) -> Result<bool, Failure> {
        match seen {
            Some(Seen::Changed { lock, number }) => self.tell(lock, Event::Changed { watch: number })?,
            Some(Seen::Unregistered) | None => return Ok(false),
        }
        Ok(true)
    }

    /// Returns whether this is the host's agent still.
    fn on_told(&mut self, told: Told) -> Result<bool, Failure> {
        match told {
            Told::Wanted(at, wish) => {
                if self.all[at].leaving != Leaving::No {
                    return Ok(true);
                }
                // It may be home, with its block used up.
                self.tell_tokens(at)?;
                self.tell(at, Event::Wanted { wish })?;
            }
            Told::Time => self.on_time()?,
            Told::Broken(error) => return Err(Failure::of_file(&error)),
            Told::MovedAway(at, Ok(())) => {
                let linked = &self.all[at].local.linked;
                let (last_token, data) = (linked.last_token(), local::data(linked.data()));
                self.tell(at, Event::MovedAway { last_token, data })?;
                if self.all[at].leaving == Leaving::No
                    && let Some(wish) = self.all[at].local.wish_of_waiters()
                {
                    self.tell(at, Event::Wanted { wish })?;
                }
            }
            Told::MovedAway(at, Err(error)) => {
                if matches!(error, Error::Damaged { .. } | Error::Replaced { .. } | Error::Closed) {
                    return Err(Failure::of_file(&error));
                }
                print::message(&format!(
                    "{:?} could not be moved away, and will be tried again: {error}",
                    self.all[at].local.name
                ));
                self.move_away(at, REST);
            }
            Told::Answered { lock, answer, .. } if self.all[lock].leaving == Leaving::AwaitsAnswers => {
                self.silence.note(&answer, self.config.mode);
                self.all[lock].calls -= 1;
                self.leave_if_answered(lock)?;
            }
            Told::Answered { answer: Err(NoAnswer::Unregistered), .. } => return Ok(false),
            Told::Answered { lock, call, answer } => {
                self.all[lock].calls -= 1;
                self.silence.note(&answer, self.config.mode);
                let answer = match (self.all[lock].leaving, answer) {
                    (Leaving::Leaves, Ok(Reply::Listed(known))) => self.on_listed_leaving(lock, known),
                    (_, answer) => answer,
                };
                self.tell(lock, Event::Answered { call, reply: answer.map_err(|_| Failed) })?;
            }
        }
        Ok(true)
    }

    /// Returns whether that is begun; not if it was.
    fn begin_to_leave(&mut self) -> Result<bool, Failure> {
        if self.all.iter().any(|one| one.leaving != Leaving::No) {
            return Ok(false);
        }
        print::message(
            "it was asked to end: it moves all its locks away, and gives up what this host has of them",
        );
        for at in 0..self.all.len() {
            self.all[at].leaving = Leaving::AwaitsAnswers;
            self.leave_if_answered(at)?;
        }
        Ok(true)
    }

    /// Begins an agent anew that leaves, if no call of the one before it is under way.
    fn leave_if_answered(&mut self, at: usize) -> Result<(), Failure> {
        let one = &mut self.all[at];
        if one.calls > 0 {
            return Ok(());
        }
        one.leaving = Leaving::Leaves;
        let found = Found { wanted: None, ..one.local.found() };
        let config = Config { hold: 0, ..self.config };
        let host = one.keys.host().clone();
        let (agent, actions) = Agent::new(host, config, found, os::now(), leaving::FIRST_NUMBER);
        one.agent = agent;
        self.act(at, actions)
    }

    /// Returns what an agent that leaves is told of the keys, and notes if it has left.
    fn on_listed_leaving(&mut self, at: usize, known: Snapshot) -> Result<Reply, NoAnswer> {
        let one = &mut self.all[at];
        if !one.local.linked.is_home() && leaving::has_nothing(&known, one.keys.host()) {
            one.leaving = Leaving::HasLeft;
        }
        Ok(Reply::Listed(leaving::with_one_more_host(known)))
    }

    /// An agent that waits for answers of the one before it is told nothing.
    fn tell(&mut self, at: usize, event: Event) -> Result<(), Failure> {
        if matches!(self.all[at].leaving, Leaving::AwaitsAnswers | Leaving::HasLeft) {
            return Ok(());
        }
        let actions = self.all[at].agent.on(os::now(), event);
        self.act(at, actions)
    }

    fn act(&mut self, at: usize, actions: Vec<Action>) -> Result<(), Failure> {
        let mut wakes_at = None;
        for action in actions {
            let one = &self.all[at];
            match action {
                Action::Call { number, request: Request::Watch { what, from } } => {
                    let (key, is_folder) = one.keys.watched(&what);
                    // If no one receives it, the host is not registered any more, and that was told.
                    let _ = self.watch.send(Watch { lock: at, number, key, is_folder, from: revision(from) });
                }
                Action::Call { number, request } => self.call(at, number, request),
                Action::MoveAway => self.move_away(at, Duration::ZERO),
                Action::BringHome { first, last, data } => one
                    .local
                    .linked
                    .bring_home(first..=last, local::linked_data(data))
                    .map_err(|error| Failure::of_file(&error))?,
                Action::BringHomeToRead { token, data } => one
                    .local
                    .linked
                    .bring_home_to_read(token, local::linked_data(data))
                    .map_err(|error| Failure::of_file(&error))?,
                Action::Extend { last } => {
                    one.local.linked.extend(last).map_err(|error| Failure::of_file(&error))?;
                }
                Action::WakeAt(time) => wakes_at = Some(time),
                Action::Lease { until } => self.set_lease_end(at, until)?,
                Action::Lost => print::message(&sentences::lost(&one.local.name)),
                Action::Refused { mode } => print::message(&sentences::refused(&one.local.name, mode)),
                Action::Robbed => print::message(&sentences::robbed(&one.local.name)),
            }
        }
        self.all[at].wakes_at = wakes_at;
        Ok(())
    }

    fn call(&mut self, lock: usize, call: u64, request: Request) {
        let (members, keys, registration) =
            (self.members.clone(), self.all[lock].keys.clone(), self.registration.clone());
        // The agent gives up after that.
        let limit = Duration::from_nanos(self.config.answer);
        let is_told = !matches!(request, Request::Revoke { .. });
        self.all[lock].calls += usize::from(is_told);
        let tell = self.tell.clone();
        spawn(async move {
            let answer = answers::answer(members, keys, registration, request, limit).await;
            if is_told {
                let _ = tell.send(Told::Answered { lock, call, answer });
            }
        });
    }

    fn set_lease_end(&self, at: usize, until: Nanoseconds) -> Result<(), Failure> {
        let linked = self.all[at].local.linked.clone();
        let end = if until == NO_DEADLINE { 0 } else { until };
        if !linked.is_home() || linked.lease_end() != 0 {
            return linked.set_lease_end(end).map_err(|error| Failure::of_file(&error));
        }
        // It was home without a lease, by an agent before this one, and a program may be inside.
        let tell = self.tell.clone();
        spawn_blocking(move || {
            if let Err(error) = linked.set_lease_end(end) {
                let _ = tell.send(Told::Broken(error));
            }
        });
        Ok(())
    }

    /// Waits for the lock by a thread that may block, however long its holders take.
    fn move_away(&self, at: usize, rest: Duration) {
        let (linked, tell) = (self.all[at].local.linked.clone(), self.tell.clone());
        spawn(async move {
            sleep(rest).await;
            let moved = spawn_blocking(move || linked.move_away()).await;
            // A thread that panicked has said so.
            if let Ok(moved) = moved {
                let _ = tell.send(Told::MovedAway(at, moved));
            }
        });
    }

    /// The host was forgotten, or another agent follows: no program of it must be inside any more. Returns why it ends, once all locks are away.
    async fn give_way(self) -> Failure {
        let why = format!(
            "{} is not this agent's any more: the host was forgotten, or another agent began under its name; all its locks are moved away",
            self.registration.key()
        );
        print::message(&why);
        let leaving: Vec<_> = self
            .all
            .into_iter()
            .map(|one| spawn(move_away_for_good(one.local.name, one.local.linked)))
            .collect();
        for one in leaving {
            let _ = one.await;
        }
        Failure::new(
            exit::FAILED,
            "it ends, since it is not the agent of its host any more; all its locks are away",
        )
    }
}

/// Returns once the lock is away, whatever it takes.
async fn move_away_for_good(name: String, linked: Arc<LinkedLock>) {
    loop {
        let linked = linked.clone();
        let why = match spawn_blocking(move || linked.move_away()).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        };
        print::message(&format!("{name:?} could not be moved away, and will be tried again: {why}"));
        sleep(REST).await;
    }
}
