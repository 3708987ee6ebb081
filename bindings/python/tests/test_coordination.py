"""`Condition`, `Event`, `Barrier` and `Once`, between processes, some of which are killed."""

import itertools
import multiprocessing
import os
import pickle
import signal
import tempfile
import threading
import time
from contextlib import ExitStack
from test import lock_tests

import pytest
import turnlock
from children import PATIENCE, program, until

LOCKS = {
    "Lock": "turnlock.Lock(PATH, 'lock')",
    "RLock": "turnlock.RLock(PATH, 'lock')",
    "RWLock": "turnlock.RWLock(PATH, 'lock')",
    "default": "None",
}
every_lock = pytest.mark.parametrize("lock", LOCKS)


def condition_of(path, lock):
    return turnlock.Condition(path, "changed", eval(LOCKS[lock], {"turnlock": turnlock, "PATH": path}))


def waiter(path, lock, wait="condition.wait()", then="print(woken)"):
    """Another process that waits at the condition."""
    return program(
        f"PATH = {path!r}",
        f"condition = turnlock.Condition(PATH, 'changed', {LOCKS[lock]})",
        "with condition:",
        "    print('waits')",
        f"    woken = {wait}",
        f"    {then}",
    )


def waiting(stack, condition, *arguments, **options):
    """The same, when it waits."""
    before = condition.waiting()
    child = stack.enter_context(waiter(*arguments, **options))
    assert child.stdout.readline() == "waits\n", child.stderr.read()
    until(lambda: condition.waiting() > before, "the waiter is seen")
    return child


def kill(child):
    child.kill()
    child.wait(PATIENCE)


@every_lock
def test_those_that_wait_in_other_processes_are_notified_in_their_order(lock, path):
    condition = condition_of(path, lock)
    with ExitStack() as stack:
        children = [waiting(stack, condition, path, lock) for _ in range(4)]
        for child in children[:2]:
            with condition:
                assert condition.notify() == 1
            assert child.communicate(timeout=PATIENCE) == ("True\n", "")
        with condition:
            assert condition.notify(9) == 2 and condition.notify_all() == 0
        for child in children[2:]:
            assert child.communicate(timeout=PATIENCE) == ("True\n", "")
        children = [waiting(stack, condition, path, lock) for _ in range(3)]
        with condition:
            assert condition.notify_all() == 3
        for child in children:
            assert child.communicate(timeout=PATIENCE) == ("True\n", "")
    with condition:
        assert condition.wait(0.01) is False and condition.wait(-1) is False


@every_lock
def test_a_killed_waiter_takes_no_notification_with_it(lock, path):
    condition = condition_of(path, lock)
    with ExitStack() as stack:
        first, second, third, fourth = (waiting(stack, condition, path, lock) for _ in range(4))
        kill(first)
        with condition:
            assert condition.notify() == 1
        assert second.communicate(timeout=PATIENCE) == ("True\n", "")
        with condition:
            assert condition.notify() == 1
            # It has the notification, and not the lock.
            kill(third)
        assert fourth.communicate(timeout=PATIENCE) == ("True\n", "")


@pytest.mark.parametrize("lock", ["Lock", "RLock"])
def test_a_waiter_comes_back_with_the_notice_of_a_death(lock, path):
    condition = condition_of(path, lock)
    died = "print(woken, condition.lock.previous_owner_died, condition.lock.previous_owner.pid)"
    with ExitStack() as stack:
        child = waiting(stack, condition, path, lock, then=died)
        notifier = stack.enter_context(
            program(
                f"PATH = {path!r}",
                f"condition = turnlock.Condition(PATH, 'changed', {LOCKS[lock]})",
                "with condition:",
                "    condition.notify()",
                "    print('notified')",
                "    sys.stdin.read()",
            )
        )
        assert notifier.stdout.readline() == "notified\n", notifier.stderr.read()
        kill(notifier)
        assert child.communicate(timeout=PATIENCE) == (f"True True {notifier.pid}\n", "")


