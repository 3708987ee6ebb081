"""uWSGI with turnlock's locks, beside uWSGI with its own: deaths, reloads, threads, and what is not to change.

TURNLOCK_UWSGI_KILLS=N: how many workers are killed in each test of kills, 10 if not said.
"""

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from server import HERE, PATIENCE, PLUGIN, NoAnswer, Server, UWSGI, WORKERS, wait_until

KILLS = int(os.environ.get("TURNLOCK_UWSGI_KILLS", "10"))
# How long a request may wait before it is taken to wait for ever. Only where that is what uWSGI's own locks do.
FOR_EVER = 3


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/dev/shm")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.events = 0

    def server(self, *options, **named):
        self.servers = getattr(self, "servers", 0) + 1
        folder = os.path.join(self.folder, str(self.servers))
        os.mkdir(folder)
        # Of whichever user the workers are.
        os.chmod(folder, 0o777)
        server = Server(folder, options=options, **named)
        self.addCleanup(server.end)
        return server.wait_until_it_serves()

    def event(self):
        self.events += 1
        return os.path.join(self.folder, f"event-{self.events}")

    def in_thread(self, function, *arguments, **named):
        """Calls a function on a thread of its own. The result has what it returned, once `join` is over."""
        result = []
        thread = threading.Thread(target=lambda: result.append(function(*arguments, **named)), daemon=True)
        thread.start()
        thread.result = lambda: (thread.join(PATIENCE), result[0])[1]
        return thread

    def held(self, server, function, **named):
        """A request that is inside, and the event by which it may leave."""
        event = self.event()
        request = self.in_thread(server.get, function, event=event, **named)
        wait_until(lambda: os.path.exists(event + ".inside"), "to get inside")
        return request, event

    def who_is_inside(self, event):
        with open(event + ".inside") as file:
            return int(file.read())

    def leave(self, event):
        open(event + ".go", "w").close()

    def built(self, flags="", uwsgi=UWSGI):
        """The plugin, compiled with these flags."""
        libraries, built = os.path.dirname(PLUGIN), os.path.join(self.folder, "turnlock_plugin.so")
        command = [os.path.join(HERE, "..", "build.sh"), os.path.join(libraries, "..", "include"), libraries, built]
        environment = {**os.environ, "CFLAGS": f"{flags} -Wno-unused-function", "LDFLAGS": f"-Wl,-rpath,{libraries}", "UWSGI": uwsgi}
        subprocess.run(command, env=environment, check=True, timeout=PATIENCE)
        return built

    def status(self, server):
        said = subprocess.run(["turnlock", "status", "--json", server.lock_file], capture_output=True, text=True, check=True, timeout=PATIENCE)
        return {lock["name"]: lock for lock in json.loads(said.stdout)["locks"]}


def deaths(server):
    return re.findall(r"\[turnlock\] pid (\d+) died while it had lock \"(.*?)\"", server.log())


