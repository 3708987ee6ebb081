#!/usr/bin/env python3
"""leader.py: of several processes one leads; when it is killed, the next one does, at once.

    python3 leader.py FOLDER        three candidates, whose leader is killed twice
    python3 leader.py FOLDER NAME   one candidate, by hand: start several, and kill the leader with kill -9

Needs the Python package turnlock (`pip install ./bindings/python`). The lock's holder leads, for as long as it lives.
Its term is the fencing token, which is larger than that of every leader before it: a follower can turn away
those of a leader that was, by remembering the largest term it has seen.
"""

import subprocess
import sys
from pathlib import Path

import turnlock


def lead(folder, name):
    """Waits until it leads, and leads until it is killed, or its standard input ends."""
    # A leader's death needs no repair: the next one is told of it, and that is all.
    leadership = turnlock.Lock(folder / "leader.lock", "leader", label=name)
    with leadership:
        if leadership.previous_owner_died:
            print(f"{name}: {leadership.previous_owner.label} died in term {leadership.previous_owner.fencing_token}", flush=True)
        (folder / "leader").write_text(f"{name} {leadership.fencing_token}\n")
        print(f"{name}: leader of term {leadership.fencing_token}", flush=True)
        sys.stdin.read()
    print(f"{name}: steps down", flush=True)


def demonstrate(folder):
    """Three candidates. The leader is killed, the next one too; the last one steps down by itself."""
    candidates = {
        name: subprocess.Popen(
            [sys.executable, __file__, str(folder), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in ("anna", "ben", "clara")
    }
    look = turnlock.Lock(folder / "leader.lock", "leader")
    while len(candidates) > 1:
        name = leader(look, candidates)
        show(candidates[name], f"{name}: leader")
        candidates[name].kill()
        print(f"killed {name}", flush=True)
        candidates.pop(name).communicate()
    ((name, last),) = candidates.items()
    show(last, f"{name}: leader")
    print(last.communicate()[0], end="")


def leader(lock, candidates):
    """The name of the candidate that leads, as soon as one does."""
    while True:
        for holder in lock.holders():
            # The dead one is shown until another has cleared its place.
            if holder.label in candidates:
                return holder.label


def show(candidate, until):
    """Prints what a candidate says, until it says this."""
    for line in candidate.stdout:
        print(line, end="", flush=True)
        if line.startswith(until):
            return


if __name__ == "__main__":
    if len(sys.argv) == 2:
        demonstrate(Path(sys.argv[1]))
    elif len(sys.argv) == 3:
        lead(Path(sys.argv[1]), sys.argv[2])
    else:
        sys.exit("usage: leader.py FOLDER [NAME]")
