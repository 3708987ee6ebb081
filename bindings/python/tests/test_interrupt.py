"""Ctrl-C, and other signals, while a program waits."""

import os
import signal
import threading
import time

import pytest
import turnlock
from children import PATIENCE, program, until

WAITS = {
    "acquire": "lock.acquire()",
    "with": "with lock: pass",
    "timeout": "lock.acquire(timeout=1000)",
    "reset": "lock.reset()",
}


@pytest.mark.parametrize("kind", ["Lock", "RLock", "TurnRing"])
@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait_at_once_and_leaves_nothing_in_the_queue(kind, wait, path):
    lock = getattr(turnlock, kind)(path)
    lines = [
        f"lock = turnlock.{kind}({path!r})",
        "print('waits')",
        "try:",
        f"    {WAITS[wait]}",
        "except KeyboardInterrupt:",
        "    print('interrupted', lock.waiters())",
        "sys.stdin.read()",
        "print(lock.acquire(timeout=20))",
    ]
    with lock:
        with program(*lines) as child:
            assert child.stdout.readline() == "waits\n"
            until(lambda: lock.waiters(), "the waiter is seen")
            # Asleep by now.
            time.sleep(0.1)
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted []\n"
            assert lock.waiters() == []
            lock.release()
            out, errors = child.communicate(timeout=PATIENCE)
            assert (out, errors) == ("True\n", "")
            lock.acquire()
            # The child ended with it.
            assert lock.previous_owner_died
            lock.mark_consistent()


def test_a_handler_that_raises_nothing_is_run_and_the_wait_goes_on(path):
    lock = turnlock.Lock(path)
    lines = [
        f"lock = turnlock.Lock({path!r})",
        "signal.signal(signal.SIGUSR1, lambda *_: print('handled', lock.acquire(blocking=False)))",
        "print('waits')",
        "print(lock.acquire())",
        "lock.release()",
    ]
    with program(*lines) as child:
        with lock:
            assert child.stdout.readline() == "waits\n"
            until(lambda: lock.waiters(), "the waiter is seen")
            for _ in range(3):
                child.send_signal(signal.SIGUSR1)
                assert child.stdout.readline() == "handled False\n"
            assert len(lock.waiters()) == 1
        assert child.communicate(timeout=PATIENCE) == ("True\n", "")


def test_what_a_handler_raises_is_what_the_wait_raises(path):
    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop("enough")

    before = signal.signal(signal.SIGALRM, stop)
    lock = turnlock.Lock(path)
    lock.acquire()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Stop, match="enough"):
            lock.acquire()
        assert lock.waiters() == []
    finally:
        signal.signal(signal.SIGALRM, before)
    # The lock is what it was.
    lock.release()
    with lock:
        pass


def test_a_handler_uses_locks_while_its_thread_waits(path):
    lock, other = turnlock.Lock(path), turnlock.Lock(path, "other")
    seen = []

    def handler(*_):
        with other:
            seen.append(lock.acquire(timeout=0.01))

    before = signal.signal(signal.SIGALRM, handler)
    lock.acquire()
    threading.Timer(0.3, lock.release).start()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert lock.acquire(timeout=PATIENCE)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert seen == [False]
    lock.release()


def test_ctrl_c_in_a_forked_child_whose_thread_was_not_the_main_one(path):
    lock = turnlock.Lock(path)
    lines = [
        f"lock = turnlock.Lock({path!r})",
        "def fork():",
        "    global child",
        "    child = os.fork()",
        "    if child == 0:",
        "        signal.signal(signal.SIGINT, signal.default_int_handler)",
        "        try:",
        "            lock.acquire()",
        "        except KeyboardInterrupt:",
        "            os._exit(7)",
        "        os._exit(0)",
        "thread = threading.Thread(target=fork)",
        "thread.start(), thread.join()",
        "print(child)",
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
    ]
    with lock, program(*lines) as child:
        pid = int(child.stdout.readline())
        until(lambda: lock.waiters(), "the waiter is seen")
        os.kill(pid, signal.SIGINT)
        assert child.stdout.readline() == "7\n"
        assert lock.waiters() == []
