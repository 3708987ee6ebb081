//! The walk over words that the test writes: which edges there are, and who closed a circle.

use crate::layout::{Geometry, Kind, LivenessLockKind, View};
use crate::slots;
use std::{alloc, ptr::NonNull};
use turnlock_core::algorithm::claim::{Claim, Mode};
use turnlock_core::deadlock::{Cycle, WaitWord, all, find};
use turnlock_core::sync::Ordering::Relaxed;

/// A file in memory, which nothing else uses.
struct Scene {
    memory: NonNull<u8>,
    layout: alloc::Layout,
    geometry: Geometry,
}

const PARTICIPANTS: u32 = 8;

impl Scene {
    /// With a lock of each of these kinds, in the regions from 1 on, and threads in the slots from 0 on.
    fn new(kinds: &[Kind], threads: usize) -> Self {
        let geometry = Geometry::new(PARTICIPANTS, 4).unwrap();
        let layout = alloc::Layout::from_size_align(geometry.file_size() as usize, 4096).unwrap();
        // SAFETY: not of size 0.
        let memory = NonNull::new(unsafe { alloc::alloc_zeroed(layout) }).unwrap();
        let scene = Self { memory, layout, geometry };
        let view = scene.view();
        view.header().slots_bound.store(PARTICIPANTS, Relaxed);
        view.header().locks_bound.store(kinds.len() as u32, Relaxed);
        for (entry, kind) in view.directory().iter().zip(kinds) {
            entry.generation.store(1, Relaxed);
            entry.kind.store(*kind as u32, Relaxed);
            entry.algorithm.store(1, Relaxed);
            entry.name.set("lock");
        }
        (0..threads).for_each(|slot| scene.attach(slot, true));
        scene
    }

    fn view(&self) -> View<'_> {
        // SAFETY: allocated so large and aligned, zeros, and freed when the scene is dropped.
        unsafe { View::new(self.memory, &self.geometry) }
    }

    /// Attaches a participant to the slot; all are of this process, each of a thread of its own.
    fn attach(&self, slot: usize, of_thread: bool) {
        slots::occupy(self.view(), slot, LivenessLockKind::Mapping, "", of_thread);
        self.view().slots()[slot].tid.store(1000 + slot as u32, Relaxed);
    }

    fn claim(&self, slot: usize, region: usize, claim: Claim) {
        let words = &self.view().lock(region).cells()[slot].claim;
        words.mode_word.store(u64::from(claim.weight) << 32 | claim.mode as u64, Relaxed);
        words.first.store(claim.extent.first, Relaxed);
        words.last.store(claim.extent.last, Relaxed);
    }

    fn holds(&self, slot: usize, region: usize, mode: Mode) {
        self.claim(slot, region, Claim::whole(mode));
        self.view().lock(region).cells()[slot].held.store(100 + slot as u64, Relaxed);
    }

    /// Has it wait since the time `since`, which also orders the queue.
    fn waits(&self, slot: usize, region: usize, mode: Mode, since: u64, may_be_told: bool) {
        let (view, lock) = (self.view(), self.view().lock(region));
        self.claim(slot, region, Claim::whole(mode));
        lock.numbers()[slot].store(since + 1, Relaxed);
        lock.cells()[slot].waiting_since.store(since, Relaxed);
        lock.cells()[slot].since.store(since, Relaxed);
        lock.cells()[slot].doorway.store(1, Relaxed);
        WaitWord::begin(&view.slots()[slot].wait, region, may_be_told);
    }

    /// The slots of the circle that the wait by `slot` closed, from it on.
    fn closed_by(&self, slot: usize) -> Vec<usize> {
        let mut cycle = Cycle::default();
        let found = find(&self.view(), slot, &|_| true, &mut cycle);
        if found { cycle.edges().iter().map(|edge| edge.waiter).collect() } else { Vec::new() }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // SAFETY: allocated in `new`, by the same layout.
        unsafe { alloc::dealloc(self.memory.as_ptr(), self.layout) };
    }
}

use Mode::{Exclusive, Shared};

/// Each of so many threads holds the lock of its own and waits for that of the next one.
fn circle(threads: usize) -> Scene {
    let scene =
        Scene::new(&[Kind::Mutex, Kind::RwLock, Kind::RangeLock, Kind::KeyedLock][..threads], threads);
    for slot in 0..threads {
        scene.holds(slot, slot + 1, Exclusive);
    }
    for slot in 0..threads {
        scene.waits(slot, (slot + 1) % threads + 1, Exclusive, 10 + slot as u64, true);
    }
    scene
}

#[test]
fn a_circle_is_found_from_the_wait_that_began_last_alone() {
    for threads in 2..=4 {
        let scene = circle(threads);
        let expected: Vec<usize> = (0..threads).map(|step| (threads - 1 + step) % threads).collect();
        assert_eq!(scene.closed_by(threads - 1), expected);
        for other in 0..threads - 1 {
            assert_eq!(scene.closed_by(other), [], "{other} of {threads}");
        }
        assert_eq!(all(&scene.view(), &|_| true).len(), 1);
    }
}

#[test]
fn a_wait_that_may_not_be_told_is_not_the_one_that_closed_it() {
    let scene = circle(2);
    scene.waits(1, 1, Exclusive, 99, false);
    assert_eq!(scene.closed_by(1), []);
    assert_eq!(scene.closed_by(0), [0, 1]);
    // Where none may be told, observers see it all the same.
    scene.waits(0, 2, Exclusive, 10, false);
    assert_eq!(all(&scene.view(), &|_| true).len(), 1);
}

