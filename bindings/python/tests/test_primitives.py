"""The locks of `turnlock.multiprocessing`: signals, wrong arguments, what stays behind."""

import gc
import os
import pickle
import signal
import threading
import time

import pytest
from children import PATIENCE, program
from turnlock import _primitives, multiprocessing

WAITS = {
    "lock.acquire": "lock.acquire()",
    "rlock.acquire with a time limit": "other.acquire(True, 1000)",
    "semaphore.acquire": "semaphore.acquire()",
    "event.wait": "event.wait()",
    "condition.wait": "condition.acquire(); condition.wait()",
    "barrier.wait": "barrier.wait()",
    "queue.get": "queue.get()",
    "queue.put": "full.put(2)",
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait(wait):
    lines = [
        "from turnlock import multiprocessing",
        "multiprocessing.set_start_method('fork')",
        "lock, other, semaphore = multiprocessing.Lock(), multiprocessing.RLock(), multiprocessing.Semaphore(0)",
        "event, condition, barrier = multiprocessing.Event(), multiprocessing.Condition(), multiprocessing.Barrier(2)",
        "queue, full = multiprocessing.Queue(), multiprocessing.Queue(1)",
        "full.put(1)",
        "def hold():",
        "    lock.acquire(), other.acquire(), time.sleep(100)",
        "holder = multiprocessing.Process(target=hold, daemon=True)",
        "holder.start()",
        "while other.acquire(False):",
        "    other.release()",
        "print('waits')",
        "try:",
        f"    {WAITS[wait]}",
        "except KeyboardInterrupt:",
        "    print('over', condition._lock._semlock._is_mine())",
        "holder.kill(), holder.join()",
        "print(lock.acquire(True, 20), other.acquire(True, 20))",
        "full.get()",
    ]
    with program(*lines) as child:
        assert child.stdout.readline() == "waits\n", child.stderr.read()
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        has_lock = wait == "condition.wait"
        assert child.communicate(timeout=PATIENCE) == (f"over {has_lock}\nTrue True\n", "")


def test_a_handler_uses_locks_while_its_thread_waits():
    lock, semaphore = multiprocessing.Lock(), multiprocessing.Semaphore(0)

    def handler(*_):
        with lock:
            semaphore.release()
            assert not semaphore.acquire(True, 0.001) or semaphore.release() is None

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert semaphore.acquire(True, PATIENCE)
    finally:
        signal.signal(signal.SIGALRM, before)


def release_it(lock, done):
    try:
        lock.release()
    except AssertionError:
        os._exit(1)
    done.set()


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_any_process_releases_a_lock_and_no_other_an_rlock(method):
    context = multiprocessing.get_context(method)
    lock, done = context.Lock(), context.Event()
    lock.acquire()
    process = context.Process(target=release_it, args=(lock, done))
    process.start()
    assert lock.acquire(timeout=PATIENCE) and done.wait(PATIENCE)
    process.join(PATIENCE)
    lock.release()
    with pytest.raises(ValueError, match="too many times"):
        lock.release()
    other = context.RLock()
    other.acquire()
    process = context.Process(target=release_it, args=(other, done))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode == 1
    raised = []
    thread = threading.Thread(target=lambda: raised.append(pytest.raises(AssertionError, other.release)))
    thread.start()
    thread.join(PATIENCE)
    assert raised
    other.release()


def test_wrong_arguments():
    for value in (-1, 2**31):
        with pytest.raises(ValueError, match="a value of 0"):
            multiprocessing.Semaphore(value)
    for wrong in ("one", None, 1.5):
        with pytest.raises(TypeError):
            multiprocessing.BoundedSemaphore(wrong)
        with pytest.raises(TypeError):
            multiprocessing.Barrier(wrong).wait(0)
    with pytest.raises(ValueError, match="parties"):
        multiprocessing.Barrier(0)
    lock = multiprocessing.Lock()
    for wrong in (("no",), (True, "soon")):
        with pytest.raises(TypeError):
            lock.acquire(*wrong)
    with pytest.raises(ValueError):
        lock.acquire(True, float("nan"))
    assert lock.acquire(True, -1) and not lock.acquire(True, -1)
    condition = multiprocessing.Condition()
    for act in (condition.wait, condition.notify, condition.notify_all):
        with pytest.raises(AssertionError):
            act()
    for each in (lock, condition, multiprocessing.Event(), multiprocessing.Barrier(2), multiprocessing.Queue()):
        with pytest.raises(RuntimeError, match="inheritance|spawning"):
            pickle.dumps(each)
    with pytest.raises(TypeError, match="anonymous"):
        pickle.dumps(condition._mutex)


def open_files():
    found = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:
            pass
    return found


def memory_files():
    return [name for name in open_files() if "memfd:turnlock" in name]


def shared_files():
    """Of this process alone: what lies in the folder may be another's."""
    with open("/proc/self/maps") as maps:
        mapped = [line.split(maxsplit=5)[5] for line in maps if "/" in line]
    return {name.strip() for name in mapped + open_files() if name.startswith("/dev/shm/")}


def test_many_locks_take_few_descriptors_and_leave_nothing_behind():
    gc.collect()
    before, shared = len(memory_files()), shared_files()
    locks = [multiprocessing.Lock() for _ in range(1000)]
    for lock in locks:
        with lock:
            assert not lock.acquire(False)
    assert len(memory_files()) - before < 60
    assert shared_files() == shared
    del locks, lock
    gc.collect()
    # The newest one is kept for the next locks.
    assert len(memory_files()) <= before + 6
    assert isinstance(multiprocessing.Lock(), _primitives.Lock)
