"""Models whose output does not depend on their input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..user_code import Line
from .check import PATIENCE, Check, Counts, ModelCall, Report
from .readout import Readout

_SAMPLES = 8
_ELEMENTS = 256


class Outputs(Check):
    conditions = ("output_constant",)

    def __init__(self, report: Report, readout: Readout) -> None:
        super().__init__(report)
        self._readout = readout
        self._constant = Counts()
        self.symptoms = [self._constant]
        # Whether the samples in the input of the model that is being called are the same.
        self._inputs_equal: Any = None

    def model_called(self, call: ModelCall) -> None:
        batch = next(_batches(call.arguments), None) if call.trains and call.module.training else None
        self._inputs_equal = _samples_equal(batch) if batch is not None else None

    def model_returned(self, call: ModelCall, output: Any) -> None:
        inputs_equal, self._inputs_equal = self._inputs_equal, None
        batch = next((each for each in _batches([output]) if each.is_floating_point()), None)
        if inputs_equal is None or batch is None or inputs_equal.device != batch.device:
            return
        results = [inputs_equal, _samples_equal(batch)]
        # Without the history, which would keep the pass in memory.
        values_of = batch.detach()
        self._readout.read(results, lambda values: self._observe(call.module, call.line, values_of, values))

    def _observe(self, module: Any, line: Line | None, output: Any, values: list[float]) -> None:
        inputs_equal, outputs_equal = values
        if inputs_equal:
            return
        if self._constant.add(module, bool(outputs_equal)) >= PATIENCE:
            message = (
                f"the output of {type(module).__name__} is the same for all samples in {PATIENCE} calls, "
                "although its inputs differ"
            )
            tensors = [output, *list(module.parameters())[:1]]
            self.report("output_constant", message, tensors, line=line, key=id(module))


def _batches(values: Sequence[Any]) -> Iterator[Any]:
    """Plain tensors of at least two samples in arguments or results."""
    import torch

    for value in values:
        if isinstance(value, torch.Tensor):
            if (
                type(value) is torch.Tensor
                and value.dim() >= 1
                and value.shape[0] >= 2
                and value.layout is torch.strided
            ):
                yield value
        elif isinstance(value, Mapping):
            yield from _batches(list(value.values()))
        elif isinstance(value, (list, tuple)):
            yield from _batches(value)


def _samples_equal(batch: Any) -> Any:
    samples = batch.detach()[:_SAMPLES]
    samples = samples.reshape(samples.shape[0], -1)
    samples = samples[:, :: max(1, samples.shape[1] // _ELEMENTS)]
    return samples.eq(samples[:1]).all()
