"""Losses that cannot teach: detached, broadcast, or of a constant."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from ..._user_code import Line, is_called_by_library, line_of
from .broadcasts import mistake_in
from .check import PATIENCE, Check, Counts, ModelCall, Report, trained
from .labels import LABEL_CONDITIONS, label_mistake_in
from .loss_graph import nodes_of_loss, normalizes_one, op_of
from .models import Models
from .optimized import Optimized
from .samples import tensors_in


class Loss(Check):
    conditions = ("loss_detached", "loss_broadcast", "loss_normalized_twice", "output_constant", *LABEL_CONDITIONS)

    def __init__(self, report: Report, models: Models, optimized: Optimized) -> None:
        super().__init__(report)
        self._models = models
        self._optimized = optimized
        self._passes = 0
        self._passes_at_step = 0
        # A model was called, with gradients, since the last step.
        self._called = False
        # Gradients have come to a parameter whose optimizer did not find them.
        self._reached = False
        # Of the hooks that find that out.
        self._handles: list[Any] = []
        self._without = Counts()
        self.symptoms = [self._without]
        # A parameter of the optimizer that stepped last.
        self._trained: Any = None
        # Losses that a model has returned, until the backward pass: libraries change them, in lines of their own.
        self._returned: list[Any] = []
        # The user's line that called a model last.
        self._line_of_call: Line | None = None
        # Where the loss is computed, if a library begins the backward pass; otherwise the line of its node.
        self._line: Line | None = None

    def model_called(self, call: ModelCall) -> None:
        self._called = self._called or call.trains
        self._line_of_call = call.line

    def model_returned(self, call: ModelCall, output: Any) -> None:
        self._returned = [each for each in tensors_in(output) if each.dim() == 0 and each.grad_fn is not None]

    def backward(self, roots: Sequence[Any], line: Line | None) -> None:
        self._passes += 1
        # The first call of a model is not seen. A library has changed its loss, and the next step shows where it was
        # computed.
        by_library = is_called_by_library(sys._getframe(1))
        self._line = self._line_of_call if by_library else None
        if self._called or not by_library:
            self._look_at_all(roots, line)
        self._returned = []

    def _look_at_all(self, roots: Sequence[Any], line: Line | None) -> None:
        for root in roots:
            if root.grad_fn is None:
                self._report_leaf(root, line)
            else:
                self._look_at(root, line)

    def _report_leaf(self, root: Any, line: Line | None) -> None:
        import torch

        if isinstance(root, torch.nn.Parameter):
            return
        message = (
            "the backward pass starts at a tensor that was computed from no parameter: it was detached, or made new"
        )
        self._report_at(root, "loss_detached", message, line)

    def _look_at(self, root: Any, line: Line | None) -> None:
        nodes = list(nodes_of_loss(root.grad_fn))
        of_loss = {node for node, _ in nodes}
        self._returned = [each for each in self._returned if each.grad_fn in of_loss]
        for node, user in nodes:
            message = mistake_in(node, user)
            if message is not None:
                self._report_at(root, "loss_broadcast", message, line)
            twice = _normalized_twice(node)
            if twice is not None:
                message = f"the loss applies {twice} to values that are the result of {twice} already"
                self._report_at(root, "loss_normalized_twice", message, line)
            condition, message = label_mistake_in(node)
            if condition is not None:
                self._report_at(root, condition, message, line)
            if normalizes_one(node):
                message = (
                    "softmax is over a dimension of size 1, so that its result is the same whatever the model computes"
                )
                self._report_at(root, "output_constant", message, line)

    def _report_at(self, root: Any, condition: str, message: str, line: Line | None) -> None:
        """Reports a finding at the op that computed the loss, or else at a parameter that it trains."""
        self.report(condition, message, self._returned)
        self.report(condition, message, [root], line=self._line)
        if not self.report.has(condition, None) and self._trained is not None:
            self.report(condition, message, [self._trained], line=line)

    def before_step(self, optimizer: Any) -> None:
        parameters = list(trained(optimizer))
        self._trained = parameters[0] if parameters else None
        ran = self._passes > self._passes_at_step
        self._passes_at_step = self._passes
        called, self._called = self._called, False
        self._returned = []
        if not (ran or called) or not parameters or self.report.has("loss_detached", None):
            return
        is_without = all(parameter.grad is None for parameter in parameters)
        steps = self._without.add(optimizer, is_without)
        if steps == 1:
            self._watch_gradients(parameters)
        if steps >= PATIENCE and not self._is_stale(parameters):
            line = line_of(sys._getframe(1))
            others = self._optimized.others_with(parameters[0], optimizer)
            if others and self._reached:
                cause = f"another optimizer, {type(others[0]).__name__}, has the same parameters and trains them"
                line = self._optimized.line_of(optimizer) or line
            elif self._reached:
                cause = "they are reset after the backward pass and before step()"
            else:
                cause = "the loss does not depend on them" if ran else "no backward pass has run: backward() is missing"
            message = (
                f"no parameter of {type(optimizer).__name__} has had a gradient in {PATIENCE} successive steps: {cause}"
            )
            self.report("loss_detached", message, [parameters[0]], line=line, key=id(optimizer))

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()

    def _watch_gradients(self, parameters: Sequence[Any]) -> None:
        """Finds out whether backward passes come to the parameters, although a step finds no gradients."""

        def reach(parameter: Any) -> None:
            self._reached = True
            self.stop()

        # Since PyTorch 2.1.
        self._handles = [
            parameter.register_post_accumulate_grad_hook(reach)
            for parameter in parameters
            if hasattr(parameter, "register_post_accumulate_grad_hook")
        ]

    def _is_stale(self, parameters: Sequence[Any]) -> bool:
        """Whether models have gradients, but for other parameters than these: they are not detached, but replaced."""
        used = {id(each): each for each in self._models.parameters()}
        return all(id(each) not in used for each in parameters) and any(p.grad is not None for p in used.values())


def _normalized_twice(node: Any) -> str | None:
    """The function whose result is given to the same function in the loss."""
    if not node.next_functions:
        return None
    op, before = op_of(node), node.next_functions[0][0]
    # A selection or another shape in between changes nothing about it.
    while before is not None and op_of(before) in ("Select", "Squeeze", "Unsqueeze", "View"):
        before = before.next_functions[0][0]
    if before is None:
        return None
    if op == "BinaryCrossEntropyWithLogits" and op_of(before) == "Sigmoid":
        return "sigmoid"
    return "softmax" if op == "LogSoftmax" and op_of(before) == "Softmax" else None