def test_a_recursive_lock_is_released_altogether_and_acquired_as_often(path):
    lock = turnlock.RLock(path, "lock")
    condition = turnlock.Condition(path, "changed", lock)
    with ExitStack() as stack:
        child = stack.enter_context(
            program(
                f"lock = turnlock.RLock({path!r}, 'lock')",
                f"condition = turnlock.Condition({path!r}, 'changed', lock)",
                "with lock, lock, condition:",
                "    print('waits')",
                "    print(condition.wait(), lock._recursion_count(), lock.fencing_token > 0)",
                "print(lock.locked())",
            )
        )
        assert child.stdout.readline() == "waits\n"
        until(condition.waiting, "the waiter is seen")
        with lock, condition:
            condition.notify()
        assert child.communicate(timeout=PATIENCE) == ("True 3 True\nFalse\n", "")
    # Another object of the same lock would not know that its acquisition is over.
    with turnlock.RLock(path, "lock") as other, condition:
        with pytest.raises(turnlock.InvalidArgumentError, match="2 times"):
            condition.wait(0)
        assert lock._recursion_count() == other._recursion_count() == 1
    assert not lock.locked()


def test_a_lock_that_is_held_to_write_by_a_hold(path):
    lock = turnlock.RWLock(path, "lock")
    condition = turnlock.Condition(path, "changed", lock)
    with lock.write() as hold:
        assert condition.wait(0.01, hold=hold) is False and hold.held and hold.mode == "write"
        assert condition.wait_for(lambda: 7, hold=hold) == 7
    with lock.read() as hold, pytest.raises(turnlock.InvalidArgumentError, match="held to read"):
        condition.wait(0, hold=hold)
    with pytest.raises(RuntimeError, match="not held"):
        condition.wait()
    with pytest.raises(turnlock.NotOwnerError):
        condition.wait(hold=hold)
    with lock.read():
        assert condition.acquire(blocking=False) is False


@every_lock
def test_ctrl_c_ends_a_wait_with_the_lock_held(lock, path):
    condition = condition_of(path, lock)
    lines = [
        f"PATH = {path!r}",
        f"condition = turnlock.Condition(PATH, 'changed', {LOCKS[lock]})",
        "with condition:",
        "    print('waits')",
        "    try:",
        "        condition.wait()",
        "    except KeyboardInterrupt:",
        "        print('interrupted', condition.waiting())",
        "        sys.stdin.readline()",
        "print(condition.acquire(timeout=20))",
    ]
    for retakes in (False, True):
        with program(*lines) as child:
            assert child.stdout.readline() == "waits\n"
            until(condition.waiting, "the waiter is seen")
            if retakes:
                # It is notified, and waits for the lock.
                with condition:
                    condition.notify()
                    time.sleep(0.1)
                    child.send_signal(signal.SIGINT)
                    time.sleep(0.2)
            else:
                child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted 0\n", child.stderr.read()
            assert not condition.acquire(timeout=0.01)
            assert child.communicate("\n", timeout=PATIENCE) == ("True\n", "")


def test_a_handler_uses_the_condition_while_its_thread_waits(path):
    condition, seen = condition_of(path, "Lock"), []

    def handler(*_):
        with condition:
            seen.append(condition.notify())

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with condition:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            assert condition.wait(PATIENCE)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert seen == [1]


def test_a_lock_that_closed_meanwhile_is_lost(path):
    lock = turnlock.Lock(path, "lock", death_policy="inform")
    condition, raised = turnlock.Condition(path, "changed", lock), []

    def wait():
        lock.acquire()
        try:
            condition.wait(PATIENCE)
        except turnlock.NotRecoverableError:
            raised.append(lock.fencing_token)

    thread = threading.Thread(target=wait)
    thread.start()
    until(condition.waiting, "the waiter is seen")
    other = turnlock.Lock(path, "lock")
    other.acquire()
    other.abandon()
    with pytest.warns(turnlock.NotRecoverableWarning), other:
        condition.notify()
    thread.join(PATIENCE)
    assert raised == [None]
    assert lock.reset(timeout=PATIENCE)
    with condition:
        assert condition.wait(0.01) is False


