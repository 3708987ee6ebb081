"""The application that the tests have uWSGI serve: /NAME?ARGUMENTS calls the function NAME, and answers with what it returns."""

import ctypes
import os
import random
import signal
import time
import urllib.parse

import uwsgi

inside = ctypes.CDLL(os.environ["TURNLOCK_UWSGI_INSIDE"])
CACHE = b"store"
calls = {}


def call(function):
    calls["/" + function.__name__] = function
    return function


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def inside_until(event):
    """Says by its pid in a file that the caller has its lock, and waits for the test, which says by a file that it may leave, or kills it."""
    with open(event + ".saying", "w") as file:
        file.write(str(os.getpid()))
    os.rename(event + ".saying", event + ".inside")
    while not os.path.exists(event + ".go"):
        time.sleep(0.002)


@call
def pid():
    return os.getpid()


@call
def count(path, lock="0", seconds="0"):
    """Adds 1 to the number in a file, under a lock, and not at once."""
    uwsgi.lock(int(lock))
    with open(path) as file:
        number = int(file.read())
    time.sleep(float(seconds))
    with open(path, "w") as file:
        file.write(str(number + 1))
    uwsgi.unlock(int(lock))
    return number + 1


@call
def hold(event, lock="0"):
    uwsgi.lock(int(lock))
    inside_until(event)
    uwsgi.unlock(int(lock))
    return os.getpid()


@call
def enter(lock="0"):
    uwsgi.lock(int(lock))
    uwsgi.unlock(int(lock))
    return os.getpid()


@call
def die_inside(lock="0"):
    uwsgi.lock(int(lock))
    die()


@call
def is_locked(lock="0"):
    return uwsgi.is_locked(int(lock))


@call
def twice(lock="0"):
    uwsgi.lock(int(lock))
    uwsgi.lock(int(lock))


@call
def both(first, second, event):
    """Takes two locks, the second one when the test says so."""
    uwsgi.lock(int(first))
    inside_until(event)
    uwsgi.lock(int(second))
    uwsgi.unlock(int(second))
    uwsgi.unlock(int(first))


@call
def area_read_and_die():
    uwsgi.sharedarea_rlock(0)
    die()


@call
def area_write_and_die():
    uwsgi.sharedarea_wlock(0)
    die()


@call
def area_read():
    return uwsgi.sharedarea_read(0, 0, 8).hex()


@call
def area_add(seconds="0"):
    """Reads and writes under one lock, which each of the two takes again."""
    uwsgi.sharedarea_wlock(0)
    number = uwsgi.sharedarea_read64(0, 0)
    time.sleep(float(seconds))
    uwsgi.sharedarea_write64(0, 0, number + 1)
    uwsgi.sharedarea_unlock(0)
    return number + 1


@call
def cache_set(key, value):
    return uwsgi.cache_update(key, value.encode(), 0, CACHE.decode())


@call
def cache_get(key):
    value = uwsgi.cache_get(key, CACHE.decode())
    return None if value is None else value.decode()


@call
def cache_read_and_hold(event):
    inside.inside_read(CACHE)
    inside_until(event)
    inside.inside_leave(CACHE)


@call
def cache_write_and_die():
    inside.inside_write(CACHE)
    die()


@call
def cache_tear(key):
    inside.inside_tear(CACHE, key.encode())


def value_of(key, room):
    """A value that tells its key, whatever its length."""
    return (key.encode() + b" ") * (room // (len(key) + 1))


@call
def cache_mix(seed, rounds="200", room="30000"):
    """Sets, gets and deletes, and says what was read and had never been set."""
    chance = random.Random(int(seed))
    for _ in range(int(rounds)):
        key = f"key {chance.randrange(40)}"
        does = chance.random()
        if does < 0.45:
            value = uwsgi.cache_get(key, CACHE.decode())
            if value is not None and value != value_of(key, len(value) + len(key)):
                return f"{key} was {value[:40]}..., of {len(value)} bytes"
        elif does < 0.9:
            uwsgi.cache_update(key, value_of(key, chance.randrange(100, int(room))), 0, CACHE.decode())
        else:
            uwsgi.cache_del(key, CACHE.decode())
    return "right"


inside.inside_enter.restype = inside.inside_enter_to_read.restype = inside.inside_enter_to_write.restype = ctypes.c_uint64


@call
def cost(what, entries):
    """Nanoseconds of an entry, by which others are not stopped: of C for uWSGI's functions, else of Python."""
    number = int(entries)
    if what == "lock":
        return inside.inside_enter(ctypes.c_uint64(number)) / number
    if what == "read":
        return inside.inside_enter_to_read(CACHE, ctypes.c_uint64(number)) / number
    if what == "write":
        return inside.inside_enter_to_write(CACHE, ctypes.c_uint64(number)) / number
    uwsgi.cache_update("key", b"x" * 100, 0, CACHE.decode())
    enter = {
        "uwsgi.lock, unlock": lambda: (uwsgi.lock(), uwsgi.unlock()),
        "uwsgi.cache_get": lambda: uwsgi.cache_get("key", CACHE.decode()),
        "uwsgi.cache_update": lambda: uwsgi.cache_update("key", b"x" * 100, 0, CACHE.decode()),
    }[what]
    start = time.perf_counter_ns()
    for _ in range(number):
        enter()
    return (time.perf_counter_ns() - start) / number


@call
def entries(what, start, seconds, hold="0", pause="0"):
    """How often this worker enters beside others, from the start on for so many seconds."""
    number, begin, longest = 0, float(start), 0
    time.sleep(max(0, begin - time.monotonic()))
    while time.monotonic() < begin + float(seconds):
        came = time.monotonic()
        if what == "lock":
            uwsgi.lock()
            longest = max(longest, time.monotonic() - came)
            until = time.monotonic() + float(hold)
            while time.monotonic() < until:
                pass
            uwsgi.unlock()
        elif what == "get":
            uwsgi.cache_get("key", CACHE.decode())
        else:
            uwsgi.cache_update("key", b"x" * 100, 0, CACHE.decode())
        number += 1
        until = time.monotonic() + float(pause)
        while time.monotonic() < until:
            pass
    return f"{number} {longest}"


@call
def entered_at(lock="0"):
    uwsgi.lock(int(lock))
    at = time.monotonic_ns()
    uwsgi.unlock(int(lock))
    return at


def application(environment, start_response):
    arguments = dict(urllib.parse.parse_qsl(environment.get("QUERY_STRING", "")))
    answer = calls[environment["PATH_INFO"]](**arguments)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(answer).encode()]
