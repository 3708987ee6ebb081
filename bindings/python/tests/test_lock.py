"""What a `Lock`, an `RLock` and a `TurnRing` do beside what `threading`'s do."""

import copy
import gc
import pickle
import threading
import time

import pytest
import turnlock
import turnlock.aio
from children import PATIENCE, holder, killed_inside, until

KINDS = [turnlock.Lock, turnlock.RLock, turnlock.TurnRing]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def in_a_thread(act):
    """Runs `act` in a thread of its own; gives what it gave."""
    result = []
    thread = threading.Thread(target=lambda: result.append(act()))
    thread.start()
    thread.join(PATIENCE)
    assert result, "the thread came to no end"
    return result[0]


@kinds
def test_fencing_tokens_rise(kind, path):
    lock, tokens = kind(path), []
    assert lock.fencing_token is None
    for _ in range(3):
        with lock as same:
            assert same is lock
            tokens.append(lock.fencing_token)
    assert tokens == sorted(set(tokens)) and lock.fencing_token is None


def test_another_thread_releases_what_this_one_acquired(path):
    lock = turnlock.Lock(path)
    for _ in range(3):
        lock.acquire()
        in_a_thread(lambda: (lock.release(), None))
        assert not lock.locked()
    in_a_thread(lock.acquire)
    # The thread has ended, and its lock is another thread's to release: no death.
    assert lock.locked()
    lock.release()
    with lock:
        assert not lock.previous_owner_died


def test_a_thread_that_acquires_twice_waits_for_itself(path):
    lock = turnlock.Lock(path)
    lock.acquire()
    assert not lock.acquire(blocking=False)
    assert not lock.acquire(timeout=0.05)
    threading.Timer(0.05, lock.release).start()
    assert lock.acquire(timeout=PATIENCE)
    lock.release()
    assert not lock.locked() and lock.waiters() == []


def test_two_objects_of_one_lock_exclude_each_other(path):
    one, other, elsewhere = turnlock.Lock(path), turnlock.Lock(path), turnlock.Lock(path, "other")
    with one:
        assert not other.acquire(blocking=False) and other.locked()
        with pytest.raises(turnlock.NotOwnerError):
            other.release()
        with elsewhere:
            pass
    with other:
        pass


def test_two_objects_of_one_rlock_are_one_to_a_thread(path):
    one, other = turnlock.RLock(path), turnlock.RLock(path)
    with one:
        assert other.acquire(blocking=False)
        one.release()
        assert in_a_thread(lambda: one.acquire(blocking=False)) is False
        other.release()
        assert in_a_thread(lambda: one.acquire(blocking=False) and one.release() is None) is True
        one.acquire()


def test_an_rlock_whose_thread_ended_is_left_to_the_next_holder_which_is_told(path):
    lock = turnlock.RLock(path)
    in_a_thread(lambda: [lock.acquire() for _ in range(3)])
    assert lock.acquire(timeout=PATIENCE)
    assert lock.previous_owner_died and lock._recursion_count() == 1
    lock.mark_consistent()
    lock.release()
    assert not lock.locked()


@kinds
def test_the_killed_holder_is_information_on_the_acquired_lock(kind, path):
    pid = killed_inside(path, kind.__name__, ', label="doomed", death_policy="inform"')
    lock = kind(path)
    assert lock.previous_owner is None and not lock.previous_owner_died
    with lock:
        assert lock.previous_owner_died
        assert (lock.previous_owner.label, lock.previous_owner.pid) == ("doomed", pid)
        assert lock.previous_owner.fencing_token < lock.fencing_token
        lock.mark_consistent()
        with pytest.raises(turnlock.NotInconsistentError):
            lock.mark_consistent()
    with lock:
        assert not lock.previous_owner_died and lock.previous_owner is None


