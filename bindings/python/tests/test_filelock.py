"""What programs that use the package filelock expect of a `FileLock`.

Each test here runs on filelock's own class as well, where that is installed: so the two are compared, and not ours with a
memory of the other.
"""

import os
import pickle
import threading
import time

import pytest
import turnlock
from children import PATIENCE, killed_inside

try:
    import filelock
except ImportError:
    filelock = None

CLASSES = [("turnlock", turnlock.FileLock, turnlock.Timeout)]
if filelock is not None:
    CLASSES.append(("filelock", filelock.FileLock, filelock.Timeout))
both = pytest.mark.parametrize(("make", "timeout"), [each[1:] for each in CLASSES], ids=[each[0] for each in CLASSES])


@both
def test_simple(make, timeout, path):
    lock = make(path)
    assert not lock.is_locked and lock.lock_counter == 0
    with lock as same:
        assert same is lock and lock.is_locked and lock.lock_counter == 1
        assert os.path.exists(path)
    assert not lock.is_locked
    assert lock.lock_file == path


@both
def test_nested(make, timeout, path):
    lock = make(path)
    with lock as outer:
        with lock as inner:
            assert outer is inner is lock and lock.lock_counter == 2
        assert lock.is_locked
    assert not lock.is_locked


@both
def test_acquire_returns_a_context_manager(make, timeout, path):
    lock = make(path)
    with lock.acquire() as first:
        assert first is lock
        with lock.acquire(timeout=1) as second:
            assert second is lock and lock.lock_counter == 2
        assert lock.is_locked
    assert not lock.is_locked


@both
def test_release_counts_and_force_does_not(make, timeout, path):
    lock = make(path)
    lock.release()
    for _ in range(3):
        lock.acquire()
    lock.release()
    assert lock.is_locked and lock.lock_counter == 2
    lock.release(force=True)
    assert not lock.is_locked and lock.lock_counter == 0
    lock.release()
    with make(path, timeout=0):
        pass


@both
def test_released_by_an_exception(make, timeout, path):
    lock = make(path)
    with pytest.raises(ZeroDivisionError), lock:
        1 / 0
    assert not lock.is_locked
    with pytest.raises(ZeroDivisionError), lock.acquire():
        1 / 0
    assert not lock.is_locked


def elsewhere(act):
    """Runs `act` in another thread; gives what it gave or raised."""
    result = []

    def run():
        try:
            result.append(act())
        except Exception as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(PATIENCE)
    return result[0]


@both
def test_timeouts(make, timeout, path):
    one, other = make(path), make(path)
    with one:
        began = time.monotonic()
        with pytest.raises(timeout) as error:
            other.acquire(timeout=0.1)
        assert time.monotonic() - began >= 0.1
        assert error.value.lock_file == path and isinstance(error.value, TimeoutError)
        assert path in str(error.value) and "could not be acquired" in str(error.value)
        if timeout is turnlock.Timeout:
            # Which process has it, and since when: this one.
            assert f"process {os.getpid()} (" in str(error.value) and ") has had it for" in str(error.value)
        copy = pickle.loads(pickle.dumps(error.value))
        assert type(copy) is timeout and copy.lock_file == path
        assert not other.is_locked and other.lock_counter == 0
    other.acquire(timeout=0.1)
    other.release()


@both
def test_the_objects_own_timeout(make, timeout, path):
    one, other = make(path), make(path, timeout=0.05)
    assert one.timeout == -1 and other.timeout == 0.05
    with one:
        for act in (other.acquire, other.__enter__):
            with pytest.raises(timeout):
                act()
        other.timeout = 0.01
        assert other.timeout == 0.01
        with pytest.raises(timeout):
            other.acquire()
        other.timeout = -1
        with pytest.raises(timeout):
            other.acquire(timeout=0)


@both
def test_not_blocking(make, timeout, path):
    one = make(path)
    with one:
        for act in (
            lambda: make(path).acquire(blocking=False),
            lambda: make(path, blocking=False).acquire(),
            lambda: make(path, timeout=PATIENCE, blocking=False).acquire(),
            lambda: make(path).acquire(timeout=1000, blocking=False),
        ):
            with pytest.raises(timeout):
                act()


@both
def test_poll_intervals_are_accepted(make, timeout, path):
    lock = make(path, poll_interval=0.01)
    with lock.acquire(poll_interval=0.01):
        assert lock.is_locked


@both
def test_each_thread_by_itself(make, timeout, path):
    lock = make(path)
    assert lock.is_thread_local()
    with lock:
        assert elsewhere(lambda: (lock.is_locked, lock.lock_counter)) == (False, 0)
        assert isinstance(elsewhere(lambda: lock.acquire(timeout=0.05)), timeout)
        # It has nothing to release.
        elsewhere(lock.release)
        assert lock.is_locked


