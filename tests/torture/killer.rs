//! The killer: keeps so many workers alive, has each of them killed or stopped, and counts where it found them.

use super::{
    arena::{Arena, Fault, MAX_WORKERS, monotonic_ns},
    claims::{self, Phase, ledger::Ledger},
    coordination,
    worker::{self, Post},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::atomic::Ordering::{Relaxed, SeqCst},
    time::{Duration, Instant},
};
use support::Dice;
use support::{
    either::{Kind, Lock},
    format::{Format, peek_u64, poke_u64},
    limit, watchdog,
};
use turnlock::{
    LockFile, MutexAlgorithm,
    inspect::Life,
    mutants::{self, Mutant},
    trace::Step,
};

/// Which kind of lock is tortured.
#[derive(Clone, Copy)]
pub enum Subject {
    /// One that a participant has alone.
    Exclusive(Kind),
    /// One that several have at once, or parts of it.
    Claims(claims::Kind),
    /// What participants wait for one another by.
    Coordination(coordination::Kind),
}

impl Subject {
    /// The phases in which workers die, if there are such, and what they are called in the table.
    pub fn phases(self) -> Option<(&'static str, &'static [Phase])> {
        let name = match self {
            Subject::Exclusive(_) => return None,
            Subject::Claims(claims::Kind::RwLock) => "rwlock",
            Subject::Claims(claims::Kind::Semaphore) => "semaphore",
            Subject::Claims(claims::Kind::RangeLock) => "ranges",
            Subject::Claims(claims::Kind::KeyedLock) => "keys",
            Subject::Claims(claims::Kind::GroupLock) => "groups",
            Subject::Coordination(coordination::Kind::Buffer { .. }) => "buffer",
            Subject::Coordination(coordination::Kind::Barrier) => "barrier",
            Subject::Coordination(coordination::Kind::Event) => "event",
        };
        match self {
            Subject::Claims(kind) => Some((name, kind.phases())),
            Subject::Coordination(kind) => Some((name, kind.phases())),
            Subject::Exclusive(_) => None,
        }
    }
}

/// Steps that only those come to who take a mutex.
const ON_MUTEXES_ONLY: [Step; 6] =
    [Step::Try, Step::Revoke, Step::RevokeWait, Step::Settle, Step::Bias, Step::BackOff];
/// Steps that only those come to who take part in a ring.
const ON_RINGS_ONLY: [Step; 4] = [Step::Reconfigure, Step::Rotate, Step::Pass, Step::Passed];
/// Steps that only those come to who take a lock by messages.
const BY_MESSAGES_ONLY: [Step; 6] =
    [Step::Put, Step::Take, Step::TokenMoves, Step::TokenSent, Step::TokenMade, Step::LifeEnds];
/// Of those, what only those come to who pass a token.
const WITH_A_TOKEN: [Step; 3] = [Step::TokenMoves, Step::TokenSent, Step::TokenMade];
/// Those to which they do not come.
const BY_REGISTERS_ONLY: [Step; 8] = [
    Step::Doorway,
    Step::Wait,
    Step::Wake,
    Step::Withdraw,
    Step::Enter,
    Step::Evict,
    Step::PassedOver,
    Step::Evicted,
];
/// Steps that no worker comes to.
const OF_NOBODY: [Step; 3] = [Step::Make, Step::Remove, Step::Removed];

/// Which workers take part in a ring as members; the others do on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Members {
    Nobody,
    EveryOther,
    Everybody,
}

/// For how long workers are stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stops {
    Never,
    /// For up to three milliseconds.
    Short,
    /// For 20 to 200 milliseconds; and unless a worker is inside, on its way in or reaping, until the others have gone on.
    Long,
}

