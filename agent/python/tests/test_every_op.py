"""Every op of PyTorch is captured, forward and backward, with its statistics.

The samples are those of PyTorch's own tests, two of each op. GRAPHDBG_ALL_SAMPLES=1
takes all of them, which needs about ten minutes more and 4 GB of memory.

Each sample runs twice, in processes of their own: once as it is, and once under a
dispatch mode, which writes down what it sees. In the second process, the agent must
have captured exactly that. In the first, it must have captured the same, apart from
what PyTorch does in another way while a mode is active.
"""

from __future__ import annotations

import json
import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from compared_ops import Op, captured, difference_between_runs, difference_within_a_run, seen
from conftest import Script

HERE = Path(__file__).resolve().parent
ALL = os.environ.get("GRAPHDBG_ALL_SAMPLES") == "1"
FLOATS = ("float32", "float64", "float16", "bfloat16")
WIDE = ("float32", "float64")


@dataclass(frozen=True)
class Exemption:
    """Why the ops of some samples differ between the two processes."""

    reason: str
    dtypes: Iterable[str] = FLOATS
    # Only samples beyond the first two differ.
    later: bool = False
    # They differ on some machines only, or not every time.
    sometimes: bool = False

    def is_due(self, dtype: str) -> bool:
        """Whether at least one sample has to differ."""
        return dtype in self.dtypes and (ALL or not self.later) and not self.sometimes


UNDER_A_MODE = "PyTorch composes the op or its gradient of other ops while a dispatch mode is active"
NO_TENSORS = "has kernels, but no tensors as results: the mode sees one op, and the agent the ops inside"
CONJUGATE = "resolves a pending conjugation by a copy of its own, which belongs to the op that the agent captured"
UNWRITTEN = "reads memory that nothing has written yet, which differs between processes"
ALIGNMENT = "LAPACK's last bits depend on where in memory the matrices are"
HIDDEN = "makes a tensor of lengths in C++, which PyTorch hides from dispatch modes"
ORDER = "the order of independent gradients varies"

DIFFERENT: dict[str, Exemption] = {
    "allclose": Exemption(NO_TENSORS),
    **dict.fromkeys(
        ["cumprod", "masked.cumprod", "masked_fill", "matrix_exp", "median", "nanmedian", "prod"]
        + ["max.reduction_no_dim", "min.reduction_no_dim"]
        + [f"nn.functional.{name}_loss" for name in ("cosine_embedding", "hinge_embedding", "margin_ranking")],
        Exemption(UNDER_A_MODE),
    ),
    **dict.fromkeys(
        ["nanquantile", "ormqr", "quantile"]
        + [f"linalg.{name}" for name in ("eigh", "householder_product", "matrix_rank", "matrix_rank.hermitian")],
        Exemption(UNDER_A_MODE, WIDE),
    ),
    "masked.prod": Exemption(UNDER_A_MODE, later=True),
    "linalg.vander": Exemption(UNDER_A_MODE, WIDE, later=True),
    # _linalg_check_errors.
    **dict.fromkeys(
        [f"linalg.{name}" for name in ("cholesky", "eig", "eigvals", "inv", "ldl_factor", "lu_factor", "solve")]
        + ["linalg.tensorinv", "linalg.tensorsolve"],
        Exemption(NO_TENSORS, WIDE),
    ),
    "linalg.matrix_power": Exemption(NO_TENSORS, WIDE, later=True),
    **dict.fromkeys(
        ["fft.hfft", "fft.hfft2", "fft.hfftn", "fft.ifft", "fft.ihfft", "polar"], Exemption(CONJUGATE, WIDE)
    ),
    **dict.fromkeys(["fft.ihfft2", "fft.ihfftn"], Exemption(CONJUGATE, WIDE, later=True)),
    "nn.functional.ctc_loss": Exemption(HIDDEN, WIDE, later=True),
    "istft": Exemption(CONJUGATE, WIDE, later=True, sometimes=True),
    "nn.functional.linear_cross_entropy.chunked_none": Exemption(UNWRITTEN, sometimes=True),
    "nn.functional.pad.circular": Exemption(UNWRITTEN, later=True, sometimes=True),
    **dict.fromkeys(["linalg.lstsq", "linalg.lstsq.grad_oriented"], Exemption(ALIGNMENT, WIDE, sometimes=True)),
    **dict.fromkeys(
        ["meshgrid.variadic_tensors", "meshgrid.list_of_tensors"], Exemption(ORDER, later=True, sometimes=True)
    ),
}

