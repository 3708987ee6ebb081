#!/usr/bin/env python3
"""Runs the relay: starts relay.c, relay.py and relay.rs as participants of one ring, kills one of them with SIGKILL at a random
moment, starts it again, and checks the text that they wrote together.

The text is in order if
- every line is whole, and its fencing token larger than that of the line before;
- between two lines of a program, every other member of the ring all that time has exactly one line, and none has two;
- the one that was killed is absent for a while, comes back with its first leg, and stands beside both others again.

The exit code is 0 if it is, 1 if it is not, 2 if the relay could not be run.
"""

# Python, like relay.py, since a shell cannot tell a millisecond.

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent.parent / "target" / "release"
PROGRAMS = ["relay.c", "relay.py", "relay.rs"]
LINE = re.compile(r"(\d+) (relay\.(?:c|py|rs)) leg (\d+)")
# How long an event may take that usually takes microseconds, in seconds: only against hangs, and longer where ./check is
# told to be patient.
PATIENCE = 60 * float(os.environ.get("TURNLOCK_CHECK_PATIENCE", 1))
# So long after the kill the driver looks for the longest time without a new line.
WATCHED = 0.05


class CannotRun(Exception):
    pass


# The check of the text.


class Life:
    """A program from its first leg to its last one, or to its death: where its lines are in the text."""

    def __init__(self, program):
        self.program = program
        self.lines = []

    def stood_all_the_time(self, begin, end):
        return self.lines[0] < begin and self.lines[-1] > end

    def lines_between(self, begin, end):
        return sum(begin < line < end for line in self.lines)


def problems_of(text, legs, killed):
    """What is wrong with the text of a relay of so many legs each, in which one program was killed."""
    if not text.endswith("\n"):
        return ["the last line has no end"]
    lives, last_token = [], 0
    for number, line in enumerate(text.splitlines(), start=1):
        parts = LINE.fullmatch(line)
        if parts is None:
            return [f"line {number} is torn: {line!r}"]
        token, program, leg = int(parts[1]), parts[2], int(parts[3])
        if token <= last_token:
            return [f"line {number}: token {token} comes after {last_token}"]
        last_token = token
        life = next((life for life in reversed(lives) if life.program == program), None)
        if leg == 1:
            life = Life(program)
            lives.append(life)
        if life is None or leg != len(life.lines) + 1:
            return [f"line {number}: leg {leg} of {program} is out of place"]
        life.lines.append(number)
    return rotation_problems(lives) + attendance_problems(lives, legs, killed)


def rotation_problems(lives):
    for life in lives:
        for begin, end in zip(life.lines, life.lines[1:]):
            for other in (other for other in lives if other is not life):
                turns = other.lines_between(begin, end)
                if turns > 1 or (turns == 0 and other.stood_all_the_time(begin, end)):
                    return [
                        f"lines {begin} and {end} are {life.program}'s, and between them {other.program} has {turns} turns"
                    ]
    return []


def attendance_problems(lives, legs, killed):
    problems = []
    for program in PROGRAMS:
        its = [life for life in lives if life.program == program]
        lengths = [len(life.lines) for life in its]
        if program != killed:
            if lengths != [legs]:
                problems.append(f"{program} should have {legs} legs, and has {lengths}")
            continue
        if len(lengths) != 2 or lengths[0] >= legs or lengths[1] != legs:
            problems.append(f"{program}, which was killed, should have less than {legs} legs and then {legs}, and has {lengths}")
            continue
        if its[1].lines[0] - its[0].lines[-1] < 4:
            problems.append(f"{program} was not absent")
        others = [life for life in lives if life.program != program]
        if any(life.lines[-1] < its[1].lines[min(4, legs - 1)] for life in others):
            problems.append(f"{program} came back when the others had left: take more legs")
    return problems


# The relay.


def compile_c(folder, library):
    """relay.c, with the library by its full path, and its folder as the place to load it from."""
    program = folder / "relay-c"
    compiler = os.environ.get("CC", "cc").split()
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", HERE.parent.parent / "include"]
    where = ["-Xlinker", "-rpath", "-Xlinker", library.parent]
    command = [*compiler, *flags, HERE / "relay.c", "-o", program, library, *where]
    said = folder / "compiler-said"
    try:
        # A file, since a pipe ends only when all that the compiler started have ended too.
        with said.open("w") as errors:
            done = subprocess.run(command, stderr=errors, stdin=subprocess.DEVNULL, timeout=PATIENCE)
    except OSError as error:
        raise CannotRun(f"no C compiler: {error} (CC can name one)") from error
    except subprocess.TimeoutExpired:
        raise CannotRun(f"{compiler[0]} has not compiled relay.c after {PATIENCE} s") from None
    if done.returncode != 0:
        raise CannotRun(f"relay.c cannot be compiled:\n{said.read_text()}")
    return program


