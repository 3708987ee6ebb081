#!/usr/bin/env python3
"""relay.py: relay.c in Python, through the plain C ABI (turnlock_ctypes.py, one folder up). Needs no package.

    python3 relay.py FOLDER LEGS [--pace MICROSECONDS]

Stands in the ring `relay` of FOLDER/relay.lock, and in each of its turns adds a line to FOLDER/text. See relay.c for the
whole story.

The environment variable TURNLOCK_LIBRARY says where libturnlock.so is, if the system does not find it by its name.
"""

import argparse
import os
import sys
import time

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from turnlock_ctypes import RING_MEMBER, RingOptions, TurnlockError, opened

ME = "relay.py"


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


def repair(ring, text):
    """The one before us died in its turn, perhaps in the middle of a line.

    The ring cannot know what that means for our text; we do: a line without an end is cut off.
    """
    cut = cut_unfinished_line(text)
    dead = ring.previous_owner()
    name = dead.label.decode()
    print(f"{ME}: told that {name} (process {dead.pid}) died in its turn; cut {cut} bytes", flush=True)
    # Only now: passing the turn on without it would close the ring for everyone.
    ring.call("mark_consistent")


def main():
    parser = argparse.ArgumentParser(description="Adds lines to a text, in turn with other programs.")
    parser.add_argument("folder")
    parser.add_argument("legs", type=int)
    parser.add_argument("--pace", type=int, default=0, metavar="MICROSECONDS")
    arguments = parser.parse_args()

    os.chdir(arguments.folder)
    text = os.open("text", os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    # As a member: from our first turn on the ring waits for us, until we leave it or die.
    with opened("relay.lock", ME, "ring", "relay", RingOptions(flags=RING_MEMBER)) as ring:
        for leg in range(1, arguments.legs + 1):
            with ring.turn() as (fencing_token, owner_dead):
                if owner_dead:
                    repair(ring, text)
                append(text, f"{fencing_token} {ME}")
                if arguments.pace > 0:
                    time.sleep(arguments.pace / 1e6)
                append(text, f" leg {leg}\n")
        # Else the others would wait for us until the program has ended.
        ring.call("leave")
    os.close(text)
    print(f"{ME}: done, {arguments.legs} legs", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(f"{ME}: interrupted")
    except (TurnlockError, OSError) as error:
        sys.exit(f"{ME}: {error}")
