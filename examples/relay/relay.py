#!/usr/bin/env python3
"""relay.py: relay.c in Python, through the plain C ABI. Needs no package.

    python3 relay.py FOLDER LEGS [--pace MICROSECONDS]

Stands in the ring `relay` of FOLDER/relay.lock, and in each of its turns adds a line to FOLDER/text. See relay.c for the
whole story.

The environment variable TURNLOCK_LIBRARY says where libturnlock.so is, if the system does not find it by its name.
"""

import argparse
import ctypes
import os
import signal
import sys
import time
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

ME = "relay.py"


# What the header says, as far as it is needed here.

ABI_VERSION = 3
OWNER_DEAD = 1
ERROR_INTERRUPTED = -28
RING_STANDING = 2


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


class RingOptions(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("algorithm", c_uint32),
        ("flags", c_uint32),
        ("step", c_uint32),
        ("reserved", c_uint32),
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
        "turnlock_ring_open": [c_void_p, c_char_p, POINTER(RingOptions), POINTER(c_void_p)],
        "turnlock_ring_close": [c_void_p],
        "turnlock_ring_lock": [c_void_p, POINTER(Acquired)],
        "turnlock_ring_unlock": [c_void_p],
        "turnlock_ring_abandon": [c_void_p],
        "turnlock_ring_mark_consistent": [c_void_p],
        "turnlock_ring_leave": [c_void_p],
        "turnlock_ring_previous_owner": [c_void_p, POINTER(PreviousOwner)],
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
def opened_ring(library, path, name):
    """Our place in the ring `name` in the lock file `path`. Whoever comes first creates them."""
    # The label is what others read when we die.
    options = FileOptions(size=ctypes.sizeof(FileOptions), label=ME.encode(), is_wait_to_end=ctrl_c.ask)
    # Standing: from our first turn on the ring waits for us, until we leave it or die.
    how = RingOptions(size=ctypes.sizeof(RingOptions), flags=RING_STANDING)
    file, ring = c_void_p(), c_void_p()
    library.turnlock_file_open(os.fsencode(path), byref(options), byref(file))
    library.turnlock_ring_open(file, name.encode(), byref(how), byref(ring))
    yield ring
    # Else the others would wait for us until the program has ended.
    library.turnlock_ring_leave(ring)
    library.turnlock_ring_close(ring)
    library.turnlock_file_close(file)


@contextmanager
def our_turn(library, ring):
    """Waits for our turn; gives the fencing token, and whether the one before us died in its own."""
    acquired = Acquired(size=ctypes.sizeof(Acquired))
    with ctrl_c.ends_waits():
        status = library.turnlock_ring_lock(ring, byref(acquired))
    try:
        if ctrl_c.pressed:  # too late for the wait
            raise KeyboardInterrupt
        yield acquired.fencing_token, status == OWNER_DEAD
    except BaseException:
        # Half a line may stand in the text: the turn is passed on as a dying owner does, and the next one is told.
        library.turnlock_ring_abandon(ring)
        raise
    library.turnlock_ring_unlock(ring)


def append(text, half):
    if os.write(text, half.encode()) != len(half):
        raise OSError("text: not all of a line could be written")


def cut_unfinished_line(text):
    """Cuts off a last line that has no end. Gives how many bytes that was."""
    length = os.fstat(text).st_size
    start = max(0, length - 200)  # no line is longer
    whole = start + os.pread(text, 200, start).rfind(b"\n") + 1
    os.ftruncate(text, whole)
    return length - whole


def repair(library, ring, text):
    """The one before us died in its turn, perhaps in the middle of a line.

    The ring cannot know what that means for our text; we do: a line without an end is cut off.
    """
    dead = PreviousOwner(size=ctypes.sizeof(PreviousOwner))
    cut = cut_unfinished_line(text)
    library.turnlock_ring_previous_owner(ring, byref(dead))
    name = dead.label.decode()
    print(f"{ME}: told that {name} (process {dead.pid}) died in its turn; cut {cut} bytes", flush=True)
    # Only now: passing the turn on without it would close the ring for everyone.
    library.turnlock_ring_mark_consistent(ring)


def main():
    parser = argparse.ArgumentParser(description="Adds lines to a text, in turn with other programs.")
    parser.add_argument("folder")
    parser.add_argument("legs", type=int)
    parser.add_argument("--pace", type=int, default=0, metavar="MICROSECONDS")
    arguments = parser.parse_args()

    library = load_library()
    os.chdir(arguments.folder)
    text = os.open("text", os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    with opened_ring(library, "relay.lock", "relay") as ring:
        for leg in range(1, arguments.legs + 1):
            with our_turn(library, ring) as (fencing_token, owner_dead):
                if owner_dead:
                    repair(library, ring, text)
                append(text, f"{fencing_token} {ME}")
                if arguments.pace > 0:
                    time.sleep(arguments.pace / 1e6)
                append(text, f" leg {leg}\n")
    os.close(text)
    print(f"{ME}: done, {arguments.legs} legs", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(f"{ME}: interrupted")
    except (TurnlockError, OSError) as error:
        sys.exit(f"{ME}: {error}")
