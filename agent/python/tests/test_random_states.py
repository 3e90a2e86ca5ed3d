"""The states of random number generators that bundles contain are those that the generators report."""

from __future__ import annotations

import random

import numpy
import pytest
from graphdbg._torch import random_states


def test_states_are_those_that_the_generators_report() -> None:
    random.seed(7)
    numpy.random.seed(7)
    # More numbers than the generators make at a time.
    for _ in range(700):
        random.random()
        numpy.random.random()
        assert random_states.words_of_python(random_states.of_python()) == list(random.getstate()[1])
        state = random_states.of_numpy()
        assert state is not None
        _, key, position, *_ = numpy.random.get_state()
        assert random_states.words_of_numpy(state) == [*map(int, key), position]


def test_a_generator_of_another_layout_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(random.Random):
        pass

    other = Other(7)
    monkeypatch.setattr(random_states, "_python", other)
    monkeypatch.setattr(random, "getstate", other.getstate)
    random_states._memory_of_python.cache_clear()
    try:
        assert random_states._memory_of_python() is None
        assert random_states.words_of_python(random_states.of_python()) == list(other.getstate()[1])
    finally:
        random_states._memory_of_python.cache_clear()


def test_numpy_generators_of_other_kinds_have_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    other = numpy.random.RandomState(numpy.random.PCG64(7))
    monkeypatch.setattr(numpy.random.mtrand, "_rand", other)
    assert random_states.of_numpy() is None
