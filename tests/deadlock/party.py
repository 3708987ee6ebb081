"""A process that takes locks as it is told, and says what came of it: party.c says how.

    python3 party.py LOCK-FILE LABEL
"""

import ctypes
import os
import sys
from ctypes import byref, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

library = ctypes.CDLL(os.environ["TURNLOCK_LIBRARY"])
library.turnlock_last_error_message.restype = c_char_p


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
    ]


def call(name, *arguments):
    function = getattr(library, "turnlock_" + name)
    function.restype = c_int32
    return function(*arguments)


def say(line):
    print(line, flush=True)


def told(status):
    say("taken" if status >= 0 else f"error {status} {library.turnlock_last_error_message().decode()}")
    return status >= 0


def opened(kind, name):
    lock = c_void_p()
    if call(kind + "_open", file, name.encode(), None, byref(lock)) < 0:
        sys.exit(1)
    return lock


options = FileOptions(size=ctypes.sizeof(FileOptions), label=sys.argv[2].encode())
file = c_void_p()
if call("file_open", sys.argv[1].encode(), byref(options), byref(file)) < 0:
    sys.exit(1)
say("ready")
held = []
for line in sys.stdin:
    words = line.split()
    if words[0] == "leave":
        while held:
            if call(*held.pop()) < 0:
                sys.exit(1)
        say("left")
        continue
    if words[0] == "upgrade":
        told(call("rwlock_upgrade", held[-1][1], None))
        continue
    _, kind, name, *part = words
    if kind == "range":
        lock, part = opened("rangelock", name), [c_uint64(int(number)) for number in part]
        take, back = "rangelock_lock_exclusive", "rangelock_unlock"
    elif kind == "key":
        lock, part = opened("keyedlock", name), [part[0].encode(), c_size_t(len(part[0]))]
        take, back = "keyedlock_lock_exclusive", "keyedlock_unlock"
    elif kind == "mutex":
        lock, take, back = opened("mutex", name), "mutex_lock", "mutex_unlock"
    else:
        lock, take, back = opened("rwlock", name), "rwlock_lock_" + kind, "rwlock_unlock"
    if told(call(take, lock, *part, None)):
        held.append((back, lock, *part))
