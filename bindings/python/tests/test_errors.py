"""Whatever is wrong is an error of Python's kind that says what to do, and never a crash."""

import os
import pickle
import sys
import threading

import pytest
import turnlock
import turnlock.aio
from children import PATIENCE, holder, program, until

KINDS = [turnlock.Lock, turnlock.RLock, turnlock.TurnRing]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
CLAIMS = [turnlock.RWLock, turnlock.Semaphore, turnlock.BoundedSemaphore, turnlock.RangeLock, turnlock.KeyedLock, turnlock.GroupLock]
IN_ASYNCIO = [getattr(turnlock.aio, name) for name in turnlock.aio.__all__ if name != "FileLock"]
constructors = pytest.mark.parametrize(
    "make", [*KINDS, *CLAIMS, *IN_ASYNCIO], ids=lambda make: f"{make.__module__}.{make.__name__}"
)

BAD_CONSTRUCTIONS = [
    ((None,), {}, TypeError),
    ((7,), {}, TypeError),
    ((object(),), {}, TypeError),
    (("",), {}, ValueError),
    (("a\0b.lock",), {}, ValueError),
    ((), {}, TypeError),
    (("PATH", None), {}, TypeError),
    (("PATH", 7), {}, TypeError),
    (("PATH", b"bytes"), {}, TypeError),
    (("PATH", ""), {}, ValueError),
    (("PATH", "a\0b"), {}, ValueError),
    (("PATH", "x" * 64), {}, ValueError),
    (("PATH", "\ud800"), {}, ValueError),
    (("PATH", "name", "more"), {}, TypeError),
    (("PATH",), {"unknown": 1}, TypeError),
    (("PATH",), {"kind": "ring"}, TypeError),
    (("PATH",), {"participants": "many"}, TypeError),
    (("PATH",), {"participants": -1}, ValueError),
    (("PATH",), {"participants": 5000}, ValueError),
    (("PATH",), {"participants": 2**80}, ValueError),
    (("PATH",), {"locks": 1.5}, TypeError),
    (("PATH",), {"locks": -1}, ValueError),
    (("PATH",), {"mode": 0o666}, ValueError),
    (("PATH",), {"mode": 0o400}, ValueError),
    (("PATH",), {"mode": "rw"}, TypeError),
    (("PATH",), {"group": "users"}, TypeError),
    (("PATH",), {"label": 5}, TypeError),
    (("PATH",), {"label": "\ud800"}, ValueError),
    (("PATH",), {"death_policy": "ignore"}, ValueError),
    (("PATH",), {"death_policy": 1}, TypeError),
    (("PATH",), {"must_exist": "yes"}, TypeError),
]


@constructors
@pytest.mark.parametrize(("arguments", "options", "error"), BAD_CONSTRUCTIONS)
def test_bad_constructions(make, arguments, options, error, path):
    arguments = [path if argument == "PATH" else argument for argument in arguments]
    if "death_policy" in options and "Semaphore" in make.__name__:
        error = TypeError  # it has none
    with pytest.raises(error) as raised:
        make(*arguments, **options)
    assert str(raised.value)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"patience": -1}, ValueError),
        ({"patience": float("nan")}, ValueError),
        ({"patience": float("inf")}, ValueError),
        ({"patience": 1e300}, ValueError),
        ({"patience": "long"}, TypeError),
    ],
)
def test_bad_patience(options, error, path):
    for kind in (turnlock.Lock, turnlock.RLock, turnlock.RWLock, turnlock.Semaphore):
        with pytest.raises(error, match="patience"):
            kind(path, **options)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"algorithm": "bakery"}, ValueError),
        ({"algorithm": 2}, TypeError),
        ({"algorithm": "raynal", "step": 3}, ValueError),
        ({"step": 3}, ValueError),
        ({"algorithm": "sum", "step": 2}, ValueError),
        ({"algorithm": "sum", "step": 0}, ValueError),
        ({"algorithm": "sum", "step": -1}, ValueError),
        ({"algorithm": "sum", "step": "one"}, TypeError),
        ({"member": 1}, TypeError),
        ({"patience": 1}, TypeError),
    ],
)
def test_bad_rings(options, error, path):
    with pytest.raises(error):
        turnlock.TurnRing(path, **options)


