"""What becomes of the others when a process is killed with a lock: they go on, unless the lock was to close then."""

import asyncio
import pickle
import threading
import warnings

import pytest
import turnlock
import turnlock.aio
from children import PATIENCE, killed_inside, program

# How a program makes a lock, and what it says each time that it takes it: as one that knows nothing of deaths.
IDIOMS = {
    "Lock": ("turnlock.Lock(PATH)", "with lock:"),
    "RLock": ("turnlock.RLock(PATH)", "with lock, lock:"),
    "TurnRing": ("turnlock.TurnRing(PATH)", "with lock:"),
    "RWLock": ("turnlock.RWLock(PATH)", "with lock.write():"),
    "RangeLock": ("turnlock.RangeLock(PATH)", "with lock.write(0, 10):"),
    "KeyedLock": ("turnlock.KeyedLock(PATH)", "with lock.write('a'):"),
    "GroupLock": ("turnlock.GroupLock(PATH)", "with lock.enter(os.getpid()):"),
    "FileLock": ("turnlock.FileLock(PATH)", "with lock:"),
    "lock": ("None", "with turnlock.lock(PATH):"),
    "aio.Lock": ("turnlock.aio.Lock(PATH)", "async with lock:"),
    "aio.TurnRing": ("turnlock.aio.TurnRing(PATH)", "async with lock:"),
    "aio.RWLock": ("turnlock.aio.RWLock(PATH)", "async with lock.write():"),
    "aio.GroupLock": ("turnlock.aio.GroupLock(PATH)", "async with lock.enter(os.getpid()):"),
    "aio.FileLock": ("turnlock.aio.FileLock(PATH)", "async with lock:"),
}
WORKERS = 8
ROUNDS = 25


def worker(path, idiom, inside):
    """A program that takes the lock again and again."""
    lock, take = IDIOMS[idiom]
    return program(
        "import asyncio, os, turnlock.aio",
        f"PATH = {path!r}",
        f"lock = {lock}",
        "async def main():",
        f"    for _ in range({ROUNDS}):",
        f"        {take}",
        f"            {inside}",
        "asyncio.run(main())",
        "print('done')",
    )


@pytest.mark.parametrize("idiom", IDIOMS)
def test_one_killed_worker_of_eight_ends_none_of_the_others(idiom, path, tmp_path):
    counter = tmp_path / "counter"
    counter.write_text("0")
    count = f"n = int(open({str(counter)!r}).read()); open({str(counter)!r}, 'w').write(str(n + 1))"
    with worker(path, idiom, "print('in'); sys.stdin.read()") as victim:
        assert victim.stdout.readline() == "in\n", victim.stderr.read()
        others = [worker(path, idiom, count) for _ in range(WORKERS - 1)]
        children = [other.__enter__() for other in others]
        try:
            # None of them is in before it is dead.
            victim.kill()
            for child in children:
                out, errors = child.communicate(timeout=PATIENCE)
                assert (out, errors) == ("done\n", "")
        finally:
            for other in others:
                other.__exit__(None, None, None)
    assert int(counter.read_text()) == (WORKERS - 1) * ROUNDS


CLOSING = ["Lock", "RLock", "TurnRing", "RWLock"]


def take(kind, lock):
    return lock.write() if kind == "RWLock" else lock


