"""What all tests of conditions of training have in common."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from ..._user_code import Line

# Successive observations that make a finding. Healthy trainings show most of these
# symptoms now and then: a learning rate that starts at zero, a zero gradient behind
# weights that are initialized with zeros.
PATIENCE = 3

_T = TypeVar("_T")


class Hooks(Protocol):
    """The functions of _hooks that report findings."""

    def watches(self, condition: str | None, /) -> bool: ...
    def report(self, condition: str, tensor: object, message: str, file: str | None, line: int, /) -> bool: ...


class Report:
    """Reports each finding once."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._reported: set[tuple[str, object]] = set()

    def __call__(
        self,
        condition: str,
        message: str,
        tensors: Sequence[Any],
        *,
        line: Line | None = None,
        key: object = None,
    ) -> None:
        """Reports a finding at the first of the tensors whose node is known.

        `line` is that of the user's code; None means that of the node. `key` distinguishes
        findings of the same condition.
        """
        if (condition, key) in self._reported:
            return
        file, number = line or (None, 0)
        if any(self._hooks.report(condition, tensor, message, file, number) for tensor in tensors):
            self._reported.add((condition, key))

    def has(self, condition: str, key: object) -> bool:
        """Whether a finding has been reported."""
        return (condition, key) in self._reported


class Symptom(Protocol):
    def is_undecided(self) -> bool:
        """Whether the next step may decide that there is a finding."""
        ...


class Counts:
    """Counts successive observations of a symptom, by object."""

    def __init__(self) -> None:
        self._counts: dict[int, tuple[weakref.ref[Any], int]] = {}

    def add(self, subject: Any, observed: bool) -> int:
        """Returns in how many successive observations the symptom has been seen."""
        key = id(subject)
        if not observed:
            self._counts.pop(key, None)
            return 0
        known = self._counts.get(key)
        count = known[1] + 1 if known is not None and known[0]() is subject else 1
        self._counts[key] = (weakref.ref(subject), count)
        return count

    def of(self, subject: Any) -> int:
        known = self._counts.get(id(subject))
        return known[1] if known is not None and known[0]() is subject else 0

    def subjects(self) -> list[Any]:
        """The objects on which the symptom was seen last."""
        return [subject for reference, _ in self._counts.values() if (subject := reference()) is not None]

    def is_undecided(self) -> bool:
        """Whether a symptom has been seen that may still become a finding."""
        return any(count < PATIENCE and subject() is not None for subject, count in self._counts.values())


class IdentitySet:
    """A set of objects by identity. It does not keep them alive."""

    def __init__(self) -> None:
        self._objects: dict[int, weakref.ref[Any]] = {}

    def add(self, subject: Any) -> None:
        self._objects[id(subject)] = weakref.ref(subject)

    def discard(self, subject: Any) -> None:
        self._objects.pop(id(subject), None)

    def __contains__(self, subject: Any) -> bool:
        known = self._objects.get(id(subject))
        return known is not None and known() is subject


class ModelCall(NamedTuple):
    module: Any
    # Positional ones, then those with a keyword.
    arguments: Sequence[Any]
    # Gradients are recorded.
    trains: bool
    # Of the user's code.
    line: Line | None
    # The number of steps of optimizers so far.
    step: int


class Check:
    """Tests some conditions.

    The methods are called on the thread that trains, in steps that are observed. Neither
    graphdbg nor autograd records the ops that they run.
    """

    conditions: ClassVar[tuple[str, ...]]
    # In steps that are not observed, too, `model_called` and `model_returned` are called for calls
    # in training mode without gradients: an evaluation may not come again for a long time.
    sees_each_evaluation: ClassVar[bool] = False

    def __init__(self, report: Report) -> None:
        self.report = report
        # The symptoms that the next steps decide on.
        self.symptoms: list[Symptom] = []

    def look_again(self) -> None:
        """Something has changed: what was seen in earlier steps may no longer be so."""

    def stop(self) -> None:
        """The job is no longer debugged: takes out hooks that wait for something."""

    def model_called(self, call: ModelCall) -> None: ...

    def model_returned(self, call: ModelCall, output: Any) -> None: ...

    def backward(self, roots: Sequence[Any], line: Line | None) -> None:
        """Gradients of these tensors are about to be accumulated. `line`: of the user's call."""

    def before_step(self, optimizer: Any) -> None: ...

    def after_step(self, optimizer: Any) -> None: ...


# The methods that are called at the points of a step.
POINTS = ("model_called", "model_returned", "backward", "before_step", "after_step")


def overrides(check: Check, point: str) -> bool:
    """Whether a test does something at a point."""
    return getattr(type(check), point) is not getattr(Check, point)


def grouped(subjects: Iterable[_T], key: Callable[[_T], Hashable]) -> list[list[_T]]:
    """Groups by a key, in the order of the first of each group."""
    groups: dict[Hashable, list[_T]] = {}
    for subject in subjects:
        groups.setdefault(key(subject), []).append(subject)
    return list(groups.values())


def trained(optimizer: Any) -> Iterator[Any]:
    """The parameters of an optimizer that are plain tensors and require gradients."""
    for group in optimizer.param_groups:
        yield from trained_in(group)


def trained_in(group: dict[str, Any]) -> Iterator[Any]:
    """The same for one of its groups."""
    import torch

    for parameter in group["params"]:
        plain = type(parameter) in (torch.nn.Parameter, torch.Tensor) and parameter.is_floating_point()
        if plain and parameter.requires_grad:
            yield parameter


def dense_gradient(parameter: Any) -> Any | None:
    """The gradient, if it is a plain dense tensor."""
    import torch

    gradient = parameter.grad
    plain = type(gradient) is torch.Tensor and gradient.layout is torch.strided
    return gradient if plain else None


def and_others(names: Sequence[str]) -> str:
    """The first name and the number of others."""
    others = len(names) - 1
    return names[0] if not others else f"{names[0]} and {others} other{'' if others == 1 else 's'}"


def it_or_them(found: Sequence[Any]) -> str:
    return "it" if len(found) == 1 else "them"
