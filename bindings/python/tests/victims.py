"""What the processes do that test_kills.py kills.

A module of its own: by spawn and forkserver each of them imports it, and pytest is five times as much to import as turnlock.
"""

import os
import random
import signal
import threading
import time


def square(number, size=0):
    return number * number, bytes(size)


def read_and_say(source, said):
    while True:
        number, _ = source.get()
        said.put(number)


def put_again_and_again(sink):
    while True:
        # Such as are sent in several packets, too.
        sink.put(os.urandom(random.choice((1, 100, 10_000, 200_000))))


def hold_again_and_again(lock, semaphore, inside):
    while True:
        with lock:
            inside.value += 1
        with semaphore:
            pass


def wait_again_and_again(condition, event):
    while True:
        with condition:
            condition.wait(0.01)
        event.wait(0.01)


def pass_again_and_again(barrier):
    while True:
        try:
            barrier.wait()
        except threading.BrokenBarrierError:
            time.sleep(0.001)


def die():
    os.kill(os.getpid(), signal.SIGKILL)
