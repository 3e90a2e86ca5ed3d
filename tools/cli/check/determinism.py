"""Compares the first step of two runs."""

from __future__ import annotations

from collections.abc import Sequence

from ..client import Json
from .records import Record

_ADVICE = {
    "initial parameters": "Call torch.manual_seed before the model is built.",
    "inputs": "Seed what orders and augments the data: torch.manual_seed, random.seed, numpy.random.seed, and the "
    "data loader's generator and worker_init_fn.",
    "outputs": "Parameters and inputs are equal, so the forward pass is random: seed PyTorch right before training, "
    "or call torch.use_deterministic_algorithms(True).",
    "loss": "The outputs are equal, so the targets or the loss function are random: seed what makes them.",
    "gradients": "The backward pass uses a kernel that adds in varying order: call "
    "torch.use_deterministic_algorithms(True), which names it.",
    "updated parameters": "The optimizer step differs: try foreach=False and fused=False.",
}


def compare(first: Sequence[Record], second: Sequence[Record]) -> Json:
    """Returns `{same, differs, rank, advice}`: the first part of the step that differs, on which rank.

    `same` is None if the runs have no part in common.
    """
    one, two = _fingerprints(first), _fingerprints(second)
    common = [key for key in one if key in two]
    for part in _ADVICE:
        for key in common:
            if key[1] == part and one[key] != two[key]:
                return {"same": False, "differs": part, "rank": key[0], "advice": _ADVICE[part]}
    return {"same": True if common else None, "differs": None, "rank": None, "advice": None}


def _fingerprints(records: Sequence[Record]) -> dict[tuple[int, str], str]:
    return {
        (record.rank, event["part"]): event["digest"]
        for record in records
        if record.is_training
        for event in record.of("fingerprint")
    }
