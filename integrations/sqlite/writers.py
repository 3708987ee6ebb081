#!/usr/bin/env python3
"""Writers of one SQLite database, by SQLite alone and with turnlock_vfs, one after the other.

    integrations/sqlite/writers.py [--seconds S] [--writers 2,8,32] [--hold 0,1,10] [--kind immediate,deferred] [--beside nothing]
                                   [--burst N --pause MS] [--folder F] [--runs N] [--record FILE]

Each writer is a process that begins a transaction, inserts a row, holds it open for so many milliseconds and commits, in a loop. A
*deferred* one reads before it writes, and begins anew where it is told "busy". With --burst it pauses after so many transactions, as
programs do that also compute or wait for input. For each it says transactions a second, those of the
slowest and of the fastest writer, Jain's index of fairness (1: all alike), the longest wait of any for its turn, and how many
waits ended with an error after the time limit of 5 s.

Beside them run, if asked for, two *readers*, which read the last row and count the rows of the last thousand, or *checkpoints*: a
process that asks for wal_checkpoint(TRUNCATE) every 2 ms, while each writer has one done every 10 pages. The table then says how many
reads or checkpoints there were a second, and how often one ended with an error.

The last column is the longest time for which a process that sleeps for 1 ms, one on each processor, was late: a wait during which the
machine did something else is as long. Of several runs it prints the one with the median of the throughput ratio. TURNLOCK_SQLITE_VFS says
where turnlock_vfs.so is. The waits go to --record, as comma-separated values; `cargo bench --bench sqlite` draws them.
"""

import argparse
import multiprocessing
import os
import platform
import queue
import sqlite3
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tests"))
import children  # noqa: E402

QUANTILES = (0.5, 0.9, 0.99, 0.999, 1)
COLUMNS = (
    "writers, hold",
    "transactions/s stock · turnlock",
    "ratio",
    "least/most of a writer",
    "Jain",
    "longest wait, ms",
    "errors",
    "beside/s",
    "late, ms",
)


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


def read(database):
    database.execute("select max(rowid) from entries").fetchone()
    database.execute("select count(*) from entries where rowid > (select max(rowid) from entries) - 1000").fetchone()


def checkpoint(database):
    database.execute("pragma wal_checkpoint(truncate)").fetchone()
    time.sleep(0.002)


# What runs beside the writers: how many processes, and what each does in a loop.
BESIDE = {"nothing": (0, None), "readers": (2, read), "checkpoints": (1, checkpoint)}


def connect(vfs, path):
    if vfs == "turnlock":
        children.registrar().register()
    database = children.connect(path, timeout=5)
    database.execute("pragma synchronous=off")
    return database


class Start:
    """When all begin: a moment after the last of them is ready, however long that takes."""

    def __init__(self, processes):
        self.barrier = multiprocessing.Barrier(processes)
        self.time = multiprocessing.Value("d", 0)

    def wait(self):
        if self.barrier.wait(timeout=300) == 0:
            self.time.value = time.time() + 0.2
        self.barrier.wait(timeout=300)
        # Asleep: a process that spins here has used up its share of the processor when it begins.
        time.sleep(max(0, self.time.value - time.time()))
        return self.time.value


def write(vfs, kind, beside, path, hold, burst, pause, start, seconds, results):
    database = connect(vfs, path)
    if beside == "checkpoints":
        database.execute("pragma wal_autocheckpoint=10")
    waits, errors, done = [], 0, 0
    until = start.wait() + seconds
    while time.time() < until:
        if BEGIN[kind](database, waits):
            errors += 1
            continue
        database.execute("insert into entries values (?, ?)", (os.getpid(), done))
        if hold:
            time.sleep(hold)
        database.execute("commit")
        done += 1
        if burst and done % burst == 0:
            time.sleep(pause)
    database.close()
    results.put(("writer", done, errors, waits))


def do_beside(vfs, action, path, start, seconds, results):
    database = connect(vfs, path)
    errors = done = 0
    until = start.wait() + seconds
    while time.time() < until:
        try:
            action(database)
            done += 1
        except sqlite3.OperationalError:
            errors += 1
    database.close()
    results.put(("beside", done, errors, []))


def look_how_late(processor, start, seconds, results):
    os.sched_setaffinity(0, {processor})
    late = 0
    until = start.wait() + seconds
    while time.time() < until:
        before = time.perf_counter()
        time.sleep(0.001)
        late = max(late, time.perf_counter() - before - 0.001)
    results.put(("late", late, 0, []))


def collect(processes, results):
    """Returns what each process says at its end; one that fails has said why by itself."""
    said = []
    while len(said) < len(processes):
        try:
            said.append(results.get(timeout=1))
        except queue.Empty:
            if any(process.exitcode for process in processes):
                for process in processes:
                    process.kill()
                sys.exit("writers.py: a process failed")
    return said