@kinds
@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ((None,), {}, TypeError),
        (("yes",), {}, TypeError),
        ((True, None), {}, TypeError),
        ((True, "soon"), {}, TypeError),
        ((True, -2), {}, ValueError),
        ((True, -0.5), {}, ValueError),
        ((True, float("nan")), {}, ValueError),
        ((True, float("-inf")), {}, ValueError),
        ((True, float("inf")), {}, OverflowError),
        ((True, 1e300), {}, OverflowError),
        ((True, threading.TIMEOUT_MAX + 1), {}, OverflowError),
        ((True, 10**400), {}, OverflowError),
        ((False, 1), {}, ValueError),
        ((0, 1), {}, ValueError),
        ((True, 1, 2), {}, TypeError),
        ((), {"wait": True}, TypeError),
    ],
)
def test_bad_acquisitions(kind, arguments, options, error, path):
    lock = kind(path)
    with pytest.raises(error):
        lock.acquire(*arguments, **options)
    assert not lock.locked()
    # And what is good remains so.
    assert lock.acquire(True, threading.TIMEOUT_MAX)
    lock.release()
    assert lock.acquire(1, 5) and lock.release() is None
    assert lock.acquire(0) and lock.release() is None


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ((None,), {}, TypeError),
        (("yes",), {}, TypeError),
        ((True, None), {}, TypeError),
        ((True, "soon"), {}, TypeError),
        ((True, -2), {}, ValueError),
        ((True, float("nan")), {}, ValueError),
        ((True, 1e300), {}, OverflowError),
        ((False, 1), {}, ValueError),
        ((True, 1, 2), {}, TypeError),
        ((), {"wait": True}, TypeError),
    ],
)
def test_bad_claims(arguments, options, error, path):
    lock, semaphore, users = turnlock.RWLock(path, "a"), turnlock.Semaphore(path, "b", 2), turnlock.KeyedLock(path, "c")
    for take in (lock.read, lock.upgradable, lock.write, lambda *a, **o: semaphore.take(1, *a, **o)):
        with pytest.raises(error):
            take(*arguments, **options)
    with pytest.raises(error):
        users.write("ada", *arguments, **options)
    store = turnlock.GroupLock(path, "d")
    with pytest.raises(error):
        store.enter(7, *arguments, **options)
    with lock.upgradable() as hold:
        with pytest.raises(error):
            hold.upgrade(*arguments, **options)
        assert hold.mode == "upgradable"
    assert lock.holders() == semaphore.holders() == users.holders() == store.holders() == []


def test_holds_that_are_over(path):
    hold = turnlock.RWLock(path).write()
    hold.release()
    acts = [hold.release, hold.abandon, hold.upgrade, hold.downgrade, hold.mark_consistent]
    for act in [*acts, hold.is_contended, hold.__exit__]:
        with pytest.raises(turnlock.NotOwnerError, match="not held"):
            act()
    assert not hold.held and hold.mode is None and hold.fencing_token is None and hold.previous_owner is None
    with turnlock.RWLock(path).read() as hold, pytest.raises(turnlock.Error):
        hold.mark_consistent()
    for make in (turnlock._native.Hold, turnlock._native.Wait):
        with pytest.raises(TypeError):
            make()


@kinds
def test_release_of_what_is_not_held(kind, path):
    lock = kind(path)
    for act in (lock.release, lock.__exit__, lock.abandon, lock.mark_consistent, lock.is_contended, lock.still_owner):
        with pytest.raises(turnlock.NotOwnerError, match="not held") as error:
            act()
        assert isinstance(error.value, RuntimeError)
    with holder(path, kind.__name__), pytest.raises(turnlock.NotOwnerError):
        lock.release()


@kinds
def test_use_after_close(kind, path):
    lock = kind(path)
    with lock, pytest.raises(turnlock.StillHeldError, match="release it"):
        lock.close()
    assert not lock.closed
    lock.close()
    lock.close()
    assert lock.closed and lock.fencing_token is None and not lock.previous_owner_died and lock.previous_owner is None
    acts = [lock.acquire, lock.release, lock.__enter__, lock.locked, lock.mark_consistent, lock.abandon, lock.reset]
    for act in [*acts, lock.is_contended, lock.still_owner, lock.holders, lock.waiters, lambda: lock.death_policy]:
        with pytest.raises(turnlock.ClosedError, match="make another one") as error:
            act()
        assert isinstance(error.value, ValueError)
    assert lock.name == "default" and lock.path == path
    # What it was made with is still there.
    with pickle.loads(pickle.dumps(lock)):
        pass


