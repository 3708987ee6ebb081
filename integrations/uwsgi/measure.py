#!/usr/bin/env python3
"""What uWSGI's locks cost, and how they fare when workers are killed: its own, ipcsem's and turnlock's, in turn.

    integrations/uwsgi/measure.py [--runs 3] [--seconds 1] [--kills 100]

The environment is that of the tests (tests/server.py). Prints the tables of README.md.
"""

import argparse
import os
import signal
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "tests"))
from server import NoAnswer, Server, wait_until  # noqa: E402

ENGINES = {"own": ([], False), "ipcsem": (["--lock-engine", "ipcsem"], False), "turnlock": ([], True)}
COSTS = ("lock", "read", "write", "uwsgi.lock, unlock", "uwsgi.cache_get", "uwsgi.cache_update")
CROWDS = {"lock": {}, "lock, 20 us inside, 20 us outside": {"hold": 20e-6, "pause": 20e-6}, "lock, 1 ms inside": {"hold": 1e-3}, "get": {}, "set": {}}


def together(server, what, workers, seconds, **named):
    """What so many workers do at once: entries a second, Jain's index, and the longest wait, in ms."""
    ahead, numbers = 0.2, []
    while not any(numbers):
        said, start = [], time.monotonic() + ahead
        ask = lambda: said.append(server.get("entries", what=what.split(",")[0], start=start, seconds=seconds, **named))
        threads = [threading.Thread(target=ask) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        numbers = [int(answer.split()[0]) for answer in said]
        # None: where the machine does much else, all of it was over before the first request came.
        ahead *= 2
    squares = sum(number * number for number in numbers)
    return sum(numbers) / seconds, sum(numbers) ** 2 / (len(numbers) * squares), 1000 * max(float(answer.split()[1]) for answer in said)


def crowds(server, seconds):
    server.get("cache_set", key="key", value="x" * 100)
    measured = {}
    for what, named in CROWDS.items():
        for workers in (2, 4):
            measured.update({(what, workers, i): value for i, value in enumerate(together(server, what, workers, seconds, **named))})
    return measured


def recovery(server, kills, folder):
    """How long after a worker was killed inside the next one, which waits, is inside: milliseconds."""
    took = []
    for kill in range(kills):
        wait_until(lambda: len(server.workers()) == 4)
        event, entered = os.path.join(folder, f"event-{kill}"), []
        threads = [threading.Thread(target=server.get, args=("hold",), kwargs={"event": event})]
        threads[0].start()
        wait_until(lambda: os.path.exists(event + ".inside"))
        threads.append(threading.Thread(target=lambda: entered.append(int(server.get("entered_at")))))
        threads[1].start()
        time.sleep(0.05)
        with open(event + ".inside") as file:
            os.kill(int(file.read()), signal.SIGKILL)
        killed = time.monotonic_ns()
        for thread in threads:
            thread.join()
        took.append((entered[0] - killed) / 1e6)
    return took


def kills_until_stuck(server, most):
    """How many workers can be killed at random moments before all hang, while they use the cache."""
    done, ended = [0], threading.Event()

    def use():
        while not ended.is_set():
            try:
                done[0] += server.get("cache_mix", limit=3, seed=1, rounds=100) is not None
            except (NoAnswer, OSError):
                pass

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for kill in range(most):
            wait_until(lambda: len(server.workers()) == 4)
            time.sleep(0.02 + 0.0007 * (kill % 31))
            before = done[0]
            try:
                os.kill(server.workers()[kill % 4], signal.SIGKILL)
            except (ProcessLookupError, IndexError):
                pass
            until = time.monotonic() + 5
            while done[0] == before and time.monotonic() < until:
                time.sleep(0.01)
            if done[0] == before:
                return kill + 1
        return None
    finally:
        ended.set()
        server.end()
        for thread in threads:
            thread.join()


def with_server(engine, function):
    options, turnlock = ENGINES[engine]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        server = Server(folder, turnlock=turnlock, options=options)
        try:
            return function(server.wait_until_it_serves(), folder)
        finally:
            server.end()


def medians(results):
    return {key: statistics.median(result[key] for result in results) for key in results[0]}


def costs(server, seconds):
    # Once, so that each worker has its slot; the one that measures is any of them.
    for _ in range(40):
        server.get("enter")
    return {what: min(float(server.get("cost", what=what, entries=int(seconds * (300000 if "." in what else 1000000)))) for _ in range(3)) for what in COSTS}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1, help="of each row, each time")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--parts", default="cost,crowd,death,stuck")
    arguments = parser.parse_args()
    parts = arguments.parts.split(",")
    for part, function in (("cost", costs), ("crowd", crowds)):
        if part not in parts:
            continue
        results = {engine: [] for engine in ENGINES}
        for _ in range(arguments.runs):
            for engine in ENGINES:
                results[engine].append(with_server(engine, lambda server, _: function(server, arguments.seconds)))
        typical = {engine: medians(results[engine]) for engine in ENGINES}
        for key in typical["own"]:
            if part == "cost":
                print(f"| {key} |", " | ".join(f"{typical[engine][key]:.0f}" for engine in ENGINES), "|", flush=True)
            elif key[2] == 0:
                cells = (f"{typical[engine][key]:.0f} ({typical[engine][(*key[:2], 1)]:.2f}, {typical[engine][(*key[:2], 2)]:.0f} ms)" for engine in ENGINES)
                print(f"| {key[0]}, {key[1]} workers |", " | ".join(cells), "|", flush=True)
    for engine in ENGINES if "death" in parts else ():
        took = sorted(with_server(engine, lambda server, folder: recovery(server, arguments.kills, folder)))
        print(f"{engine}: the next one is inside after {statistics.median(took):.2f} ms (median), {took[-1]:.2f} ms at most, of {len(took)}", flush=True)
    for engine in ENGINES if "stuck" in parts else ():
        runs = [with_server(engine, lambda server, folder: kills_until_stuck(server, arguments.kills)) for _ in range(arguments.runs)]
        print(f"{engine}: stuck after", ", ".join(f"kill {kill}" if kill else f"none of {arguments.kills}" for kill in runs), flush=True)


main()