def measure(vfs, kind, beside, writers, hold, burst, pause, seconds, folder):
    path = os.path.join(folder, f"turnlock-writers-{os.getpid()}")
    database = children.connect(path)
    try:
        database.execute("pragma journal_mode=wal")
        database.execute("create table entries (who, row)")
        results = multiprocessing.Queue()
        others, action = BESIDE[beside]
        processors = os.sched_getaffinity(0)
        span = (Start(writers + others + len(processors)), seconds, results)
        new = multiprocessing.Process
        processes = [new(target=write, args=(vfs, kind, beside, path, hold, burst, pause, *span)) for _ in range(writers)]
        processes += [new(target=do_beside, args=(vfs, action, path, *span)) for _ in range(others)]
        processes += [new(target=look_how_late, args=(processor, *span)) for processor in processors]
        for process in processes:
            process.start()
        said = collect(processes, results)
        for process in processes:
            process.join()
    finally:
        database.close()
        for end in ("", "-wal", "-shm", "-turnlock"):
            if os.path.exists(path + end):
                os.remove(path + end)
    of = {role: [each for each in said if each[0] == role] for role in ("writer", "beside", "late")}
    counts = sorted(done for _, done, _, _ in of["writer"])
    total = sum(counts)
    return {
        "rate": total / seconds,
        "least": counts[0],
        "most": counts[-1],
        "jain": total**2 / (writers * sum(count**2 for count in counts)) if total else 0,
        "waits": sorted(wait for _, _, _, waits in of["writer"] for wait in waits),
        "errors": sum(errors for _, _, errors, _ in said),
        "beside": sum(done for _, done, _, _ in of["beside"]) / seconds,
        "late": max(late for _, late, _, _ in of["late"]),
    }


def quantile(waits, share):
    return waits[min(len(waits) - 1, int(share * len(waits)))] if waits else 0


def ratio(pair):
    return pair[1]["rate"] / pair[0]["rate"] if pair[0]["rate"] else 0


def row(kind, beside, writers, hold, bursts, pair):
    def both(form, of):
        return " · ".join(format(of(each), form) for each in pair)

    name = [f"{writers}, {hold:g} ms"] + [word for word in (kind, beside, bursts) if word not in ("immediate", "nothing", "")]
    return (
        ", ".join(name),
        both(".0f", lambda each: each["rate"]),
        f"{ratio(pair):.2f}",
        " · ".join(f"{each['least']}/{each['most']}" for each in pair),
        both(".2f", lambda each: each["jain"]),
        both(".0f", lambda each: quantile(each["waits"], 1) * 1000),
        both("d", lambda each: each["errors"]),
        both(".0f", lambda each: each["beside"]) if beside != "nothing" else "",
        both(".0f", lambda each: each["late"] * 1000),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--writers", default="2,8,32", help="how many, with commas between")
    parser.add_argument("--hold", default="0,1,10", help="milliseconds, with commas between")
    parser.add_argument("--kind", default="immediate", help="immediate, deferred, or both with a comma between")
    parser.add_argument("--beside", default="nothing", help="nothing, readers, checkpoints, or several with commas between")
    parser.add_argument("--burst", type=int, default=0, metavar="N", help="transactions in a row, then a pause; 0: never a pause")
    parser.add_argument("--pause", type=float, default=5, metavar="MS", help="how long it is, in milliseconds")
    parser.add_argument("--folder", default="/dev/shm", help="where the database is")
    parser.add_argument("--runs", type=int, default=1, help="of each, stock and turnlock in turn")
    parser.add_argument("--record", help="a file to which the waits are added")
    asked = parser.parse_args()
    try:
        # By its name only: it is not to be the default of those without it.
        children.registrar().register(default=False)
    except OSError as error:
        parser.error(str(error))
    bursts = f"{asked.burst} and {asked.pause:g} ms" if asked.burst else ""
    record = open(asked.record, "a") if asked.record else None
    if record and record.tell() == 0:
        print("kind,vfs,writers,hold_ms,quantile,wait_ms", file=record)
    versions = f"SQLite {sqlite3.sqlite_version}, Linux {platform.release()}, {os.cpu_count()} processors"
    print(f"{versions}; {asked.seconds:g} s in {asked.folder}, runs: {asked.runs}\n")
    print("|", " | ".join(COLUMNS), "|")
    print("|---" * len(COLUMNS) + "|")
    for kind in asked.kind.split(","):
        for beside in asked.beside.split(","):
            for writers in map(int, asked.writers.split(",")):
                for hold in map(float, asked.hold.split(",")):
                    runs = [
                        [
                            measure(
                                vfs, kind, beside, writers, hold / 1000, asked.burst, asked.pause / 1000, asked.seconds, asked.folder
                            )
                            for vfs in ("stock", "turnlock")
                        ]
                        for _ in range(asked.runs)
                    ]
                    pair = sorted(runs, key=ratio)[len(runs) // 2]
                    print("|", " | ".join(row(kind, beside, writers, hold, bursts, pair)), "|", flush=True)
                    if record and beside == "nothing" and not bursts:
                        for vfs, each in zip(("stock", "turnlock"), pair):
                            for share in QUANTILES:
                                wait = quantile(each["waits"], share) * 1000
                                print(f"{kind},{vfs},{writers},{hold:g},{share:g},{wait:.4f}", file=record, flush=True)


if __name__ == "__main__":
    main()
