"""Locks that several may have at a time: reader/writer locks, semaphores, ranges, keys, groups."""

import asyncio
import contextlib
import itertools
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
from test import lock_tests

import pytest
import turnlock
import turnlock.aio
from children import PATIENCE, program, until


class FreshSemaphore:
    """Each call makes a semaphore of its own name."""

    path = os.path.join(tempfile.mkdtemp(), "app.lock")
    numbers = itertools.count()

    def __call__(self, value=1):
        name = f"semaphore {next(self.numbers)}"
        return turnlock.BoundedSemaphore(self.path, name, value, locks=4096, participants=256)


class SemaphoreTests(lock_tests.BoundedSemaphoreTests):
    semtype = FreshSemaphore()


def in_a_thread(act):
    result = []
    thread = threading.Thread(target=lambda: result.append(act()))
    thread.start()
    thread.join(PATIENCE)
    return result[0]


def is_free(take):
    """Whether what `take` takes can be had at once."""
    try:
        take(blocking=False).release()
    except turnlock.Timeout:
        return False
    return True


def test_readers_beside_each_other_and_a_writer_alone(path):
    lock = turnlock.RWLock(path)
    with lock.read() as one, lock.read() as two:
        assert one.mode == "read" and two.held and in_a_thread(lambda: is_free(lock.read))
        assert not is_free(lock.write)
    assert not one.held and one.mode is None and one.fencing_token is None
    with lock.write() as hold:
        assert hold.mode == "write" and hold.fencing_token
        for take in (lock.read, lock.upgradable, lock.write):
            assert not is_free(take)
            with pytest.raises(turnlock.Timeout):
                take(timeout=0.01)
    assert is_free(lock.write) and lock.waiters() == []


def test_upgrade_and_downgrade(path):
    lock = turnlock.RWLock(path)
    with lock.upgradable() as hold:
        assert hold.mode == "upgradable" and is_free(lock.read) and not is_free(lock.upgradable)
        reader = lock.read()
        assert not hold.upgrade(blocking=False) and not hold.upgrade(timeout=0.02) and hold.mode == "upgradable"
        threading.Timer(0.05, reader.release).start()
        assert hold.upgrade(timeout=PATIENCE) and hold.mode == "write" and not is_free(lock.read)
        hold.downgrade(upgradable=True)
        assert hold.mode == "upgradable" and is_free(lock.read)
        assert hold.upgrade()
        hold.downgrade()
        assert hold.mode == "read" and is_free(lock.read) and is_free(lock.upgradable)
        with pytest.raises(ValueError):
            hold.upgrade()
        assert hold.mode == "read"
    assert is_free(lock.write)


def test_another_thread_releases(path):
    lock = turnlock.RWLock(path)
    hold = lock.write()
    in_a_thread(hold.release)
    with pytest.raises(turnlock.NotOwnerError):
        hold.release()
    assert is_free(lock.write)


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_dead_reader_is_nothing_and_a_dead_writer_is_told(mode, path):
    with program(f"hold = turnlock.RWLock({path!r}).{mode}()", "print('in')", "sys.stdin.read()") as child:
        assert child.stdout.readline() == "in\n"
        child.kill()
        child.wait(PATIENCE)
    lock = turnlock.RWLock(path)
    with lock.write(timeout=PATIENCE) as hold:
        assert hold.previous_owner_died == (mode == "write")
        if mode == "write":
            assert hold.previous_owner.pid == child.pid
            hold.mark_consistent()
    with lock.write() as hold:
        assert not hold.previous_owner_died


@pytest.mark.parametrize("end", ["abandon", "forget"])
def test_a_writer_that_abandons_it_is_told_of(end, path):
    lock = turnlock.RWLock(path)
    hold = lock.write()
    if end == "abandon":
        hold.abandon()
    del hold
    with lock.write(timeout=PATIENCE) as hold:
        assert hold.previous_owner_died
        hold.mark_consistent()