@kinds
def test_a_death_that_was_not_repaired_closes_the_lock_until_a_reset(kind, path):
    killed_inside(path, kind.__name__, ', death_policy="inform"')
    lock = kind(path)
    with pytest.warns(turnlock.NotRecoverableWarning), lock:
        assert lock.previous_owner_died
    for again in (lock.acquire, lambda: lock.acquire(blocking=False), lock.__enter__):
        with pytest.raises(turnlock.NotRecoverableError, match="reset"):
            again()
    assert lock.reset(timeout=PATIENCE)
    with lock:
        assert not lock.previous_owner_died


@kinds
def test_with_the_policy_release_nothing_has_to_be_repaired(kind, path):
    killed_inside(path, kind.__name__, ', death_policy="release"')
    lock = kind(path)
    assert lock.death_policy == "release"
    with lock:
        assert lock.previous_owner_died
    with lock:
        assert not lock.previous_owner_died


@kinds
def test_an_abandoned_lock_is_like_a_dead_ones(kind, path):
    lock = kind(path)
    lock.acquire()
    lock.abandon()
    with pytest.raises(turnlock.NotOwnerError):
        lock.abandon()
    with lock:
        assert lock.previous_owner_died
        lock.mark_consistent()


@kinds
def test_an_object_that_goes_with_the_lock_abandons_it(kind, path):
    kind(path).acquire()
    gc.collect()
    lock = kind(path)
    assert lock.acquire(timeout=PATIENCE)
    assert lock.previous_owner_died
    lock.mark_consistent()
    lock.release()


@kinds
def test_the_holder_and_the_waiters(kind, path):
    with holder(path, kind.__name__, ', label="holder"') as child:
        lock = kind(path, label="waiter")
        (one,) = lock.holders()
        assert (one.label, one.pid, one.life) == ("holder", child.pid, "alive") and one.fencing_token > 0
        assert lock.locked() and lock.waiters() == []
        waiter = threading.Thread(target=lambda: lock.acquire(timeout=PATIENCE) and lock.release())
        waiter.start()
        until(lambda: lock.waiters(), "the waiter is seen")
        assert lock.waiters()[0].life == "alive"
        child.stdin.close()
        waiter.join(PATIENCE)
        assert not waiter.is_alive()


@kinds
def test_a_holder_sees_that_another_thread_waits(kind, path):
    lock = kind(path)
    with pytest.raises(turnlock.NotOwnerError):
        lock.is_contended()
    with lock:
        assert not lock.is_contended()
        other = kind(path)
        waiter = threading.Thread(target=lambda: other.acquire(timeout=PATIENCE) and other.release())
        waiter.start()
        until(lock.is_contended, "a waiter")
    waiter.join(PATIENCE)


@kinds
def test_a_wait_that_ends_leaves_nothing_in_the_queue(kind, path):
    with holder(path, kind.__name__):
        lock = kind(path)
        began = time.monotonic()
        assert not lock.acquire(timeout=0.2)
        assert time.monotonic() - began >= 0.2
        assert not lock.acquire(timeout=0)
        assert lock.waiters() == []


@kinds
def test_other_threads_run_while_one_waits(kind, path):
    with holder(path, kind.__name__):
        lock = kind(path)
        waiter = threading.Thread(target=lock.acquire, kwargs={"timeout": PATIENCE}, daemon=True)
        waiter.start()
        until(lambda: lock.waiters(), "the waiter is seen")
        assert waiter.is_alive()
    waiter.join(PATIENCE)
    assert not waiter.is_alive()


@kinds
def test_threads_exclude_each_other(kind, path):
    number, times, threads = [0], 300, 4
    shared = kind(path)

    def count(lock):
        for _ in range(times):
            with lock:
                seen = number[0]
                if seen % 7 == 0:
                    time.sleep(0)
                number[0] = seen + 1

    # Two of them by one object, two by objects of their own.
    crowd = [threading.Thread(target=count, args=(lock,)) for lock in (shared, shared, kind(path), kind(path))]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join(PATIENCE)
    assert number[0] == times * threads


@kinds
def test_slots_of_threads_are_given_back(kind, path):
    lock = kind(path, participants=8)
    for _ in range(100):
        in_a_thread(lambda: lock.acquire() and lock.release())


