"""Programs that tests inject into. Each prints "ready", and in the end "fine" if it ran as without an injection.

The text under test appends to the list `injected` of the module `builtins`, by which programs know that it ran.
"""

from __future__ import annotations

import builtins
import ctypes
import hashlib
import math
import os
import sys
import threading
import time

injected = builtins.injected = []  # type: ignore[attr-defined]
SECONDS = 60.0
# Texts that an interpreter can keep: one less than its ring has places.
QUEUE = 31


def ready() -> None:
    print("ready", flush=True)


def wait_for_text() -> None:
    deadline = time.monotonic() + SECONDS
    while not injected and time.monotonic() < deadline:
        time.sleep(0.01)


def computing() -> None:
    """Compares sums whose terms are in registers, until a line arrives."""

    def total() -> float:
        return math.fsum(math.sin(i) * 1.0000001 for i in range(2000))

    expected = total()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), ended.set()), daemon=True).start()
    ready()
    while not ended.is_set():
        assert total() == expected


def sleeping() -> None:
    started = time.monotonic()
    ready()
    time.sleep(3)
    assert time.monotonic() - started >= 3
    assert injected


def sleeping_in_c() -> None:
    """A system call that continues its wait after an interruption, in code that does not know EINTR."""
    duration = (ctypes.c_long * 2)(3, 0)
    nanosleep = ctypes.CDLL(None).nanosleep
    started = time.monotonic()
    ready()
    assert nanosleep(duration, None) == 0
    assert time.monotonic() - started >= 3
    wait_for_text()


def joining() -> None:
    """The main thread waits for a thread that waits for the text."""
    other = threading.Thread(target=wait_for_text)
    other.start()
    ready()
    other.join()
    assert injected


def acquiring_with_timeout() -> None:
    lock = threading.Lock()
    lock.acquire()
    started = time.monotonic()
    ready()
    assert not lock.acquire(timeout=3)
    assert time.monotonic() - started >= 3
    assert injected


def waiting_in_c() -> None:
    """The main thread waits in sem_wait, called by something that is not the interpreter's lock."""
    semaphore = ctypes.create_string_buffer(64)
    library = ctypes.CDLL(None)
    library.sem_init(semaphore, 0, 0)
    threading.Timer(2, lambda: library.sem_post(semaphore)).start()
    ready()
    assert library.sem_wait(semaphore) == 0
    wait_for_text()


def reading_in_c() -> None:
    """The main thread waits for a line outside of the interpreter, which runs no text meanwhile."""
    line = ctypes.create_string_buffer(1)
    ready()
    assert ctypes.CDLL(None).read(0, line, 1) == 1
    while len(injected) < QUEUE:
        time.sleep(0.01)
    assert len(injected) == QUEUE


def hashing() -> None:
    data = bytes(64 << 20)
    ready()
    first = hashlib.sha256(data).hexdigest()
    assert first == hashlib.sha256(data).hexdigest()
    wait_for_text()


def forking() -> None:
    """Forks all the time; children that run the text would print it."""
    ready()
    parent = os.getpid()
    while not injected:
        child = os.fork()
        if child == 0:
            os._exit(0 if os.getppid() == parent else 1)
        assert os.waitpid(child, 0)[1] == 0


def raising() -> None:
    ready()
    while not injected:
        try:
            raise ValueError("caught")
        except ValueError as error:
            assert str(error) == "caught"


globals()[sys.argv[1]]()
print("fine", flush=True)
