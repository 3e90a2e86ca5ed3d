"""Numbers for frames and values, which are valid until the rank that they are from moves."""

from __future__ import annotations

import threading
from typing import Any

from .errors import EARLIER_STOP, RequestError


class References:
    """Maps the numbers of one session to what they stand for. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest = 0
        self._values: dict[int, tuple[int, Any]] = {}

    def add(self, rank: int, value: Any) -> int:
        """A new number for a value of a rank. No number is used twice, so an old one never has another value."""
        with self._lock:
            self._newest += 1
            self._values[self._newest] = (rank, value)
            return self._newest

    def get(self, number: object) -> Any:
        """The value of a number.

        Raises:
            RequestError: Its rank has moved since, or there has never been such a number.
        """
        with self._lock:
            if type(number) is not int or not 0 < number <= self._newest:
                raise RequestError(f"there is no value with the number {number}")
            found = self._values.get(number)
        if found is None:
            raise RequestError(EARLIER_STOP)
        return found[1]

    def is_valid(self, number: int) -> bool:
        return number in self._values

    def forget(self, rank: int | None = None) -> None:
        """Called when a rank moves; None: all of them."""
        with self._lock:
            self._values = {} if rank is None else {k: v for k, v in self._values.items() if v[0] != rank}
