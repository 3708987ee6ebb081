//! The agents of one host: what happens to them, and what they want done.

use crate::{
    answers::{Answer, NoAnswer},
    desk::{self, Desk, Heard, REST},
    exit,
    failure::Failure,
    keys::{LockKeys, Prefix},
    leaving::{self, Leaving},
    local::{self, Local, LocalFile},
    members::Members,
    os, print,
    registration::Registration,
    sentences,
    silence::Silence,
};
use std::time::Duration;
use tokio::{
    task::{spawn, spawn_blocking},
    time::sleep,
};
use turnlock::{Error, LinkedLock};
use turnlock_link_agent::{
    Action, Agent, Config, Event, Failed, Found, Host, NO_DEADLINE, Nanoseconds, Reply, Snapshot, Wish,
};

/// How often an agent is told which tokens were used, while its lock is home: a block lasts for minutes.
const TOLD_TOKENS: Nanoseconds = 10_000_000_000;

/// What comes to the agents.
enum Told {
    /// A program wants the lock of this place.
    Wanted(usize, Wish),
    /// What programs want cannot be told any more.
    Broken(Error),
    /// The lock of this place was moved away, or was not.
    MovedAway(usize, Result<(), Error>),
    /// The answer to a call.
    Answered { lock: usize, call: u64, answer: Answer<LockKeys> },
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
    desk: Desk<Told>,
    all: Vec<One>,
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
        let desk = Desk::begin(members, registration, config)?;
        let (wanted, failed) = (desk.tell.clone(), desk.tell.clone());
        let locks = file.tell_wishes(
            move |at, wish| wanted.send(Told::Wanted(at, wish)).is_ok(),
            move |error| drop(failed.send(Told::Broken(error))),
        )?;
        let now = os::now();
        let (all, tokens_at) = (Vec::new(), now + TOLD_TOKENS);
        let mut agents = Self { desk, all, tokens_at, silence: Silence::default() };
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
        loop {
            let is_registered = match self.desk.hear(self.next()).await? {
                Heard::Told(told) => self.on_told(told)?,
                Heard::Time => self.on_time().map(|()| true)?,
                Heard::Changed(at, watch) => self.tell(at, Event::Changed { watch }).map(|()| true)?,
                Heard::Unregistered => false,
                Heard::IsAskedToEnd if leaves && self.begin_to_leave()? => true,
                Heard::IsAskedToEnd => return Ok(()),
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
                print::message(&sentences::not_moved(&self.all[at].local.name, &error));
                self.move_away(at, REST);
            }
            Told::Answered { lock, answer, .. } if self.all[lock].leaving == Leaving::AwaitsAnswers => {
                self.silence.note(&answer, self.desk.config.mode);
                self.all[lock].calls -= 1;
                self.leave_if_answered(lock)?;
            }
            Told::Answered { answer: Err(NoAnswer::Unregistered), .. } => return Ok(false),
            Told::Answered { lock, call, answer } => {
                self.all[lock].calls -= 1;
                self.silence.note(&answer, self.desk.config.mode);
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
        let config = Config { hold: 0, ..self.desk.config };
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
                Action::Call { number, request } => {
                    let answered = move |answer| Told::Answered { lock: at, call: number, answer };
                    let is_told = self.desk.ask((at, number), &one.keys, request, answered);
                    self.all[at].calls += usize::from(is_told);
                }
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

    fn set_lease_end(&self, at: usize, until: Nanoseconds) -> Result<(), Failure> {
        let linked = self.all[at].local.linked.clone();
        let end = if until == NO_DEADLINE { 0 } else { until };
        if !linked.is_home() || linked.lease_end() != 0 {
            return linked.set_lease_end(end).map_err(|error| Failure::of_file(&error));
        }
        // It was home without a lease, by an agent before this one, and a program may be inside.
        let tell = self.desk.tell.clone();
        spawn_blocking(move || {
            if let Err(error) = linked.set_lease_end(end) {
                let _ = tell.send(Told::Broken(error));
            }
        });
        Ok(())
    }

    /// Waits for the lock by a thread that may block, however long its holders take.
    fn move_away(&self, at: usize, rest: Duration) {
        let (linked, tell) = (self.all[at].local.linked.clone(), self.desk.tell.clone());
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
            self.desk.registration.key()
        );
        print::message(&why);
        let all = self.all.into_iter().map(|one| (one.local.name, one.local.linked));
        desk::for_good(all, LinkedLock::move_away, sentences::not_moved).await;
        Failure::new(
            exit::FAILED,
            "it ends, since it is not the agent of its host any more; all its locks are away",
        )
    }
}