@kinds
def test_closed_while_a_thread_waits(kind, path):
    lock, raised = kind(path), []

    def wait():
        try:
            lock.acquire(timeout=PATIENCE)
        except Exception as error:
            raised.append(error)

    with holder(path, kind.__name__, ', death_policy="release"') as child:
        waiter = threading.Thread(target=wait)
        waiter.start()
        until(lambda: lock.waiters(), "the waiter is seen")
        lock.close()
        child.kill()
        waiter.join(PATIENCE)
    assert isinstance(raised[0], turnlock.ClosedError)
    assert kind(path).acquire(timeout=PATIENCE)


def test_a_class_that_was_not_initialised():
    for kind in KINDS:
        with pytest.raises(TypeError):
            kind.__new__(kind)


def test_capacities(path):
    lock = turnlock.Lock(path, participants=2, locks=1)
    with pytest.raises(turnlock.FullError, match="2") as error:
        turnlock.Lock(path, participants=3)
    assert isinstance(error.value, OSError) and error.value.errno and error.value.code == -26
    with pytest.raises(turnlock.FullError, match="all 1 named locks"):
        turnlock.Lock(path, "another")
    with holder(path):
        # One slot is the other process's, one this thread's.
        assert not lock.acquire(blocking=False)
        with pytest.raises(turnlock.FullError, match="all 2 participant slots"):
            raise_in_a_thread(lambda: lock.acquire(timeout=PATIENCE))


def raise_in_a_thread(act):
    """Runs `act` in a thread of its own and raises here what it raises there."""
    raised = []

    def run():
        try:
            act()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(PATIENCE)
    if raised:
        raise raised[0]


def test_names_of_other_kinds(path):
    turnlock.Lock(path, "mutex"), turnlock.RLock(path, "recursive"), turnlock.TurnRing(path, "ring")
    for make, name in [
        (turnlock.RLock, "mutex"),
        (turnlock.TurnRing, "mutex"),
        (turnlock.TurnRing, "recursive"),
        (turnlock.Lock, "ring"),
        (turnlock.RLock, "ring"),
    ]:
        with pytest.raises(turnlock.KindError, match=name) as error:
            make(path, name)
        assert isinstance(error.value, ValueError)


def test_files_that_are_none(path, tmp_path):
    with pytest.raises(turnlock.LockNotFoundError) as error:
        turnlock.Lock(path, must_exist=True)
    assert isinstance(error.value, FileNotFoundError) and not os.path.exists(path)
    with pytest.raises(turnlock.LockNotFoundError):
        turnlock.Lock(str(tmp_path / "no folder" / "app.lock"))
    with pytest.raises(turnlock.FileError):
        turnlock.Lock(str(tmp_path))
    other = tmp_path / "notes.txt"
    other.write_text("not a lock file")
    with pytest.raises(turnlock.FileError):
        turnlock.Lock(other)
    assert other.read_text() == "not a lock file"
    turnlock.Lock(path).close()
    with pytest.raises(turnlock.LockNotFoundError):
        turnlock.Lock(path, "another", must_exist=True)
    os.chmod(path, 0o666)
    with pytest.raises(turnlock.LockPermissionError) as error:
        turnlock.Lock(path)
    assert isinstance(error.value, PermissionError)


def test_a_file_that_is_truncated_or_replaced(path, tmp_path):
    with holder(path):
        lock = turnlock.Lock(path)
        os.unlink(path)
        with pytest.raises(turnlock.ReplacedError, match="open the path again"):
            lock.acquire(timeout=PATIENCE)
    damaged = str(tmp_path / "damaged.lock")
    lock = turnlock.Lock(damaged)
    os.truncate(damaged, 0)
    with pytest.raises(turnlock.DamagedError):
        lock.locked()
    with pytest.raises(turnlock.DamagedError):
        lock.acquire(timeout=PATIENCE)