class Relay:
    """The three programs, and the folders they run in."""

    def __init__(self, folder, arguments):
        self.folder, self.legs, self.pace = folder, arguments.legs, arguments.pace
        self.text = folder / "text"
        self.text.touch()
        self.library = arguments.library.resolve()
        for needed in [self.library, arguments.rust]:
            if not needed.is_file():
                raise CannotRun(f"{needed} is not there: cargo build --release --lib --example relay")
        self.commands = {
            "relay.c": [compile_c(folder, self.library)],
            "relay.py": [sys.executable, HERE / "relay.py"],
            "relay.rs": [arguments.rust.resolve()],
        }
        self.folders = {program: folder for program in PROGRAMS}
        if arguments.separate_locks:
            for program in PROGRAMS:
                own = self.folders[program] = folder / f"of-{program}"
                own.mkdir()
                (own / "text").symlink_to(self.text)
        self.running = {}

    def start(self, program):
        environment = {**os.environ, "TURNLOCK_LIBRARY": str(self.library)}
        command = [*self.commands[program], self.folders[program], str(self.legs), "--pace", str(self.pace)]
        self.running[program] = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)

    def kill(self, program):
        self.running[program].kill()

    def reaped(self, program):
        if self.ended(program) != -signal.SIGKILL:
            raise CannotRun(f"{program} had ended before it was killed: take more legs")

    def lines(self):
        return self.text.read_bytes().count(b"\n")

    def until_lines(self, lines):
        began = time.monotonic()
        while self.lines() < lines:
            self.check_running()
            if time.monotonic() - began > PATIENCE:
                raise CannotRun(f"the relay hangs: {self.lines()} lines after {PATIENCE} s, not {lines}")
            time.sleep(0.001)

    def until_all_have_begun(self):
        began = time.monotonic()
        while not all(f" {program} ".encode() in self.text.read_bytes() for program in PROGRAMS):
            self.check_running()
            if time.monotonic() - began > PATIENCE:
                raise CannotRun(f"not all have begun after {PATIENCE} s")
            time.sleep(0.001)

    def check_running(self):
        failed = [program for program, process in self.running.items() if process.poll() not in (None, 0)]
        if failed:
            raise CannotRun(f"{' and '.join(failed)} failed")

    def longest_standstill(self):
        """The longest time without a change of the text, from now on, in seconds."""
        began = changed = time.monotonic()
        longest, size = 0.0, self.text.stat().st_size
        while changed - began < WATCHED and (now := time.monotonic()) - changed < 5:
            longest = max(longest, now - changed)
            if (grown := self.text.stat().st_size) != size:
                size, changed = grown, now
            time.sleep(20e-6)
        return longest

    def until_all_are_done(self):
        for program in self.running:
            if self.ended(program) != 0:
                raise CannotRun(f"{program} failed")

    def ended(self, program):
        try:
            return self.running[program].wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise CannotRun(f"the relay hangs: {program} has not ended") from None

    def end(self):
        for process in self.running.values():
            process.kill()
        for program in self.running:
            self.ended(program)


def say(text):
    print(f"run.py: {text}", flush=True)


def run(relay, killed, dice):
    """Starts all, kills one, starts it again, and waits for all."""
    for program in PROGRAMS:
        relay.start(program)
    # One that starts very late may find that the others have left; then the check says so.
    relay.until_all_have_begun()
    relay.until_lines(relay.legs)
    time.sleep(dice.random() * 0.05)
    before = relay.longest_standstill()
    time.sleep(dice.random() * 0.002)
    relay.kill(killed)
    after = relay.longest_standstill()
    relay.reaped(killed)
    say(f"killed {killed}; the longest time without a change of the text: {after * 1e3:.2f} ms ({before * 1e3:.2f} ms before)")
    time.sleep(dice.random() * 0.05)
    relay.start(killed)
    say(f"started {killed} again")
    relay.until_all_are_done()


def arguments_of_command_line():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--legs", type=int, default=2000, help="how many legs each program has, at least 100 (default: 2000)")
    parser.add_argument(
        "--pace",
        type=int,
        default=200,
        metavar="MICROSECONDS",
        help="the pause between the two halves of a line (default: 200)",
    )
    parser.add_argument("--kill", choices=PROGRAMS, help="which one is killed (default: any)")
    parser.add_argument("--seed", type=int, help="of the random choices, to repeat them; the moments will differ a little")
    parser.add_argument(
        "--library", type=Path, default=BUILT / "libturnlock.so", help="libturnlock.so (default: target/release/libturnlock.so)"
    )
    parser.add_argument(
        "--rust",
        type=Path,
        metavar="PROGRAM",
        default=BUILT / "examples" / "relay",
        help="relay.rs, built (default: target/release/examples/relay)",
    )
    parser.add_argument("--separate-locks", action="store_true", help="a ring for each: shows that the check can fail")
    parser.add_argument("--check", type=Path, metavar="TEXT", help="only check this text; with --legs and --kill as they were")
    arguments = parser.parse_args()
    if arguments.legs < 100 and arguments.check is None:
        parser.error("less than 100 legs are over before one is killed")
    if arguments.check is not None and arguments.kill is None:
        parser.error("--check needs --kill")
    return arguments


def main():
    arguments = arguments_of_command_line()
    seed = arguments.seed if arguments.seed is not None else random.randrange(1_000_000)
    dice = random.Random(seed)
    killed = arguments.kill or dice.choice(PROGRAMS)
    with tempfile.TemporaryDirectory(prefix="turnlock-relay-") as folder:
        if arguments.check is not None:
            text = arguments.check.read_text()
        else:
            say(f"{', '.join(PROGRAMS)}: {arguments.legs} legs each (--seed {seed})")
            relay = Relay(Path(folder), arguments)
            try:
                run(relay, killed, dice)
            finally:
                relay.end()
            text = relay.text.read_text()
    problems = problems_of(text, arguments.legs, killed)
    for problem in problems:
        say(f"NOT IN ORDER: {problem}")
    if not problems:
        say(f"in order: {len(text.splitlines())} lines, strictly in turn among the members; {killed} was absent and came back")
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (CannotRun, OSError) as error:
        print(f"run.py: {error}", file=sys.stderr)
        sys.exit(2)