class Deaths(Case):
    def test_a_worker_killed_inside_a_user_lock_holds_up_none(self):
        server = self.server()
        for kill in range(KILLS):
            victim = self.in_thread(server.get, "die_inside", lock=2)
            beside = [self.in_thread(server.get, "enter", lock=2) for _ in range(2)]
            self.assertIsNone(victim.result())
            self.assertIsNotNone(server.get("enter", lock=2), kill)
            for request in beside:
                self.assertIsNotNone(request.result(), kill)
        # Each death is told of, once.
        self.assertEqual([lock for _, lock in deaths(server)], ["user 2"] * KILLS)
        self.assertEqual(len({pid for pid, _ in deaths(server)}), KILLS)

    def test_a_worker_killed_while_it_reads_or_writes_holds_up_none(self):
        server = self.server()
        for kill in range(KILLS):
            does = ("area_read_and_die", "area_write_and_die")[kill % 2]
            self.assertIsNone(server.get(does))
            readers = [self.in_thread(server.get, "area_read") for _ in range(2)]
            self.assertEqual(server.get("area_add"), str(kill + 1))
            for reader in readers:
                self.assertIsNotNone(reader.result())
        # A reader changes nothing, and no death of one is told.
        self.assertEqual([lock for _, lock in deaths(server)], ["sharedarea0"] * (KILLS // 2))

    def test_a_reader_of_the_cache_that_is_killed_beside_others_holds_up_no_writer(self):
        server = self.server()
        for _ in range(KILLS):
            self.kill_a_reader(server)

    def kill_a_reader(self, server, beside_another=True, limit=PATIENCE):
        server.get("cache_set", key="key", value="1")
        reader, event = self.held(server, "cache_read_and_hold")
        # Another one reads meanwhile: uWSGI has its pid written down, or none, when the first one dies.
        if beside_another:
            self.assertEqual(server.get("cache_get", key="key"), "1")
        os.kill(self.who_is_inside(event), signal.SIGKILL)
        self.assertIsNone(reader.result())
        server.get("cache_set", limit=limit, key="key", value="2")
        self.assertEqual(server.get("cache_get", limit=limit, key="key"), "2")

    def test_uwsgis_own_locks_hold_up_all_writers_after_a_reader(self):
        with self.assertRaises(NoAnswer):
            self.kill_a_reader(self.server(turnlock=False), limit=FOR_EVER)

    def test_uwsgis_own_locks_hold_up_all_after_a_writer(self):
        # The deadlock detector unlocks it, from the master, which to glibc is a reader that leaves.
        server = self.server(turnlock=False)
        self.assertIsNone(server.get("cache_write_and_die"))
        wait_until(lambda: "was holding lock cache_store" in server.log(), "the deadlock detector")
        with self.assertRaises(NoAnswer):
            server.get("cache_set", limit=FOR_EVER, key="key", value="2")

    def test_uwsgis_own_user_locks_are_robust(self):
        server = self.server(turnlock=False)
        for _ in range(3):
            self.assertIsNone(server.get("die_inside"))
            self.assertIsNotNone(server.get("enter"))

    def test_uwsgis_ipcsem_frees_what_a_reader_had(self):
        # There readers read one at a time.
        self.kill_a_reader(self.server("--lock-engine", "ipcsem", turnlock=False), beside_another=False)

    def test_a_cache_is_emptied_whose_writer_was_killed(self):
        self.tear_cache(self.server())

    def tear_cache(self, server):
        for number in range(50):
            server.get("cache_set", key=f"key {number}", value=str(number))
        for tear in range(5):
            server.get("cache_set", key="torn", value="1")
            self.assertIsNone(server.get("cache_tear", key="torn"))
            # The first one that comes reads, or writes.
            if tear % 2 == 0:
                self.assertEqual(server.get("cache_get", key="torn"), "None")
            for number in range(99):
                self.assertEqual(server.get("cache_set", key=f"{tear} {number}", value=str(number)), "True")
            # It is full, and all of it is there.
            for number in range(99):
                self.assertEqual(server.get("cache_get", key=f"{tear} {number}"), str(number))
            server.get("cache_set", key=f"{tear} 99", value="1")
            self.assertEqual(server.get("cache_get", key=f"{tear} 99"), "None")
        self.assertEqual(server.log().count('has emptied the cache "store"'), 5)

    def test_a_plugin_that_leaves_a_torn_cache_is_found_out(self):
        with self.assertRaises((AssertionError, NoAnswer)):
            self.tear_cache(self.server(plugin=self.built("-DFAULT_TORN_CACHE_STAYS")))

    def test_a_plugin_that_does_not_mark_what_it_repaired_is_found_out(self):
        with self.assertRaises((AssertionError, NoAnswer)):
            self.tear_cache(self.server(plugin=self.built("-DFAULT_NOT_MARKED_CONSISTENT")))

    def test_a_cache_in_use_by_workers_that_are_killed_anywhere(self):
        server = self.server()
        chance = random.Random(7)
        ended, done, wrong = threading.Event(), [0], []

        def use():
            while not ended.is_set():
                answer = server.get("cache_mix", seed=chance.randrange(1 << 30))
                if answer == "right":
                    done[0] += 1
                elif answer is not None:
                    wrong.append(answer)

        users = [self.in_thread(use) for _ in range(4)]
        for kill in range(KILLS):
            wait_until(lambda: len(server.workers()) == WORKERS, "a new worker")
            time.sleep(chance.random() * 0.05)
            before = done[0]
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(server.workers()), signal.SIGKILL)
            wait_until(lambda: done[0] > before or wrong, f"what comes after kill {kill}")
        ended.set()
        for user in users:
            user.join(PATIENCE)
        self.assertEqual(wrong, [])
        self.assertEqual(server.log().count("ALARM"), 0)

    def test_mules_and_locks_that_are_made_after_the_plugin_is_there(self):
        server = self.server("--mule=" + os.path.join(HERE, "mule.py"), "--enable-metrics", "--spooler", self.folder)
        wait_until(lambda: server.get("cache_get", key="mules") == "4", "the mules")
        self.assertIsNotNone(server.get("enter", lock=1))
        self.assertEqual([lock for _, lock in deaths(server)], ["user 1"] * 3)
        self.assertIn("uwsgi/metrics", self.status(server))
        self.assertTrue(any(name.startswith("uwsgi/spooler-on-") for name in self.status(server)))

    def test_the_thunder_lock(self):
        server = self.server("--thunder-lock")
        for kill in range(KILLS // 3):
            wait_until(lambda: self.status(server)["uwsgi/thunder"]["holders"], "a worker that waits for requests")
            holder = self.status(server)["uwsgi/thunder"]["holders"]
            with contextlib.suppress(ProcessLookupError):
                os.kill(holder[0]["pid"], signal.SIGKILL)
            for _ in range(3):
                self.assertIsNotNone(server.get("pid"), kill)


class Deadlocks(Case):
    def test_two_workers_that_wait_for_each_other(self):
        server = self.server()
        first, one = self.held(server, "both", first=1, second=2)
        second, two = self.held(server, "both", first=2, second=1)
        self.leave(one)
        self.leave(two)
        # One of them ends, and the other one goes on.
        self.assertEqual(sorted([first.result() or "", second.result() or ""]), ["", "None"])
        self.assertEqual(server.log().count("cannot have lock"), 1)
        self.assertIn("uwsgi/user-1", re.search(r"cannot have lock .*", server.log())[0])
        self.assertIsNotNone(server.get("enter", lock=1))
        self.assertIsNotNone(server.get("enter", lock=2))

    def test_a_thread_that_takes_a_lock_twice(self):
        server = self.server()
        self.assertIsNone(server.get("twice"))
        self.assertIn("this thread has it already", server.log())
        self.assertIsNotNone(server.get("enter"))


class Counts(Case):
    """No section is lost, nor done beside another one: a number that each request adds 1 to is right in the end."""

    def counter(self):
        path = os.path.join(self.folder, "counter")
        with open(path, "w") as file:
            file.write("0")
        return path

    def number(self, path):
        with open(path) as file:
            return int(file.read())

    def test_workers_and_their_threads(self):
        path, server = self.counter(), self.server("--threads", "4")
        requests = [self.in_thread(lambda: [server.get("count", path=path, seconds=0.0005) for _ in range(20)]) for _ in range(16)]
        areas = [self.in_thread(lambda: [server.get("area_add", seconds=0.0005) for _ in range(20)]) for _ in range(4)]
        for request in requests + areas:
            self.assertNotIn(None, request.result())
        self.assertEqual(self.number(path), 320)
        self.assertEqual(server.get("area_add"), "81")

    def test_an_unlock_of_what_is_had_twice_is_found_out(self):
        server = self.server(plugin=self.built("-DFAULT_NESTED_UNLOCKS"))
        areas = [self.in_thread(lambda: [server.get("area_add", seconds=0.001) for _ in range(20)]) for _ in range(4)]
        for area in areas:
            area.result()
        self.assertNotEqual(server.get("area_add"), "81")

    def test_a_reload_loses_no_lock(self):
        path, server = self.counter(), self.server()
        ended, answers = threading.Event(), []

        def use():
            while not ended.is_set():
                answers.append(server.get("count", path=path, seconds=0.005))

        users = [self.in_thread(use) for _ in range(3)]
        for reload in range(1, 4):
            server.wait_until_all_serve()
            holder, event = self.held(server, "hold")
            os.kill(server.process.pid, signal.SIGHUP)
            wait_until(lambda: server.log().count("gracefully killing workers") == reload, "the reload")
            time.sleep(0.1)
            self.leave(event)
            # It leaves as it would have without a reload.
            self.assertIsNotNone(holder.result())
            wait_until(lambda: server.log().count("lock engine: turnlock") == reload + 1, "the new master")
            at = len(answers)
            wait_until(lambda: len(answers) > at + 3, "the new workers")
        ended.set()
        for user in users:
            user.join(PATIENCE)
        self.assertEqual(self.number(path), len([answer for answer in answers if answer is not None]))
        self.assertEqual(deaths(server), [])

    def test_a_graceful_stop_leaves_no_lock(self):
        server = self.server()
        server.wait_until_all_serve()
        holder, event = self.held(server, "hold", lock=3)
        server.ask_master("q")
        time.sleep(0.1)
        self.leave(event)
        self.assertIsNotNone(holder.result())
        wait_until(lambda: server.process.poll() is not None, "the stop")
        self.assertFalse(any(lock.get("holders") or lock.get("owner_dead") for lock in self.status(server).values()), self.status(server))


class Sights(Case):
    def test_status_has_uwsgis_names(self):
        server = self.server("--stats", os.path.join(self.folder, "stats"))
        holder, event = self.held(server, "hold", lock=3)
        locks = self.status(server)
        for name in ("user-0", "user-8", "signal", "cron", "rpc", "snmp", "sharedarea0", "cache_store"):
            self.assertIn(f"uwsgi/{name}", locks)
        (inside,) = locks["uwsgi/user-3"]["holders"]
        # As uWSGI's own statistics, and what Python is told.
        with socket.socket(socket.AF_UNIX) as stats:
            stats.connect(os.path.join(self.folder, "stats"))
            told = json.loads(b"".join(iter(lambda: stats.recv(65536), b"")))
        self.assertIn({"user 3": inside["pid"]}, told["locks"])
        self.assertEqual(server.get("is_locked", lock=3), "True")
        self.assertEqual(server.get("is_locked", lock=4), "False")
        self.leave(event)
        self.assertEqual(holder.result(), str(inside["pid"]))
        self.assertEqual(server.get("is_locked", lock=3), "False")
        # The dead have nothing, as soon as the kernel has ended them.
        self.assertIsNone(server.get("die_inside", lock=3))
        wait_until(lambda: server.get("is_locked", lock=3) == "False", "the death")

    def test_a_lock_file_that_is_deleted(self):
        server = self.server()
        self.assertIsNotNone(server.get("enter"))
        os.remove(server.lock_file)
        holder, event = self.held(server, "hold")
        waiters = [self.in_thread(server.get, "enter") for _ in range(2)]
        time.sleep(0.2)
        self.leave(event)
        for request in [holder, *waiters]:
            self.assertIsNotNone(request.result())
        # A worker that is new finds the new file.
        for _ in range(4):
            self.assertIsNone(server.get("die_inside"))
            self.assertIsNotNone(server.get("enter"))

    def test_workers_of_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root may")
        for option in ("--drop-after-apps", "--master-as-root"):
            with self.subTest(option):
                os.chmod(self.folder, 0o777)
                server = self.server("--uid", "nobody", "--gid", "nogroup", option)
                for _ in range(3):
                    self.assertIsNone(server.get("die_inside"))
                    self.assertIsNotNone(server.get("enter"))
                self.assertNotEqual(os.stat(server.lock_file).st_uid, 0)


class Starts(Case):
    def start(self, *arguments, plugin=PLUGIN):
        command = [UWSGI, "--plugin", plugin, "--socket", os.path.join(self.folder, "s"), "--master", "--hook-post-app", "exit:0", *arguments]
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            said, _ = started.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            said, _ = started.communicate()
            return None, said
        return started.returncode, said

    def test_it_refuses_what_cannot_be(self):
        file = os.path.join(self.folder, "locks")
        ended, said = self.start("--turnlock", file, "--lock-engine", "ipcsem")
        self.assertEqual(ended, 1)
        self.assertIn("exclude each other", said)
        ended, said = self.start("--turnlock", os.path.join(self.folder, "missing", "locks"))
        self.assertEqual(ended, 1)
        self.assertIn("missing", said)
        with open(file, "w") as other:
            other.write("something else\n" * 100)
        ended, said = self.start("--turnlock", file)
        self.assertEqual(ended, 1)
        self.assertIn("not a turnlock file", said)

    def test_it_refuses_another_uwsgi_than_it_was_built_for(self):
        other = os.path.join(self.folder, "uwsgi")
        with open(other, "w") as file:
            file.write(f'#!/bin/sh\n[ "$1" != --cflags ] || printf -- "-DOTHER "\nexec {UWSGI} "$@"\n')
        os.chmod(other, 0o755)
        ended, said = self.start("--turnlock", os.path.join(self.folder, "locks"), plugin=self.built(uwsgi=other))
        self.assertEqual(ended, 1)
        self.assertIn("was built for another uWSGI", said)

    def test_without_a_file_uwsgi_has_its_own_locks(self):
        server = self.server(turnlock=False)
        self.assertIn("no --turnlock FILE was given", server.log())
        self.assertIsNotNone(server.get("enter"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
