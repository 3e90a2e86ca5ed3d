"""Repeats a hit in other ways, and says what the outcomes mean. Needs PyTorch and safetensors."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from graphdbg._bundle.repro import Call, CannotRun, Replay, check, counts

from .bundle_file import BundleFile
from .replays import replay_of, reported
from .run_bundle import statistics
from .verdict import BAD_KINDS, meets

AS_IT_WAS = "as it was"


# So many times fewer elements that are not finite mean that an experiment helps.
_FEWER = 2


@dataclass(frozen=True)
class Outcome:
    """What an experiment has shown.

    Attributes:
        fails: None if it cannot run here.
        bad: How many elements are not finite.
        text: The same in words, or why it cannot run.
    """

    experiment: str
    fails: bool | None
    bad: int
    text: str


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


def _target(
    how: Call | None, dtype: str | None = None, device: str | None = None
) -> Callable[[BundleFile], torch.Tensor]:
    """Runs the ops before the hit in a type on a device, and the op of the hit in some way."""

    def run(bundle: BundleFile) -> torch.Tensor:
        replay: Replay = replay_of(bundle, dtype, device)
        replay.run_to_target()
        return replay.call_target(how)

    return run


def _deterministic(bundle: BundleFile) -> torch.Tensor:
    with _one_thread():
        return replay_of(bundle).run()


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    threads, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)


FLOAT64, UPSTREAM, FINITE = (
    "the op in float64",
    "the op and upstream in float64",
    "inputs without their non-finite elements",
)
ON_CPU, DETERMINISTIC = "on the CPU", "one thread, deterministic kernels"
EXPERIMENTS: dict[str, Callable[[BundleFile], torch.Tensor]] = {
    AS_IT_WAS: lambda bundle: replay_of(bundle).run(),
    FLOAT64: _target(_IN_FLOAT64),
    UPSTREAM: lambda bundle: replay_of(bundle, "float64").run(),
    FINITE: _target(_FINITE),
    ON_CPU: _target(None, device="cpu"),
    DETERMINISTIC: _deterministic,
}


def experiments_of(bundle: BundleFile) -> list[str]:
    """The experiments that make a difference for a bundle. Raises BadBundle if it is damaged."""
    tape = bundle.json("tape.json")
    with reported(bundle):
        check(tape)
    devices = {each["device"] for each in tape["storages"] if each}
    return [name for name in EXPERIMENTS if name != ON_CPU or devices - {"cpu"}]


def run_experiments(bundle: BundleFile, names: Sequence[str]) -> list[Outcome]:
    """Raises BadBundle if the bundle is damaged."""
    return [_outcome(bundle, name) for name in names]


def _outcome(bundle: BundleFile, name: str) -> Outcome:
    generator = torch.default_generator.get_state()
    try:
        with reported(bundle):
            output = EXPERIMENTS[name](bundle).cpu()
    except CannotRun as error:
        return Outcome(name, None, 0, str(error))
    finally:
        torch.default_generator.set_state(generator)
    found = counts(output)
    bad = sum(found[kind] for kind in BAD_KINDS)
    fails = meets(bundle.manifest["hit"], statistics(output))
    text = f"{bad} of {found['count']} elements are not finite"
    return Outcome(name, bad > 0 if fails is None else fails, bad, text)


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each outcome."""
    words = {True: "fails", False: "does not fail", None: "cannot run"}
    return [f"{each.experiment:40} {words[each.fails]:14} {each.text}" for each in outcomes]


def conclusion(outcomes: Sequence[Outcome]) -> str:
    """What the outcomes say about the cause, in a sentence."""
    by_name = {each.experiment: each for each in outcomes}
    before = by_name[AS_IT_WAS]
    if not before.fails:
        return "it does not fail here: graphdbg replay says what that may mean"

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