#[derive(Clone, Copy)]
pub struct Round {
    pub name: &'static str,
    pub workers: usize,
    pub lock: Subject,
    pub members: Members,
    /// How long workers are stopped too.
    pub stops: Stops,
    /// What the lock has learnt of biases that did not pay is cleared all the time, so that there are many.
    pub biased: bool,
    pub mutant: Option<Mutant>,
    /// Most kills are at this step, rather than at any.
    pub mostly_at: Option<Step>,
    /// How many slots the file has; 0: as few as the workers can do with, so that newcomers have to take those of the dead.
    pub slots: u32,
}

pub struct Outcome {
    pub name: &'static str,
    pub lock: Subject,
    pub seconds: f64,
    /// Where a worker was when it died, by [`Step`] number; 0 = outside.
    pub deaths: BTreeMap<u32, u64>,
    /// The same by [`Phase`], where the kind of lock has such.
    pub deaths_in_phases: BTreeMap<u32, u64>,
    pub entries: u64,
    pub stops: u64,
    pub told: u64,
    /// How many times a worker was passed over.
    pub evicted: u64,
    /// The longest time that no worker came in while none was killed, in nanoseconds; 0: there was no such time.
    pub longest_free: u64,
    pub latencies: Vec<u64>,
    pub faults: Vec<(Fault, u64)>,
    pub last_error: i32,
}

impl Outcome {
    pub fn kills(&self) -> u64 {
        self.deaths.values().sum()
    }

    pub fn count(&self, fault: Fault) -> u64 {
        self.faults.iter().find(|(other, _)| *other == fault).map_or(0, |(_, count)| *count)
    }
}

/// What is to happen to a worker.
struct Plan {
    pid: i32,
    /// When it is killed, unless it killed itself at a step before.
    kill_at: u64,
    stop_at: Option<u64>,
    continue_at: Option<u64>,
    /// It stands, for long.
    stands: Option<LongStop>,
}

struct LongStop {
    since: u64,
    until: u64,
    /// Since when a reaper has been at work, as far as that was looked at.
    reaping_since: Option<u64>,
    /// Then the others have gone on.
    progress: u64,
}

struct Killer<'a> {
    arena: &'static Arena,
    file: &'a LockFile,
    path: PathBuf,
    ledger: &'static Ledger,
    lock: &'a Open,
    round: &'a Round,
    /// Those at which a worker of this round can die.
    steps: Vec<Step>,
    dice: Dice,
    seed: u64,
    forked: u64,
    stops: u64,
    longest_free: Duration,
}

/// In a file with slots to spare, and by messages: after so many kills none is killed for a while. A participant that waits for
/// what a dead one will never say shows then, where else it would be killed soon.
const BETWEEN_CALMS: u64 = 100;
/// For so many seconds at most a lock stands free then, but by messages. It is some milliseconds where processes get the
/// processor.
const FREE_FOR_AT_MOST: u64 = 3;

/// The lock of a round, open.
enum Open {
    Exclusive { on_demand: Lock, member: Lock },
    Claims(claims::Lock),
    Coordination(coordination::Scene),
}

/// Room in the file for so many workers: each may have a second slot, and leave a dead one behind.
pub fn participants(workers: usize) -> u32 {
    2 * workers as u32 + 2
}

/// Likewise, of any kind.
fn participants_for(workers: usize, lock: Subject) -> u32 {
    match lock {
        Subject::Exclusive(_)
        | Subject::Claims(claims::Kind::RwLock | claims::Kind::GroupLock)
        | Subject::Coordination(_) => participants(workers),
        // Two parts, or permits taken twice, and a participant of its own.
        Subject::Claims(claims::Kind::Semaphore | claims::Kind::RangeLock) => 3 * workers as u32 + 2,
        // All keys at once.
        Subject::Claims(claims::Kind::KeyedLock) => 8 * workers as u32 + 2,
    }
}