JITERATOR = [f"jiterator_{name}" for name in ("unary", "binary", "binary_return_by_ref")]
JITERATOR += ["jiterator_4inputs_with_extra_args", "jiterator_2inputs_2outputs"]
# Samples of these raise an exception, without graphdbg, too.
FAILING = dict.fromkeys(JITERATOR, "compiled for CUDA only")

# Samples of these end the process, without graphdbg, too.
CRASHING: dict[str, dict[str, str]] = {dtype: {} for dtype in FLOATS}

Sample = tuple[str, int]


@dataclass
class Samples:
    """The captured and the seen ops of each sample, by op and number."""

    captured: dict[Sample, list[Op]] = field(default_factory=dict)
    seen: dict[Sample, list[Op]] = field(default_factory=dict)
    errors: dict[Sample, str] = field(default_factory=dict)
    # The signals that ended processes, by op.
    crashes: dict[str, int] = field(default_factory=dict)


class SampleRuns:
    """Runs op_samples.py until all ops have had their turn, however many end the process."""

    def __init__(self, script: Script, dtype: str) -> None:
        self._script = script
        self._dtype = dtype

    def __call__(self, under_mode: bool, **variables: str) -> Samples:
        samples = Samples()
        done: set[str] = set()
        while True:
            log, ops = self._script.directory / "samples.log", self._script.directory / "ops.jsonl"
            arguments = [self._dtype, "0" if ALL else "2", str(log), str(ops) if under_mode else ""]
            text = f"import sys\nsys.path.insert(0, {str(HERE)!r})\nimport op_samples\nop_samples.main()"
            process, trace = self._script.start(text, *arguments, json.dumps(sorted(done)), **variables)
            try:
                errors = process.communicate(timeout=1800)[1]
            finally:
                process.kill()
            records = [json.loads(line) for line in log.read_text().splitlines()]
            # An op that a signal cut off is not compared.
            if process.returncode == 0:
                self._read(samples, records, trace, ops if under_mode else None)
            begun = [record["begins"] for record in records if "begins" in record]
            if process.returncode >= 0:
                assert process.returncode == 0, errors
                assert "graphdbg" not in errors, errors
                return samples
            samples.crashes[begun[-1]] = -process.returncode
            done.add(begun[-1])

    def _read(self, samples: Samples, records: list[dict[str, str]], trace: Path, ops: Path | None) -> None:
        numbers: dict[int, Sample] = {}
        counts: dict[str, int] = defaultdict(int)
        for record in records:
            if "sample" in record:
                title = record["op"]
                numbers[int(record["sample"])] = title, counts[title]
                if record["error"]:
                    samples.errors[title, counts[title]] = record["error"]
                counts[title] += 1
        if trace.exists():
            samples.captured = {numbers[i]: part for i, part in captured(trace).items()}
            trace.unlink()
        if ops is not None:
            samples.seen = {numbers[i]: part for i, part in seen(ops).items()}


def differences(
    difference: Callable[[list[Op], list[Op]], str], actual: dict[Sample, list[Op]], expected: dict[Sample, list[Op]]
) -> Iterator[tuple[Sample, str]]:
    assert actual.keys() == expected.keys()
    for sample, ops in expected.items():
        found = difference(actual[sample], ops)
        if found:
            yield sample, found


@pytest.mark.newest_torch
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_op_is_captured_as_a_dispatch_mode_sees_it(script: Script, dtype: str) -> None:
    run = SampleRuns(script, dtype)
    alone, watched = run(under_mode=False), run(under_mode=True)

    assert len(watched.seen) > 1000
    ops = {op.name for part in alone.captured.values() for op in part}
    assert len(ops) > 400
    # These have a kernel beside their composition of other ops.
    assert {"silu_backward", "mish_backward"} <= ops

    assert dict(differences(difference_within_a_run, watched.captured, watched.seen)) == {}

    found = dict(differences(difference_between_runs, alone.captured, watched.seen))
    titles = {title for title, _ in found}
    assert {sample: text for sample, text in found.items() if sample[0] not in DIFFERENT} == {}
    due = {title for title, exemption in DIFFERENT.items() if exemption.is_due(dtype)}
    assert due - titles == set(), "no longer differ, so their exemptions must go"

    assert alone.errors == watched.errors
    assert {title for title, _ in alone.errors} == set(FAILING)

    assert set(alone.crashes) == set(watched.crashes) == set(CRASHING[dtype])
    if alone.crashes:
        assert set(run(under_mode=False, GRAPHDBG_ENABLE="0").crashes) == set(alone.crashes)
    assert all(number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE) for number in alone.crashes.values())