@kinds
def test_slots_of_objects_that_are_gone_are_given_back(kind, path):
    for _ in range(100):
        with kind(path, participants=2):
            pass
    for _ in range(100):
        lock = kind(path, participants=2)
        with lock:
            pass
        lock.close()


@kinds
def test_copies_are_objects_of_their_own(kind, path):
    lock = kind(path, "one", death_policy="release", participants=17, label="me", mode=0o660)
    with lock:
        for other in (pickle.loads(pickle.dumps(lock)), copy.copy(lock), copy.deepcopy(lock)):
            assert type(other) is kind and (other.path, other.name) == (lock.path, lock.name)
            assert other.__getnewargs_ex__() == lock.__getnewargs_ex__()
            with pytest.raises(turnlock.NotOwnerError):
                other.release()


def test_a_ring_of_members_passes_the_turn_round(path):
    order, turns, done = [], 20, threading.Event()

    def take_part(name):
        ring = turnlock.TurnRing(path, algorithm="k-state", member=True)
        while not done.is_set():
            with ring:
                if not done.is_set():
                    order.append(name)
                if all(order.count(name) >= turns for name in "abc"):
                    done.set()
        ring.leave()

    threads = [threading.Thread(target=take_part, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    # From when all three are members.
    all_there = max(order.index(name) for name in "abc")
    together = order[all_there:]
    assert len(together) >= 3 * (turns - 1) - 2
    assert all(together[at] == together[at - 3] for at in range(3, len(together)))


def test_a_slot_is_a_place_on_the_ring(path):
    order, turns, done = [], 20, threading.Event()

    def take_part(slot):
        ring = turnlock.TurnRing(path, slot=slot, member=True)
        while not done.is_set():
            with ring:
                if not done.is_set():
                    order.append(slot)
                if all(order.count(slot) >= turns for slot in (1, 4, 6)):
                    done.set()
        ring.leave()

    threads = []
    # In another order than their places'.
    for slot in (4, 6, 1):
        threads.append(threading.Thread(target=take_part, args=(slot,)))
        threads[-1].start()
        until(lambda slot=slot: slot in order, "it has had a turn")
    for thread in threads:
        thread.join(PATIENCE)
    together = order[max(order.index(slot) for slot in (1, 4, 6)) :]
    at = [(1, 4, 6).index(slot) for slot in together]
    assert len(at) > turns
    assert all(after == (before + 1) % 3 for before, after in zip(at, at[1:])), order


def test_a_slot_has_one_participant(path):
    ring, same = turnlock.TurnRing(path, slot=4), turnlock.TurnRing(path, "other", slot=4)
    with ring, same:
        assert ring.holders()[0].thread == same.holders()[0].thread
        refused = []

        def another_thread():
            with pytest.raises(turnlock.Error, match="slot 4 is taken by process") as caught:
                ring.acquire()
            refused.append(caught.value)

        thread = threading.Thread(target=another_thread)
        thread.start()
        thread.join(PATIENCE)
        assert refused
    assert pickle.loads(pickle.dumps(ring)).__getnewargs_ex__() == ring.__getnewargs_ex__()
    with pytest.raises(ValueError, match="no place of its own"):
        turnlock.aio.TurnRing(path, slot=4)


def test_rings_of_each_algorithm(path):
    for algorithm in ("raynal", "k-state", "sum"):
        ring = turnlock.TurnRing(path, algorithm, algorithm=algorithm)
        with ring, pytest.raises(turnlock.KindError):
            turnlock.TurnRing(path, algorithm, algorithm="sum" if algorithm != "sum" else "raynal")
        assert pickle.loads(pickle.dumps(ring)).__getnewargs_ex__() == ring.__getnewargs_ex__()


@kinds
def test_repr_says_how_it_stands(kind, path):
    lock = kind(path, "one")
    assert repr(lock).startswith("<unlocked turnlock.") and "'one'" in repr(lock).replace('"', "'") and path in repr(lock)
    with lock:
        assert repr(lock).startswith("<locked turnlock.")
    lock.close()
    assert repr(lock).startswith("<closed turnlock.")
