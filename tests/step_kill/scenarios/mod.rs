//! What victims do, and who else is there.
//!
//! Each scenario is one function, played from its beginning for every point of the victim's way: it sets the scene,
//! has the victim go, kills it, and has the survivors go on; or stops it, has them go on, and then it. What the victim
//! writes into the arena on its way tells them what they may expect.

mod bias;
mod circle;
mod close;
mod coordination;
mod enter;
mod groups;
mod leave;
mod left;
mod link;
mod messages;
mod names;
mod open;
mod parts;
mod permits;
mod ring;
mod rwlock;
mod wait;

use super::{
    arena::{Arena, Debt},
    crew::Scenario,
    oracle::{Stage, the_living_go_on, the_victim_stands_still},
    order::Fate,
    stopped::the_others_go_on,
    threads::is_asleep,
    trial::{Bystander, Trial, Victim},
};
use std::sync::atomic::Ordering::Relaxed;
use support::either::Held;
use turnlock::{RingAlgorithm, inspect};

pub use messages::{BY_MESSAGES, BY_MESSAGES_IN_LONG_RUNS};

pub const ALL: &[Scenario] = &[
    alone("open: create the file", open::creates),
    alone("open: a file that is there", open::opens),
    alone("open: clear a file of another boot", open::clears_after_a_boot),
    alone("attach: a participant", enter::attaches),
    ATTACH_IN_A_DEAD_HOLDERS_SLOT,
    alone("name: a new lock", names::a_new_lock),
    alone("name: a lock in the place of a removed one", names::in_a_removed_ones_place),
    alone("remove: a lock", names::removes),
    stopping("lock: a thread's first", enter::locks_for_the_first_time),
    LOCK_FREE,
    stopping("lock: a dead holder's place", enter::takes_a_dead_ones_place),
    stopping("lock: one died in the doorway", enter::reaps_one_in_the_doorway),
    stopping("lock: queued behind a living one", wait::queues),
    stopping("lock: lets others pass first", wait::lets_others_pass),
    stopping("bias: from now on", bias::begins),
    BIASED_ACQUISITION,
    stopping("bias: an acquisition that is recorded", bias::enters_recorded),
    stopping("bias: revoked while inside, and again outside", bias::is_revoked),
    stopping("bias: in a dead owner's slot", bias::comes_in_the_owners_slot),
    stopping("revoke: owner outside", bias::revokes),
    stopping("revoke: owner died inside", bias::revokes_a_dead_owners),
    stopping("revoke: owner inside", bias::revokes_and_waits),
    stopping("revoke: in vain", bias::revokes_in_vain),
    stopping("try: a free lock", enter::tries),
    stopping("try: a dead holder's place", enter::tries_a_dead_ones_place),
    stopping("try: a living one there", wait::tries_in_vain),
    stopping("timed lock: no time", wait::times_out_at_once),
    stopping("timed lock: after a sleep", wait::times_out),
    stopping("timed lock: one asleep behind", wait::times_out_before_another),
    stopping("cancel: the waiter", wait::is_cancelled),
    Scenario { threads: true, ..alone("cancel: the caller", wait::cancels) },
    alone("circle: searched for, told, released", circle::is_told),
    stopping("unlock: one asleep behind", leave::wakes),
    alone("unlock: repaired", leave::repairs),
    alone("unlock: not repaired", leave::does_not_repair),
    alone("reset: a closed lock", leave::resets),
    alone("detach: a participant", close::closes_a_participant),
    alone("detach: a participant that holds", close::closes_a_participant_that_holds),
    alone("detach: the last handle", close::closes_the_file),
    alone("detach: the end of a thread", close::ends_a_thread),
    LEFT_TO_AN_OPEN_FILE,
    alone("leave: unlock what was left", left::unlocks),
    RING_FREE,
    stopping("ring: a turn again", |trial| ring::takes_a_turn_again(trial, RAYNALS)),
    stopping("ring: behind a living holder", |trial| ring::waits(trial, RAYNALS)),
    alone("ring: a dead holder's place", |trial| ring::takes_a_dead_ones_place(trial, RAYNALS)),
    stopping("ring: a try, one that stood died outside", |trial| ring::takes_over(trial, RAYNALS)),
    alone("ring: a turn in a dead one's place on it", |trial| {
        ring::comes_in_a_dead_ones_slot(trial, RAYNALS)
    }),
    LINKS_RENEWED,
    alone("ring: unlock, one comes and one left, in a K-state ring", |trial| {
        ring::renews_the_links(trial, K_STATE)
    }),
    LINKS_RENEWED_IN_SUM_RING,
    alone("ring: a member, two turns", |trial| ring::stands(trial, RAYNALS)),
    alone("ring: leaves to another that stands", |trial| ring::leaves(trial, RAYNALS)),
    stopping("rwlock: read, by the queue", rwlock::reads_by_the_queue),
    READ_BIASED,
    stopping("rwlock: unlock of a biased reader, a writer asleep behind", rwlock::leaves_as_a_biased_reader),
    stopping("rwlock: read and write by a reservation", rwlock::comes_in_by_its_place),
    stopping("rwlock: by a reservation, at home", rwlock::comes_in_by_its_place_at_home),
    stopping("rwlock: read, a reservation taken away", rwlock::takes_a_place_away),
    alone("rwlock: upgradable, a reservation given up", rwlock::gives_its_place_up),
    alone("rwlock: read, a writer died inside", rwlock::reads_in_a_dead_writers_place),
    stopping("rwlock: write, the readers' bias revoked", rwlock::revokes_the_readers_bias),
    stopping("rwlock: write, a biased reader inside leaves", rwlock::waits_for_a_reader),
    stopping("rwlock: write, in vain beside a biased reader", rwlock::revokes_in_vain),
    alone("rwlock: write, a biased reader died inside", rwlock::writes_in_a_dead_readers_place),
    alone("rwlock: write, a writer died inside", rwlock::writes_in_a_dead_writers_place),
    stopping("rwlock: upgradable", rwlock::takes_it_upgradable),
    stopping("rwlock: upgrade", rwlock::upgrades_at_once),
    stopping("rwlock: upgrade, a biased reader inside leaves", rwlock::upgrades_after_a_reader),
    alone("rwlock: upgrade, given up beside a reader", rwlock::upgrades_in_vain),
    stopping("rwlock: downgrade, a reader asleep behind", rwlock::downgrades),
    alone("rwlock: downgrade to upgradable, and to shared", rwlock::downgrades_twice),
    PERMITS,
    stopping("semaphore: a permit by a reservation", permits::acquires_by_its_place),
    alone("semaphore: permits of a dead one", permits::acquires_what_a_dead_one_had),
    stopping("semaphore: release one by one, one asleep behind", permits::releases_one_by_one),
    alone("semaphore: resize", permits::resizes),
    stopping("ranges: write", parts::writes_a_range),
    alone("ranges: read", parts::reads_a_range),
    alone("ranges: a second one, by another slot", parts::takes_a_second_range),
    RANGE_OF_A_DEAD_ONE,
    alone("ranges: several at once", parts::takes_several_ranges),
    alone("keys: write", parts::takes_a_key),
    stopping("groups: enter", groups::enters),
    alone("groups: join one that is inside", groups::joins),
    GROUP_OF_A_DEAD_ONE,
    stopping("condition: wait, notified when about to sleep", coordination::waits_at_a_condition),
    stopping("condition: wait, given up", coordination::gives_up_at_a_condition),
    stopping("condition: notify one", coordination::notifies_one),
    stopping("condition: notify all", coordination::notifies_all),
    NOTIFIED_WHERE_ONE_DIED,
    alone("link: move away, and bring home", link::moves),
    alone("link: move a rwlock away, biased to its readers", link::moves_a_rwlock),
    alone("link: move a rwlock away, home to read, and to all", link::moves_a_rwlock_to_read),
    alone("link: would write, home to read", link::would_write),
    alone("link: bring home, a program waits", link::comes_home),
    alone("link: the share of a semaphore", link::shares),
    stopping("barrier: the last one", coordination::is_the_last_at_a_barrier),
    stopping("barrier: one that waits", coordination::waits_at_a_barrier),
    stopping("barrier: reset, one waits", coordination::resets_a_barrier),
    stopping("event: set", coordination::sets_an_event),
    stopping("event: wait, set when about to sleep", coordination::awaits_an_event),
    stopping("once: done", coordination::does_it_once),
];