@both
def test_all_threads_together(make, timeout, path):
    lock = make(path, thread_local=False)
    assert not lock.is_thread_local()
    with lock:
        assert elsewhere(lambda: lock.lock_counter) == 1
        elsewhere(lock.acquire)
        assert lock.lock_counter == 2
        elsewhere(lock.release)
    assert not lock.is_locked


@both
def test_threads_exclude_each_other(make, timeout, path):
    lock, number = make(path), [0]

    def count():
        for _ in range(30):
            with lock:
                seen = number[0]
                time.sleep(0)
                number[0] = seen + 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert number[0] == 120


@both
def test_an_object_that_goes_releases_the_lock(make, timeout, path):
    lock = make(path)
    lock.acquire()
    del lock
    with make(path, timeout=PATIENCE):
        pass


def test_a_death_frees_the_lock_and_the_next_holder_need_not_be_told(path):
    killed_inside(path, "FileLock")
    lock = turnlock.FileLock(path)
    for _ in range(2):
        with lock:
            assert lock.native.fencing_token
    assert lock.native is None


def test_it_is_the_lock_that_the_command_runs_under(path):
    """`turnlock run build.lock` takes the lock called "default" likewise."""
    with turnlock.lock(path), pytest.raises(turnlock.Timeout):
        turnlock.lock(path, timeout=0.01).acquire()
    with turnlock.lock(path):
        assert turnlock.Lock(path).locked()


def test_what_filelock_left_is_no_lock_file(path):
    open(path, "w").close()
    with pytest.raises(turnlock.FileError, match="empty"):
        turnlock.FileLock(path).acquire()


@both
def test_folders_that_lead_to_the_file_are_made(make, timeout, path):
    below = os.path.join(os.path.dirname(path), "new", "newer", "a.lock")
    lock = make(below)
    assert not os.path.exists(os.path.dirname(below))
    with lock:
        assert os.path.exists(below)


@both
def test_as_a_decorator_it_is_held_while_the_function_runs(make, timeout, path):
    lock = make(path)

    @lock
    def double(number):
        assert lock.is_locked
        return 2 * number

    assert double(3) == 6 and double(4) == 8 and not lock.is_locked


@both
def test_a_singleton_is_the_same_object_for_a_path(make, timeout, path):
    one = make(path, timeout=5, is_singleton=True)
    assert make(path, timeout=5, is_singleton=True) is one and one.is_singleton
    assert make(path) is not one and make(path + "2", is_singleton=True) is not one
    with one, make(path, 5, is_singleton=True) as same:
        assert same.lock_counter == 2
    with pytest.raises(ValueError, match="Singleton"):
        make(path, timeout=6, is_singleton=True)

    class Own(make):
        pass

    assert Own(path, is_singleton=True) is not one
    del one, same
    make(path, timeout=6, is_singleton=True)


@both
def test_what_it_does_is_logged(make, timeout, path, caplog):
    caplog.set_level("DEBUG")
    one, other = make(path), make(path)
    with one:
        with pytest.raises(timeout):
            other.acquire(blocking=False)
    assert [record.getMessage() for record in caplog.records if record.name == "filelock"] == [
        f"Attempting to acquire lock {id(one)} on {path}",
        f"Lock {id(one)} acquired on {path}",
        f"Attempting to acquire lock {id(other)} on {path}",
        f"Failed to immediately acquire lock {id(other)} on {path}",
        f"Attempting to release lock {id(one)} on {path}",
        f"Lock {id(one)} released on {path}",
    ]


def test_the_old_spelling_of_an_argument_is_accepted_with_a_warning(path):
    lock = turnlock.FileLock(path)
    with pytest.warns(DeprecationWarning, match="poll_interval instead"):
        lock.acquire(poll_intervall=0.1)
    lock.release()


def test_it_is_pickled_for_another_process(path):
    lock = turnlock.FileLock(path, timeout=0.05)
    with lock:
        copy = pickle.loads(pickle.dumps(lock))
        assert copy.lock_file == path and copy.timeout == 0.05 and not copy.is_locked
        with pytest.raises(turnlock.Timeout):
            copy.acquire()


def test_bad_arguments(path):
    for wrong, error in [
        (lambda: turnlock.FileLock(None), TypeError),
        (lambda: turnlock.FileLock(b"bytes"), TypeError),
        (lambda: turnlock.FileLock("").acquire(), FileNotFoundError),
        (lambda: turnlock.FileLock("a\0b").acquire(), ValueError),
        (lambda: turnlock.FileLock(os.path.dirname(path)).acquire(), IsADirectoryError),
        (lambda: turnlock.FileLock(path, timeout="soon"), TypeError),
        (lambda: turnlock.FileLock(path, mode=0o666), ValueError),
        (lambda: turnlock.FileLock(path, mode="w"), TypeError),
        (lambda: turnlock.FileLock(path).acquire(timeout="soon"), TypeError),
        (lambda: turnlock.FileLock(path).acquire(timeout=float("nan")), ValueError),
        (lambda: turnlock.FileLock(path).acquire(timeout=1e300), OverflowError),
    ]:
        with pytest.raises(error):
            wrong()