#[test]
fn what_is_dead_or_not_known_to_live_closes_no_circle() {
    let scene = circle(3);
    assert!(!find(&scene.view(), 2, &|slot| slot != 1, &mut Cycle::default()));
}

#[test]
fn what_a_participant_holds_that_threads_share_is_no_edge() {
    let scene = circle(2);
    scene.attach(0, false);
    assert_eq!(scene.closed_by(1), []);
    // Nor is the mark of the thread that had the slot before.
    scene.attach(0, true);
    assert_eq!(scene.closed_by(1), [], "it has no wait of its own yet");
    scene.waits(0, 2, Exclusive, 10, true);
    assert_eq!(scene.closed_by(1), [1, 0]);
    scene.view().slots()[0].generation.fetch_add(1, Relaxed);
    assert_eq!(scene.closed_by(1), []);
}

#[test]
fn a_thread_holds_by_one_slot_and_waits_by_another() {
    let scene = circle(2);
    // What slot 0 holds is held by slot 5, of the same thread.
    scene.attach(5, true);
    scene.view().slots()[5].tid.store(1000, Relaxed);
    scene.view().lock(1).cells()[0].held.store(0, Relaxed);
    assert_eq!(scene.closed_by(1), []);
    scene.holds(5, 1, Exclusive);
    assert_eq!(scene.closed_by(1), [1, 0]);
}

#[test]
fn a_writer_waits_for_each_reader_and_permits_for_none() {
    // The first reader does not wait, the second one waits for what the writer holds.
    let scene = Scene::new(&[Kind::RwLock, Kind::Mutex], 3);
    scene.holds(0, 1, Shared);
    scene.holds(1, 1, Shared);
    scene.holds(2, 2, Exclusive);
    scene.waits(1, 2, Exclusive, 10, true);
    scene.waits(2, 1, Exclusive, 20, true);
    assert_eq!(scene.closed_by(2), [2, 1]);
    scene.waits(2, 1, Shared, 20, true);
    assert_eq!(scene.closed_by(2), [], "readers do not wait for readers");
    scene.waits(2, 1, Exclusive, 20, true);
    scene.view().directory()[0].kind.store(Kind::Semaphore as u32, Relaxed);
    assert_eq!(scene.closed_by(2), []);
}

/// Slot 0 reads, slot 1 waits to write, slot 2 waits to read behind it.
fn behind_a_writer() -> Scene {
    let scene = Scene::new(&[Kind::RwLock, Kind::Mutex], 3);
    scene.holds(0, 1, Shared);
    scene.holds(2, 2, Exclusive);
    scene.waits(1, 1, Exclusive, 10, true);
    scene.waits(0, 2, Exclusive, 20, true);
    scene.waits(2, 1, Shared, 30, true);
    scene
}

#[test]
fn a_waiter_waits_for_one_before_it_that_is_kept_out_and_queued_for_good() {
    let scene = behind_a_writer();
    assert_eq!(scene.closed_by(2), [2, 1, 0]);
    let writer = &scene.view().lock(1).cells()[1];
    writer.evicted.store(1, Relaxed);
    assert_eq!(scene.closed_by(2), [], "it is passed over");
    writer.evicted.store(0, Relaxed);
    writer.since.store(0, Relaxed);
    assert_eq!(scene.closed_by(2), [], "it may leave the queue");
    writer.since.store(10, Relaxed);
    scene.view().lock(1).numbers()[1].store(99, Relaxed);
    assert_eq!(scene.closed_by(2), [], "it comes later");
}

#[test]
fn one_in_the_passive_set_waits_for_the_designated_waker() {
    let scene = behind_a_writer();
    let lock = scene.view().lock(1);
    lock.numbers()[2].store(0, Relaxed);
    assert_eq!(scene.closed_by(2), []);
    lock.passive()[2].store(30, Relaxed);
    lock.words.designated_waker.store(2, Relaxed);
    assert_eq!(scene.closed_by(2), [2, 1, 0]);
    lock.words.designated_waker.store(1, Relaxed);
    assert_eq!(scene.closed_by(2), []);
}

#[test]
fn a_wait_in_a_handler_ends_inside_the_one_that_it_interrupted() {
    let scene = Scene::new(&[Kind::Mutex, Kind::Mutex], 1);
    let (view, wait) = (scene.view(), &scene.view().slots()[0].wait);
    let region = || WaitWord::of(&view, 0).and_then(|word| word.region(&view));
    let outer = WaitWord::begin(wait, 1, true);
    let first = WaitWord::of(&view, 0);
    let inner = WaitWord::begin(wait, 2, true);
    assert_eq!(region(), Some(2));
    WaitWord::end(wait, inner);
    assert_eq!(region(), Some(1));
    assert_ne!(WaitWord::of(&view, 0), first, "what was read before counts no more");
    WaitWord::end(wait, outer);
    assert_eq!(region(), None);
}

#[test]
fn words_that_no_participant_writes_end_a_search_and_no_more() {
    let scene = circle(3);
    for garbage in [u64::MAX, 0xffff, 5, 1 << 16, 2] {
        scene.view().slots()[1].wait.store(garbage, Relaxed);
        scene.closed_by(2);
        all(&scene.view(), &|_| true);
    }
    scene.view().lock(1).words.designated_waker.store(u32::MAX, Relaxed);
    scene.view().directory()[0].kind.store(77, Relaxed);
    scene.view().header().slots_in_use.store(u32::MAX, Relaxed);
    scene.closed_by(2);
}