def test_conditions_of_other_locks_and_other_things(path, tmp_path):
    lock = turnlock.Lock(path, "lock")
    for wrong in ("lock", threading.Lock(), turnlock.TurnRing(path, "ring"), turnlock.Semaphore(path, "permits"), lock.acquire):
        with pytest.raises(TypeError, match=r"lock is a turnlock.Lock"):
            turnlock.Condition(path, "changed", wrong)
    with pytest.raises(ValueError, match="same file"):
        turnlock.Condition(path, "changed", turnlock.Lock(tmp_path / "other.lock"))
    condition = turnlock.Condition(path, "changed", lock)
    ring = turnlock.TurnRing(path, "ring")
    with ring, pytest.raises(turnlock.InvalidArgumentError, match="not with this"):
        condition._wait_with(ring, 0)
    with pytest.raises(TypeError, match="turnlock.RLock"):
        condition._wait_with(7, 0)
    with ExitStack() as stack, turnlock.Lock(path, "another") as another:
        waiting(stack, condition, path, "Lock")
        with pytest.raises(turnlock.InvalidArgumentError, match="another lock"):
            condition._wait_with(another, 0)
        assert another.locked()
    for n in ("one", 1.0, None):
        with pytest.raises(TypeError):
            condition.notify(n)


def test_they_are_pickled(path):
    condition = turnlock.Condition(path, "changed", turnlock.Lock(path, "lock"))
    barrier = turnlock.Barrier(path, "barrier", 3)
    for each in (condition, turnlock.Event(path, "event"), barrier, turnlock.Once(path, "once", across_boots=True)):
        copy = pickle.loads(pickle.dumps(each))
        assert (type(copy), copy.path, copy.name) == (type(each), path, each.name)
        assert each.name in repr(each) and f"turnlock.{type(each).__name__}" in repr(each)
    with pickle.loads(pickle.dumps(condition)) as copy:
        assert copy.lock.name == "lock" and condition.lock.locked()
    assert pickle.loads(pickle.dumps(barrier)).parties == 3


