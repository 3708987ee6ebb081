"""turnlock_vfs under SQLite as Python has it: order, deaths, and what is not to change.

TURNLOCK_SQLITE_KILLS=N: how many writers are killed, 20 in each journal mode if not said.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import children
from children import connect

KILLS = int(os.environ.get("TURNLOCK_SQLITE_KILLS", "20"))
PATIENCE = 120 * float(os.environ.get("TURNLOCK_CHECK_PATIENCE", "1"))
MODES = ("wal", "delete")
HERE = os.path.dirname(os.path.abspath(__file__))

children.registrar().register()


class Child:
    """A process that does something of children.py."""

    def __init__(self, *arguments, vfs=None):
        command = [sys.executable, children.__file__, *map(str, arguments)]
        environment = {**os.environ, **({"TURNLOCK_SQLITE_VFS": vfs} if vfs else {})}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)

    def says(self):
        return self.process.stdout.readline().strip()

    def end(self):
        """Waits until it has ended, and returns what it said last."""
        said, errors = self.process.communicate(timeout=PATIENCE)
        if self.process.returncode != 0:
            raise AssertionError(f"a process ended with {self.process.returncode}: {errors}")
        return said.strip()

    def kill(self):
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def new_database(self, mode="wal", name="database"):
        path = os.path.join(self.folder.name, f"{name}-{mode}")
        with children.connect(path) as database:
            database.execute(f"pragma journal_mode={mode}")
            database.execute("create table entries (who, row)")
        database.close()
        return path

    def child(self, *arguments, vfs=None):
        child = Child(*arguments, vfs=vfs)
        self.addCleanup(lambda: child.process.poll() is None and child.kill())
        self.addCleanup(child.process.stdin.close)
        self.addCleanup(child.process.stdout.close)
        self.addCleanup(child.process.stderr.close)
        return child

    def built_with(self, flags):
        """The extension, compiled with these flags."""
        libraries, built = os.path.dirname(os.environ["TURNLOCK_SQLITE_VFS"]), os.path.join(self.folder.name, "turnlock_vfs.so")
        command = [os.path.join(HERE, "..", "build.sh"), os.path.join(libraries, "..", "include"), libraries, built]
        subprocess.run(command, env={**os.environ, "CFLAGS": flags, "LDFLAGS": f"-Wl,-rpath,{libraries}"}, check=True, timeout=PATIENCE)
        return built

    def check(self, path, rows=None):
        database = connect(path)
        self.assertEqual(database.execute("pragma integrity_check").fetchone()[0], "ok")
        if rows is not None:
            self.assertEqual(database.execute("select count(*) from entries").fetchone()[0], rows)
            self.assertEqual(database.execute("select count(distinct who || ' ' || row) from entries").fetchone()[0], rows)
        database.close()

    def wait_until(self, condition):
        until = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), until, "it took too long")
            time.sleep(0.005)


class Order(Case):
    def test_writers_come_in_the_order_of_their_arrival(self):
        for mode in MODES:
            with self.subTest(mode):
                # One that gets no processor when its turn comes is passed over after a while.
                orders = (self.order_of_waiters(self.new_database(mode, f"order-{attempt}")) for attempt in range(10))
                self.assertIn(["first", "0", "1", "2", "3", "4"], orders)

    def order_of_waiters(self, path):
        first = connect(path)
        first.execute("begin immediate")
        first.execute("insert into entries values ('first', 0)")
        waiting = []
        for number in range(5):
            waiting.append(self.child("write_once", path, number))
            self.assertEqual(waiting[-1].says(), "waits")
            self.wait_until(lambda: queued(path) == number + 1)
        first.execute("commit")
        for child in waiting:
            child.end()
        order = [who for (who,) in first.execute("select who from entries order by rowid")]
        first.close()
        return order

    def test_nothing_is_lost_by_many_writers(self):
        for mode in MODES:
            for hold in (0, 0.001):
                with self.subTest(mode, hold=hold):
                    path = self.new_database(mode, f"many-{hold}")
                    writers = [self.child("write", path, who, 50, hold) for who in range(8)]
                    for writer in writers:
                        writer.end()
                    self.check(path, 400)

    def test_a_writer_of_short_transactions_pauses_before_it_queues(self):
        # While it pauses the other one writes on, with no wake-up for each transaction. By a library that takes every turn for short and
        # every writer for alone with another one, since neither is so on a machine that does much else.
        pause = 0.9
        flags = f"-DSHORT_NS=INT64_MAX -DALONE_NS=INT64_MAX -DPAUSE_NS={int(pause * 1e9)}"
        path = self.new_database()
        waiter = self.child("write_twice", path, vfs=self.built_with(flags))
        self.assertEqual(waiter.says(), "has written")
        holder = connect(path)
        holder.execute("begin immediate")
        waiter.process.stdin.write("go on\n")
        waiter.process.stdin.flush()
        came = float(waiter.says())
        self.wait_until(lambda: queued(path) == 1)
        self.assertGreaterEqual(time.monotonic() - came, pause)
        holder.execute("commit")
        waiter.end()
        holder.close()
        self.check(path, 2)

    def test_transactions_that_read_first(self):
        path = self.new_database()
        writers = [self.child("write_deferred", path, who, 50) for who in range(4)]
        for writer in writers:
            writer.end()
        self.check(path, 200)

    def test_beside_writers_without_the_vfs_and_checkpoints(self):
        path = self.new_database()
        checkpoints = self.child("checkpoint_on", path)
        self.assertEqual(checkpoints.says(), "checkpoints")
        writers = [self.child(kind, path, f"{kind} {who}", 50, 0) for who in range(3) for kind in ("write", "stock_write")]
        for writer in writers:
            writer.end()
        checkpoints.kill()
        self.check(path, 300)

    def test_threads_with_a_connection_each(self):
        path = self.new_database()
        threads = [threading.Thread(target=children.write, args=(path, who, 50, 0)) for who in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        self.check(path, 300)


class AsBefore(Case):
    """What a program without the VFS sees, one with it sees too."""

    def error_of(self, call):
        with self.assertRaises(sqlite3.OperationalError) as caught:
            call()
        return caught.exception.sqlite_errorcode

    def test_a_time_limit_is_that_of_the_busy_handler(self):
        for mode in MODES:
            with self.subTest(mode):
                path = self.new_database(mode)
                holder, other = connect(path), connect(path, timeout=0.4)
                holder.execute("begin immediate")
                before = time.monotonic()
                self.assertEqual(self.error_of(lambda: other.execute("begin immediate")), sqlite3.SQLITE_BUSY)
                self.assertGreaterEqual(time.monotonic() - before, 0.3)
                # And none of its own is left behind, at which the next one would wait.
                holder.execute("commit")
                holder.execute("begin immediate")
                holder.execute("commit")
                other.execute("begin immediate")
                other.execute("commit")
                holder.close()
                other.close()

    def test_without_a_busy_handler_there_is_no_wait(self):
        path = self.new_database()
        holder, other = connect(path), connect(path, timeout=0)
        holder.execute("begin immediate")
        for _ in range(3):
            self.assertEqual(self.error_of(lambda: other.execute("begin immediate")), sqlite3.SQLITE_BUSY)
        self.assertEqual(queued(path), 0)
        self.assertEqual(other.execute("select count(*) from entries").fetchone(), (0,))
        holder.close()
        other.close()

    def test_an_old_snapshot_is_told(self):
        path = self.new_database()
        reader, writer = connect(path), connect(path)
        reader.execute("begin")
        reader.execute("select * from entries").fetchall()
        writer.execute("insert into entries values ('writer', 0)")
        code = self.error_of(lambda: reader.execute("insert into entries values ('reader', 0)"))
        self.assertEqual(code, sqlite3.SQLITE_BUSY_SNAPSHOT)
        # It is not the turn that it has now.
        writer.execute("insert into entries values ('writer', 1)")
        reader.execute("rollback")
        reader.execute("insert into entries values ('reader', 0)")
        self.check(path, 3)
        reader.close()
        writer.close()

    def test_readers_wait_for_none(self):
        path = self.new_database()
        writer, reader = connect(path), connect(path, timeout=0)
        writer.execute("begin immediate")
        writer.execute("insert into entries values ('writer', 0)")
        self.assertEqual(reader.execute("select count(*) from entries").fetchone(), (0,))
        writer.execute("commit")
        self.assertEqual(reader.execute("select count(*) from entries").fetchone(), (1,))
        writer.close()
        reader.close()

    def test_databases_of_other_sorts(self):
        path = self.new_database()
        other = self.new_database(name="other")
        database = connect(":memory:")
        database.execute("attach ? as one", (path,))
        database.execute("attach ? as two", (other,))
        database.execute("begin immediate")
        database.execute("insert into one.entries values ('attached', 0)")
        database.execute("insert into two.entries values ('attached', 0)")
        database.execute("commit")
        database.execute("create temp table passing (row)")
        database.execute("insert into passing values (1)")
        database.close()
        temporary = connect("")
        temporary.execute("create table entries (who)")
        temporary.close()
        read_only = connect(f"file:{path}?mode=ro", uri=True)
        self.assertEqual(read_only.execute("select count(*) from entries").fetchone(), (1,))
        insert = "insert into entries values ('reader', 0)"
        self.assertEqual(self.error_of(lambda: read_only.execute(insert)), sqlite3.SQLITE_READONLY)
        read_only.close()
        self.assertEqual(queued(path), 0)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_a_folder_that_one_may_not_write(self):
        path = self.new_database("delete", "closed")
        os.chmod(self.folder.name, 0o755)
        os.chmod(path, 0o666)
        said = self.child("as_another_user", path).end()
        self.assertEqual(said.count("writers are not put in order"), 1, said)
        self.assertIn("Permission denied", said)
        self.check(path, None)

    def test_it_is_named(self):
        path = self.new_database()
        script = f".load {os.environ['TURNLOCK_SQLITE_VFS']}\n.open {path}\n.vfsname\ninsert into entries values ('shell', 0);\n"
        done = subprocess.run(["sqlite3", "-bail"], input=script, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (0, "turnlock/unix\n"), done.stderr)
        self.check(path, 1)

    def test_by_its_name_only(self):
        path = self.new_database()
        script = (
            "import children, sqlite3, os; children.registrar().register(default=False);"
            f"stock = children.connect({path!r}); stock.execute(\"insert into entries values ('stock', 0)\");"
            f"print(os.path.exists({path!r} + '-turnlock'));"
            f"named = children.connect('file:{path}?vfs=turnlock', uri=True);"
            "named.execute(\"insert into entries values ('named', 0)\");"
            f"print(os.path.exists({path!r} + '-turnlock'))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, cwd=children.HERE
        )
        self.assertEqual(done.stdout.split(), ["False", "True"], done.stderr)

    def test_what_cannot_be_loaded_is_told(self):
        with self.assertRaisesRegex(FileNotFoundError, "build the extension by ./install.sh"):
            children.registrar().register("/nowhere/turnlock_vfs.so")
        with tempfile.NamedTemporaryFile(suffix=".so") as empty, self.assertRaisesRegex(OSError, "SQLite does not load"):
            children.registrar().register(empty.name)


class LockFile(Case):
    def test_it_is_made_by_a_writer_and_removed_by_the_last(self):
        for mode in MODES:
            with self.subTest(mode):
                path = self.new_database(mode, "made")
                file = f"{path}-turnlock"
                self.assertFalse(os.path.exists(file))
                one, other = connect(path), connect(path)
                one.execute("select * from entries").fetchall()
                self.assertFalse(os.path.exists(file), "a reader needs none")
                one.execute("insert into entries values ('one', 0)")
                other.execute("insert into entries values ('other', 0)")
                self.assertTrue(os.path.exists(file))
                self.assertEqual(os.stat(file).st_mode & 0o666 & ~os.stat(path).st_mode, 0)
                one.close()
                self.assertTrue(os.path.exists(file))
                child = self.child("write", path, "child", 1, 0)
                child.end()
                self.assertTrue(os.path.exists(file))
                other.close()
                self.assertFalse(os.path.exists(file))

    def test_the_second_writer_does_not_wait_for_the_kernel(self):
        # A file of one process alone has it wait until every processor has passed a barrier, up to 30 ms.
        path = self.new_database()
        database = connect(path)
        database.execute("insert into entries values ('one', 0)")
        self.assertEqual(status_of(path)["fences"], "full")
        database.close()

    def test_its_status_says_who_writes_and_since_when(self):
        path = self.new_database()
        holder = connect(path)
        holder.execute("begin immediate")
        waiter = self.child("write_once", path, "waiter")
        self.wait_until(lambda: queued(path) == 1)
        (lock,) = status_of(path)["locks"]
        self.assertEqual([each["pid"] for each in lock["holders"]], [os.getpid()])
        self.assertGreaterEqual(lock["holders"][0]["for_seconds"], 0)
        self.assertEqual([each["pid"] for each in lock["queue"]], [waiter.process.pid])
        holder.execute("commit")
        waiter.end()
        holder.close()

    def test_something_else_lies_in_its_place(self):
        path = self.new_database()
        with open(f"{path}-turnlock", "w") as other:
            other.write("not a lock file" * 100)
        children.write(path, "one", 3, 0)
        self.check(path, 3)
        with open(f"{path}-turnlock") as other:
            self.assertEqual(other.read(), "not a lock file" * 100)

    def test_a_child_of_fork_leaves_it_alone(self):
        path = self.new_database()
        database = connect(path)
        database.execute("insert into entries values ('parent', 0)")
        child = os.fork()
        if child == 0:
            # As SQLite asks for: it opens its own.
            children.write(path, "child", 5, 0)
            os._exit(0)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        database.execute("insert into entries values ('parent', 1)")
        self.assertTrue(os.path.exists(f"{path}-turnlock"))
        database.close()
        self.check(path, 7)


class Deaths(Case):
    def test_a_killed_writer_keeps_none_from_writing(self):
        for mode in MODES:
            with self.subTest(mode):
                path = self.new_database(mode, "killed")
                writers = [self.child("write_on", path, who) for who in range(4)]
                for writer in writers:
                    self.assertEqual(writer.says(), "writes")
                database = connect(path)
                for number in range(KILLS):
                    time.sleep(0.01)
                    victim = writers.pop(0)
                    victim.kill()
                    self.assertEqual(victim.process.returncode, -signal.SIGKILL)
                    database.execute("insert into entries values ('test', ?)", (number,))
                    self.assertEqual(database.execute("pragma integrity_check").fetchone()[0], "ok")
                    writers.append(self.child("write_on", path, number + 4))
                for writer in writers:
                    writer.kill()
                database.close()
                self.check(path)


def queued(path):
    """Returns how many wait for the turn, or have it and wait for SQLite's lock."""
    status = status_of(path)
    (lock,) = (status and status["locks"]) or [{"queue": []}]
    return len(lock["queue"])


def status_of(path):
    """Returns what `turnlock status` says of a database; None if it has no lock file."""
    done = subprocess.run(["turnlock", "status", "--json", f"{path}-turnlock"], capture_output=True, text=True, timeout=PATIENCE)
    return json.loads(done.stdout) if done.returncode == 0 else None


if __name__ == "__main__":
    unittest.main()
