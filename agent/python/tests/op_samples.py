"""Runs PyTorch's own samples of its ops, forward and backward, and prints a line of JSON for each.

    op_samples.py DTYPE PART PARTS

Without graphdbg, each line has the ops that a dispatch mode has seen. With it, each
line has the range of bytes of $GRAPHDBG_TRACE_FILE in which the agent has written what
was captured. The numbers of a sample depend on nothing but the sample.
"""

from __future__ import annotations

import json
import os
import random
import sys
import warnings
import zlib
from collections.abc import Iterator
from typing import Any

import torch
from seen_ops import SeenOps
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

TRACE = os.environ["GRAPHDBG_TRACE_FILE"] if os.environ["GRAPHDBG_ENABLE"] == "1" else ""


def samples(op: Any, dtype: torch.dtype) -> Iterator[Any]:
    """The inputs that PyTorch tests the op with."""
    yield from op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd and dtype.is_floating_point)


def run(op: Any, sample: Any) -> None:
    result = op(sample.input, *sample.args, **sample.kwargs)
    outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if outputs:
        torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])


def attempt(op: Any, sample: Any) -> str:
    """Runs a sample and returns the type of the error, if any."""
    try:
        run(op, sample)
    except Exception as error:
        return type(error).__name__
    return ""


def record(op: Any, sample: Any) -> dict[str, Any]:
    if TRACE:
        start = os.path.getsize(TRACE)
        error = attempt(op, sample)
        return {"error": error, "bytes": [start, os.path.getsize(TRACE)]}
    seen = SeenOps()
    with seen:
        error = attempt(op, sample)
    return {"error": error, "seen": seen.ops}


def main() -> None:
    warnings.simplefilter("ignore")
    dtype = getattr(torch, sys.argv[1])
    part, parts = int(sys.argv[2]), int(sys.argv[3])
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for op in op_db[part::parts]:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        # Ends a step, so that names of nodes begin anew.
        model(torch.ones(1, 1)).sum().backward()
        optimizer.step()
        name = f"{op.name}.{op.variant_test_name}".rstrip(".")
        seed = zlib.crc32(name.encode())
        random.seed(seed)
        torch.manual_seed(seed)
        for number, sample in enumerate(samples(op, dtype)):
            torch.manual_seed(seed + number)
            print(json.dumps({"sample": f"{name} {number}", **record(op, sample)}), flush=True)


main()
