"""Why a hit may not fail again here. Needs PyTorch."""

from __future__ import annotations

import platform
from typing import Any

import torch
from graphdbg._bundle.repro import same_bits

from .bundle_file import BundleFile
from .replays import replay_of, reported


def explain(bundle: BundleFile) -> list[str]:
    """Sentences about what a result may mean that is not that of the job: what differs here, or what does not.

    Raises:
        BadBundle: The bundle is damaged.
        CannotRun: It cannot run here.
    """
    differences = _differences(bundle.json("environment.json"))
    with reported(bundle):
        first, second = (replay_of(bundle).run().cpu() for _ in range(2))
    if not same_bits(first, second):
        return ["two replays here differ from each other: a kernel is not deterministic", *differences]
    sentences = ["two replays here give the same bits, so the kernels are deterministic on this machine"]
    if differences:
        return [*sentences, *differences]
    sentences.append(
        "hardware and versions are those of the job: its memory was written from outside of PyTorch's dispatcher (by "
        "NumPy, by another library, or by a fault), or a kernel there gave another result than it should"
    )
    for boundary in bundle.manifest.get("boundaries") or ():
        sentences.append(f"the result of {boundary['op']} ({boundary['node']}) was saved and not repeated")
    return sentences


def version_warning(environment: Any) -> str | None:
    """A line if the bundle is of another minor version of PyTorch than this process."""
    described = environment.get("torch") if isinstance(environment, dict) else None
    job = str(described.get("version", "")) if isinstance(described, dict) else ""
    here = str(torch.__version__)
    if not job or job.split(".")[:2] == here.split(".")[:2]:
        return None
    return f"the bundle is of PyTorch {job}, and this is {here}"


def _differences(environment: Any) -> list[str]:
    described = environment.get("torch") if isinstance(environment, dict) else None
    job: dict[str, Any] = described if isinstance(described, dict) else {}
    here: dict[str, Any] = {
        "version": str(torch.__version__),
        "cuda": torch.version.cuda,
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() and "gpu" in job else job.get("gpu"),
    }
    found = [
        f"{name}: {job[name]} in the job, {value} here" for name, value in here.items() if job.get(name, value) != value
    ]
    processor = environment.get("processor") if isinstance(environment, dict) else None
    if processor and processor != platform.machine():
        found.append(f"hardware: {processor} in the job, {platform.machine()} here")
    return found
