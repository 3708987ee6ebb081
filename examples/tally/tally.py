#!/usr/bin/env python3
"""tally.py: a pool of processes that adds to the numbers in a JSON file, beside tally.c.

    python3 tally.py FOLDER TIMES

Needs the Python package turnlock (`pip install ./bindings/python`). The lock is made once and given to the processes of
the pool, which open the same one: the mutex "tally" in `tally.lock`, which tally.c names likewise.
"""

import json
import multiprocessing
import sys
from pathlib import Path

import turnlock

PROCESSES = 4


def add(lock, path, times):
    """Adds one, so many times, to "python" and to "total"."""
    for _ in range(times):
        with lock:
            if lock.previous_owner_died:
                repair(path)
                lock.mark_consistent()
            tally = json.loads(path.read_text())
            tally["python"] += 1
            tally["total"] += 1
            path.write_text(json.dumps(tally))


def repair(path):
    """Puts in order what a dead one may have left: the total, or all of it if it died half-way through writing."""
    try:
        tally = json.loads(path.read_text())
    except ValueError:
        tally = {"c": 0, "python": 0}
    path.write_text(json.dumps({**tally, "total": tally["c"] + tally["python"]}))


def main():
    folder, times = Path(sys.argv[1]), int(sys.argv[2])
    lock = turnlock.Lock(folder / "tally.lock", "tally")
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        pool.starmap(add, [(lock, folder / "tally.json", times // PROCESSES)] * PROCESSES)


if __name__ == "__main__":
    main()
