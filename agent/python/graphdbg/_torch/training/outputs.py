"""Models whose output does not depend on their input."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from .check import PATIENCE, Check, Counts, ModelCall, Report
from .readout import Readout
from .samples import tensors_in

_SAMPLES = 8
_ELEMENTS = 256


class _Sample(NamedTuple):
    """Some elements of what went into a model, and of what came out."""

    inputs: Any
    outputs: Any


class Outputs(Check):
    """Compares the samples of a batch with one another, and successive calls."""

    conditions = ("output_constant",)

    def __init__(self, report: Report, readout: Readout) -> None:
        super().__init__(report)
        self._readout = readout
        self._constant = Counts()
        # Calls whose output is that of the call before, although the inputs differ.
        self._same = Counts()
        self.symptoms = [self._constant, self._same]
        # Elements of the input of the model that is being called.
        self._inputs: Any = None
        self._last: weakref.WeakKeyDictionary[Any, _Sample] = weakref.WeakKeyDictionary()
        # Models whose output has depended on their input, or on time.
        self._varied: weakref.WeakSet[Any] = weakref.WeakSet()
        self._steps = 0
        # The step in which a model was last looked at: one whose last layer starts at zero has constant
        # outputs until then.
        self._looked: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    def before_step(self, optimizer: Any) -> None:
        self._steps += 1

    def model_called(self, call: ModelCall) -> None:
        self._inputs = None
        if not call.trains or not call.module.training or self._looked.get(call.module) == self._steps:
            return
        batches = list(_batches_in(call.arguments))
        batch = next((each for each in batches if len(each) > 1), batches[0] if batches else None)
        self._inputs = _elements_of(batch) if batch is not None else None

    def model_returned(self, call: ModelCall, output: Any) -> None:
        inputs, self._inputs = self._inputs, None
        batch = next((each for each in _batches_in(output) if each.is_floating_point()), None)
        if inputs is None or batch is None or inputs.device != batch.device:
            return
        self._looked[call.module] = self._steps
        outputs = _elements_of(batch)
        # Results that are read later must not keep the inputs in memory.
        call = call._replace(arguments=())
        # Without the history, which would keep the pass in memory.
        values_of = batch.detach()
        if len(inputs) > 1 and len(outputs) > 1:
            results = [_samples_equal(inputs), _samples_equal(outputs)]
            self._readout.read(results, lambda values: self._observe_samples(call, values_of, *values))
        # An output that does not depend on parameters, such as a mask, may be the same in all calls.
        if batch.requires_grad and call.module not in self._varied:
            self._compare_with_last(call, values_of, _Sample(inputs, outputs))

    def _compare_with_last(self, call: ModelCall, output: Any, sample: _Sample) -> None:
        last = self._last.get(call.module)
        # The program may overwrite its inputs.
        self._last[call.module] = _Sample(sample.inputs.clone(), sample.outputs.clone())
        if last is None or last.outputs.shape != sample.outputs.shape or last.inputs.shape != sample.inputs.shape:
            return
        results = [last.inputs.eq(sample.inputs).all(), last.outputs.eq(sample.outputs).all()]
        self._readout.read(results, lambda values: self._observe_calls(call, output, *values))

    def _observe_samples(self, call: ModelCall, output: Any, inputs_equal: float, outputs_equal: float) -> None:
        if not inputs_equal and self._constant.add(call.module, bool(outputs_equal)) >= PATIENCE:
            self._report(call, output, f"for all samples in {PATIENCE} calls")

    def _observe_calls(self, call: ModelCall, output: Any, inputs_equal: float, outputs_equal: float) -> None:
        if not outputs_equal:
            self._varied.add(call.module)
            self._same.add(call.module, False)
        elif not inputs_equal and self._same.add(call.module, True) >= PATIENCE:
            self._report(call, output, f"in all of the first {PATIENCE + 1} calls")

    def _report(self, call: ModelCall, output: Any, where: str) -> None:
        message = f"the output of {type(call.module).__name__} is the same {where}, although its inputs differ"
        tensors = [output, *list(call.module.parameters())[:1]]
        self.report("output_constant", message, tensors, line=call.line, key=id(call.module))


def _batches_in(value: Any) -> Iterator[Any]:
    """The plain tensors of one sample or more in arguments or results."""
    return (each for each in tensors_in(value) if each.dim() >= 1 and each.numel())


def _elements_of(batch: Any) -> Any:
    """A row of elements of each of the first samples."""
    samples = batch.detach()[:_SAMPLES]
    samples = samples.reshape(samples.shape[0], -1)
    return samples[:, :: max(1, samples.shape[1] // _ELEMENTS)]


def _samples_equal(samples: Any) -> Any:
    return samples.eq(samples[:1]).all()
