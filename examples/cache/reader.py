#!/usr/bin/env python3
"""reader.py: reader.c in Python, over the plain C ABI (turnlock_ctypes.py, in the folder above).

    python3 reader.py FOLDER SECONDS

The environment variable TURNLOCK_LIBRARY says where libturnlock.so is, if the system does not find it by its name.
"""

import argparse
import mmap
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from turnlock_ctypes import TurnlockError, opened  # noqa: E402

ME = "reader.py"
NUMBERS = 4096


def main():
    parser = argparse.ArgumentParser(description="Reads a cache in shared memory, beside other readers.")
    parser.add_argument("folder")
    parser.add_argument("seconds", type=float)
    arguments = parser.parse_args()

    os.chdir(arguments.folder)
    with open("cache", "rb") as file:
        cache = mmap.mmap(file.fileno(), NUMBERS * 8, access=mmap.ACCESS_READ)
    reads, generations = 0, set()
    with opened("cache.lock", ME, "rwlock", "cache") as lock:
        end = time.monotonic() + arguments.seconds
        while time.monotonic() < end:
            with lock.shared() as (fencing_token, owner_dead):
                # What a dead writer left half-done, only the next writer repairs.
                numbers = set() if owner_dead else set(struct.unpack(f"{NUMBERS}Q", cache[:]))
            if not numbers <= {0, fencing_token}:
                sys.exit(f"{ME}: {numbers} beside fencing token {fencing_token}")
            reads += 1
            generations.add(fencing_token)
    print(f"{ME}: done, {reads} reads of {len(generations)} generations", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(f"{ME}: interrupted")
    except (TurnlockError, OSError, ValueError) as error:
        sys.exit(f"{ME}: {error}")
