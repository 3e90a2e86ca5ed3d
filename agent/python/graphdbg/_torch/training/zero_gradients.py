"""Gradients that are always zero."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..._user_code import Line
from .check import PATIENCE, Check, Counts, IdentitySet, Report, and_others, dense_gradient, grouped, trained
from .elements import is_sampled_whole, samples_of
from .flat_ops import flat_op_between
from .models import Models
from .readout import Readout

# The smallest and the largest element.
_ALL_ZERO = [0.0, 0.0]
# How much longer than before zeros must last once they have gone away.
_LONGER = 3


class _Arrival:
    """Notices whether a gradient is changed in place between the backward pass and the step."""

    def __init__(self) -> None:
        self._gradient: tuple[weakref.ref[Any], int] | None = None
        self._handle: Any = None

    def await_gradient(self, parameter: Any) -> None:
        self.stop()
        # Since PyTorch 2.1.
        if hasattr(parameter, "register_post_accumulate_grad_hook"):
            self._handle = parameter.register_post_accumulate_grad_hook(self._receive)

    def _receive(self, parameter: Any) -> None:
        self._gradient = weakref.ref(parameter.grad), parameter.grad._version

    def was_changed(self) -> bool:
        if self._gradient is None:
            return False
        gradient, version = self._gradient
        received = gradient()
        return received is not None and received._version != version and not _is_distributed()

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.remove()
        self._handle, self._gradient = None, None


class ZeroGradients(Check):
    """The gradient of a whole parameter is exactly zero."""

    conditions = ("gradient_always_zero",)

    def __init__(self, report: Report, readout: Readout, models: Models) -> None:
        super().__init__(report)
        self._readout = readout
        self._models = models
        self._zero = Counts()
        self.symptoms = [self._zero]
        # Parameters whose gradient had an element that is not zero in its sample.
        self._sound = IdentitySet()
        # For how many steps the gradient of a parameter must be zero, if it has not always been.
        self._patience: dict[int, int] = {}
        self._reported = IdentitySet()
        # The sizes of the last backward pass's losses.
        self._loss: list[Any] = []
        # By the id of a suspicious parameter, its gradient before the first backward pass since the last step, and
        # the gradient's version.
        self._before: dict[int, tuple[weakref.ref[Any], int]] | None = None
        # Why the gradients are zero, as far as the loss's history shows.
        self._cause: str | None = None
        self._arrival = _Arrival()
        # A gradient that is zero was changed in place after the backward pass.
        self._changed_after_arrival = False

    def look_again(self) -> None:
        # The backward passes between these and the next one were not seen.
        self._before = None

    def backward(self, roots: Sequence[Any], line: Line | None) -> None:
        self._loss = [root.abs().amax() for root in roots if root.numel() > 0]
        deciding = [each for each in self._zero.subjects() if self._zero.of(each) == PATIENCE - 1]
        if deciding:
            self._cause = flat_op_between(roots, deciding) or self._cause
            self._arrival.await_gradient(deciding[-1])
        if self._before is None:
            gradients = [(each, each.grad) for each in self._zero.subjects()]
            self._before = {
                id(parameter): (weakref.ref(gradient), gradient._version)
                for parameter, gradient in gradients
                if gradient is not None
            }

    def before_step(self, optimizer: Any) -> None:
        parameters = [each for each in trained(optimizer) if dense_gradient(each) is not None and each.numel() > 0]
        losses, self._loss = self._loss, []
        for subjects in grouped(parameters, lambda each: (each.grad.device, each.grad.dtype)):
            device = subjects[0].grad.device
            whole = [each for each in subjects if self._is_looked_through(each)]
            untouched = {id(each) for each in subjects if self._is_untouched(each)}
            if self._arrival.was_changed():
                self._changed_after_arrival = True
            results = [samples_of([each.grad for each in subjects]).ne(0).any(1)]
            # One pass without a copy, and vectorized, which a norm is not.
            results += [size for each in whole for size in each.grad.aminmax()]
            results += [loss for loss in losses if loss.device == device]
            self._readout.read(results, partial(self._observe, subjects, whole, untouched))

    def after_step(self, optimizer: Any) -> None:
        self._before = None
        self._arrival.stop()

    def stop(self) -> None:
        self._arrival.stop()

    def _is_looked_through(self, parameter: Any) -> bool:
        """Whether to look at all elements, since the sample did not decide."""
        return parameter not in self._sound and not is_sampled_whole(parameter)

    def _is_untouched(self, parameter: Any) -> bool:
        """Whether no backward pass has come to the parameter since its gradient was set to zero."""
        gradient: Any = parameter.grad
        before = (self._before or {}).get(id(parameter))
        return before is not None and gradient._version == before[1] and before[0]() is gradient

    def _observe(self, parameters: list[Any], whole: list[Any], untouched: set[int], values: list[float]) -> None:
        sampled, values = values[: len(parameters)], values[len(parameters) :]
        extremes, loss = values[: 2 * len(whole)], values[2 * len(whole) :]
        ranges = {id(each): extremes[2 * index : 2 * index + 2] for index, each in enumerate(whole)}
        # Nothing is left to learn from a loss of zero.
        if loss and max(loss) == 0:
            return
        zero: set[int] = set()
        # Each with the number of successive steps in which its gradient was zero.
        counts: list[tuple[Any, int]] = []
        for parameter, is_sound in zip(parameters, sampled, strict=True):
            key = id(parameter)
            if is_sound:
                self._sound.add(parameter)
            elif key not in ranges and not is_sampled_whole(parameter):
                # The next step looks at all elements.
                self._sound.discard(parameter)
                continue
            elif ranges.get(key, _ALL_ZERO) == _ALL_ZERO:
                zero.add(key)
            if key not in zero:
                self._patience[key] = max(self._patience.get(key, 0), _LONGER * max(PATIENCE, self._zero.of(parameter)))
            counts.append((parameter, self._zero.add(parameter, key in zero and key not in untouched)))
        is_cut = any(self._lacks_input(each, zero) for each, count in counts if count >= PATIENCE)
        found = [each for each, count in counts if count >= self._patience_for(each, is_cut)]
        found = [each for each in found if each not in self._reported and self._is_unexpected(each, zero)]
        if found:
            self._report(found, len(parameters))

    def _patience_for(self, parameter: Any, is_cut: bool) -> int:
        """A part that the loss does not weigh in some steps, such as a detector's boxes in images without objects,
        has had gradients."""
        return PATIENCE if is_cut else self._patience.get(id(parameter), PATIENCE)

    def _lacks_input(self, weight: Any, zero: set[int]) -> bool:
        """Whether the loss depends on the layer, but nothing reaches the layer from those before."""
        home = self._models.home_of(weight)
        return home is not None and not home.is_bias and self._is_alone(weight, zero)

    def _is_alone(self, parameter: Any, zero: set[int]) -> bool:
        """Whether another parameter of its layer has a gradient."""
        return any(each.grad is not None and id(each) not in zero for each in self._models.beside(parameter))

    def _report(self, found: list[Any], of: int) -> None:
        for each in found:
            self._reported.add(each)
        # The last one is the nearest to the loss.
        nearest = found[-1]
        names = [self._models.name_of(each) for each in reversed(found)]
        subject = f"all {len(found)} parameters" if len(found) == of else and_others(names)
        steps = self._zero.of(nearest)
        message = f"the gradient of {subject} is exactly zero in {steps} successive steps"
        cause = self._cause
        if cause is None and len(found) == of > 1 and self._changed_after_arrival:
            cause = "it is changed between the backward pass and step(), as by clip_grad_norm_() with a maximum of 0"
        if cause is not None:
            message = f"{message}: {cause}"
        self.report("gradient_always_zero", message, [nearest], line=self._models.forward_of(nearest), key=id(nearest))

    def _is_unexpected(self, parameter: Any, zero: set[int]) -> bool:
        """Parts of a library's module may well have no influence, such as attention to a single key; and no bias has
        where a loss only compares outputs with one another."""
        home = self._models.home_of(parameter)
        if home is None:
            return True
        if home.is_bias and self._is_alone(parameter, zero):
            return False
        composite = home.composite() if home.composite is not None else None
        return composite is None or all(id(each) in zero for each in composite.parameters() if each.grad is not None)


def _is_distributed() -> bool:
    """Whether gradients are changed in place because they are those of several ranks."""
    from torch import distributed

    return bool(distributed.is_available() and distributed.is_initialized())