/// Kills `kills` workers in one round.
pub fn torture(round: &Round, kills: u64, seed: u64) -> Outcome {
    assert!(round.workers <= MAX_WORKERS);
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    // We take part too. Else the file would be our process's alone until a second one has waited for the kernel, and these do
    // not live that long.
    let file = LockFile::options()
        .full_fences(true)
        .participants(match round.slots {
            0 => participants_for(round.workers, round.lock),
            slots => slots,
        })
        .locks(match round.lock {
            Subject::Coordination(kind) => kind.locks(),
            _ => 1,
        })
        .mailboxes(match round.lock {
            Subject::Exclusive(Kind::Messages(_)) => participants_for(round.workers, round.lock),
            _ => 0,
        })
        .open(folder.path().join("torture.lock"))
        .unwrap();
    let lock = match round.lock {
        Subject::Exclusive(kind) => Open::Exclusive {
            on_demand: kind.open(&file, "torture").unwrap(),
            member: kind.open_as_member(&file, "torture").unwrap(),
        },
        Subject::Claims(kind) => Open::Claims(kind.open(&file, "torture")),
        Subject::Coordination(kind) => Open::Coordination(kind.open(&file, round.workers)),
    };
    // No worker of this round comes to these steps: one that is to die there would only live longer than the rest.
    let of_others = match round.lock {
        Subject::Exclusive(Kind::Ring(_)) => [ON_MUTEXES_ONLY, BY_MESSAGES_ONLY].concat(),
        Subject::Exclusive(Kind::Messages(algorithm)) => {
            let mut others =
                [ON_MUTEXES_ONLY.as_slice(), &ON_RINGS_ONLY, &BY_REGISTERS_ONLY, &[Step::Unbias]].concat();
            if !matches!(algorithm, MutexAlgorithm::RicartAgrawala | MutexAlgorithm::TokenRing) {
                others.extend(WITH_A_TOKEN);
            }
            others
        }
        _ => [ON_RINGS_ONLY.as_slice(), &BY_MESSAGES_ONLY].concat(),
    };
    let mut killer = Killer {
        arena: Arena::new(),
        file: &file,
        path: file.path(),
        ledger: Ledger::new(),
        lock: &lock,
        round,
        steps: Step::ALL
            .into_iter()
            .filter(|step| ![of_others.as_slice(), &OF_NOBODY].concat().contains(step))
            .collect(),
        dice: Dice::of_stream(seed, round.workers as u64),
        seed,
        forked: 0,
        stops: 0,
        longest_free: Duration::ZERO,
    };
    let began = Instant::now();
    let (deaths, deaths_in_phases) = killer.run(kills);
    let arena = killer.arena;
    Outcome {
        name: round.name,
        lock: round.lock,
        seconds: began.elapsed().as_secs_f64(),
        deaths,
        deaths_in_phases,
        entries: arena.progress.load(Relaxed),
        stops: killer.stops,
        told: arena.told.load(Relaxed),
        evicted: arena.evicted.load(Relaxed),
        longest_free: killer.longest_free.as_nanos() as u64,
        latencies: arena.latencies().collect(),
        faults: super::arena::FAULTS
            .map(|fault| (fault, arena.faults[fault as usize].load(Relaxed)))
            .to_vec(),
        last_error: arena.last_error.load(Relaxed) as i32,
    }
}

