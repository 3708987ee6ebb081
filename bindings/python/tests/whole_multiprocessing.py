"""CPython's whole `test._test_multiprocessing` over `turnlock.multiprocessing`: for a run by hand, of minutes.

    METHOD=fork python tests/whole_multiprocessing.py      # or spawn, forkserver

Those of managers and of threads are left out, in which there is no lock between processes. `test_standard_multiprocessing.py` has
the part of it that `./check` runs.
"""

import multiprocessing as standard
import os
import types
import unittest

from test import _test_multiprocessing as tests
from turnlock import multiprocessing

# What is otherwise by intent, and why.
OTHERWISE = {
    ("TestResourceTracker", "test_resource_tracker_sigkill"): "no lock is left to the resource tracker: it has no name to be unlinked",
    ("TestStartMethod", "test_mixed_startmethod"): "a lock of the fork context may be given to a process that was spawned",
}


class OverTurnlock(types.ModuleType):
    """`turnlock.multiprocessing`, with the submodules of the standard module."""

    # Where the tests look for those.
    __file__ = standard.__file__

    def __getattr__(self, name):
        return getattr(multiprocessing, name, None) or getattr(standard, name)


def check_invariant(self, condition):
    """In the place of the standard condition's counters: no participant waits."""
    self.assertEqual(condition._waiting._waiting(), 0)


tests.multiprocessing = OverTurnlock("multiprocessing")
for name, made in vars(tests.ProcessesMixin).copy().items():
    if isinstance(made, staticmethod):
        setattr(tests.ProcessesMixin, name, staticmethod(getattr(multiprocessing, name)))
tests._TestCondition.check_invariant = check_invariant

# A child that was spawned imports this module too.
tests.install_tests_in_module_dict(globals(), os.environ["METHOD"])
for name in [name for name in globals() if name.startswith(("WithManager", "WithThreads"))]:
    del globals()[name]
for (of, case), why in OTHERWISE.items():
    setattr(globals()[of], case, unittest.skip(f"otherwise by intent: {why}")(getattr(globals()[of], case)))

if __name__ == "__main__":
    multiprocessing.set_start_method(os.environ["METHOD"], force=True)
    unittest.main(verbosity=2)
