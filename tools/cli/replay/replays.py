"""Makes replays of bundles. Needs PyTorch and safetensors."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator, Sequence

import torch
from graphdbg._bundle.experiments import Repeatable
from graphdbg._bundle.repro import BadTape, CannotRun, Replay, check
from safetensors import SafetensorError
from safetensors.torch import load

from .bundle_file import BadBundle, BundleFile

__all__ = ["CannotRun", "import_modules", "repeatable", "replay_of", "reported"]


def replay_of(bundle: BundleFile, dtype: str | None = None, device: str | None = None) -> Replay:
    """A replay that has not run yet. Each can run once.

    Args:
        bundle: The bundle. Nothing that it contains is executed.
        dtype: The type of all floating-point numbers, such as "float64"; those of the job if there is none.
        device: Where to run, such as "cpu"; where the job did if there is none.

    Raises:
        BadBundle: The bundle is damaged.
        CannotRun: It has no values.
    """
    if "stripped" in bundle.manifest:
        raise CannotRun("its values were removed (--strip values)")
    with reported(bundle):
        leaves = load(bundle.read("leaves.safetensors"))
        has_states = "random.safetensors" in bundle.members
        random = load(bundle.read("random.safetensors")) if has_states else None
        return Replay(bundle.json("tape.json"), leaves, getattr(torch, dtype) if dtype else None, device, random)


def repeatable(bundle: BundleFile) -> Repeatable:
    """A bundle's hit, for experiments. Raises BadBundle if the bundle is damaged."""
    with reported(bundle):
        tape = bundle.json("tape.json")
        check(tape)
        expected = load(bundle.read("expected.safetensors")).get("expected")
    devices = frozenset(str(each["device"]) for each in tape["storages"] if each)
    return Repeatable(functools.partial(replay_of, bundle), bundle.manifest["hit"], expected, devices)


@contextlib.contextmanager
def reported(bundle: BundleFile) -> Iterator[None]:
    """Raises BadBundle for what is wrong with the content of a bundle."""
    try:
        yield
    except (BadTape, SafetensorError, ValueError) as error:
        raise BadBundle(f"{bundle.path} is not a bundle: {error}") from None


def import_modules(names: Sequence[str]) -> None:
    """Imports modules that define operators. Raises CannotRun if one cannot be imported."""
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise CannotRun(f"cannot import {name}: {error}") from None
