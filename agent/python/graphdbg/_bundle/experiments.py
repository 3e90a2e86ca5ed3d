"""Repeats a hit in other ways, and says what the outcomes mean. Needs PyTorch only.

The process may be the one that had the hit: its random number generators and settings are as before afterwards.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from .repro import Call, CannotRun, Replay, counts, same_bits
from .statistics import statistics
from .verdict import BAD_KINDS, meets

# So many times fewer elements that are not finite mean that an experiment helps.
_FEWER = 2


class MakeReplay(Protocol):
    def __call__(self, dtype: str | None = None, device: str | None = None) -> Replay:
        """A replay that has not run yet: in the type of all floating-point numbers, and on the device, if given."""
        ...


@dataclass(frozen=True)
class Repeatable:
    """A hit that can be repeated.

    Attributes:
        hit: As in the HTTP API.
        expected: The output in the job; None if it is not known.
        devices: Where its memory was.
    """

    replay: MakeReplay
    hit: Mapping[str, Any]
    expected: torch.Tensor | None
    devices: frozenset[str]


@dataclass(frozen=True)
class Outcome:
    """What an experiment has shown.

    Attributes:
        id: Of the experiment.
        experiment: What was done, for people.
        fails: None if it cannot run here.
        bad: How many elements are not finite.
        text: The same in words, or why it cannot run.
        count: The number of elements.
        same_bits: Whether the output is that of the job, bit for bit. None if it cannot be, or is not known.
    """

    id: str
    experiment: str
    fails: bool | None
    bad: int
    text: str
    count: int = 0
    same_bits: bool | None = None
    milliseconds: float = 0


def _to_float64(dtype: torch.dtype) -> torch.dtype:
    if dtype.is_complex:
        return torch.complex128
    return torch.float64 if dtype.is_floating_point else dtype


def _finite(tensor: torch.Tensor) -> torch.Tensor:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    return torch.where(torch.isfinite(tensor), tensor, torch.zeros_like(tensor))


_IN_FLOAT64 = Call(lambda tensor, _: tensor.to(_to_float64(tensor.dtype)), _to_float64, autocast=False)
_FINITE = Call(lambda tensor, _: _finite(tensor), lambda dtype: dtype, autocast=True)


@dataclass(frozen=True)
class _Experiment:
    title: str
    run: Callable[[MakeReplay], torch.Tensor]
    # Whether the bits may be those of the job.
    as_in_the_job: bool = False


def _target(
    how: Call | None, dtype: str | None = None, device: str | None = None
) -> Callable[[MakeReplay], torch.Tensor]:
    """Runs the ops before the hit in a type on a device, and the op of the hit in some way."""

    def run(make: MakeReplay) -> torch.Tensor:
        replay = make(dtype, device)
        replay.run_to_target()
        return replay.call_target(how)

    return run


def _deterministic(make: MakeReplay) -> torch.Tensor:
    with _one_thread():
        return make().run()


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_num_threads(1)
    # torch.use_deterministic_algorithms imports the compiler, which takes seconds.
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch._C._set_deterministic_algorithms(deterministic, warn_only=warns)


AS_IT_WAS, FLOAT64, UPSTREAM, FINITE = "as_it_was", "float64", "upstream_float64", "finite_inputs"
ON_CPU, DETERMINISTIC = "cpu", "deterministic"
_EXPERIMENTS = {
    AS_IT_WAS: _Experiment("as it was", lambda make: make().run(), as_in_the_job=True),
    FLOAT64: _Experiment("the op in float64", _target(_IN_FLOAT64)),
    UPSTREAM: _Experiment("the op and upstream in float64", lambda make: make("float64").run()),
    FINITE: _Experiment("inputs without their non-finite elements", _target(_FINITE)),
    ON_CPU: _Experiment("on the CPU", _target(None, device="cpu")),
    DETERMINISTIC: _Experiment("one thread, deterministic kernels", _deterministic, as_in_the_job=True),
}


def experiments_of(what: Repeatable) -> list[str]:
    """The ids of the experiments that make a difference."""
    return [each for each in _EXPERIMENTS if each != ON_CPU or what.devices - {"cpu"}]


def run_experiments(what: Repeatable, ids: Sequence[str] = ()) -> list[Outcome]:
    """Runs all experiments that make a difference, or those that are named.

    Raises:
        BadTape: The ops are damaged.
        CannotRun: There is no such experiment.
    """
    unknown = [each for each in ids if each not in _EXPERIMENTS]
    if unknown:
        raise CannotRun(f"there is no experiment {unknown[0]!r}; there are {', '.join(_EXPERIMENTS)}")
    return [_outcome(what, each) for each in ids or experiments_of(what)]


def _outcome(what: Repeatable, name: str) -> Outcome:
    experiment = _EXPERIMENTS[name]
    begin = time.perf_counter()
    try:
        with _same_generators(what.devices):
            output = experiment.run(what.replay).cpu()
    except CannotRun as error:
        return Outcome(name, experiment.title, None, 0, str(error))
    milliseconds = round(1e3 * (time.perf_counter() - begin), 3)
    found = counts(output)
    bad = sum(found[kind] for kind in BAD_KINDS)
    fails = meets(what.hit, statistics(output))
    text = f"{bad} of {found['count']} elements are not finite"
    same = None
    if experiment.as_in_the_job and what.expected is not None:
        same = same_bits(output, what.expected)
        text += ", the same bits" if same else ", other bits"
    return Outcome(
        name, experiment.title, bad > 0 if fails is None else fails, bad, text, found["count"], same, milliseconds
    )


@contextlib.contextmanager
def _same_generators(devices: frozenset[str]) -> Iterator[None]:
    """Gives the generators of random numbers the states back that they had."""
    on_gpu = [each for each in devices if each.startswith("cuda")] if torch.cuda.is_available() else []
    states = [(each, torch.cuda.get_rng_state(each)) for each in on_gpu]
    state = torch.default_generator.get_state()
    try:
        yield
    finally:
        torch.default_generator.set_state(state)
        for device, of_device in states:
            torch.cuda.set_rng_state(of_device, device)


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each outcome."""
    words = {True: "fails", False: "does not fail", None: "cannot run"}
    return [f"{each.experiment:40} {words[each.fails]:14} {each.text}" for each in outcomes]


