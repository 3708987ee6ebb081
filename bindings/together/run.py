#!/usr/bin/env python3
"""Every language that is present contends for one lock with one counter, and one of each is killed inside.

Each language has a counter program (examples/counter.c has the story): a turn reads a number, adds a line to a journal and
writes the number plus one, under the lock `counter` of `demo.lock`. First one of each language after the other is started
with --die-at among the others that count, and killed with SIGKILL in the midst of its turn; the next holder is told and
repairs. Then all count to their end. The result is right if

- the counter is the number of lines of the journal, which is that of all turns, finished and not;
- the fencing tokens of the journal increase from line to line;
- every language had its turns, every killed program its last one, and for each death a program said that it was told.

Then the programs of contend/ do so under a reader/writer lock, where each turn also reads beside others; none may see
half a turn, and under a semaphore of one permit, which comes back when its holder is killed; there is no such notice and no
token, and a killed one had not begun its last turn.

A language whose toolchain is missing is named as skipped. The last line says how many passed and failed.

    run.py --built FOLDER --prefix FOLDER --work FOLDER [--turns N] [--separate-locks]
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from programs import Missing, contenders, programs

PATIENCE = 60 * float(os.environ.get("TURNLOCK_CHECK_PATIENCE", 1))
TOLD = re.compile(r"^(?P<who>.+): told that (?P<dead>.+) \(process (?P<pid>\d+)\) died inside", re.MULTILINE)


class Failed(Exception):
    pass


class Player:
    """A counter program that runs; what it prints goes into a file, so that nothing waits for a pipe's end."""

    def __init__(self, program, folder, turns, *, kind="mutex", lock_folder=None, die_at=0):
        self.program, self.die_at = program, die_at
        self.said = folder / f"said.{program.language}.{time.monotonic_ns()}"
        command = [*program.command, *([] if kind == "mutex" else [kind]), str(lock_folder or folder), str(program.turns(turns))]
        if die_at:
            command += ["--die-at", str(die_at)]
        # An end that is never written to keeps a program that waits to be killed where it is.
        self.stdin, self.held = os.pipe()
        with open(self.said, "wb") as output:
            self.process = subprocess.Popen(
                command, stdin=self.stdin, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **program.environment},
                start_new_session=True,
            )

    def text(self):
        return self.said.read_text(errors="replace")

    def wait_until_inside(self):
        """Until it says that it stands inside; its process, which need not be the one that was started."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            found = re.search(r"kill -9 (\d+)", self.text())
            if found:
                return int(found[1])
            if self.process.poll() is not None:
                raise Failed(f"{self.program.language} ended before its turn: {self.text()}")
            time.sleep(0.002)
        raise Failed(f"{self.program.language} did not come in within {PATIENCE:.0f} s; it said: {self.text()!r}")

    def wait(self):
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.program.language} has not ended within {PATIENCE:.0f} s; it said: {self.text()!r}") from None

    def end(self):
        for descriptor in (self.stdin, self.held):
            os.close(descriptor)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def play(kind, present, folder, turns, separate):
    """Lets them all count, with one of each killed; gives the players."""
    (folder / "counter").write_text("0\n")
    (folder / "journal").write_text("")
    counting, killed, players = [], [], []

    def start(program, at, **options):
        lock_folder = None
        if separate:
            # The same files, but a lock of its own: what must be seen to go wrong.
            lock_folder = folder / f"own-{at}"
            lock_folder.mkdir()
            for name in ("counter", "journal"):
                (lock_folder / name).symlink_to(folder / name)
        player = Player(program, folder, turns, kind=kind, lock_folder=lock_folder, **options)
        players.append(player)
        return player

    try:
        for at, program in enumerate(present):
            counting.append(start(program, at))
        for at, program in enumerate(present):
            player = start(program, len(present) + at, die_at=3)
            pid = player.wait_until_inside()
            os.kill(pid, signal.SIGKILL)
            player.wait()
            killed.append((player, pid))
        # The program that is left repairs what the last one left.
        counting.append(start(present[0], 2 * len(present)))
        for player in counting:
            status = player.wait()
            if status != 0:
                raise Failed(f"{player.program.language} ended with {status}: {player.text()}")
    finally:
        for player in players:
            player.end()
    return counting, killed


def judge(kind, folder, turns, present, counting, killed):
    """What is wrong, in sentences."""
    wrong = []
    lines = (folder / "journal").read_text().splitlines()
    count = int((folder / "counter").read_text())
    # A program that is killed with a permit has done two turns and not begun the third.
    done = 2 if kind == "semaphore" else 3
    expected = sum(one.program.turns(turns) for one in counting) + done * len(killed)
    if not count == len(lines) == expected:
        wrong.append(f"the counter is {count} and the journal has {len(lines)} lines; there were {expected} turns")
    tokens = [int(line.rsplit(" ", 1)[1]) for line in lines]
    if kind != "semaphore" and any(later <= earlier for earlier, later in zip(tokens, tokens[1:])):
        wrong.append("the fencing tokens do not increase")
    for program in present:
        had = sum(1 for line in lines if line.startswith(f"{program.label} "))
        due = program.turns(turns) * sum(1 for one in counting if one.program is program) + done
        if had != due:
            wrong.append(f"{program.language} has {had} lines of {due}")
    if kind == "semaphore":
        return wrong
    told = [found for one in counting + [one for one, _ in killed] for found in TOLD.finditer(one.text())]
    for player, pid in killed:
        dead, label = str(pid), player.program.label
        if not any(one["dead"] == label and (one["pid"] == dead or player.program.is_shell) for one in told):
            wrong.append(f"no holder was told of the death of {player.program.language}, process {pid}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for folder in ("built", "prefix", "work"):
        parser.add_argument(f"--{folder}", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--separate-locks", action="store_true", help="show that the test can fail")
    arguments = parser.parse_args()

    passed = failed = skipped = 0
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)
    several = contenders(arguments.built, arguments.prefix, arguments.work)
    kinds = {"mutex": programs(arguments.built, arguments.prefix, arguments.work), "rwlock": several, "semaphore": several}
    if arguments.separate_locks:
        # For permits no holder is told, so that what goes wrong there is left to chance.
        del kinds["semaphore"]
    for kind, languages in kinds.items():
        present = []
        for language, prepare in languages:
            try:
                present.append(prepare())
            except Missing as missing:
                skipped += 1
                print(f"{language}, {kind}: skipped, {missing}")
            except subprocess.CalledProcessError as error:
                failed += 1
                print(f"{language}, {kind}: its program was not built:\n{error.stdout}")
        folder = arguments.work / f"play-{kind}"
        folder.mkdir()
        print(f"together, {kind}:", ", ".join(program.language for program in present))
        try:
            if len(present) < 2:
                raise Failed("there are fewer than two languages")
            counting, killed = play(kind, present, folder, arguments.turns, arguments.separate_locks)
            wrong = judge(kind, folder, arguments.turns, present, counting, killed)
        except Failed as error:
            wrong = [str(error)]
        for sentence in wrong:
            print(f"wrong, {kind}: {sentence}")
        if wrong:
            failed += 1
            continue
        passed += 1
        came = "and what they held came back" if kind == "semaphore" else "and each death was told of"
        print(f"{kind}: {len(killed)} were killed inside, {came}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
