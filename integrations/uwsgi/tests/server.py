"""A uWSGI that serves app.py, for the tests and for measure.py.

TURNLOCK_UWSGI is the uWSGI, TURNLOCK_UWSGI_PLUGIN the plugin, TURNLOCK_UWSGI_INSIDE what was built of inside.c; TURNLOCK_UWSGI_PYTHON
uWSGI's plugin for Python, python3 if not said, empty where Python is built in (as in PyPI's uWSGI).
"""

import concurrent.futures
import http.client
import os
import pathlib
import re
import signal
import socket
import subprocess
import time
import urllib.parse

PATIENCE = 120 * float(os.environ.get("TURNLOCK_CHECK_PATIENCE", "1"))
UWSGI = os.environ["TURNLOCK_UWSGI"]
PLUGIN = os.environ["TURNLOCK_UWSGI_PLUGIN"]
PYTHON = os.environ.get("TURNLOCK_UWSGI_PYTHON", "python3")
WORKERS = 4
HERE = os.path.dirname(os.path.abspath(__file__))


def is_alive(pid):
    """Whether there is such a process, and it has not ended."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def wait_until(condition, what="it"):
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"{what} took too long")
        time.sleep(0.003)


class Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("uwsgi", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class NoAnswer(Exception):
    """The server did not answer within the time limit."""


class Server:
    def __init__(self, folder, turnlock=True, options=(), plugin=PLUGIN, app=os.path.join(HERE, "app.py"), lock_file=None):
        self.folder = folder
        self.socket = os.path.join(folder, "socket")
        self.log_path = os.path.join(folder, "log")
        self.fifo = os.path.join(folder, "fifo")
        self.lock_file = lock_file or os.path.join(folder, "locks")
        command = [UWSGI, "--plugin", plugin]
        if PYTHON:
            command += ["--plugin", PYTHON]
        if turnlock:
            command += ["--turnlock", self.lock_file]
        command += ["--master", "--http-socket", self.socket, "--wsgi-file", app, "--need-app", "--disable-logging"]
        command += ["--processes", str(WORKERS), "--locks", "8", "--sharedarea", "1", "--forkbomb-delay", "0", "--master-fifo", self.fifo]
        command += ["--cache2", "name=store,items=100,blocks=4000,blocksize=1000,bitmap=1,ignore_full=1", "--listen", "64", *options]
        with open(self.log_path, "w") as log:
            # A session of its own: all of it can be ended.
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def wait_until_it_serves(self):
        wait_until(lambda: self.process.poll() is not None or self.answers(), "the start of uWSGI")
        if self.process.poll() is not None:
            raise AssertionError(f"uWSGI has ended: {self.log()[-3000:]}")
        return self

    def answers(self):
        try:
            return self.get("pid", limit=5) is not None
        except (OSError, NoAnswer):
            return False

    def get(self, name, limit=PATIENCE, **arguments):
        """What a function of app.py returned, as text; None if the worker ended meanwhile."""
        connection = Connection(self.socket, limit)
        try:
            connection.request("GET", f"/{name}?{urllib.parse.urlencode(arguments)}")
            response = connection.getresponse()
            body = response.read().decode()
            if response.status != 200:
                raise AssertionError(f"{name}: {response.status} {body}; {self.log()[-3000:]}")
            return body
        except socket.timeout:
            raise NoAnswer(name) from None
        except (http.client.HTTPException, ConnectionError):
            return None
        finally:
            connection.close()

    def wait_until_all_serve(self):
        """Each worker has answered, and the master hears signals and its FIFO. uWSGI loses what it is asked for before that: a worker
        that was not told to end serves on, and is killed a minute later, inside or not."""

        def hears():
            with open(f"/proc/{self.process.pid}/status") as status:
                caught = int(re.search(r"^SigCgt:\s*(\w+)", status.read(), re.MULTILINE)[1], 16)
            return caught >> (signal.SIGHUP - 1) & 1 and pathlib.Path(self.fifo).is_fifo()

        answered = set()

        def all_serve():
            # Several at once: one that comes alone may find the same worker again and again.
            with concurrent.futures.ThreadPoolExecutor(8) as requests:
                answered.update(requests.map(lambda _: self.get("pid"), range(8)))
            workers = {str(pid) for pid in self.workers()}
            return len(workers) == WORKERS and workers <= answered and hears()

        wait_until(all_serve, "all workers")

    def log(self):
        with open(self.log_path) as file:
            return file.read()

    def workers(self):
        """The processes of the workers that serve requests now."""
        master = self.process.pid
        try:
            with open(f"/proc/{master}/task/{master}/children") as children:
                return [int(pid) for pid in children.read().split() if is_alive(pid)]
        except OSError:
            return []

    def ask_master(self, what):
        with open(self.fifo, "w") as fifo:
            fifo.write(what)

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
