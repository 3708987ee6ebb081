#!/usr/bin/env python3
"""contend.py KIND FOLDER TURNS [--die-at N]: contend.c in Python, over the plain C ABI."""

import ctypes
import os
import sys
from ctypes import byref, c_char_p, c_int32, c_uint32, c_void_p
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
from turnlock_ctypes import FileOptions, load_library, opened  # noqa: E402

ME = "contend.py"


def read_counter():
    with open("counter") as file:
        return int(file.read())


def write_counter(count):
    with open("counter", "r+") as file:
        file.write(f"{count}\n")


def append(token):
    with open("journal", "a") as file:
        file.write(f"{ME} {token}\n")


def journal_lines():
    with open("journal") as file:
        return sum(1 for _ in file)


def wait_to_be_killed():
    print(f"{ME}: stopped inside; now: kill -9 {os.getpid()}", flush=True)
    sys.stdin.read()
    os.abort()


def write_and_read(lock, dies):
    with lock.exclusive() as (token, owner_died):
        if owner_died:
            write_counter(journal_lines())
            dead = lock.previous_owner()
            print(f"{ME}: told that {dead.label.decode()} (process {dead.pid}) died inside", flush=True)
            lock.call("mark_consistent")
        count = read_counter()
        append(token)
        if dies:
            wait_to_be_killed()
        write_counter(count + 1)
    with lock.shared() as (_, owner_died):
        if not owner_died and read_counter() != journal_lines():
            sys.exit(f"{ME}: a reader saw half a turn")


def permit_turns(turns, die_at):
    library = load_library()
    file, semaphore = c_void_p(), c_void_p()

    def call(name, *arguments):
        status = getattr(library, f"turnlock_{name}")(*arguments)
        if status < 0:
            sys.exit(f"{ME}: {library.turnlock_last_error_message().decode()}")

    for name, types in {
        "open": [c_void_p, c_char_p, c_void_p, c_void_p],
        "acquire": [c_void_p, c_uint32, c_void_p],
        "release": [c_void_p, c_uint32],
    }.items():
        function = getattr(library, f"turnlock_semaphore_{name}")
        function.argtypes, function.restype = types, c_int32
    call("file_open", b"demo.lock", byref(FileOptions(label=ME.encode())), byref(file))
    call("semaphore_open", file, b"semaphore", None, ctypes.cast(ctypes.pointer(semaphore), c_void_p))
    for turn in range(1, turns + 1):
        call("semaphore_acquire", semaphore, 1, None)
        if turn == die_at:
            wait_to_be_killed()
        count = read_counter()
        append(0)
        write_counter(count + 1)
        call("semaphore_release", semaphore, 1)


def main():
    kind, folder, turns, *more = sys.argv[1:]
    die_at = int(more[1]) if more else 0
    os.chdir(folder)
    if kind == "semaphore":
        permit_turns(int(turns), die_at)
        return
    with opened("demo.lock", ME, "rwlock", "rwlock") as lock:
        for turn in range(1, int(turns) + 1):
            write_and_read(lock, turn == die_at)


if __name__ == "__main__":
    main()
