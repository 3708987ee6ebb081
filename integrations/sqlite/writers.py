#!/usr/bin/env python3
"""Writers of one SQLite database, by SQLite alone and with turnlock_vfs, one after the other.

    integrations/sqlite/writers.py [--seconds S] [--writers 2,8,32] [--hold 0,1,10] [--kind immediate,deferred] [--folder F]

Each writer is a process that begins a transaction, inserts a row, holds it open for so many milliseconds and commits, in a loop. A
*deferred* one reads before it writes, and begins anew where it is told "busy". For each it says transactions a second, those of the
slowest and of the fastest writer, Jain's index of fairness (1: all alike), the longest wait of any for its turn, and how many
waits ended with an error after the time limit of 5 s. TURNLOCK_SQLITE_VFS says where turnlock_vfs.so is.
"""

import argparse
import multiprocessing
import os
import sqlite3
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tests"))
import children  # noqa: E402


def begin_immediate(database, waits):
    before = time.perf_counter()
    try:
        database.execute("begin immediate")
    except sqlite3.OperationalError:
        return 1
    finally:
        waits.append(time.perf_counter() - before)
    return 0


def begin_deferred(database, waits):
    before = time.perf_counter()
    while time.perf_counter() - before < 5:
        database.execute("begin")
        try:
            database.execute("select max(rowid) from entries").fetchone()
            database.execute("insert into entries values (0, 0)")
            waits.append(time.perf_counter() - before)
            return 0
        except sqlite3.OperationalError:
            database.execute("rollback")
    waits.append(time.perf_counter() - before)
    return 1


BEGIN = {"immediate": begin_immediate, "deferred": begin_deferred}


def write(vfs, kind, path, hold, start, seconds, results):
    if vfs == "turnlock":
        children.registrar().register()
    database = children.connect(path, timeout=5)
    database.execute("pragma synchronous=off")
    waits, errors, done = [], 0, 0
    while time.time() < start:
        pass
    while time.time() < start + seconds:
        if BEGIN[kind](database, waits):
            errors += 1
            continue
        database.execute("insert into entries values (?, ?)", (os.getpid(), done))
        if hold:
            time.sleep(hold)
        database.execute("commit")
        done += 1
    database.close()
    results.put((done, errors, max(waits, default=0)))


def measure(vfs, kind, writers, hold, seconds, folder):
    path = os.path.join(folder, f"turnlock-writers-{os.getpid()}")
    database = children.connect(path)
    try:
        database.execute("pragma journal_mode=wal")
        database.execute("create table entries (who, row)")
        results = multiprocessing.Queue()
        start = time.time() + 0.5 + writers / 40
        processes = [
            multiprocessing.Process(target=write, args=(vfs, kind, path, hold, start, seconds, results)) for _ in range(writers)
        ]
        for process in processes:
            process.start()
        each = [results.get() for _ in processes]
        for process in processes:
            process.join()
    finally:
        database.close()
        for end in ("", "-wal", "-shm", "-turnlock"):
            if os.path.exists(path + end):
                os.remove(path + end)
    counts = sorted(done for done, _, _ in each)
    total = sum(counts)
    return {
        "rate": total / seconds,
        "least": counts[0],
        "most": counts[-1],
        "jain": total**2 / (writers * sum(count**2 for count in counts)) if total else 0,
        "wait": max(wait for _, _, wait in each),
        "errors": sum(errors for _, errors, _ in each),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--writers", default="2,8,32", help="how many, with commas between")
    parser.add_argument("--hold", default="0,1,10", help="milliseconds, with commas between")
    parser.add_argument("--kind", default="immediate", help="immediate, deferred, or both with a comma between")
    parser.add_argument("--folder", default="/dev/shm", help="where the database is")
    asked = parser.parse_args()
    print("| writers, hold | transactions/s stock · turnlock | least/most of a writer | Jain | longest wait, ms | errors |")
    print("|---|---|---|---|---|---|")
    for kind in asked.kind.split(","):
        for writers in map(int, asked.writers.split(",")):
            for hold in map(float, asked.hold.split(",")):
                stock, turnlock = (
                    measure(vfs, kind, writers, hold / 1000, asked.seconds, asked.folder) for vfs in ("stock", "turnlock")
                )
                print(
                    f"| {writers}, {hold:g} ms{', deferred' if kind == 'deferred' else ''} "
                    f"| {stock['rate']:.0f} · {turnlock['rate']:.0f} "
                    f"| {stock['least']}/{stock['most']} · {turnlock['least']}/{turnlock['most']} "
                    f"| {stock['jain']:.2f} · {turnlock['jain']:.2f} "
                    f"| {stock['wait'] * 1000:.0f} · {turnlock['wait'] * 1000:.0f} "
                    f"| {stock['errors']} · {turnlock['errors']} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
