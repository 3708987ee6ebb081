"""Processes of `turnlock.multiprocessing` are killed at any moment, many times: the others go on. Beside it, what the standard module
does then.

TURNLOCK_KILLS=N: how often they kill in a pool and among the readers of a queue, 100 times if not said.
"""

import contextlib
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pytest
from children import PATIENCE, until
from turnlock import multiprocessing
from victims import (
    die,
    hold_again_and_again,
    pass_again_and_again,
    put_again_and_again,
    read_and_say,
    square,
    wait_again_and_again,
)

KILLS = int(os.environ.get("TURNLOCK_KILLS", "100"))
# With the other start methods a process takes a good while to begin.
FEW = max(KILLS // 50, 4)
methods = pytest.mark.parametrize(("method", "kills"), [("fork", KILLS), ("spawn", FEW), ("forkserver", FEW)])
# What the standard module has not done within so many seconds it never does.
HANGS = 2.5


class Crew:
    """So many processes of one kind, which are killed and replaced."""

    def __init__(self, context, number, target, *arguments):
        self.context, self.target, self.arguments = context, target, arguments
        self.processes = [self.another() for _ in range(number)]

    def another(self):
        process = self.context.Process(target=self.target, args=self.arguments, daemon=True)
        process.start()
        if self.context.get_start_method() != "fork":
            # Until it has begun; it may be killed before.
            time.sleep(random.random() / 2)
        return process

    def kill_one(self):
        """Kills any of them, and starts another one."""
        index = random.randrange(len(self.processes))
        kill(self.processes[index])
        self.processes[index] = self.another()

    def end(self):
        for process in self.processes:
            kill(process)


def kill(process):
    process.kill()
    process.join(PATIENCE)
    assert process.exitcode == -signal.SIGKILL


@contextlib.contextmanager
def crew(*arguments):
    made = Crew(*arguments)
    try:
        yield made
    finally:
        made.end()


def a_moment():
    time.sleep(random.random() ** 3 * 0.01)


def living(pool):
    found = []

    def are_there():
        found[:] = [worker for worker in list(pool._pool) if worker.exitcode is None]
        return found

    until(are_there, "the pool has workers")
    return found


@methods
def test_a_pool_goes_on_when_its_workers_are_killed(method, kills):
    with multiprocessing.get_context(method).Pool(4) as pool:
        for turn in range(kills):
            sizes = [random.choice((0, 100, 10_000, 200_000)) for _ in range(8)]
            results = [pool.apply_async(square, (turn + k, size)) for k, size in enumerate(sizes)]
            a_moment()
            victim = random.choice(living(pool))
            victim.kill()
            # Until it is dead it may take another task.
            until(lambda: victim.exitcode is not None, "it is dead")
            # The task that it was at is lost, as in the standard pool.
            until(lambda: sum(result.ready() for result in results) >= 7, "all tasks but one are done")
            for k, (result, size) in enumerate(zip(results, sizes, strict=True)):
                if result.ready():
                    assert result.get() == ((turn + k) ** 2, bytes(size))
        # Those of the last rounds may be on their way.
        lost = len(pool._cache)
        assert lost <= kills
        assert pool.apply_async(square, (3,)).get(PATIENCE) == (9, b"")


@methods
def test_a_queue_goes_on_when_its_readers_are_killed(method, kills):
    context = multiprocessing.get_context(method)
    source, said = context.Queue(), context.SimpleQueue()
    seen, numbers = [], 0
    with crew(context, 4, read_and_say, source, said) as readers:
        listener = threading.Thread(target=lambda: seen.extend(iter(said.get, None)), daemon=True)
        listener.start()
        for _ in range(kills):
            for _ in range(8):
                source.put((numbers, bytes(random.choice((0, 100, 10_000, 200_000)))))
                numbers += 1
            a_moment()
            readers.kill_one()
        # All that came after the last kill come.
        last = range(numbers, numbers + 100)
        for number in last:
            source.put((number, b""))
        until(lambda: set(last) <= set(seen), "those that are left read")
    said.put(None)
    listener.join(PATIENCE)
    # Each killed reader had at most the one that it was at, and none was read twice.
    assert len(seen) == len(set(seen)) and numbers + 100 - len(seen) <= kills


def take_for(sink, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            assert len(sink.get(timeout=0.002)) in (1, 100, 10_000, 200_000)
        except queue.Empty:
            pass


@methods
def test_a_queue_goes_on_and_keeps_its_room_when_its_writers_are_killed(method, kills):
    context = multiprocessing.get_context(method)
    sink = context.Queue(3)
    with crew(context, 3, put_again_and_again, sink) as writers:
        for _ in range(max(kills // 2, 4)):
            take_for(sink, random.random() ** 3 * 0.02)
            writers.kill_one()
        for _ in range(20):
            sink.get(timeout=PATIENCE)
    # What those that are dead have put is taken out; then it has all of its room, and no more.
    while True:
        try:
            sink.get(timeout=0.5)
        except queue.Empty:
            break
    for number in range(3):
        sink.put(number, timeout=PATIENCE)
    with pytest.raises(queue.Full):
        sink.put(3, timeout=0.05)
    assert [sink.get(timeout=PATIENCE) for _ in range(3)] == [0, 1, 2]


@methods
@pytest.mark.parametrize("kind", ["Lock", "RLock"])
def test_a_lock_and_a_semaphore_are_free_when_their_holders_are_killed(method, kills, kind):
    context = multiprocessing.get_context(method)
    lock, semaphore = getattr(context, kind)(), context.BoundedSemaphore(2)
    with crew(context, 3, hold_again_and_again, lock, semaphore, context.RawValue("Q")) as holders:
        for _ in range(max(kills // 4, 4)):
            a_moment()
            holders.kill_one()
            assert lock.acquire(timeout=PATIENCE)
            lock.release()
    assert semaphore.acquire(timeout=PATIENCE) and semaphore.acquire(timeout=PATIENCE)
    assert not semaphore.acquire(False) and semaphore.get_value() == 0
    semaphore.release(), semaphore.release()
    with pytest.raises(ValueError):
        semaphore.release()


@methods
def test_set_and_notify_all_return_when_those_that_wait_are_killed(method, kills):
    context = multiprocessing.get_context(method)
    condition, event = context.Condition(), context.Event()
    with crew(context, 3, wait_again_and_again, condition, event) as waiters:
        for _ in range(kills // 2):
            a_moment()
            waiters.kill_one()
            began = time.monotonic()
            event.set()
            assert condition.acquire(timeout=PATIENCE)
            condition.notify_all()
            condition.notify()
            condition.release()
            event.clear()
            assert time.monotonic() - began < PATIENCE / 4
    with condition:
        assert condition.wait(0.01) is False


@methods
def test_a_barrier_breaks_when_a_party_is_killed(method, kills):
    context = multiprocessing.get_context(method)
    barrier = context.Barrier(3)
    with crew(context, 2, pass_again_and_again, barrier) as parties:
        for _ in range(max(kills // 10, 4)):
            barrier.reset()
            for _ in range(3):
                try:
                    assert barrier.wait(PATIENCE) in range(3)
                except threading.BrokenBarrierError:
                    # Of the reset: one that had come was sent away.
                    barrier.reset()
            parties.kill_one()
            with pytest.raises(threading.BrokenBarrierError):
                while True:
                    barrier.wait(PATIENCE)


# What is done with the standard module and with turnlock's, by a program of its own, since it may never end.
SCENES = {
    "a pool whose idle workers were killed": """
pool = multiprocessing.Pool(2)
pool.map(abs, range(8))
time.sleep(0.2)
workers = list(pool._pool)
for worker in workers:
    worker.kill()
while any(worker.exitcode is None for worker in workers):
    time.sleep(0.01)
print(pool.apply_async(abs, (-7,)).get())
""",
    "a queue whose reader was killed": """
queue = multiprocessing.Queue()
reader = multiprocessing.Process(target=queue.get)
reader.start()
time.sleep(0.2)
reader.kill()
reader.join()
queue.put(7)
print(queue.get())
""",
    "an event for which one waits that was killed": """
event = multiprocessing.Event()
waiter = multiprocessing.Process(target=event.wait)
waiter.start()
time.sleep(0.2)
waiter.kill()
waiter.join()
event.set()
print(7)
""",
    "a condition at which one waits that was killed": """
def wait():
    with condition:
        condition.wait()
condition = multiprocessing.Condition()
waiter = multiprocessing.Process(target=wait)
waiter.start()
time.sleep(0.2)
waiter.kill()
waiter.join()
with condition:
    condition.notify_all()
print(7)
""",
    "a lock whose holder was killed": """
lock = multiprocessing.Lock()
holder = multiprocessing.Process(target=lambda: (lock.acquire(), time.sleep(60)))
holder.start()
time.sleep(0.2)
holder.kill()
holder.join()
with lock:
    print(7)
""",
}


@contextlib.contextmanager
def scene_of(name, module):
    lines = f"import os, signal, time\nimport {module} as multiprocessing\nmultiprocessing.set_start_method('fork')\n"
    program = [sys.executable, "-u", "-c", lines + SCENES[name] + "os._exit(0)\n"]
    child = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait(PATIENCE)
        child.stdout.close()


def test_where_the_standard_module_hangs():
    with contextlib.ExitStack() as stack:
        for name in SCENES:
            child = stack.enter_context(scene_of(name, "turnlock.multiprocessing"))
            assert child.wait(PATIENCE) == 0 and child.stdout.read() == "7\n", name
        standard = {name: stack.enter_context(scene_of(name, "multiprocessing")) for name in SCENES}
        time.sleep(HANGS)
        assert {name: child.poll() for name, child in standard.items()} == dict.fromkeys(SCENES)


@methods
def test_an_executor_says_that_a_worker_was_killed_and_ends(method, kills):
    context = multiprocessing.get_context(method)
    for _ in range(3):
        with ProcessPoolExecutor(2, mp_context=context) as executor:
            assert list(executor.map(abs, range(-20, 0))) == list(range(20, 0, -1))
            with pytest.raises(BrokenProcessPool):
                executor.submit(die).result(PATIENCE)