/// Those that take long, for example since each look of a wait is one at all that stand in the queue, and those that do nearly what
/// another one does: in long runs only.
pub const IN_LONG_RUNS: &[Scenario] = &[
    alone("open: make one of an empty file, by its descriptor", open::makes),
    stopping("ring: a try, one that stood died outside, in a K-state ring", |trial| {
        ring::takes_over(trial, K_STATE)
    }),
    alone("ring: a try, one that stood died outside, in a sum ring", |trial| {
        ring::takes_over(trial, REVERSE_SUM)
    }),
    stopping("condition: pass a dead one's notification on", coordination::passes_a_notification_on),
    alone("keys: reset, two died in one slot", parts::resets_where_two_died_in_one_slot),
    alone("rwlock: write, one died upgrading", rwlock::writes_in_a_dead_upgraders_place),
    alone("attach: in an idle dead one's slot", enter::attaches_in_an_idle_dead_ones_slot),
    stopping("revoke: a try, owner inside", bias::tries_in_vain),
    stopping("ring: no time", |trial| ring::gives_up(trial, RAYNALS)),
    alone("semaphore: more permits, by another slot", permits::acquires_more),
    alone("ranges: two died in one slot", parts::reaps_where_one_died_before),
    alone("keys: a dead one's", parts::takes_a_dead_ones_key),
    stopping("semaphore: behind a living holder", permits::waits_for_permits),
    stopping("ranges: behind a living holder", parts::waits_for_a_range),
    stopping("groups: behind another group", groups::waits_for_another_group),
];

