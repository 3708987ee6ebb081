"""`Lock`, `RLock` and `TurnRing`: the native classes, with their arguments and documentation."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Literal

from . import _native

if TYPE_CHECKING:
    from typing_extensions import Self


class Lock(_native.Exclusive):
    """A mutex between all threads of all processes that name it: `threading.Lock`, in a file.

    `path` is the lock file, created if it is not there; `name` one of the locks in it. Waiters are served in the order
    of arrival, after a moment of patience. As with `threading.Lock`, any thread of the process may release what another
    one acquired, and a caller that acquires it twice waits for itself.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> accounts = turnlock.Lock(path, "accounts")
    >>> with accounts:
    ...     accounts.locked()
    True
    >>> accounts.acquire(timeout=0.5)
    True
    >>> accounts.acquire(blocking=False)
    False
    >>> accounts.release()

    A holder that dies with the lock is no error to the next one, which has the lock and is told:

    >>> with accounts:
    ...     if accounts.previous_owner_died:
    ...         print(accounts.previous_owner.label, "died inside")  # look at the data

    That is all, unless the lock was created with `death_policy="inform"`: then a release without `mark_consistent` closes the
    lock for everyone, until `reset`, and warns (`NotRecoverableWarning`). It is for programs all of which look at
    `previous_owner_died`, and repair the data.

    The policy is the lock's, and is fixed when it is created, "release" if not said; so is `patience`, in seconds, for which a
    waiter lets others pass (0: strictly first come first served). Either may be left out, and is what the lock has; one
    that is said and differs is a `KindError`.

    `participants` and `locks` are the file's capacities (128 and 64 if not said), `mode` and `group` its permissions, if it
    is created now; `label` is what this program calls itself. With `must_exist` nothing is created.

    An object can be pickled, for another process: that opens the same lock by its path and name, and does not have it.
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        path: str | PathLike[str],
        name: str = "default",
        *,
        death_policy: Literal["inform", "release"] | None = None,
        patience: float | None = None,
        participants: int | None = None,
        locks: int | None = None,
        mode: int | None = None,
        group: int | None = None,
        label: str | None = None,
        must_exist: bool = False,
    ) -> Self:
        return super().__new__(
            cls,
            path,
            name,
            kind="mutex",
            death_policy=death_policy,
            patience=patience,
            participants=participants,
            locks=locks,
            mode=mode,
            group=group,
            label=label,
            must_exist=must_exist,
        )


class RLock(_native.Recursive):
    """A lock that the thread that has it may acquire again: `threading.RLock`, in a file.

    It belongs to the thread that acquired it. If that thread ends without releasing it, the next one is told, as of a
    death. `threading.Condition` works over it, among the threads of one process. A lock of the same name that was created
    as a plain `Lock` is another kind (`KindError`); a `Lock` object may be made of an `RLock`'s name. Arguments are as for
    `Lock`.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "app.lock")
    >>> accounts = turnlock.RLock(path, "accounts")
    >>> with accounts:
    ...     with accounts:
    ...         accounts.locked()
    True
    >>> accounts.locked()
    False
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        path: str | PathLike[str],
        name: str = "default",
        *,
        death_policy: Literal["inform", "release"] | None = None,
        patience: float | None = None,
        participants: int | None = None,
        locks: int | None = None,
        mode: int | None = None,
        group: int | None = None,
        label: str | None = None,
        must_exist: bool = False,
    ) -> Self:
        return super().__new__(
            cls,
            path,
            name,
            kind="recursive",
            death_policy=death_policy,
            patience=patience,
            participants=participants,
            locks=locks,
            mode=mode,
            group=group,
            label=label,
            must_exist=must_exist,
        )


class TurnRing(_native.Exclusive):
    """A lock whose turn goes round: a holder gets it again only after every other participant that wants it.

    Acquired and released as a `Lock`. `algorithm` is "raynal" (if the ring is created now), "k-state" or "sum", which has a
    `step`; None is whichever it is. With `member` a thread that takes its turn stays in the ring, and the ring waits for
    it every round, until `leave`, the thread's end or its death; else it is in the ring only while it waits or has the turn.
    `slot` chooses the place on the ring, one of the file's slots, from 0: the first thread that takes a turn has it, and
    another one gets an error. With a place for each program, the order of turns does not depend on which of them starts
    first. The other arguments are as for `Lock`.

    >>> import os, tempfile, turnlock
    >>> path = os.path.join(tempfile.mkdtemp(), "relay.lock")
    >>> stages = turnlock.TurnRing(path, "stages", member=True)
    >>> with stages:
    ...     print("my turn")
    my turn
    >>> stages.leave()
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        path: str | PathLike[str],
        name: str = "default",
        *,
        algorithm: Literal["raynal", "k-state", "sum"] | None = None,
        step: int | None = None,
        member: bool = False,
        slot: int | None = None,
        death_policy: Literal["inform", "release"] | None = None,
        participants: int | None = None,
        locks: int | None = None,
        mode: int | None = None,
        group: int | None = None,
        label: str | None = None,
        must_exist: bool = False,
    ) -> Self:
        return super().__new__(
            cls,
            path,
            name,
            kind="ring",
            algorithm=algorithm,
            step=step,
            member=member,
            slot=slot,
            death_policy=death_policy,
            participants=participants,
            locks=locks,
            mode=mode,
            group=group,
            label=label,
            must_exist=must_exist,
        )

    def leave(self) -> None:
        """The calling thread, if it is a member of the ring, is passed over until it asks for its next turn."""
        self._leave()
