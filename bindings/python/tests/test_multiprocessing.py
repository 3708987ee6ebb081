"""CPython's own tests of `multiprocessing.Lock`, `RLock` and `BoundedSemaphore`, over those of turnlock."""

import itertools
import multiprocessing
import os
import tempfile
import unittest

import pytest
import turnlock

pytest.importorskip("test._test_multiprocessing", reason="this Python came without its tests")
from test import _test_multiprocessing as tests  # noqa: E402

UNACQUIRED = "it releases permits that it has not acquired"
NO_PERMITS = "there is no semaphore of 0 permits"


def fresh(kind):
    """Makes a lock of its own name with each call, as `multiprocessing.Lock` does."""
    path = os.path.join(tempfile.mkdtemp(), "app.lock")
    numbers = itertools.count()
    return staticmethod(lambda *arguments: kind(path, f"lock {next(numbers)}", *arguments))


class Processes:
    TYPE = "processes"
    Process = multiprocessing.Process
    Queue = staticmethod(multiprocessing.Queue)
    Event = staticmethod(multiprocessing.Event)
    Lock = fresh(turnlock.Lock)
    RLock = fresh(turnlock.RLock)
    Semaphore = fresh(turnlock.Semaphore)
    BoundedSemaphore = fresh(turnlock.BoundedSemaphore)


class LockTests(Processes, tests._TestLock, unittest.TestCase):
    pass


class SemaphoreTests(Processes, tests._TestSemaphore, unittest.TestCase):
    @unittest.skip(UNACQUIRED)
    def test_semaphore(self):
        pass

    @unittest.skip(NO_PERMITS)
    def test_timeout(self):
        pass
