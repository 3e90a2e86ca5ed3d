"""Repeats the ops of a bundle in this process. Needs PyTorch and safetensors."""

from __future__ import annotations

import hashlib
from typing import Any

import torch
from graphdbg._bundle.repro import CannotRun, same_bits
from graphdbg._bundle.statistics import statistics
from graphdbg._bundle.verdict import alike, meets, verdict
from safetensors.torch import load

from .bundle_file import BundleFile
from .replays import replay_of, reported

__all__ = ["CannotRun", "run_bundle"]


def run_bundle(
    bundle: BundleFile,
    dtype: str | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """Repeats a bundle's ops and compares the result with that of the job.

    Args:
        bundle: The bundle. Nothing that it contains is executed.
        dtype: The type of all floating-point numbers, such as "float64"; those of the job if there is none.
        device: Where to run, such as "cpu"; where the job did if there is none.

    Returns:
        The verdict with the statistics of both results.

    Raises:
        BadBundle: The bundle is damaged.
        CannotRun: It cannot run here.
    """
    replay = replay_of(bundle, dtype, device)
    with reported(bundle):
        expected = load(bundle.read("expected.safetensors")).get("expected")
        output = replay.run().cpu()
    found = statistics(output)
    hit = bundle.manifest["hit"]
    same = dtype is None and (
        same_bits(output, expected) if expected is not None else _has_digest(output, bundle.manifest)
    )
    return {
        "verdict": verdict(same, meets(hit, found), alike(hit, found)),
        "statistics": found,
        "statistics_in_job": statistics(expected) if expected is not None else hit.get("statistics"),
    }


def set_threads(threads: int | None) -> None:
    """Sets the number of threads of the CPU's kernels, if there is one."""
    if threads:
        torch.set_num_threads(threads)


def _has_digest(output: torch.Tensor, manifest: dict[str, Any]) -> bool:
    """Whether a result is the one of which the bundle only has the digest."""
    expected = manifest.get("expected")
    if not isinstance(expected, dict) or not isinstance(expected.get("sha256"), str):
        return False
    content = output.contiguous().reshape(-1).view(torch.uint8).numpy()
    return list(output.shape) == expected.get("shape") and hashlib.sha256(content).hexdigest() == expected["sha256"]
