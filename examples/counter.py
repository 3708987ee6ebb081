#!/usr/bin/env python3
"""counter.py: counter.c in Python, over the plain C ABI (turnlock_ctypes.py, beside this file).

    python3 counter.py FOLDER TURNS [--die-at N]

A turn reads the number in `counter`, adds a line to `journal` and writes the number plus one; `demo.lock` is what keeps
other programs out meanwhile. See counter.c for the whole story.

The environment variable TURNLOCK_LIBRARY says where libturnlock.so is, if the system does not find it by its name.
"""

import argparse
import os
import sys

from turnlock_ctypes import TurnlockError, opened

ME = "counter.py"


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


def repair(mutex):
    """The previous holder died inside, perhaps between the journal and the counter.

    The lock cannot know what that means for our data; we do. The journal is written first, so it is right; the counter,
    which may even be half written, is made to agree with it.
    """
    dead = mutex.previous_owner()
    count = journal_lines()
    write_counter(count)
    name = dead.label.decode()
    print(f"{ME}: told that {name} (process {dead.pid}) died inside; set the counter to {count}", flush=True)
    # Only now: a lock whose death policy is inform would be closed by an unlock without it.
    mutex.call("mark_consistent")


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

    os.chdir(arguments.folder)
    with opened("demo.lock", ME, "mutex", "counter") as mutex:
        for turn in range(1, arguments.turns + 1):
            with mutex.turn() as (fencing_token, owner_dead):
                if owner_dead:
                    repair(mutex)
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
