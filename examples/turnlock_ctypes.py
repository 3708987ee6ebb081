"""The plain C ABI through ctypes, with nothing to install: as much of it as the Python examples need.

A lock of a kind, "mutex", "ring" or "rwlock", in a file:

    with opened("app.lock", "me", "mutex", "accounts") as accounts:
        with accounts.turn() as (fencing_token, owner_dead):
            ...

A rwlock has `shared()` and `exclusive()` in the place of `turn()`.

The environment variable TURNLOCK_LIBRARY says where libturnlock.so is, if the system does not find it by its name.
"""

import ctypes
import os
import signal
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p


# What the header says, as far as it is needed here.

ABI_VERSION = 4
OWNER_DEAD = 1
ERROR_INTERRUPTED = -28
RING_MEMBER = 2


# What a thread asks between its sleeps while it waits: not 0 ends the wait.
WAIT_TO_END = ctypes.CFUNCTYPE(c_int32, c_void_p)


class Sized(ctypes.Structure):
    """A structure of the ABI: the first field is its size, by which the library knows which fields it has."""

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(type(self)), **fields)


class FileOptions(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("participants", c_uint32),
        ("locks", c_uint32),
        ("mode", c_uint32),
        ("group", c_uint32),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("label", c_char_p),
        ("should_stop_waiting", WAIT_TO_END),
        ("context", c_void_p),
    ]


class RingOptions(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("algorithm", c_uint32),
        ("flags", c_uint32),
        ("step", c_uint32),
        ("reserved", c_uint32),
    ]


class Acquired(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("fencing_token", c_uint64),
        ("previous_owner_fencing_token", c_uint64),
        ("previous_owner_pid", c_uint32),
        ("previous_owner_died", c_uint32),
    ]


class PreviousOwner(Sized):
    _fields_ = [
        ("size", c_size_t),
        ("fencing_token", c_uint64),
        ("pid", c_uint32),
        ("thread", c_uint32),
        ("label", c_char * 64),
    ]


class TurnlockError(Exception):
    """A call that failed, with what the library says of it."""


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
    functions = {
        "turnlock_file_open": [c_char_p, POINTER(FileOptions), POINTER(c_void_p)],
        "turnlock_file_close": [c_void_p],
        "turnlock_ring_leave": [c_void_p],
        "turnlock_lock_previous_owner": [c_void_p, POINTER(PreviousOwner)],
    }
    locks = {"mutex": ["lock"], "ring": ["lock"], "rwlock": ["lock_shared", "lock_exclusive"]}
    for kind, words in locks.items():
        functions[f"turnlock_{kind}_open"] = [c_void_p, c_char_p, c_void_p, POINTER(c_void_p)]
        for word in words:
            functions[f"turnlock_{kind}_{word}"] = [c_void_p, POINTER(Acquired)]
        for word in ("close", "unlock", "abandon", "mark_consistent"):
            functions[f"turnlock_{kind}_{word}"] = [c_void_p]
    for name, argument_types in functions.items():
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


class Lock:
    """A mutex, a ring or a rwlock that is open."""

    def __init__(self, library, kind, handle):
        self.library, self.kind, self.handle = library, kind, handle

    def call(self, word, *arguments):
        """The function of this name for this kind of lock: `turnlock_mutex_unlock` is `call("unlock")` of a mutex."""
        return getattr(self.library, f"turnlock_{self.kind}_{word}")(self.handle, *arguments)

    def turn(self):
        """Waits for our turn; gives the fencing token, and whether the previous owner died in its own."""
        return self.held("lock")

    def shared(self):
        """Waits to read, beside others that do; gives the last writer's fencing token, and whether a writer died."""
        return self.held("lock_shared")

    def exclusive(self):
        """Waits to write; gives the fencing token, and whether a writer died."""
        return self.held("lock_exclusive")

    @contextmanager
    def held(self, lock):
        """Holds the lock, taken by this call."""
        acquired = Acquired()
        with ctrl_c.ends_waits():
            status = self.call(lock, byref(acquired))
        try:
            if ctrl_c.pressed:  # too late for the wait
                raise KeyboardInterrupt
            yield acquired.fencing_token, status == OWNER_DEAD
        except BaseException:
            # The data may be half written: the lock is given back as a dying owner does, and the next one is told.
            self.call("abandon")
            raise
        self.call("unlock")

    def previous_owner(self):
        """Who had it before us, as far as that is known."""
        owner = PreviousOwner()
        self.library.turnlock_lock_previous_owner(self.handle, byref(owner))
        return owner


@contextmanager
def opened(path, label, kind, name, options=None):
    """The lock `name` in the lock file `path`. The first process creates them. Others read the label when we die."""
    library = load_library()
    file, handle = c_void_p(), c_void_p()
    file_options = FileOptions(label=label.encode(), should_stop_waiting=ctrl_c.ask)
    library.turnlock_file_open(os.fsencode(path), byref(file_options), byref(file))
    lock = Lock(library, kind, handle)
    getattr(library, f"turnlock_{kind}_open")(file, name.encode(), options and byref(options), byref(handle))
    yield lock
    lock.call("close")
    library.turnlock_file_close(file)
