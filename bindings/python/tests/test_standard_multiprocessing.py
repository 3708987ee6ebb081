"""CPython's own tests of `multiprocessing`, over `turnlock.multiprocessing`.

TURNLOCK_ALL_METHODS=1: with spawn and forkserver, too, where each process takes a good while to begin.
"""

import os
import unittest

import pytest
from turnlock import multiprocessing

pytest.importorskip("test._test_multiprocessing", reason="this Python came without its tests")
from test import _test_multiprocessing as tests  # noqa: E402

SETS = [
    "Lock",
    "Semaphore",
    "Condition",
    "Event",
    "Barrier",
    "Queue",
    "Value",
    "Array",
    "Pool",
    "PoolWorkerErrors",
    "PoolWorkerLifetime",
]
METHODS = {"fork": SETS, "spawn": ["Lock", "Semaphore", "Event"], "forkserver": ["Queue"]}
if os.environ.get("TURNLOCK_ALL_METHODS"):
    METHODS = dict.fromkeys(METHODS, SETS)


class Over:
    """The names that the tests use, of the module under test."""

    start_method = "fork"

    @classmethod
    def setUpClass(cls):
        cls.before = multiprocessing.get_start_method()
        multiprocessing.set_start_method(cls.start_method, force=True)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        multiprocessing.set_start_method(cls.before, force=True)

    def check_invariant(self, condition):
        """In the place of the standard condition's counters: no participant waits."""
        self.assertEqual(condition._waiting._waiting(), 0)


for name in ("Pool", "Queue", "JoinableQueue", "Lock", "RLock", "Semaphore", "BoundedSemaphore", "Condition", "Event", "Barrier"):
    setattr(Over, name, staticmethod(getattr(multiprocessing, name)))
for name in ("Value", "Array"):
    setattr(Over, name, staticmethod(getattr(multiprocessing, name)))


def over(method, name):
    of = getattr(tests, f"_Test{name}")
    made = type(f"{method.capitalize()}{name}Tests", (Over, of, tests.ProcessesMixin, unittest.TestCase), {"start_method": method})
    made.__module__ = __name__
    return made


def test_a_context_is_called_after_its_method():
    for method in METHODS:
        context = multiprocessing.get_context(method)
        assert type(context).__name__.lower() == f"{method}context"
        assert context.Process.__name__.lower() == f"{method}process"


for method, names in METHODS.items():
    for name in names:
        made = over(method, name)
        globals()[made.__name__] = made
del made