def test_semaphores_count(path):
    semaphore = turnlock.Semaphore(path, "workers", 3)
    assert [semaphore.acquire(blocking=False) for _ in range(4)] == [True, True, True, False]
    assert not semaphore.acquire(timeout=0.01)
    in_a_thread(lambda: semaphore.release(2))
    with semaphore.take(2), pytest.raises(turnlock.Timeout):
        semaphore.take(1, timeout=0.01)
    semaphore.release()
    with pytest.raises(ValueError, match="too many"):
        semaphore.release()
    for wrong in (0, -1):
        with pytest.raises(ValueError):
            semaphore.release(wrong)
    semaphore.resize(1)
    assert turnlock.Semaphore(path, "workers").permits == 1
    with semaphore:
        assert not semaphore.acquire(blocking=False)


def test_bad_permits(path):
    for value, error in [(0, ValueError), (-1, ValueError), (2**32, ValueError), ("two", TypeError)]:
        with pytest.raises(error):
            turnlock.Semaphore(path, "semaphore", value)
    semaphore = turnlock.Semaphore(path, "semaphore", 2)
    for permits, error in [(0, ValueError), (3, ValueError), (-1, OverflowError), ("two", TypeError), (None, TypeError)]:
        with pytest.raises(error):
            semaphore.take(permits, timeout=0)
    for permits, error in [(0, ValueError), (-1, OverflowError), (2**40, OverflowError), ("two", TypeError)]:
        with pytest.raises(error):
            semaphore.resize(permits)
    for arguments, error in [((False, 1), ValueError), ((True, "soon"), TypeError), (("yes",), TypeError), ((True, 1e300), OverflowError)]:
        with pytest.raises(error):
            semaphore.acquire(*arguments)
    for n, error in [(0, ValueError), (-1, ValueError), (3, ValueError), ("two", TypeError), (1.5, TypeError)]:
        with pytest.raises(error):
            semaphore.release(n)


def test_the_permits_of_a_dead_process_come_back(path):
    lines = [f"semaphore = turnlock.Semaphore({path!r}, value=2)", "semaphore.acquire(), semaphore.acquire()", "print('in')"]
    with program(*lines, "sys.stdin.read()") as child:
        assert child.stdout.readline() == "in\n"
        semaphore = turnlock.Semaphore(path)
        assert not semaphore.acquire(blocking=False)
        child.kill()
        assert semaphore.acquire(timeout=PATIENCE) and semaphore.acquire(timeout=PATIENCE)
        semaphore.release(2)


def test_ranges(path):
    records = turnlock.RangeLock(path)
    with records.write(0, 10), records.write(10, 20), records.read(20), records.read(25, 30):
        for first, end in ((9, 11), (0, 1), (15, None)):
            with pytest.raises(turnlock.Timeout):
                records.read(first, end, timeout=0.01)
        with pytest.raises(turnlock.Timeout):
            records.write(29, blocking=False)
        held = {one.claim.range: one.claim.mode for one in records.holders()}
        assert held == {(0, 10): "exclusive", (10, 20): "exclusive", (20, None): "shared", (25, 30): "shared"}
    with records.write():
        pass
    for wrong, error in [((5, 5), ValueError), ((5, 4), ValueError), ((-1,), ValueError), (("a",), TypeError)]:
        with pytest.raises(error):
            records.read(*wrong)


def test_keys(path):
    users = turnlock.KeyedLock(path)
    with users.write("ada"), users.write(b"grace"), users.read("mary"), users.read("mary"):
        for key in ("ada", "grace", "mary"):
            with pytest.raises(turnlock.Timeout):
                users.write(key, timeout=0.01)
        held = sorted(one.claim.key for one in users.holders())
        assert held == [b"ada", b"grace", b"mary", b"mary"] and len({one.claim.key_hash for one in users.holders()}) == 3
    for key, shown in {"": (None, False), "ada": (b"ada", True), "k" * 47: (b"k" * 47, True), "k" * 48: (b"k" * 47, False)}.items():
        with users.write(key):
            (one,) = users.holders()
            assert (one.claim.key, one.claim.is_whole_key) == shown and len(one.claim.key_hash) == 32
    for wrong in (None, 7, ["ada"]):
        with pytest.raises(TypeError):
            users.read(wrong)


