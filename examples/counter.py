#!/usr/bin/env python3
"""counter.py: counter.c in Python, over the plain C ABI, with nothing but ctypes.

    python3 counter.py FOLDER TURNS [--die-at N]

A turn reads the number in `counter`, adds a line to `journal` and writes the number plus one; `demo.lock` is what keeps
other programs out meanwhile. See counter.c for the whole story.

The environment variable TURNLOCK_LIBRARY says where libturnlock.so is, if the system does not find it by its name.
"""

import argparse
import ctypes
import os
import signal
import sys
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

ME = "counter.py"


# What the header says, as far as it is needed here.

ABI_VERSION = 3
OWNER_DEAD = 1
ERROR_INTERRUPTED = -28


# What a thread asks between its sleeps while it waits: not 0 ends the wait.
WAIT_TO_END = ctypes.CFUNCTYPE(c_int32, c_void_p)


class FileOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("participants", c_uint32),
        ("locks", c_uint32),
        ("mode", c_uint32),
        ("group", c_uint32),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("label", c_char_p),
        ("is_wait_to_end", WAIT_TO_END),
        ("context", c_void_p),
    ]


class Acquired(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("fencing_token", c_uint64),
        ("previous_owner_fencing_token", c_uint64),
        ("previous_owner_pid", c_uint32),
        ("previous_owner_died", c_uint32),
    ]


class PreviousOwner(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("fencing_token", c_uint64),
        ("pid", c_uint32),
        ("thread", c_uint32),
        ("label", c_char * 64),
    ]


class TurnlockError(Exception):
    pass


def load_library():
    library = ctypes.CDLL(os.environ.get("TURNLOCK_LIBRARY", "libturnlock.so"))
    library.turnlock_abi_version.restype = c_uint32
    if library.turnlock_abi_version() != ABI_VERSION:
        raise TurnlockError("the library has another ABI version than this program")
    library.turnlock_last_error_message.restype = c_char_p

    def check(status, function, arguments):
        """ctypes calls this with every result: a negative status is a failure, and the library has its story."""
        if status == ERROR_INTERRUPTED:
            raise KeyboardInterrupt
        if status < 0:
            raise TurnlockError(library.turnlock_last_error_message().decode())
        return status

    # Handles are void pointers. Without argtypes, ctypes would cut them to 32 bits.
    for name, argument_types in {
        "turnlock_file_open": [c_char_p, POINTER(FileOptions), POINTER(c_void_p)],
        "turnlock_file_close": [c_void_p],
        "turnlock_mutex_open": [c_void_p, c_char_p, c_void_p, POINTER(c_void_p)],
        "turnlock_mutex_close": [c_void_p],
        "turnlock_mutex_lock": [c_void_p, POINTER(Acquired)],
        "turnlock_mutex_unlock": [c_void_p],
        "turnlock_mutex_abandon": [c_void_p],
        "turnlock_mutex_mark_consistent": [c_void_p],
        "turnlock_mutex_previous_owner": [c_void_p, POINTER(PreviousOwner)],
    }.items():
        function = getattr(library, name)
        function.argtypes = argument_types
        function.restype = c_int32
        function.errcheck = check
    return library


class CtrlC:
    """Has Ctrl-C end a wait for the lock.

    While a thread waits in the library, Python runs no signal handlers; it does when the library asks us whether the
    wait is to end. A handler that raised an exception there would lose it, so this one only says that it was called.
    """

    def __init__(self):
        self.pressed = False
        self.ask = WAIT_TO_END(lambda context: self.pressed)

    @contextmanager
    def ends_waits(self):
        self.pressed = False
        before = signal.signal(signal.SIGINT, self.note)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def note(self, number, frame):
        self.pressed = True


ctrl_c = CtrlC()


@contextmanager
def opened_mutex(library, path, name):
    """The mutex `name` in the lock file `path`. Whoever comes first creates them."""
    # The label is what others read when we die.
    options = FileOptions(size=ctypes.sizeof(FileOptions), label=ME.encode(), is_wait_to_end=ctrl_c.ask)
    file, mutex = c_void_p(), c_void_p()
    library.turnlock_file_open(os.fsencode(path), byref(options), byref(file))
    library.turnlock_mutex_open(file, name.encode(), None, byref(mutex))
    yield mutex
    library.turnlock_mutex_close(mutex)
    library.turnlock_file_close(file)


@contextmanager
def locked(library, mutex):
    """Waits for our turn; gives the fencing token, and whether the previous holder died inside."""
    acquired = Acquired(size=ctypes.sizeof(Acquired))
    with ctrl_c.ends_waits():
        status = library.turnlock_mutex_lock(mutex, byref(acquired))
    try:
        if ctrl_c.pressed:  # too late for the wait
            raise KeyboardInterrupt
        yield acquired.fencing_token, status == OWNER_DEAD
    except BaseException:
        # Half a turn may stand in the files: the lock is given back as a dying owner does, and the next one is told.
        library.turnlock_mutex_abandon(mutex)
        raise
    library.turnlock_mutex_unlock(mutex)


def read_counter():
    with open("counter") as file:
        return int(file.read())


def write_counter(count):
    # In place, since the number never gets shorter.
    with open("counter", "r+") as file:
        file.write(f"{count}\n")


def append_to_journal(fencing_token):
    with open("journal", "a") as file:
        file.write(f"{ME} {fencing_token}\n")


def journal_lines():
    with open("journal") as file:
        return sum(1 for _ in file)


def repair(library, mutex):
    """The previous holder died inside, perhaps between the journal and the counter.

    The lock cannot know what that means for our data; we do. The journal is written first, so it is right; the counter,
    which may even be half written, is made to agree with it.
    """
    dead = PreviousOwner(size=ctypes.sizeof(PreviousOwner))
    library.turnlock_mutex_previous_owner(mutex, byref(dead))
    count = journal_lines()
    write_counter(count)
    name = dead.label.decode()
    print(f"{ME}: told that {name} (process {dead.pid}) died inside; set the counter to {count}", flush=True)
    # Only now: unlocking without it would close the lock for everyone.
    library.turnlock_mutex_mark_consistent(mutex)


def wait_to_be_killed(turn, fencing_token):
    """Waits, half-way through a turn and with the lock, until killed (or until standard input ends)."""
    print(
        f"{ME}: stopped half-way through turn {turn}, with fencing token {fencing_token}; now: kill -9 {os.getpid()}",
        flush=True,
    )
    sys.stdin.read()
    os.abort()


def main():
    parser = argparse.ArgumentParser(description="Adds to a counter in a plain file, one program at a time.")
    parser.add_argument("folder")
    parser.add_argument("turns", type=int)
    parser.add_argument("--die-at", type=int, metavar="N")
    arguments = parser.parse_args()

    library = load_library()
    os.chdir(arguments.folder)
    with opened_mutex(library, "demo.lock", "counter") as mutex:
        for turn in range(1, arguments.turns + 1):
            with locked(library, mutex) as (fencing_token, owner_dead):
                if owner_dead:
                    repair(library, mutex)
                count = read_counter()
                append_to_journal(fencing_token)
                if turn == arguments.die_at:
                    wait_to_be_killed(turn, fencing_token)
                write_counter(count + 1)
    print(f"{ME}: done, {arguments.turns} turns", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(f"{ME}: interrupted")
    except (TurnlockError, OSError, ValueError) as error:
        sys.exit(f"{ME}: {error}")
