"""The forms for asyncio."""

import asyncio
import os
import signal
import threading
import time

import pytest
import turnlock
import turnlock.aio
from children import PATIENCE, holder, killed_inside, until


def run(main):
    """Runs a coroutine function, within limits."""

    async def within():
        await asyncio.wait_for(main(), PATIENCE)

    asyncio.run(within())


kinds = pytest.mark.parametrize("kind", [turnlock.aio.Lock, turnlock.aio.TurnRing])


@kinds
def test_tasks_exclude_each_other(kind, path):
    number = [0]

    async def count(lock):
        for _ in range(20):
            async with lock:
                seen = number[0]
                await asyncio.sleep(0)
                number[0] = seen + 1

    async def main():
        shared = kind(path)
        await asyncio.gather(*(count(lock) for lock in [shared] * 5 + [kind(path) for _ in range(5)]))

    run(main)
    assert number[0] == 200


@kinds
def test_the_event_loop_runs_while_a_task_waits(kind, path):
    async def main():
        lock, ticks = kind(path), 0
        task = asyncio.create_task(lock.acquire())
        while not lock.waiters():
            await asyncio.sleep(0.001)
        for _ in range(20):
            await asyncio.sleep(0.001)
            ticks += 1
        assert ticks == 20 and not task.done()
        child.kill()
        assert await task
        assert lock.previous_owner_died
        lock.mark_consistent()
        lock.release()

    with holder(path, kind.__name__) as child:
        run(main)


@kinds
def test_a_cancelled_wait_leaves_nothing_in_the_queue(kind, path):
    async def main():
        lock, *others = [kind(path) for _ in range(3)]
        for _ in range(20):
            tasks = [asyncio.create_task(one.acquire()) for one in [lock, *others]]
            while len(lock.waiters()) < 3:
                await asyncio.sleep(0.001)
            for task in tasks:
                task.cancel()
            for task in tasks:
                with pytest.raises(asyncio.CancelledError):
                    await task
            # Not a moment later.
            assert lock.waiters() == []

    with holder(path, kind.__name__):
        run(main)


def test_tasks_stand_in_line_at_one_object(path):
    async def main():
        lock, order = turnlock.aio.Lock(path), []

        async def enter(number):
            async with lock:
                order.append(number)
                # Of 100 tasks one waits in the library, unless another process has the lock.
                assert len(lock.waiters()) <= 1
                await asyncio.sleep(0)

        await lock.acquire()
        tasks = [asyncio.create_task(enter(number)) for number in range(100)]
        while not lock.waiters():
            await asyncio.sleep(0.001)
        assert threading.active_count() <= 3
        late = asyncio.create_task(lock.acquire(timeout=0.02))
        for number in (0, 1, 50, 99):
            tasks[number].cancel()
        assert not await late
        # A newcomer that does not wait does not stand in line.
        assert not await lock.acquire(blocking=False)
        lock.release()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        left = [number for number, outcome in enumerate(outcomes) if isinstance(outcome, asyncio.CancelledError)]
        assert left == [0, 1, 50, 99]
        assert order == [number for number in range(100) if number not in left]
        assert lock.waiters() == [] and not lock.locked()

    run(main)


def test_a_turn_in_line_that_comes_with_a_cancellation_is_passed_on(path):
    async def main():
        lock = turnlock.aio.Lock(path)
        for _ in range(50):
            await lock.acquire()
            first, second, third = [asyncio.create_task(lock.acquire()) for _ in range(3)]
            while not lock.waiters():
                await asyncio.sleep(0)
            # The turn of the second comes as it is cancelled.
            first.add_done_callback(lambda _, second=second: second.cancel())
            lock.release()
            assert await first
            with pytest.raises(asyncio.CancelledError):
                await second
            lock.release()
            assert await third
            lock.release()

    run(main)


def test_readers_and_permits_stand_in_line_and_keys_do_not(path):
    async def main():
        rwlock, semaphore = turnlock.aio.RWLock(path, "rwlock"), turnlock.aio.Semaphore(path, "semaphore", 2)
        keys = turnlock.aio.KeyedLock(path, "keys")
        writer = await rwlock.write()
        both = await semaphore.take(2)
        ada, grace = await keys.write("ada"), await keys.write("grace")
        waits = [asyncio.ensure_future(rwlock.read()._take()) for _ in range(3)]
        waits += [asyncio.ensure_future(semaphore.take()._take()) for _ in range(2)]
        waits += [asyncio.ensure_future(keys.read(key)._take()) for key in ("ada", "grace")]
        while len(keys.lock.waiters()) < 2 or not rwlock.lock.waiters() or not semaphore.lock.waiters():
            await asyncio.sleep(0.001)
        assert len(rwlock.lock.waiters()) == len(semaphore.lock.waiters()) == 1
        with pytest.raises(turnlock.Timeout, match=f"process {os.getpid()} .* has had it for"):
            await keys.write("ada", timeout=0.01)
        with pytest.raises(turnlock.Timeout, match=f"process {os.getpid()} .* has had it for"):
            await rwlock.read(blocking=False)
        for hold in (writer, both, ada, grace):
            hold.release()
        for hold in await asyncio.gather(*waits):
            hold.release()

    run(main)


def test_waits_that_are_cancelled_as_the_lock_comes_lose_nothing(path):
    async def main():
        lock = turnlock.aio.Lock(path)
        outcomes = set()
        for turn in range(200):
            await lock.acquire()
            task = asyncio.create_task(lock.acquire())
            while not lock.waiters():
                await asyncio.sleep(0)
            lock.release()
            if turn % 2:
                # The thread may have the lock by now, and the task not know.
                time.sleep(0.0002 * (turn % 5))
            task.cancel()
            try:
                await task
                outcomes.add("acquired")
                lock.release()
            except asyncio.CancelledError:
                outcomes.add("cancelled")
            assert lock.waiters() == []
            assert await lock.acquire(timeout=PATIENCE)
            lock.release()
        assert "cancelled" in outcomes

    run(main)