impl Killer<'_> {
    /// How many died at each step, and in each phase.
    fn run(&mut self, kills: u64) -> (BTreeMap<u32, u64>, BTreeMap<u32, u64>) {
        let (mut deaths, mut in_phases) = (BTreeMap::new(), BTreeMap::new());
        let mut plans: Vec<Plan> = (0..self.round.workers).map(|worker| self.start(worker)).collect();
        let mut killed = 0;
        let mut last = (0, Instant::now());
        let mut next_calm = BETWEEN_CALMS;
        let supervisor = self.start_supervisor();
        // A mutant has shown itself at the first fault; a real bug should be seen in full.
        while killed < kills && (self.round.mutant.is_none() || self.arena.faults() == 0) {
            for (worker, plan) in plans.iter_mut().enumerate() {
                self.act(worker, plan);
            }
            self.continue_those_that_stood(&mut plans);
            if self.round.biased {
                self.forget_what_was_learnt();
            }
            let (mut died, mut goes_on) = (false, true);
            while let Some(worker) = any_dead(&plans) {
                let note = &self.arena.workers[worker];
                *deaths.entry(note.step.load(Relaxed)).or_default() += 1;
                *in_phases.entry(note.phase.load(Relaxed)).or_default() += 1;
                self.ledger.buries(worker);
                self.arena.deaths.fetch_add(1, Relaxed);
                killed += 1;
                died = true;
                watchdog::sign_of_life();
                goes_on &= !self.stays_away(worker) || self.has_calm(&mut plans, Some(worker));
                plans[worker] = self.start(worker);
            }
            let is_calmed = self.round.slots > 0 || self.is_by_messages();
            if goes_on && is_calmed && killed >= next_calm {
                next_calm = killed + BETWEEN_CALMS;
                goes_on = self.has_calm(&mut plans, None);
            }
            if !goes_on {
                break;
            }
            let progress = self.arena.progress.load(Relaxed);
            if progress != last.0 {
                last = (progress, Instant::now());
            } else if last.1.elapsed() > self.no_progress() {
                self.arena.fault(Fault::Hang);
                println!(
                    "no worker came in for {:?}: {:#?}",
                    self.no_progress(),
                    turnlock::inspect::snapshot(self.file.path())
                );
                break;
            }
            if !died {
                std::thread::sleep(Duration::from_micros(30));
            }
        }
        for (worker, plan) in plans.iter().enumerate() {
            self.arena.note_kill(worker, plan.pid as u32);
            // SAFETY: our own child.
            unsafe { libc::kill(plan.pid, libc::SIGKILL) };
            // So that none outlives the round.
            limit::status_of(plan.pid, 0);
            self.ledger.buries(worker);
        }
        if let Some(supervisor) = supervisor {
            // SAFETY: our own child.
            unsafe { libc::kill(supervisor, libc::SIGKILL) };
            limit::status_of(supervisor, 0);
        }
        match self.lock {
            Open::Exclusive { .. } => {}
            Open::Claims(lock) => claims::survives(&self.post(MAX_WORKERS - 1), lock),
            Open::Coordination(scene) => coordination::survives(&self.post(MAX_WORKERS - 1), scene),
        }
        (deaths, in_phases)
    }

    /// Starts the process that looks after what dead workers leave, where there is one.
    fn start_supervisor(&self) -> Option<i32> {
        let Open::Coordination(scene) = self.lock else { return None };
        let buffer = scene.buffer()?;
        let pid = self.fork();
        if pid == 0 {
            coordination::supervise(&self.post(MAX_WORKERS - 1), buffer);
        }
        Some(pid)
    }

    /// Returns whether the others are to go on without this dead worker before there is a new one in its place, which would look
    /// at the data and so make up for a notification that died.
    fn stays_away(&mut self, worker: usize) -> bool {
        let Open::Coordination(scene) = self.lock else { return false };
        let phase = self.arena.workers[worker].phase.load(Relaxed);
        let waited = [Phase::WaitNotFull as u32, Phase::WaitNotEmpty as u32].contains(&phase);
        scene.buffer().is_some() && (waited || self.dice.in_hundred(20))
    }

    /// Lets all workers live, but for the `missing` one, until each has been inside once, by the number of entries. Any storm must
    /// be over soon: returns whether each entry came within the limit after the one before.
    fn has_calm(&mut self, plans: &mut [Plan], missing: Option<usize>) -> bool {
        let arena = self.arena;
        let words = |worker: usize| {
            let note = &arena.workers[worker];
            [&note.armed, &note.armed_phase, &note.stops_at]
        };
        let disarm = |worker: usize| words(worker).map(|armed| armed.swap(0, Relaxed));
        let mut orders: Vec<Option<[u32; 3]>> = (0..plans.len()).map(|worker| Some(disarm(worker))).collect();
        let began = self.arena.progress.load(Relaxed);
        let mut last = (began, Instant::now());
        while last.0 < began + plans.len() as u64 {
            // Of those that had their orders before.
            while let Some(worker) = any_dead(plans) {
                self.ledger.buries(worker);
                self.arena.deaths.fetch_add(1, Relaxed);
                plans[worker] = self.start(worker);
                disarm(worker);
                orders[worker] = None;
            }
            // No worker stays stopped either: one that is, or stops itself now, goes on.
            for (_, plan) in plans.iter().enumerate().filter(|(worker, _)| Some(*worker) != missing) {
                // SAFETY: a signal to a child of our own that was not waited for.
                unsafe { libc::kill(plan.pid, libc::SIGCONT) };
            }
            std::thread::sleep(Duration::from_micros(100));
            let (progress, free) = (self.arena.progress.load(Relaxed), last.1.elapsed());
            self.longest_free = self.longest_free.max(free);
            if progress != last.0 {
                last = (progress, Instant::now());
            } else if free > limit::seconds(if self.is_by_messages() { 10 } else { FREE_FOR_AT_MOST }) {
                self.arena.fault(Fault::Hang);
                println!("though no worker is killed: {:#?}", turnlock::inspect::snapshot(self.file.path()));
                return false;
            }
        }
        let now = monotonic_ns();
        for (worker, plan) in plans.iter_mut().enumerate() {
            // Where one is missing, which is often so, the others have their orders again.
            let again = orders[worker].filter(|_| missing.is_some_and(|missing| missing != worker));
            if let Some(orders) = again {
                words(worker).into_iter().zip(orders).for_each(|(word, order)| word.store(order, Relaxed));
            }
            let is_armed = again.is_some_and(|[step, phase, _]| (step | phase) != 0);
            plan.kill_at = now + self.time_to_live(is_armed);
        }
        true
    }

    fn is_by_messages(&self) -> bool {
        matches!(self.round.lock, Subject::Exclusive(Kind::Messages(_)))
    }

    fn post(&self, me: usize) -> claims::Post<'_> {
        claims::Post { arena: self.arena, ledger: self.ledger, me, file: self.file }
    }

    /// The longest time without an entry that is no fault. It is less with long stops, where stopped workers go on only once
    /// others have come in: such a time is never long there.
    fn no_progress(&self) -> Duration {
        limit::seconds(if self.round.stops == Stops::Long { 5 } else { 10 })
    }

    /// Returns a phase for a worker to die in, if it is to.
    fn phase(&mut self, worker: usize) -> Option<Phase> {
        let phases = match self.round.lock {
            Subject::Coordination(kind) => kind.phases_of(worker),
            lock => lock.phases()?.1,
        };
        let phase = phases[self.dice.roll(phases.len() as u64) as usize];
        (self.round.mostly_at.is_none() && self.dice.in_hundred(45)).then_some(phase)
    }

    /// Forks a worker with a plan: half die at a named step, half at a random moment. Where there are phases, almost half of
    /// all die in one that was drawn for them instead.
    fn start(&mut self, worker: usize) -> Plan {
        let note = &self.arena.workers[worker];
        let any = self.steps[self.dice.roll(self.steps.len() as u64) as usize];
        let phase = self.phase(worker);
        let at_step = phase.is_none() && self.dice.in_hundred(50);
        let armed = if at_step { self.round.mostly_at.unwrap_or(any) as u32 } else { 0 };
        note.phase.store(0, Relaxed);
        note.armed_phase.store(phase.map_or(0, |phase| phase as u32), Relaxed);
        note.phase_skip.store(self.dice.roll(6) as u32, Relaxed);
        // Its predecessor's entries are struck out.
        note.condemned.store(0, SeqCst);
        // Each message has both: most of them come when all have joined.
        let is_frequent = [Step::Put as u32, Step::Take as u32].contains(&armed);
        note.skip.store(self.dice.roll(if is_frequent { 600 } else { 12 }) as u32, Relaxed);
        note.step.store(0, Relaxed);
        note.armed.store(armed, Relaxed);
        let long_stop = self.round.stops == Stops::Long && self.dice.in_hundred(30);
        let stops_itself = long_stop && self.dice.in_hundred(50);
        let stops_at = if stops_itself {
            self.steps[self.dice.roll(self.steps.len() as u64) as usize] as u32
        } else {
            0
        };
        note.stops_at.store(stops_at, Relaxed);
        note.stopped.store(0, Relaxed);
        self.forked += 1;
        let dice = Dice::of_stream(self.seed, 1_000 + self.forked);
        let pid = self.fork();
        if pid == 0 {
            let (on_demand, member) = match self.lock {
                Open::Exclusive { on_demand, member } => (on_demand, member),
                Open::Claims(lock) => claims::work(&self.post(worker), lock, dice),
                Open::Coordination(scene) => coordination::work(&self.post(worker), scene, dice),
            };
            let stands = match self.round.members {
                Members::Nobody => false,
                Members::EveryOther => worker.is_multiple_of(2),
                Members::Everybody => true,
            };
            let lock = if stands { member } else { on_demand };
            worker::work(self.arena, worker, &Post { file: self.file, lock, stands }, dice);
        }
        let now = monotonic_ns();
        let short_stop = self.round.stops == Stops::Short && self.dice.in_hundred(20);
        let stops = short_stop || long_stop && !stops_itself;
        let stop_at = stops.then(|| now + self.dice.roll(1_500_000));
        Plan {
            pid,
            kill_at: now + self.time_to_live(armed != 0 || phase.is_some()),
            stop_at,
            continue_at: stop_at.filter(|_| short_stop).map(|at| at + self.dice.roll(3_000_000)),
            stands: None,
        }
    }

    /// Forks. The child, in which this gives 0, runs what never returns.
    fn fork(&self) -> i32 {
        let killer = std::process::id();
        // SAFETY: the child allocates, which glibc allows after a fork.
        let pid = unsafe { libc::fork() };
        assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
        if pid == 0 {
            // SAFETY: should the killer die, so does the child; at once, if it is dead already.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if std::os::unix::process::parent_id() != killer {
                    libc::_exit(101);
                }
            }
            mutants::switch_on(self.round.mutant);
        }
        pid
    }

    /// In nanoseconds; longer for one that is to kill itself at some step. Long enough that the others have gone on
    /// after a stop before they die.
    fn time_to_live(&mut self, armed: bool) -> u64 {
        let short = if armed { 4_000_000 } else { 100_000 + self.dice.roll(1_500_000) };
        // To join and to enter takes an answer of each of the others.
        let longer = match self.round.lock {
            _ if self.round.stops == Stops::Long || self.is_by_messages() => 20,
            // Most of the time it waits for others.
            Subject::Coordination(_) if armed => 4,
            _ => 1,
        };
        longer * short
    }

    /// The lock's next plain entry may be followed by a retention. Only how fast it is depends on these two words.
    fn forget_what_was_learnt(&self) {
        let format = Format { participants: self.file.participants().into(), locks: 1 };
        poke_u64(&self.path, format.back_off(1), 0);
        poke_u64(&self.path, format.unbiased(1), 1);
    }

    fn act(&mut self, worker: usize, plan: &mut Plan) {
        let now = monotonic_ns();
        let pid = plan.pid;
        // SAFETY: signals to a child of our own that was not waited for.
        let send = |signal| unsafe { libc::kill(pid, signal) };
        if plan.stop_at.take_if(|at| *at <= now).is_some() {
            send(libc::SIGSTOP);
            self.stops += 1;
            if self.round.stops == Stops::Long {
                self.stands(plan, now);
            }
        }
        if self.arena.workers[worker].stopped.swap(0, Relaxed) != 0 {
            self.stops += 1;
            self.stands(plan, now);
        }
        if plan.continue_at.take_if(|at| *at <= now).is_some() {
            send(libc::SIGCONT);
        }
        if plan.kill_at <= now {
            plan.kill_at = u64::MAX;
            self.arena.note_kill(worker, plan.pid as u32);
            send(libc::SIGKILL);
        }
    }
}

