"""What the tests run in processes of their own. The first argument says what, the others are its own."""

import ctypes
import importlib.util
import os
import random
import sqlite3
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.path.join(HERE, "../../../bindings/python/python/turnlock/sqlite.py")


def registrar():
    """The module turnlock.sqlite, without the package around it, which is not installed here."""
    spec = importlib.util.spec_from_file_location("turnlock_sqlite", MODULE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def connect(path, timeout=60.0, **options):
    return sqlite3.connect(path, timeout=timeout, isolation_level=None, **options)


def say(word):
    print(word, flush=True)


def write(path, who, number, hold):
    """Writes so many rows, each in a transaction that lasts `hold` seconds."""
    database = connect(path)
    for row in range(int(number)):
        database.execute("begin immediate")
        database.execute("insert into entries values (?, ?)", (who, row))
        time.sleep(float(hold))
        database.execute("commit")
    database.close()


def write_deferred(path, who, number):
    """The same by transactions that read first, and begin anew where they are told "busy"."""
    database = connect(path)
    for row in range(int(number)):
        while True:
            database.execute("begin")
            try:
                database.execute("select count(*) from entries").fetchone()
                database.execute("insert into entries values (?, ?)", (who, row))
                database.execute("commit")
                break
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                database.execute("rollback")
    database.close()


def write_on(path, who):
    """Writes until it is killed."""
    database = connect(path)
    row = 0
    say("writes")
    while True:
        database.execute("begin immediate")
        database.execute("insert into entries values (?, ?)", (who, row))
        if random.random() < 0.1:
            time.sleep(0.001)
        database.execute("commit")
        row += 1


def write_once(path, who):
    """Says when it is about to write, and when it has written."""
    database = connect(path)
    database.execute("select count(*) from entries").fetchone()
    say("waits")
    database.execute("begin immediate")
    database.execute("insert into entries values (?, 0)", (who,))
    database.execute("commit")
    say("has written")


def write_twice(path):
    """Says when it has written, and goes on when it is told to: says the time, and writes again."""
    database = connect(path)
    database.execute("insert into entries values ('twice', 0)")
    say("has written")
    sys.stdin.readline()
    say(time.monotonic())
    database.execute("insert into entries values ('twice', 1)")


def checkpoint_on(path):
    database = connect(path)
    say("checkpoints")
    while True:
        database.execute("pragma wal_checkpoint(truncate)").fetchone()
        time.sleep(0.002)


def as_another_user(path):
    """Writes as a user that may not make a file in the database's folder; says what SQLite's log has."""
    library = ctypes.CDLL(__import__("_sqlite3").__file__)
    lines = []
    log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(
        lambda _, code, text: lines.append(text.decode())
    )
    library.sqlite3_shutdown()
    library.sqlite3_config(16, log, None)
    library.sqlite3_initialize()
    registrar().register()
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    for _ in range(2):
        database = connect(path)
        database.execute("pragma journal_mode=memory")
        database.execute("insert into entries values ('another user', 0)")
        database.close()
    say(";".join(line for line in lines if "turnlock" in line))


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command not in ("as_another_user",) and not command.startswith("stock_"):
        registrar().register()
    globals()[command.removeprefix("stock_")](*arguments)