def conclusion(outcomes: Sequence[Outcome]) -> str:
    """What the outcomes say about the cause, in a sentence."""
    by_name = {each.id: each for each in outcomes}
    before = by_name.get(AS_IT_WAS)
    if before is None:
        return ""
    if before.fails is None:
        return f"it cannot be repeated: {before.text}"
    if not before.fails:
        return (
            "it does not fail again: a kernel is not deterministic, or memory was written from outside of PyTorch's "
            "dispatcher"
        )
    if len(outcomes) == 1:
        return "it fails again" + (", with the same bits" if before.same_bits else "")

    def helps(name: str) -> bool:
        after = by_name.get(name)
        return after is not None and (after.fails is False or (after.fails is True and _FEWER * after.bad < before.bad))

    if helps(FLOAT64):
        return "fails in its own type and not in float64: the precision or the range of the type is the cause"
    if helps(UPSTREAM):
        return (
            "float64 helps if what is upstream runs in it, too: there a value left the range of its type, such as a "
            "softmax that underflowed"
        )
    if helps(FINITE):
        return "fails because its input is not finite: the input is the cause, look upstream (graphdbg replay --bisect)"
    if helps(ON_CPU):
        return "fails on the device and not on the CPU: the kernel of the device is the cause"
    if helps(DETERMINISTIC):
        return "does not fail with one thread and deterministic kernels: the order of additions is the cause"
    return "fails everywhere: the input is the cause, or the op itself; look upstream"