/// Long stops.
impl Killer<'_> {
    /// It is stopped, and will not be killed before it goes on.
    fn stands(&mut self, plan: &mut Plan, now: u64) {
        const SHORTEST: u64 = 20_000_000;
        const LONGEST: u64 = 200_000_000;
        // So many that some worker has come in twice, for all that were before it in the queue.
        let entries = 2 * self.round.workers as u64;
        plan.kill_at = u64::MAX;
        plan.stands = Some(LongStop {
            since: now,
            reaping_since: None,
            until: now + SHORTEST + self.dice.roll(LONGEST - SHORTEST),
            progress: self.arena.progress.load(Relaxed) + entries,
        });
    }

    /// Continues the stopped workers whose time is over, if the others have gone on or need not; and the one stopped last, if
    /// no worker is left that could go on.
    fn continue_those_that_stood(&mut self, plans: &mut [Plan]) {
        let (now, progress) = (monotonic_ns(), self.arena.progress.load(Relaxed));
        let since = |plan: &Plan| plan.stands.as_ref().map(|stop| stop.since);
        let latest =
            plans.iter().map(since).collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max());
        for (worker, plan) in plans.iter_mut().enumerate() {
            let pid = plan.pid;
            let goes_on = |stop: &mut LongStop| {
                let is_over =
                    stop.until <= now && (progress >= stop.progress || self.is_waited_for(pid, stop));
                is_over || latest == Some(stop.since)
            };
            if plan.stands.take_if(goes_on).is_some() {
                let note = &self.arena.workers[worker];
                let armed = (note.armed.load(Relaxed) | note.armed_phase.load(Relaxed)) != 0;
                plan.kill_at = now + self.time_to_live(armed);
                // SAFETY: a signal to a child of our own that was not waited for.
                unsafe { libc::kill(pid, libc::SIGCONT) };
            }
        }
    }

    /// Returns whether the others wait for this worker rightly: it is inside or on its way in, or it has a dead one's byte
    /// lock. Those that run have that for a moment only.
    fn is_waited_for(&self, pid: i32, stop: &mut LongStop) -> bool {
        const A_MOMENT: u64 = 50_000_000;
        let format = Format { participants: self.file.participants().into(), locks: 1 };
        let exists = |pid: u32| Path::new("/proc").join(pid.to_string()).exists();
        let participants = turnlock::inspect::snapshot(&self.path).unwrap().participants;
        let held = |slot: usize| peek_u64(&self.path, format.cell(1, slot as u64));
        if participants.iter().any(|one| one.pid == pid as u32 && held(one.slot) != 0) {
            return true;
        }
        let is_reaping = participants.iter().any(|one| one.life != Life::Dead && !exists(one.pid));
        let now = monotonic_ns();
        stop.reaping_since = is_reaping.then(|| stop.reaping_since.unwrap_or(now));
        stop.reaping_since.is_some_and(|since| now - since > A_MOMENT)
    }
}

/// A worker that has died, if any has.
fn any_dead(plans: &[Plan]) -> Option<usize> {
    plans.iter().position(|plan| {
        // SAFETY: a child of our own; not waiting.
        unsafe { libc::waitpid(plan.pid, std::ptr::null_mut(), libc::WNOHANG) == plan.pid }
    })
}
