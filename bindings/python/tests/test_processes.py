"""Processes of every kind that Python makes: by fork, spawn and forkserver, one by one and in pools."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import children
import pytest
import turnlock
from children import PATIENCE, program

METHODS = ["fork", "spawn", "forkserver"]
methods = pytest.mark.parametrize("method", METHODS)


@methods
@pytest.mark.parametrize("kind", [turnlock.Lock, turnlock.RLock, turnlock.TurnRing])
def test_processes_exclude_each_other(method, kind, path, tmp_path):
    context = multiprocessing.get_context(method)
    counter = tmp_path / "counter"
    counter.write_text("0")
    lock = kind(path)
    processes = [context.Process(target=children.count, args=(lock, str(counter), 100)) for _ in range(3)]
    for process in processes:
        process.start()
    children.count(lock, counter, 100)
    for process in processes:
        process.join(PATIENCE)
        assert process.exitcode == 0
    assert counter.read_text() == "400"


@methods
def test_a_pool_excludes_each_other(method, path, tmp_path):
    counter = tmp_path / "counter"
    counter.write_text("0")
    context = multiprocessing.get_context(method)
    # Given as an argument, by pickle; and made anew in the child.
    with context.Pool(3) as pool:
        lock = turnlock.Lock(path)
        by_pickle = pool.starmap_async(children.count, [(lock, str(counter), 25)] * 8)
        by_path = pool.starmap_async(children.count_by_path, [(path, str(counter), 25)] * 8)
        by_pickle.get(PATIENCE), by_path.get(PATIENCE)
    with ProcessPoolExecutor(3, mp_context=context) as pool:
        for done in [pool.submit(children.count, lock, str(counter), 25) for _ in range(8)]:
            done.result(PATIENCE)
    assert counter.read_text() == "600"


@methods
def test_a_child_does_not_have_its_parents_lock(method, path):
    context = multiprocessing.get_context(method)
    lock = turnlock.Lock(path)
    with lock, context.Pool(1) as pool:
        assert pool.apply_async(children.is_refused, (lock,)).get(PATIENCE)


@methods
def test_a_child_that_ends_with_the_lock_is_told_of(method, path):
    lock = turnlock.Lock(path)
    child = multiprocessing.get_context(method).Process(target=children.acquire_and_exit, args=(lock,))
    child.start()
    child.join(PATIENCE)
    with lock:
        assert lock.previous_owner_died and lock.previous_owner.pid == child.pid
        lock.mark_consistent()


def forked(act):
    """Runs `act` in a forked child; it must return True."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if act() is True else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("kind", [turnlock.Lock, turnlock.RLock, turnlock.TurnRing])
def test_what_a_forked_child_remembers_is_not_its_own(kind, path):
    lock = kind(path)

    def in_child():
        for act in (lock.release, lock.abandon, lock.mark_consistent, lock.is_contended):
            with pytest.raises(turnlock.NotOwnerError, match="forked child"):
                act()
        assert lock.fencing_token is None and not lock.previous_owner_died and lock.locked()
        assert not lock.acquire(blocking=False) and not lock.acquire(timeout=0.01)
        return True

    with lock:
        assert forked(in_child) == 0
        assert lock.fencing_token is not None
    # And when it is free the child has it as any process.
    assert forked(lambda: lock.acquire(timeout=PATIENCE) and lock.release() is None) == 0
    with lock:
        assert not lock.previous_owner_died


@pytest.mark.parametrize("kind", ["Lock", "RLock", "TurnRing", "FileLock"])
def test_an_object_that_a_forked_child_forgets_stays_the_parents(kind, path):
    lock = getattr(turnlock, kind)(path)
    held = [lock]
    lock.acquire()

    def in_child():
        nonlocal lock
        del lock
        held.clear()
        gc.collect()
        return another(path, must_exist=True).acquire(blocking=False) is False

    another = turnlock.TurnRing if kind == "TurnRing" else turnlock.Lock
    assert forked(in_child) == 0
    lock.release()
    with another(path, must_exist=True) as again:
        assert not again.previous_owner_died


def test_children_are_forked_while_threads_wait(path):
    lock, stop = turnlock.Lock(path), threading.Event()

    def disturb():
        while not stop.is_set():
            lock.acquire(timeout=0.001) and lock.release()

    threads = [threading.Thread(target=disturb) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            act = lambda: lock.acquire(timeout=PATIENCE) and lock.release() is None  # noqa: E731
            assert forked(act) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)


def test_a_waiter_is_told_of_one_that_is_killed(path):
    with children.holder(path) as child:
        lock = turnlock.Lock(path)
        threading.Timer(0.1, lambda: child.send_signal(signal.SIGKILL)).start()
        assert lock.acquire(timeout=PATIENCE)
        assert lock.previous_owner.pid == child.pid
        lock.mark_consistent()
        lock.release()


def test_a_waiter_that_is_killed_leaves_nothing_in_the_queue(path):
    lock = turnlock.Lock(path)
    with lock:
        with program(f"lock = turnlock.Lock({path!r})", "print('waits')", "lock.acquire()") as child:
            child.stdout.readline()
            children.until(lambda: lock.waiters(), "the waiter is seen")
            child.kill()
            child.wait(PATIENCE)
        with turnlock.Lock(path, "another"):
            pass
    assert lock.acquire(timeout=PATIENCE) and not lock.previous_owner_died
    lock.release()
    assert lock.waiters() == []


def test_a_relative_path_means_the_same_to_a_child_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lock = turnlock.Lock("here.lock")
    assert lock.path == str(tmp_path / "here.lock") and Path(lock.path).exists()
    monkeypatch.chdir("/")
    with lock, multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(children.is_refused, (lock,)).get(PATIENCE)


@pytest.mark.parametrize("waits", [False, True], ids=["holding", "waiting"])
def test_a_program_ends_while_a_daemon_thread_is_busy_with_the_lock(waits, path):
    lock = turnlock.Lock(path)
    if waits:
        lock.acquire()
    act = "lock.acquire(timeout=0.3)" if waits else "[lock.acquire() and lock.release() for _ in iter(int, 1)]"
    lines = [
        f"lock = turnlock.Lock({path!r})",
        f"thread = threading.Thread(target=lambda: {act}, daemon=True)",
        "thread.start()",
        "time.sleep(0.1)",
        "print('ends')",
    ]
    with program(*lines) as child:
        out, errors = child.communicate(timeout=PATIENCE)
        assert (out, errors, child.returncode) == ("ends\n", "", 0)


def test_the_interpreter_under_test_has_all_methods():
    assert set(METHODS) <= set(multiprocessing.get_all_start_methods()), sys.version
