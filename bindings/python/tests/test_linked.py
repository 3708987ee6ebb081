"""Linked locks: what a program meets that has nothing to do with other hosts. Their agent is `examples/agent.rs`, which is told where they are."""

import contextlib
import os
import subprocess
import threading
from pathlib import Path

import pytest
import turnlock
from children import PATIENCE
from turnlock import _filelock

NAME = _filelock.NAME


def agent_program():
    """The agent, which `check` has built; TURNLOCK_AGENT names it."""
    target = os.environ.get("CARGO_TARGET_DIR", Path(__file__).parent.parent.parent.parent / "target")
    program = Path(os.environ.get("TURNLOCK_AGENT", Path(target) / "debug" / "examples" / "agent"))
    if not program.exists():
        pytest.skip(f"no {program}: cargo build --example agent")
    return str(program)


@contextlib.contextmanager
def agent(path, name=NAME):
    """An agent of the lock, which is created linked and is away: a function that tells it a word."""
    child = subprocess.Popen([agent_program(), path, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(word):
        child.stdin.write(f"{word}\n")
        child.stdin.flush()
        assert child.stdout.readline() == f"{word}\n"

    try:
        yield tell
    finally:
        child.stdin.close()
        assert child.wait(timeout=PATIENCE) == 0
        child.stdout.close()


def linked(path):
    """A lock that is linked and away, without an agent."""
    with agent(path):
        pass
    return turnlock.Lock(path, NAME)


def test_one_that_is_away_is_not_acquired_and_the_error_says_why(path):
    lock = linked(path)
    assert not lock.acquire(blocking=False) and not lock.acquire(timeout=0.01)
    assert not lock.locked() and lock.fencing_token is None
    for options in ({"timeout": 0.01}, {"blocking": False}):
        with pytest.raises(turnlock.Timeout, match="it is linked, and no agent is attached to it; wait longer, or try later"):
            turnlock.lock(path, **options).acquire()
    with agent(path) as tell:
        tell("home")
        tell("away")
        with pytest.raises(turnlock.Timeout, match="it is linked, and away;"):
            turnlock.lock(path, timeout=0.01).acquire()


def test_it_is_acquired_once_an_agent_has_brought_it_home(path):
    lock, tokens = linked(path), []

    def enter():
        with lock:
            tokens.append(lock.fencing_token)

    with agent(path) as tell:
        waits = threading.Thread(target=enter)
        waits.start()
        while not lock.waiters():
            assert waits.is_alive()
        assert not tokens
        tell("home")
        waits.join(PATIENCE)
        enter()
        tell("away")
        assert not lock.acquire(timeout=0.01)
        tell("home")
        enter()
    # The agent is gone, and the lock is home.
    enter()
    assert len(tokens) == 4 and tokens == sorted(set(tokens))


def test_a_holder_is_told_when_the_lease_ends(path):
    lock = linked(path)
    with agent(path) as tell:
        tell("home")
        with pytest.raises(turnlock.NotOwnerError):
            lock.still_owner()
        with lock:
            assert lock.still_owner(), "there is no lease"
        tell("lease")
        lock.acquire()
        assert lock.still_owner()
        tell("ended")
        assert not lock.still_owner()
        with pytest.raises(turnlock.LeaseEndedError, match="its fencing token") as error:
            lock.release()
        assert error.value.code == -39
        # It is released all the same; and nobody enters until the agent has a lease again.
        with pytest.raises(turnlock.NotOwnerError):
            lock.release()
        assert not lock.acquire(timeout=0.01)
        with pytest.raises(turnlock.Timeout, match="its lease has ended"):
            turnlock.lock(path, timeout=0.01).acquire()
        tell("lease")
        with lock:
            assert lock.still_owner()


@pytest.mark.parametrize("kind", [turnlock.Lock, turnlock.RLock, turnlock.TurnRing])
def test_one_that_is_not_linked_is_of_this_host_alone(kind, path):
    lock = kind(path)
    with pytest.raises(turnlock.NotOwnerError):
        lock.still_owner()
    with lock:
        assert lock.still_owner()