pub const NOTIFIED_WHERE_ONE_DIED: Scenario =
    stopping("condition: notify one, the first one died", coordination::notifies_where_one_died);

pub const LEFT_TO_AN_OPEN_FILE: Scenario = alone("leave: to an open file of others", left::leaves);

pub const READ_BIASED: Scenario = stopping("rwlock: read, biased", rwlock::reads_biased);

pub const PERMITS: Scenario = stopping("semaphore: two permits", permits::acquires);

pub const RANGE_OF_A_DEAD_ONE: Scenario =
    alone("ranges: write, a dead holder's", parts::writes_in_a_dead_ones_place);

pub const GROUP_OF_A_DEAD_ONE: Scenario =
    alone("groups: enter, a member of another group died", groups::enters_where_a_member_died);

/// What victims do on a ring, with one algorithm.
macro_rules! on_ring {
    ($name:literal, $play:ident, $algorithm:ident) => {
        stopping(concat!("ring: ", $name), |trial| ring::$play(trial, $algorithm))
    };
}

/// Those whose victims are stopped too, but in long runs only.
pub const STOPPED_IN_LONG_RUNS: &[Scenario] = &[
    on_ring!("a dead holder's place", takes_a_dead_ones_place, RAYNALS),
    on_ring!("a turn in a dead one's place on it", comes_in_a_dead_ones_slot, RAYNALS),
    on_ring!("a turn, no other member, in a K-state ring", takes_a_turn, K_STATE),
    on_ring!("a turn again, in a K-state ring", takes_a_turn_again, K_STATE),
    on_ring!("behind a living holder, in a K-state ring", waits, K_STATE),
    on_ring!("a dead holder's place, in a K-state ring", takes_a_dead_ones_place, K_STATE),
    on_ring!("no time, in a K-state ring", gives_up, K_STATE),
    on_ring!("unlock, one comes and one left, in a K-state ring", renews_the_links, K_STATE),
    on_ring!("a turn, no other member, in a sum ring", takes_a_turn, REVERSE_SUM),
    on_ring!("a turn again, in a sum ring", takes_a_turn_again, REVERSE_SUM),
    on_ring!("behind a living holder, in a sum ring", waits, REVERSE_SUM),
    on_ring!("a try, one that stood died outside, in a sum ring", takes_over, REVERSE_SUM),
    on_ring!("no time, in a sum ring", gives_up, REVERSE_SUM),
];

const RAYNALS: RingAlgorithm = RingAlgorithm::Raynal;
const K_STATE: RingAlgorithm = RingAlgorithm::KState;
const REVERSE_SUM: RingAlgorithm = RingAlgorithm::Sum { step: ring::PARTICIPANTS - 1 };

pub const LOCK_FREE: Scenario = stopping("lock: free", enter::locks);

pub const ATTACH_IN_A_DEAD_HOLDERS_SLOT: Scenario =
    alone("attach: in a dead holder's slot", enter::attaches_in_a_dead_holders_slot);

