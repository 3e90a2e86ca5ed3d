"""Runs PyTorch's own samples of its ops, forward and backward.

Run as a program by test_every_op.py, once as it is and once under the mode of
seen_ops.py. Both times it makes the same calls.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from compared_ops import mark
from seen_ops import SeenOps
from torch import nn
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree


def title(op: Any) -> str:
    """The unique name of an entry of op_db."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def dtype_of(op: Any, dtype: torch.dtype) -> torch.dtype | None:
    """The type that the samples of an op have in the run for `dtype`; None if it has none in this run.

    Ops that take no floating-point numbers at all run beside those of float32.
    """
    supported = op.supported_dtypes("cpu")
    if dtype in supported:
        return dtype
    if dtype is not torch.float32 or any(other.is_floating_point for other in supported):
        return None
    return min(supported, key=str, default=None)


class Program(nn.Module):  # type: ignore[misc]
    """A model whose forward pass is whatever it is called with."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, call: Any) -> Any:
        return call()


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def run_sample(program: Program, op: Any, sample: Any) -> None:
    inputs = [t for t in tensors((sample.input, sample.args, sample.kwargs)) if t.requires_grad]
    result = program(lambda: op(sample.input, *sample.args, **sample.kwargs))
    if sample.output_process_fn_grad is not None:
        result = sample.output_process_fn_grad(result)
    roots = [t for t in tensors(result) if t.requires_grad]
    if roots and inputs:
        torch.autograd.grad(roots, inputs, [torch.ones_like(root) for root in roots], allow_unused=True)


def samples_of(op: Any, dtype: torch.dtype, limit: int | None) -> list[Any]:
    torch.manual_seed(0)
    gradient = dtype in op.supported_backward_dtypes("cpu") and op.supports_autograd
    return list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=gradient), limit))


def run(ops: list[Any], dtype: torch.dtype, limit: int | None) -> Iterator[dict[str, Any]]:
    program = Program()
    optimizer = torch.optim.SGD(program.parameters())
    numbers = itertools.count()
    # The agent follows the program from the first call of a model.
    program(lambda: None)
    # The agent follows the thread that trains, so samples are made in another.
    with ThreadPoolExecutor(1) as other_thread:
        for op in ops:
            wanted = dtype_of(op, dtype)
            if wanted is None:
                continue
            yield {"begins": title(op)}
            for sample in other_thread.submit(samples_of, op, wanted, limit).result():
                number, error = next(numbers), ""
                torch.manual_seed(0)
                mark(number, end=False)
                try:
                    run_sample(program, op, sample)
                except Exception as raised:
                    error = type(raised).__name__
                mark(number, end=True)
                yield {"op": title(op), "sample": number, "error": error}
            optimizer.step()


def main() -> None:
    """Arguments: dtype, samples per op (0: all), where to log samples, where to log ops (or ""), ops to leave out."""
    dtype, limit, log, seen, skipped = sys.argv[1:6]
    warnings.simplefilter("ignore")
    skip = set(json.loads(skipped))
    ops = [op for op in op_db if title(op) not in skip]
    with contextlib.ExitStack() as stack:
        # Complete even if an op ends the process.
        file = stack.enter_context(open(log, "w", buffering=1))
        if seen:
            stack.enter_context(SeenOps(stack.enter_context(open(seen, "w"))))
        for record in run(ops, getattr(torch, dtype), int(limit) or None):
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