def test_groups(path):
    store = turnlock.GroupLock(path)
    with store.enter(1) as one, store.enter(1) as two, store.enter(1, timeout=PATIENCE):
        assert [holder.claim.group for holder in store.holders()] == [1, 1, 1] and one.fencing_token and two.mode is None
        assert in_a_thread(lambda: is_free(lambda **options: store.enter(1, **options)))
        for group in (0, 2, 2**64 - 1):
            with pytest.raises(turnlock.Timeout):
                store.enter(group, blocking=False)
            with pytest.raises(turnlock.Timeout):
                store.enter(group, timeout=0.01)
    with store.enter(2**64 - 1):
        pass
    for wrong, error in [(None, TypeError), ("1", TypeError), (1.0, TypeError), (-1, ValueError), (2**64, ValueError)]:
        with pytest.raises(error):
            store.enter(wrong)
    assert store.holders() == store.waiters() == []


def test_a_later_member_stays_behind_another_group(path):
    store, entered = turnlock.GroupLock(path), []
    with store.enter(1) as one:
        waiter = threading.Thread(target=lambda: entered.append(store.enter(2).release()))
        waiter.start()
        until(lambda: store.waiters(), "the waiter is seen")
        assert store.waiters()[0].claim.group == 2
        with pytest.raises(turnlock.Timeout):
            store.enter(1, blocking=False)
        # It has a number a moment before it says that it waits.
        until(one.is_contended, "the member is told")
        assert not entered
    waiter.join(PATIENCE)
    assert entered == [None]


def test_a_dead_member_is_told_in_every_group(path):
    store = turnlock.GroupLock(path, death_policy="inform")
    with program(f"hold = turnlock.GroupLock({path!r}).enter(1)", "print('in')", "sys.stdin.read()") as child:
        assert child.stdout.readline() == "in\n"
        with store.enter(1), pytest.raises(turnlock.Timeout):
            store.enter(2, timeout=0.01)
        child.kill()
        child.wait(PATIENCE)
    for group in (2, 1):
        with store.enter(group, timeout=PATIENCE) as hold:
            assert hold.previous_owner_died and hold.previous_owner.pid == child.pid
    with store.enter(2) as one, store.enter(2) as other:
        assert one.previous_owner_died and other.previous_owner_died
        one.mark_consistent()
        with pytest.raises(turnlock.NotInconsistentError):
            other.mark_consistent()
    with store.enter(1) as hold:
        assert not hold.previous_owner_died
        with pytest.raises(turnlock.NotInconsistentError):
            hold.mark_consistent()
    store.enter(1).abandon()
    assert store.reset(timeout=PATIENCE)
    with store.enter(1) as hold:
        assert not hold.previous_owner_died and not store.reset(timeout=0.01)


def test_groups_of_processes_exclude_each_other(path, tmp_path):
    """Each writes its own number, and sees no other one while it is inside."""
    seen = tmp_path / "seen"
    lines = [
        f"store, group = turnlock.GroupLock({path!r}), GROUP",
        "for _ in range(100):",
        "    with store.enter(group):",
        f"        open({str(seen)!r}, 'w').write(str(group))",
        f"        assert open({str(seen)!r}).read() in ('', str(group))",
        "print('done')",
    ]
    with contextlib.ExitStack() as stack:
        programs = [program(*(line.replace("GROUP", str(number % 2)) for line in lines)) for number in range(4)]
        for child in [stack.enter_context(each) for each in programs]:
            out, errors = child.communicate(timeout=PATIENCE)
            assert (out, errors) == ("done\n", "")