KINDS = {
    "Condition": ["wait", "notify", "notify_all", "waiting"],
    "Event": ["set", "clear", "is_set", "wait"],
    "Barrier": ["wait", "reset", "abort", "parties", "n_waiting", "broken"],
    "Once": ["is_done", "reset", "__enter__"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input(kind, path):
    make = getattr(turnlock, kind)
    one = make(path, "name", *([2] if kind == "Barrier" else []))
    with pytest.raises(turnlock.KindError):
        turnlock.Lock(path, "name")
    for arguments, options, error in [
        ((), {}, TypeError),
        ((path,), {}, TypeError),
        ((path, None), {}, TypeError),
        ((path, ""), {}, ValueError),
        ((path, "x" * 64), {}, ValueError),
        ((path, "name", object()), {}, TypeError),
        ((path, "new"), {"must_exist": True}, turnlock.LockNotFoundError),
        ((path, "name"), {"must_exist": "yes"}, TypeError),
        ((path, "name"), {"death_policy": "release"}, TypeError),
    ]:
        with pytest.raises(error) as raised:
            make(*arguments, **options)
        assert str(raised.value)
    if kind in ("Event", "Barrier"):
        for timeout, error in [("soon", TypeError), (float("nan"), ValueError), (1e300, OverflowError)]:
            with pytest.raises(error):
                one.wait(timeout)
    one.close()
    one.close()
    assert one.closed
    for name in KINDS[kind]:
        with pytest.raises((turnlock.ClosedError, turnlock.NotOwnerError)):
            act = getattr(one, name)
            act()


def test_bad_barriers(path):
    with pytest.raises(turnlock.LockNotFoundError):
        turnlock.Barrier(path, "stage")
    turnlock.Barrier(path, "stage", 2)
    assert turnlock.Barrier(path, "stage").parties == 2
    with pytest.raises(turnlock.KindError, match="2 parties"):
        turnlock.Barrier(path, "stage", 3)
    for parties, error in [(0, ValueError), (-1, ValueError), (5000, ValueError), ("two", TypeError), (1.5, TypeError)]:
        with pytest.raises(error):
            turnlock.Barrier(path, "other", parties)


def test_an_event_is_set_for_all_processes_and_by_one_that_is_killed(path):
    event = turnlock.Event(path, "ready")
    lines = [
        f"event = turnlock.Event({path!r}, 'ready')",
        "print(event.is_set())",
        "print(event.wait())",
        "print(event.wait(0))",
    ]
    with ExitStack() as stack:
        children = [stack.enter_context(program(*lines)) for _ in range(4)]
        for child in children:
            assert child.stdout.readline() == "False\n", child.stderr.read()
        kill(children.pop())
        setter = stack.enter_context(
            program(f"turnlock.Event({path!r}, 'ready').set()", "os.kill(os.getpid(), signal.SIGKILL)")
        )
        for child in children:
            assert child.communicate(timeout=PATIENCE) == ("True\nTrue\n", "")
        assert setter.wait(PATIENCE) == -signal.SIGKILL
    assert event.set() is False and event.clear() is True and event.clear() is False
    began = time.monotonic()
    assert event.wait(0.05) is False and time.monotonic() - began >= 0.05
    assert event.wait(-1) is False


def test_ctrl_c_ends_the_waits_for_events_and_barriers(path):
    event, barrier = turnlock.Event(path, "event"), turnlock.Barrier(path, "barrier", 2)
    for wait in ("turnlock.Event(PATH, 'event').wait()", "turnlock.Barrier(PATH, 'barrier').wait()"):
        lines = [f"PATH = {path!r}", "print('waits')", "try:", f"    {wait}", "except KeyboardInterrupt:", "    print('over')"]
        with program(*lines) as child:
            assert child.stdout.readline() == "waits\n"
            if "Barrier" in wait:
                until(lambda: barrier.n_waiting == 1, "the waiter is seen")
            time.sleep(0.2)
            child.send_signal(signal.SIGINT)
            assert child.communicate(timeout=PATIENCE) == ("over\n", "")
    assert barrier.broken and not event.is_set()
    with pytest.raises(turnlock.BrokenBarrierError, match="gave up"):
        barrier.wait()


def party(path, rounds, then=""):
    lines = [
        f"barrier = turnlock.Barrier({path!r}, 'stage', 3)",
        "try:",
        f"    for _ in range({rounds}):",
        "        print(barrier.wait())",
        "except threading.BrokenBarrierError as error:",
        "    print(error)",
        then,
    ]
    return program(*lines)


def test_the_parties_of_a_barrier_pass_together(path):
    barrier = turnlock.Barrier(path, "stage", 3)
    with party(path, 50) as one, party(path, 50) as other:
        mine = [barrier.wait(PATIENCE) for _ in range(50)]
        theirs = [child.communicate(timeout=PATIENCE) for child in (one, other)]
    rounds = zip(mine, *([int(line) for line in out.split()] for out, _ in theirs), strict=True)
    assert all(sorted(each) == [0, 1, 1] for each in rounds) and [errors for _, errors in theirs] == ["", ""]
    assert (barrier.n_waiting, barrier.broken, barrier.parties) == (0, False, 3)


@pytest.mark.parametrize("victim", ["that waits", "that has waited"])
def test_a_killed_party_breaks_the_barrier_for_the_others(victim, path):
    barrier = turnlock.Barrier(path, "stage", 3)
    with ExitStack() as stack:
        stays = "sys.stdin.read()" if victim == "that has waited" else ""
        children = [stack.enter_context(party(path, 1, stays)), stack.enter_context(party(path, 2))]
        if stays:
            barrier.wait(PATIENCE)
            children[0].stdout.readline()
        until(lambda: barrier.n_waiting == (1 if stays else 2), "they wait")
        kill(children[0])
        # A third one that came before the death is noticed would pass.
        until(lambda: barrier.broken, "the death is noticed")
        with pytest.raises(turnlock.BrokenBarrierError, match=f"process {children[0].pid}.* has died"):
            barrier.wait(PATIENCE)
        out, errors = children[1].communicate(timeout=PATIENCE)
        assert f"process {children[0].pid}" in out and errors == ""
    assert barrier.broken
    with pytest.raises(threading.BrokenBarrierError):
        barrier.wait(PATIENCE)
    barrier.reset()
    assert not barrier.broken
    with party(path, 1) as one, party(path, 1) as other:
        assert barrier.wait(PATIENCE) in (0, 1)
        one.communicate(timeout=PATIENCE), other.communicate(timeout=PATIENCE)


def test_a_barrier_whose_time_is_over_or_that_is_aborted(path):
    barrier = turnlock.Barrier(path, "stage", 3)
    with party(path, 1) as child:
        until(lambda: barrier.n_waiting == 1, "it waits")
        with pytest.raises(turnlock.BrokenBarrierError, match="within 0.05 s"):
            barrier.wait(0.05)
        assert "gave up" in child.communicate(timeout=PATIENCE)[0]
    barrier.reset()
    with party(path, 1) as child:
        until(lambda: barrier.n_waiting == 1, "it waits")
        barrier.abort()
        assert "broke it" in child.communicate(timeout=PATIENCE)[0]


def wait_once(barrier):
    barrier.wait(PATIENCE)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_party_that_ends_in_good_order_breaks_nothing(method, path):
    barrier = turnlock.Barrier(path, "stage", 3)
    context = multiprocessing.get_context(method)
    for _ in range(3):
        processes = [context.Process(target=wait_once, args=(barrier,)) for _ in range(2)]
        for process in processes:
            process.start()
        barrier.wait(PATIENCE)
        for process in processes:
            process.join(PATIENCE)
            assert process.exitcode == 0
        assert not barrier.broken
        with pytest.raises(turnlock.BrokenBarrierError, match="within"):
            barrier.wait(0.2)  # and no death was found
        barrier.reset()


def test_once_is_done_by_one_of_many_processes(path, tmp_path):
    log = tmp_path / "log"
    lines = [
        "def work():",
        f"    open({str(log)!r}, 'a').write('done\\n')",
        "    time.sleep(0.05)",
        f"print(turnlock.Once({path!r}, 'schema').run(work))",
    ]
    with ExitStack() as stack:
        children = [stack.enter_context(program(*lines)) for _ in range(5)]
        said = [child.communicate(timeout=PATIENCE) for child in children]
    assert sorted(said) == [("False\n", "")] * 4 + [("True\n", "")]
    assert log.read_text() == "done\n"


def test_once_passes_on_when_its_runner_dies_or_fails(path):
    once = turnlock.Once(path, "schema")
    with program(
        f"once = turnlock.Once({path!r}, 'schema')", "once.run(lambda: (print('at it'), sys.stdin.read()))"
    ) as child:
        assert child.stdout.readline() == "at it\n", child.stderr.read()
        with pytest.raises(turnlock.Timeout, match="at it"):
            once.run(pytest.fail, timeout=0.01)
        kill(child)
        with pytest.raises(KeyError), once as is_first:
            assert is_first and once.previous_runner.pid == child.pid
            with pytest.raises(turnlock.DeadlockError):
                once.run(pytest.fail)
            with pytest.raises(turnlock.StillHeldError):
                once.close()
            raise KeyError
    assert not once.is_done() and once.previous_runner is None
    with pytest.raises(ZeroDivisionError):
        once.run(lambda: 1 / 0)
    assert once.run(lambda: None) is True and once.is_done()
    with once as is_first:
        assert not is_first
    assert once.run(pytest.fail) is False
    once.reset()
    with once as is_first:
        assert is_first
    assert once.is_done()


class Fresh:
    """Each call makes one of its own name, as each call of `threading.Condition` makes one."""

    def __init__(self, make):
        self.make = make
        self.path = os.path.join(tempfile.mkdtemp(), "app.lock")
        self.numbers = itertools.count()
        # For all.
        turnlock.Lock(self.path, locks=4096, participants=256)

    def __call__(self, *arguments, **options):
        return self.make(self.path, f"it {next(self.numbers)}", *arguments, **options)


def condition_over(path, name, lock=None):
    assert lock is None
    return turnlock.Condition(path, name, turnlock.RLock(path, f"lock of {name}"))


class EventTests(lock_tests.EventTests):
    eventtype = Fresh(turnlock.Event)

    @pytest.mark.skip("it looks into threading.Event, which is of one process")
    def test_at_fork_reinit(self):
        pass

    test_reset_internal_locks = test_at_fork_reinit

    @pytest.mark.skip("it says its name and its file")
    def test_repr(self):
        pass


class ConditionTests(lock_tests.ConditionTests):
    condtype = Fresh(condition_over)

    @pytest.mark.skip("the notifier need not have the lock")
    def test_unacquired_notify(self):
        pass

    @pytest.mark.skip("its lock is of one process")
    def test_acquire(self):
        pass



def barrier_of(path, name, parties, timeout=None):
    """The time limit is that of each wait."""
    return turnlock.Barrier(path, name, parties)


class BarrierTests(lock_tests.BarrierTests):
    barriertype = Fresh(barrier_of)

    @pytest.mark.skip("the one that gets 0 acts")
    def test_action(self):
        pass

    @pytest.mark.skip("it gives 0 and 1 only")
    def test_wait_return(self):
        pass

    test_abort = test_reset = test_abort_and_reset = test_timeout = test_wait_return

    @pytest.mark.skip("the time limit is that of each wait")
    def test_default_timeout(self):
        pass

    @pytest.mark.skip("it says its name and its file")
    def test_repr(self):
        pass