def test_every_error_is_turnlocks_and_can_be_pickled():
    from turnlock import _errors

    for code, (cls, _) in _errors.CLASSES.items():
        error = _errors.of(code, "what is wrong", None)
        assert isinstance(error, turnlock.Error) and type(error) is cls and error.code == code and str(error)
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is cls and str(copy) == str(error) and copy.code == code
    assert isinstance(_errors.of(-9999, "of a later version", None), turnlock.Error)


def test_use_from_finalisers(path):
    """In `__del__`, at exit, and while the interpreter is taken down, with locks held and not."""
    lines = [
        "import atexit, gc",
        f"path = {path!r}",
        "class Careless:",
        "    def __init__(self, make): self.lock = make(path, make.__name__)",
        "    def __del__(self):",
        "        self.lock.acquire(timeout=1), self.lock.release(), self.lock.locked(), repr(self.lock)",
        "        self.lock.acquire(timeout=1)",
        "class Forgets:",
        "    def __init__(self): self.hold = turnlock.RWLock(path, 'RWLock').read()",
        "    def __del__(self): self.hold.release(), turnlock.RWLock(path, 'RWLock').read()",
        "kept, one = Forgets(), Forgets()",
        "one.itself = one",
        "del one",
        "for make in (turnlock.Lock, turnlock.RLock, turnlock.TurnRing):",
        "    one = Careless(make)",
        "    one.itself = one",
        "    del one",
        "    kept = globals()['kept_' + make.__name__] = Careless(make)",
        "    atexit.register(lambda lock=kept.lock: (lock.acquire(timeout=1), lock.release()))",
        "gc.collect()",
        "for kept in (kept_Lock, kept_RLock, kept_TurnRing):",
        "    kept.lock.reset()",
        "print('done')",
    ]
    with program(*lines) as child:
        out, errors = child.communicate(timeout=PATIENCE)
        assert (out, errors, child.returncode) == ("done\n", "", 0)


def test_what_comes_too_late(path):
    """A thread's slots are gone with it; what runs after them, at its end, must not crash either."""
    lines = [
        f"lock = turnlock.Lock({path!r})",
        "class Late:",
        "    def __del__(self): lock.acquire(), lock.release()",
        "local = threading.local()",
        "def work():",
        "    local.late = Late()",
        "    with lock: pass",
        "for _ in range(50):",
        "    thread = threading.Thread(target=work)",
        "    thread.start(), thread.join()",
        "print(lock.locked())",
    ]
    with program(*lines) as child:
        out, errors = child.communicate(timeout=PATIENCE)
        assert (out, errors, child.returncode) == ("False\n", "", 0)


@pytest.mark.parametrize("what", ["lock", "native"])
def test_no_reference_is_lost_or_kept(what, path):
    import gc
    import sys

    lock = turnlock.Lock(path)
    before = sys.getrefcount(lock)
    for _ in range(1000):
        with lock:
            pass
        try:
            lock.release()
        except RuntimeError:
            pass
        lock._wait() if what == "native" else lock.acquire(timeout=0) and lock.release()
    gc.collect()
    assert sys.getrefcount(lock) == before


@pytest.mark.parametrize("make", [*KINDS, turnlock.RWLock])
def test_errors_in_many_threads(make, path):
    """An exception is made by Python code, in the midst of which other threads run: nothing may be locked meanwhile."""
    lock, closed = make(path), make(path)
    closed.close()
    interval = sys.getswitchinterval()
    names = ("release", "abandon", "mark_consistent", "is_contended", "holders")
    acts = [getattr(each, name) for each in (lock, closed) for name in names if hasattr(each, name)]
    acts += [closed.reset, closed.close]
    if make is turnlock.RWLock:
        hold = lock.read()
        hold.release()
        acts += [hold.release, hold.mark_consistent, hold.is_contended, hold.downgrade, closed.read]
    else:
        acts += [closed.acquire, closed.locked, closed.__enter__]

    def err():
        for _ in range(300):
            for act in acts:
                try:
                    act()
                except turnlock.Error:
                    pass

    threads = [threading.Thread(target=err) for _ in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
    finally:
        sys.setswitchinterval(interval)
