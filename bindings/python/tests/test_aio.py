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
        lock = kind(path)
        for _ in range(20):
            tasks = [asyncio.create_task(lock.acquire()) for _ in range(3)]
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
