"""What is known of a lock: named tuples that the native half makes."""

from typing import NamedTuple


class PreviousOwner(NamedTuple):
    """The participant that died holding the lock."""

    label: str
    """What it called itself: `label=`, or the name of its program."""
    pid: int
    """Its process."""
    thread: int
    """Its thread, as the kernel numbers it."""
    fencing_token: int
    """The fencing token that it had."""


class Holder(NamedTuple):
    """A holder of the lock."""

    label: str
    pid: int
    thread: int
    fencing_token: int
    life: str
    """"alive", "stopped", "dead" (the next one is told) or "unknown"."""
    for_seconds: float | None
    """For how long, to a few milliseconds; None if it came just now."""


class Waiter(NamedTuple):
    """A waiter for the lock."""

    label: str
    pid: int
    thread: int
    state: str
    """"queued", "backed off" (it still lets others pass), "ring member" (on a ring, not waiting now) or "unknown"."""
    life: str
    """"alive", "stopped", "dead" or "unknown"."""
    for_seconds: float | None
    """For how long, to a few microseconds; None if it came just now."""