@pytest.mark.parametrize("kind", CLOSING)
def test_a_release_that_closes_the_lock_warns_at_its_line(kind, path):
    lock = getattr(turnlock, kind)(path, "accounts", death_policy="inform")
    enter = "lock.write()" if kind == "RWLock" else "lock.acquire()"
    with program(
        f"lock = turnlock.{kind}({path!r}, 'accounts')", f"hold = {enter}", "print('in')", "sys.stdin.read()"
    ) as child:
        assert child.stdout.readline() == "in\n", child.stderr.read()
        child.kill()
        child.wait(PATIENCE)
    with pytest.warns(turnlock.NotRecoverableWarning, match="accounts.*mark_consistent") as told:
        with take(kind, lock):
            pass
    assert [warning.filename for warning in told] == [__file__]
    with pytest.raises(turnlock.NotRecoverableError), take(kind, lock):
        pass
    assert lock.reset(timeout=PATIENCE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with take(kind, lock):
            pass


def test_no_release_warns_that_closes_nothing(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Marked, abandoned, by a policy under which nothing has to be marked, and where no death closes anything.
        lock = turnlock.Lock(path, "marked", death_policy="inform")
        killed_inside(path, options=", 'marked'")
        with lock:
            lock.mark_consistent()
        for _ in range(2):
            lock.acquire()
            lock.abandon()
        lock.acquire()
        lock.mark_consistent()
        lock.release()
        killed_inside(path, options=", 'released'")
        with turnlock.Lock(path, "released") as released:
            assert released.previous_owner_died and released.death_policy == "release"
        ranges = turnlock.RangeLock(path, "ranges", death_policy="inform")
        ranges.write(0, 5).abandon()
        with ranges.write(0, 5) as hold:
            assert hold.previous_owner_died
        store = turnlock.GroupLock(path, "store", death_policy="inform")
        store.enter(1).abandon()
        for group in (2, 1):
            with store.enter(group) as hold:
                assert hold.previous_owner_died
        accounts = turnlock.RWLock(path, "accounts", death_policy="inform")
        accounts.write().abandon()
        with accounts.read() as hold:
            assert hold.previous_owner_died
        with accounts.upgradable() as hold:
            assert hold.previous_owner_died
        with accounts.write() as hold:
            hold.mark_consistent()


def test_the_forms_for_asyncio_and_a_condition_warn_too(path):
    async def main():
        lock = turnlock.aio.Lock(path, "a", death_policy="inform")
        await lock.acquire()
        lock.lock.abandon()
        async with lock:
            assert lock.previous_owner_died

    with pytest.warns(turnlock.NotRecoverableWarning) as told:
        asyncio.run(main())
    assert [warning.filename for warning in told] == [__file__]
    lock = turnlock.RLock(path, "b", death_policy="inform")
    condition = threading.Condition(lock)
    lock.acquire()
    lock.abandon()
    condition.acquire()
    # It releases the lock, and cannot have it again.
    with pytest.warns(turnlock.NotRecoverableWarning), pytest.raises(turnlock.NotRecoverableError):
        condition.wait(0.001)


def test_a_warning_that_is_an_error_leaves_the_lock_released(path):
    lock = turnlock.Lock(path, death_policy="inform")
    lock.acquire()
    lock.abandon()
    lock.acquire()
    with warnings.catch_warnings(), pytest.raises(turnlock.NotRecoverableWarning):
        warnings.simplefilter("error")
        lock.release()
    assert lock.reset(timeout=PATIENCE)
    with lock:
        pass


LOCKS = [turnlock.Lock, turnlock.RLock, turnlock.RWLock, turnlock.TurnRing, turnlock.RangeLock, turnlock.KeyedLock, turnlock.GroupLock]


@pytest.mark.parametrize("kind", LOCKS, ids=lambda kind: kind.__name__)
def test_a_death_policy_that_is_asked_for_is_the_locks_or_an_error(kind, path):
    assert kind(path, "usual").death_policy == "release"
    for policy, other in (("inform", "release"), ("release", "inform")):
        lock = kind(path, policy, death_policy=policy)
        # Nothing is asked for, by another program as well: it is whatever the lock has.
        for same in (kind(path, policy), kind(path, policy, death_policy=None), pickle.loads(pickle.dumps(lock))):
            assert same.death_policy == policy
        with pytest.raises(turnlock.KindError, match=f"death policy {policy}.*{other} was asked for"):
            kind(path, policy, death_policy=other)
    # As FileLock's is, whose lock an "inform" of another program may be.
    turnlock.Lock(path, death_policy="inform")
    with turnlock.FileLock(path) as file_lock:
        assert file_lock.is_locked and file_lock.native.death_policy == "inform"


@pytest.mark.parametrize("kind", [turnlock.Lock, turnlock.RLock, turnlock.RWLock, turnlock.Semaphore])
def test_a_patience_that_is_asked_for_is_the_locks_or_an_error(kind, path):
    lock = kind(path, "strict", patience=0)
    for same in (kind(path, "strict"), kind(path, "strict", patience=0.0), pickle.loads(pickle.dumps(lock))):
        same.close()
    for other in (0.001, 3):
        with pytest.raises(turnlock.KindError, match="patience 0 .strict order., which it keeps"):
            kind(path, "strict", patience=other)
    kind(path, "usual", patience=None)
    kind(path, "usual", patience=0.001)
    with pytest.raises(turnlock.KindError, match="patience 1ms"):
        kind(path, "usual", patience=0)
