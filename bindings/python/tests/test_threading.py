"""CPython's own tests of its locks, run on locks between processes; and threading.Condition over them."""

import itertools
import os
import tempfile
import threading
from test import lock_tests

import pytest
import turnlock

class Fresh:
    """Each call makes a lock of its own name, as each call of `threading.Lock` makes a lock."""

    def __init__(self, kind):
        self.kind = kind
        self.path = os.path.join(tempfile.mkdtemp(), "app.lock")
        self.numbers = itertools.count()

    def __call__(self):
        return self.kind(self.path, f"lock {next(self.numbers)}", locks=4096, participants=256)


class LockTests(lock_tests.LockTests):
    locktype = Fresh(turnlock.Lock)


class RLockTests(lock_tests.RLockTests):
    locktype = Fresh(turnlock.RLock)


class TurnRingTests(lock_tests.LockTests):
    locktype = Fresh(turnlock.TurnRing)


@pytest.mark.parametrize("kind", [turnlock.Lock, turnlock.RLock])
def test_a_condition_of_one_process_works_over_it(kind, path):
    condition = threading.Condition(kind(path))
    queue, got = [], []

    def consume():
        with condition:
            while not queue:
                assert condition.wait(30)
            got.append(queue.pop())

    consumers = [threading.Thread(target=consume) for _ in range(3)]
    for consumer in consumers:
        consumer.start()
    for number in range(3):
        with condition:
            queue.append(number)
            condition.notify()
    for consumer in consumers:
        consumer.join(30)
    assert sorted(got) == [0, 1, 2]
