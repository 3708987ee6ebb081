"""writers.py: its table has a row for everything that is asked for, and what it records has every wait that is drawn."""

import csv
import os
import subprocess
import sys
import tempfile

WRITERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../writers.py")
LIMIT = 100 * float(os.environ.get("TURNLOCK_CHECK_PATIENCE", "1"))
WANTED = [f"2, 1 ms, deferred{beside}" for beside in ("", ", readers", ", checkpoints")]

with tempfile.TemporaryDirectory() as folder:
    record = os.path.join(folder, "waits.csv")
    # Long enough for a machine that does much else.
    asked = ["--seconds", "1", "--writers", "2", "--hold", "1", "--kind", "deferred"]
    asked += ["--beside", "nothing,readers,checkpoints", "--folder", folder, "--record", record]
    done = subprocess.run([sys.executable, WRITERS, *asked], stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=True)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line.startswith("| 2,")]
    assert [row[0] for row in rows] == WANTED, done.stdout
    for row in rows:
        # Each wrote something, and those beside did something too.
        assert all(int(number) > 0 for number in row[1].split(" · ")), row
        assert row[7] != "" or row[0] == WANTED[0], row
    with open(record) as file:
        waits = list(csv.DictReader(file))
    assert len(waits) == 2 * 5, waits
    for vfs in ("stock", "turnlock"):
        ascending = [float(wait["wait_ms"]) for wait in waits if (wait["kind"], wait["vfs"]) == ("deferred", vfs)]
        assert len(ascending) == 5 and ascending == sorted(ascending), waits
    # With pauses, which leave the most room for others, and are no part of what is drawn.
    asked = ["--seconds", "1", "--writers", "2", "--hold", "0", "--burst", "3", "--pause", "100", "--folder", folder, "--record", record]
    done = subprocess.run([sys.executable, WRITERS, *asked], stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=True)
    last = [cell.strip() for cell in done.stdout.splitlines()[-1].split("|")[1:-1]]
    assert last[0] == "2, 0 ms, 3 and 100 ms", done.stdout
    # Three at once ten times a second, each of two.
    assert all(0 < int(number) <= 66 for number in last[1].split(" · ")), last
    with open(record) as file:
        assert len(list(csv.DictReader(file))) == 2 * 5
    assert not os.listdir(folder) or os.listdir(folder) == ["waits.csv"], os.listdir(folder)