MAKERS = [turnlock.RWLock, turnlock.Semaphore, turnlock.RangeLock, turnlock.KeyedLock, turnlock.GroupLock]


@pytest.mark.parametrize("make", MAKERS)
def test_objects_are_pickled_and_closed(make, path):
    lock = make(path, "one", participants=17)
    copy = pickle.loads(pickle.dumps(lock))
    assert type(copy) is make and copy.__getnewargs_ex__() == lock.__getnewargs_ex__()
    assert make.__name__ in repr(lock)
    lock.close()
    assert lock.closed
    with pytest.raises(turnlock.ClosedError):
        lock.holders()
    with pytest.raises(turnlock.KindError):
        turnlock.Lock(path, "one")


def read_number(lock, path, times):
    for _ in range(times):
        with lock.write():
            number = int(open(path).read())
            with open(path, "w") as file:
                file.write(str(number + 1))
        with lock.read():
            int(open(path).read())


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_exclude_each_other(method, path, tmp_path):
    counter = tmp_path / "counter"
    counter.write_text("0")
    lock = turnlock.RWLock(path)
    context = multiprocessing.get_context(method)
    processes = [context.Process(target=read_number, args=(lock, str(counter), 50)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE)
        assert process.exitcode == 0
    assert counter.read_text() == "150"


def test_a_forked_child_holds_nothing_of_its_parents(path):
    lock, semaphore = turnlock.RWLock(path, "rwlock"), turnlock.Semaphore(path, "semaphore")
    semaphore.acquire()
    hold = lock.write()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for act, error in [(hold.release, turnlock.NotOwnerError), (semaphore.release, ValueError)]:
                with pytest.raises(error):
                    act()
            status = int(hold.held or is_free(lock.read) or semaphore.acquire(blocking=False))
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    hold.release()
    semaphore.release()


def run(main):
    async def within():
        await asyncio.wait_for(main(), PATIENCE)

    asyncio.run(within())


def test_tasks(path):
    async def main():
        lock, users = turnlock.aio.RWLock(path, "rwlock"), turnlock.aio.KeyedLock(path, "users")
        semaphore, records = turnlock.aio.Semaphore(path, "workers", 2), turnlock.aio.RangeLock(path, "records")
        store = turnlock.aio.GroupLock(path, "store")
        with pytest.raises(ValueError):
            store.enter(-1)
        async with lock.read() as hold, lock.read(), users.write("ada"), records.write(0, 5), records.read(5), semaphore, semaphore, store.enter(1), store.enter(1):
            assert hold.mode == "read"
            waits = [lock.write(), users.read("ada"), records.write(4, 6), semaphore.take(), store.enter(2)]
            tasks = [asyncio.ensure_future(wait._take()) for wait in waits]
            locks = (lock.lock, users.lock, records.lock, semaphore.lock, store.lock)
            while not all(each.waiters() for each in locks):
                await asyncio.sleep(0.001)
            for task in tasks:
                task.cancel()
            for task in tasks:
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert not any(each.waiters() for each in locks)
            with pytest.raises(turnlock.Timeout):
                await lock.write(timeout=0.02)
        waiting = asyncio.ensure_future(lock.write()._take())
        (await waiting).release()
        with pytest.raises(ValueError):
            semaphore.release()

    run(main)


def test_ctrl_c_ends_a_wait_and_leaves_nothing_in_the_queue(path):
    lock = turnlock.RWLock(path)
    lines = [
        f"lock = turnlock.RWLock({path!r})",
        "print('waits')",
        "try: lock.write()",
        "except KeyboardInterrupt: print('interrupted', lock.waiters())",
    ]
    with lock.read(), program(*lines) as child:
        child.stdout.readline()
        until(lambda: lock.waiters(), "the waiter is seen")
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted []\n"
