"""What tests run in other processes: functions that spawn and forkserver can import."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent

# The number of seconds after which a child is given up.
PATIENCE = 120


@contextmanager
def program(*lines):
    """A Python program in another process, given its lines; it is killed at the end."""
    code = "import os, signal, sys, threading, time, turnlock\n" + "\n".join(lines)
    child = subprocess.Popen(
        [sys.executable, "-u", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield child
    finally:
        child.kill()
        child.wait(timeout=PATIENCE)
        for pipe in (child.stdin, child.stdout, child.stderr):
            pipe.close()


@contextmanager
def holder(path, kind="Lock", options=""):
    """Another process that has the lock."""
    with program(f"lock = turnlock.{kind}({path!r}{options})", "lock.acquire()", "print('in')", "sys.stdin.read()") as child:
        assert child.stdout.readline() == "in\n", child.stderr.read()
        yield child


def killed_inside(path, kind="Lock", options=""):
    """Another process that was killed while it had the lock. Returns its pid."""
    with holder(path, kind, options) as child:
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=PATIENCE)
        return child.pid


def until(condition, what):
    """Waits until `condition()` holds, within limits."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"not in time: {what}"
        time.sleep(0.002)


# For multiprocessing.


def count(lock, counter, times):
    """Adds to a number in a file, which nothing but the lock protects."""
    for _ in range(times):
        with lock:
            number = int(Path(counter).read_text())
            Path(counter).write_text(str(number + 1))


def count_by_path(path, counter, times):
    """The same, with a lock object of its own."""
    import turnlock

    count(turnlock.Lock(path), counter, times)


def is_refused(lock):
    """Whether another holder has the lock."""
    return not lock.acquire(blocking=False)


def acquire_and_exit(lock):
    """Dies with the lock."""
    lock.acquire()
    os._exit(0)
