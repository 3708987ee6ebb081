"""CPython's own tests of `asyncio.Lock` and `asyncio.Semaphore`, over those of `turnlock.aio`."""

import asyncio
import itertools
import os
import tempfile
import unittest
from unittest import mock

import pytest
import turnlock.aio

test_locks = pytest.importorskip("test.test_asyncio.test_locks", reason="this Python came without its tests")

PRIVATE = "it reads private fields of asyncio's own"
NO_PERMITS = "there is no semaphore of 0 permits, and no release of what was not acquired"
TURNS = "it counts turns of the event loop, in which a wait by a thread is not over"
NOT_ONE = "it looks at all of asyncio's classes at once"


class Fresh:
    """Each call makes a lock of its own name, as each call of `asyncio.Lock` makes a lock."""

    def __init__(self, kind):
        self.kind = kind
        self.path = os.path.join(tempfile.mkdtemp(), "app.lock")
        self.numbers = itertools.count()

    def __call__(self, *arguments, **options):
        return self.kind(self.path, f"lock {next(self.numbers)}", *arguments, locks=512, participants=64, **options)


def over(tests, kind, **left_out):
    """These tests with turnlock's class in the place of asyncio's, but for those that are left out, each with its reason."""

    def set_up(self):
        patched = mock.patch.object(asyncio, kind.__name__, Fresh(kind))
        patched.start()
        self.addCleanup(patched.stop)
        tests.setUp(self)

    members = {"setUp": set_up}
    for name, why in left_out.items():
        getattr(tests, name)  # It is there.
        members[name] = unittest.skip(why)(lambda self: None)
    return type(tests.__name__, (tests,), members)


LockTests = over(
    test_locks.LockTests,
    turnlock.aio.Lock,
    test_acquire=TURNS,
    test_acquire_cancel=PRIVATE,
    test_cancel_race=PRIVATE,
    test_cancel_release_race=TURNS,
    test_finished_waiter_cancelled=PRIVATE,
    test_lock_doesnt_accept_loop_parameter=NOT_ONE,
)
SemaphoreTests = over(
    test_locks.SemaphoreTests,
    turnlock.aio.Semaphore,
    test_acquire=PRIVATE,
    test_acquire_cancel=PRIVATE,
    test_acquire_cancel_before_awoken=PRIVATE,
    test_acquire_fifo_order_2=NO_PERMITS,
    test_acquire_fifo_order_3=NO_PERMITS,
    test_acquire_hang=NO_PERMITS,
    test_initial_value_zero=NO_PERMITS,
    test_repr=PRIVATE,
    test_semaphore=PRIVATE,
)
