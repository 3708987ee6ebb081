#!/usr/bin/env python3
"""What `with lock: pass` costs, beside the locks that Python has: processor time without contention, and how often two
processes enter that share it.

    python bench.py [--quick]

All in one run, a little of each in turn, the medians of it. For ctypes it needs libturnlock.so (`cargo build --release
--lib`, or TURNLOCK_LIBRARY); for filelock that package. The bar: without another contender at most 1.2 times what
`threading.Lock` costs, and less than `multiprocessing.Lock`.
"""

import multiprocessing
import os
import statistics
import sys
import tempfile
import threading
import time
import timeit
from pathlib import Path

import turnlock

ROOT = Path(__file__).resolve().parent.parent.parent
# Of memory, as lock files for speed are: what a disk does to filelock is not the question here.
FOLDER = tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
PATH = os.path.join(FOLDER.name, "bench.lock")


class CtypesLock:
    """The plain C ABI, by the declarations of the ctypes example."""

    def __init__(self):
        import ctypes

        sys.path.insert(0, str(ROOT / "examples"))
        import turnlock_ctypes

        library = turnlock_ctypes.load_library()
        file, handle = ctypes.c_void_p(), ctypes.c_void_p()
        library.turnlock_file_open(os.fsencode(PATH), None, ctypes.byref(file))
        library.turnlock_mutex_open(file, b"ctypes", None, ctypes.byref(handle))
        self.lock, self.unlock, self.handle = library.turnlock_mutex_lock, library.turnlock_mutex_unlock, handle

    def __enter__(self):
        self.lock(self.handle, None)

    def __exit__(self, *_):
        self.unlock(self.handle)


class Each:
    """What is to be called for each `with`."""

    def __init__(self, call):
        self.call = call


def candidates():
    """The locks, by name; those that cannot be had are named."""
    yield "threading.Lock", threading.Lock()
    yield "turnlock.Lock", turnlock.Lock(PATH)
    yield "threading.RLock", threading.RLock()
    yield "turnlock.RLock", turnlock.RLock(PATH, "recursive")
    yield "multiprocessing.Lock", multiprocessing.Lock()
    yield "threading.Semaphore", threading.Semaphore()
    yield "multiprocessing.Semaphore", multiprocessing.Semaphore()
    yield "turnlock.Semaphore", turnlock.Semaphore(PATH, "semaphore")
    yield "turnlock.RWLock, read()", Each(turnlock.RWLock(PATH, "rwlock").read)
    yield "turnlock.RWLock, write()", Each(turnlock.RWLock(PATH, "rwlock").write)
    yield "turnlock.TurnRing", turnlock.TurnRing(PATH, "ring")
    # In a file of its own: from then on the thread is without the shortest way in that file.
    shared = turnlock.Lock(PATH + ".shared")
    shared.acquire()
    other = threading.Thread(target=shared.release)
    other.start(), other.join()
    yield "turnlock.Lock, once released by another thread", shared
    yield "turnlock.FileLock", turnlock.FileLock(PATH + ".file")
    library = ROOT / "target" / "release" / "libturnlock.so"
    if library.exists():
        os.environ.setdefault("TURNLOCK_LIBRARY", str(library))
    try:
        yield "turnlock by ctypes", CtypesLock()
    except OSError:
        print("skipped: turnlock by ctypes: no libturnlock.so (cargo build --release --lib)")
    try:
        import filelock

        yield "filelock.FileLock", filelock.FileLock(PATH + ".filelock")
    except ImportError:
        print("skipped: filelock is not installed")


def timer_of(lock):
    """Counts processor time, which is the same on a busy machine; as no thread waits, no other time passes."""
    if isinstance(lock, Each):
        return timeit.Timer("with lock(): pass", globals={"lock": lock.call}, timer=time.thread_time)
    return timeit.Timer("with lock: pass", globals={"lock": lock}, timer=time.thread_time)


def uncontended(rounds):
    """Nanoseconds of processor time of a `with lock: pass`, by name."""
    locks = dict(candidates())
    timers = {name: timer_of(lock) for name, lock in locks.items()}
    times = {name: [] for name in locks}
    for _ in range(rounds):
        for name, timer in timers.items():
            number = 200 if "filelock." in name else 20_000
            times[name].append(timer.timeit(number) / number * 1e9)
    return {name: statistics.median(of) for name, of in times.items()}


def contend(lock, seconds, entries):
    """Enters again and again for so long; puts down how often."""
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(50):
            with lock:
                pass
        count += 50
    entries.put(count)


def contended(make, seconds):
    """Entries per second of two processes that do nothing else."""
    context = multiprocessing.get_context("fork")
    lock, entries = make(), context.Queue()
    processes = [context.Process(target=contend, args=(lock, seconds, entries)) for _ in range(2)]
    for process in processes:
        process.start()
    total = sum(entries.get(timeout=60) for _ in processes)
    for process in processes:
        process.join()
    return total / seconds


def main():
    quick = "--quick" in sys.argv[1:]
    times = uncontended(5 if quick else 41)
    unit = times["threading.Lock"]
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} processors; processor time of with lock: pass, uncontended")
    for name, time_of_it in times.items():
        print(f"  {name:<48} {time_of_it:10.0f} ns   {time_of_it / unit:7.2f} x threading.Lock")
    ours = times["turnlock.Lock"]
    is_met = ours <= 1.2 * unit and ours < times["multiprocessing.Lock"]
    print(f"  the bar is {'met' if is_met else 'MISSED'}: at most 1.2 x threading.Lock, less than multiprocessing.Lock")

    seconds = 0.3 if quick else 2
    rates = {
        "multiprocessing.Lock": contended(lambda: multiprocessing.get_context("fork").Lock(), seconds),
        "turnlock.Lock": contended(lambda: turnlock.Lock(PATH, "contended"), seconds),
    }
    print("two processes that enter without a pause, entries per second")
    for name, rate in rates.items():
        print(f"  {name:<48} {rate:10,.0f}      {rate / rates['multiprocessing.Lock']:7.2f} x multiprocessing.Lock")


if __name__ == "__main__":
    main()
