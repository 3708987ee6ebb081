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


class Claim(NamedTuple):
    """What a participant has of a lock, or wants."""

    mode: str
    """"exclusive", "shared", "upgradable", "upgrading" or "unknown"."""
    permits: int | None
    """Of a semaphore: how many."""
    range: tuple[int, int | None] | None
    """Of a range lock: the first number, and the first that is not in it; None: no end."""
    key: bytes | None
    """Of a keyed lock: what the key begins with, at most 47 bytes. None if it is empty or not known."""
    is_whole_key: bool
    """Whether that is the whole key."""
    key_hash: str | None
    """Of a keyed lock: by what keys are told apart, in hexadecimal."""
    group: int | None
    """Of a group lock: the group."""


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
    claim: Claim
    """What it has of the lock."""


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
    claim: Claim
    """What it wants of the lock."""