pub const BIASED_ACQUISITION: Scenario = stopping("bias: taken", bias::enters);

pub const RING_FREE: Scenario =
    stopping("ring: a turn, no other member", |trial| ring::takes_a_turn(trial, RAYNALS));

pub const LINKS_RENEWED: Scenario =
    stopping("ring: unlock, one comes and one left", |trial| ring::renews_the_links(trial, RAYNALS));

pub const LINKS_RENEWED_IN_SUM_RING: Scenario =
    stopping("ring: unlock, one comes and one left, in a sum ring", |trial| {
        ring::renews_the_links(trial, REVERSE_SUM)
    });

/// One whose victim has one thread that runs.
const fn alone(name: &'static str, play: fn(&Trial)) -> Scenario {
    Scenario { name, play, threads: false, stops: false }
}

/// Likewise, and it is stopped too: it takes a lock, on a ring on demand, waits for it or gives it back.
const fn stopping(name: &'static str, play: fn(&Trial)) -> Scenario {
    Scenario { stops: true, ..alone(name, play) }
}

/// The usual course. `others` are dropped before the survivors go on.
fn usual<T>(trial: &Trial, stage: Stage, others: T, life: impl FnOnce(&Stage)) {
    let mut victim = trial.victim(|| life(&stage));
    victim.go(|_| {});
    the_victim_stands_still(trial, &stage);
    meets_its_fate(trial, &stage, victim, vec![], || drop(others));
    the_living_go_on(trial, stage);
}

/// The victim is killed; or it is stopped, the others go on, and then it comes to its own end. Only survivors are left
/// afterwards. `release` ends what keeps the others out.
fn meets_its_fate(
    trial: &Trial,
    stage: &Stage,
    mut victim: Victim,
    mut others: Vec<Bystander>,
    release: impl FnOnce(),
) {
    match trial.fate {
        Fate::Killed => {
            victim.kill();
            release();
        }
        Fate::Stopped => {
            victim.stop();
            release();
            others = the_others_go_on(trial, stage, &mut victim, others);
            victim.go_to_its_end();
            victim.kill();
        }
    }
    others.into_iter().for_each(Bystander::join);
}

/// What a victim does that has the lock: repairs, if that is needed, its section, `unlock`.
fn has_its_turn(arena: &Arena, mut guard: Held) {
    if guard.acquired().previous_owner_died {
        arena.b.store(arena.a.load(Relaxed), Relaxed);
        arena.owes(Debt::BeingPaid);
        guard.mark_consistent().unwrap();
        arena.owes(Debt::None);
    }
    let (last_token, a, b) = (arena.token.load(Relaxed), arena.a.load(Relaxed), arena.b.load(Relaxed));
    assert!(guard.fencing_token() > last_token, "the victim's fencing token did not rise");
    assert!(a == b, "the victim found torn data ({a}, {b}), and there was no owner-dead notice");
    arena.section(guard.fencing_token());
    guard.unlock().unwrap();
    arena.is_busy(false);
}

/// A participant dies in its section, with the data torn.
fn one_dies_inside(trial: &Trial, stage: &Stage) {
    trial.dead_one(|| dies_inside(trial.arena, stage));
    trial.arena.owes(Debt::Owed);
}

fn dies_inside(arena: &Arena, stage: &Stage) {
    let guard = stage.lock.lock().unwrap();
    arena.token.fetch_max(guard.fencing_token(), Relaxed);
    arena.a.fetch_add(1, Relaxed);
    std::mem::forget(guard);
}

/// Waits until so many wait for the lock and are asleep.
fn until_asleep(trial: &Trial, how_many: usize) {
    let path = trial.lock_file();
    let asleep = || {
        let status = inspect::snapshot(&path).unwrap();
        let for_good = status.locks[0].queue.iter().filter(|waiter| support::is_queued_for_good(waiter));
        for_good.filter(|waiter| is_asleep(waiter.participant.pid)).count()
    };
    while asleep() < how_many {
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}

/// Waits until a participant has the lock.
fn until_held(trial: &Trial) {
    let path = trial.lock_file();
    while inspect::snapshot(&path).unwrap().locks[0].holders.is_empty() {
        std::thread::sleep(std::time::Duration::from_micros(50));
    }
}