def test_a_wait_that_is_cancelled_twice(path):
    async def main():
        lock = turnlock.aio.Lock(path)
        task = asyncio.create_task(lock.acquire())
        while not lock.waiters():
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert lock.waiters() == []

    with holder(path):
        run(main)


@kinds
def test_time_limits(kind, path):
    async def main():
        lock = kind(path)
        assert not await lock.acquire(blocking=False)
        assert not await lock.acquire(timeout=0.05)
        assert not await lock.acquire(timeout=0)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(lock.acquire(), 0.05)
        with pytest.raises(ValueError):
            await lock.acquire(timeout=-2)
        assert lock.waiters() == [] and lock.locked()

    with holder(path, kind.__name__):
        run(main)


def test_the_dead_owner_is_information(path):
    killed_inside(path)

    async def main():
        async with turnlock.aio.Lock(path) as lock:
            assert lock.previous_owner_died and lock.previous_owner.label and lock.fencing_token
            lock.mark_consistent()

    run(main)


def test_a_death_is_not_lost_with_a_task_that_is_cancelled(path):
    """The lock comes, with the notice, when the task is cancelled already: the next one is told."""

    async def main():
        lock = turnlock.aio.Lock(path)
        task = asyncio.create_task(lock.acquire())
        while not lock.waiters():
            await asyncio.sleep(0.001)
        child.kill()
        # Without the event loop: the thread has the lock, and the task does not know.
        until(lambda: lock.fencing_token is not None, "the thread has the lock")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await lock.acquire(timeout=PATIENCE)
        assert lock.previous_owner_died
        lock.mark_consistent()
        lock.release()

    with holder(path) as child:
        run(main)


def test_errors_of_a_wait_reach_the_task(path):
    """The lock is closed for everyone while a task waits for it."""

    async def main():
        lock = turnlock.aio.Lock(path)
        task = asyncio.create_task(lock.acquire())
        while not lock.waiters():
            await asyncio.sleep(0.001)
        child.kill()
        assert await task
        # Released without mark_consistent.
        with pytest.warns(turnlock.NotRecoverableWarning):
            lock.release()
        with pytest.raises(turnlock.NotRecoverableError):
            await lock.acquire()

    with holder(path, options=', death_policy="inform"') as child:
        run(main)


def test_a_loop_that_ends_while_a_task_waits(path):
    async def main():
        task = asyncio.create_task(turnlock.aio.Lock(path).acquire())
        await asyncio.sleep(0.05)
        assert not task.done()

    lock = turnlock.Lock(path)
    with lock:
        run(main)
        until(lambda: not lock.waiters(), "nothing waits any more")


def test_ctrl_c_ends_the_loop_and_the_waits(path):
    lock = turnlock.Lock(path)
    lock.acquire()
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run(lambda: turnlock.aio.Lock(path).acquire())
    until(lambda: not lock.waiters(), "nothing waits any more")
    lock.release()


def test_spare_participants_are_given_back(path):
    async def main():
        lock = turnlock.aio.Lock(path, participants=8)
        for _ in range(30):
            async with lock:
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(lock.acquire(), 0.002)

    run(main)


def test_a_task_cannot_stand_in_a_ring(path):
    with pytest.raises(ValueError, match="member"):
        turnlock.aio.TurnRing(path, member=True)


def test_a_semaphore_is_locked_while_no_permit_is_free(path):
    async def main():
        semaphore, other = (turnlock.aio.Semaphore(path, "jobs", 2) for _ in range(2))
        assert not semaphore.locked()
        await semaphore.acquire()
        assert not semaphore.locked()
        await other.acquire()
        assert semaphore.locked() and other.locked()
        semaphore.release()
        assert not other.locked()
        other.release()

    run(main)


def test_a_file_lock_may_be_a_singleton_and_thread_local_is_refused_as_in_filelock(path):
    one = turnlock.aio.FileLock(path, is_singleton=True)
    assert turnlock.aio.FileLock(path, is_singleton=True) is one and one.is_singleton
    with pytest.raises(ValueError, match="Singleton"):
        turnlock.aio.FileLock(path, 3, is_singleton=True)
    with pytest.raises(ValueError, match="run_in_executor"):
        turnlock.aio.FileLock(path, thread_local=True)
    assert turnlock.aio.FileLock(path, thread_local=True, run_in_executor=False).is_thread_local()


def test_file_locks(path):
    async def main():
        lock = turnlock.aio.FileLock(path, timeout=PATIENCE)
        assert (lock.timeout, lock.blocking, lock.mode, lock.is_singleton) == (PATIENCE, True, 0o644, False)
        assert not lock.is_locked and lock.lock_file == path
        async with lock:
            async with await lock.acquire():
                assert lock.lock_counter == 2
            other = turnlock.aio.FileLock(path, timeout=0.05)
            with pytest.raises(turnlock.Timeout) as error:
                await other.acquire()
            assert error.value.lock_file == path
            with pytest.raises(turnlock.Timeout):
                await other.acquire(blocking=False)
            waiting = asyncio.create_task(other.acquire(timeout=PATIENCE))
            await asyncio.sleep(0.01)
        await waiting
        assert other.is_locked and not lock.is_locked
        await other.release()
        await other.release()
        assert not other.is_locked

    run(main)
