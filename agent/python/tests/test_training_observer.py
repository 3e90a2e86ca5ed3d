"""The choice of the steps that are observed for conditions of training, and the cost of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from graphdbg._torch import _hooks
from graphdbg._torch.python_adapter.signs import Signs
from graphdbg._torch.training.cadence import Cadence, Clocks
from graphdbg._torch.training.observer import TrainingObserver
from graphdbg._torch.training.readout import Readout
from graphdbg._undo import UndoList

torch = pytest.importorskip("torch")


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def observed_steps(
    steps: int, step: float, observation: float, change: int = 0, undecided: range = range(0), slowdown: float = 0
) -> set[int]:
    """The steps, from 1, that are observed if a step and an observation take these seconds, and the rest of an
    observed step so much longer than others."""
    clock = Clock()
    cadence = Cadence(Clocks(clock, clock, clock))
    observed, on = set(), True
    for number in range(1, steps + 1):
        if number == change:
            on = cadence.changed()
        if on:
            observed.add(number)
            with cadence.spending():
                clock.now += observation
            clock.now += slowdown
        clock.now += step
        on = cadence.end_step(lambda number=number: number + 1 in undecided)  # type: ignore[misc]
    return observed


def test_the_first_steps_are_observed_and_then_a_small_share_of_the_time() -> None:
    observed = observed_steps(10000, step=0.001, observation=0.0005)
    assert {1, 2, 3, 4, 5} <= observed
    later = len(observed) - 5
    # 1 % of 10 s, by 0.5 ms.
    assert 170 < later < 210


def test_what_tests_cost_beyond_their_own_time_is_charged() -> None:
    later = len(observed_steps(10000, step=0.001, observation=0.0005, slowdown=0.0005)) - 5
    # By 1 ms.
    assert 80 < later < 110
    # A step that is longer for other reasons.
    assert len(observed_steps(10000, step=0.001, observation=0.0005, slowdown=0.1)) > 60


def test_observations_much_longer_than_a_step_are_charged_for_the_steps_after_them() -> None:
    # 1 % of 10 s, by twice 2.5 ms.
    assert 15 < len(observed_steps(10000, step=0.001, observation=0.0025)) - 5 < 25


def test_long_steps_are_all_observed() -> None:
    assert len(observed_steps(100, step=0.05, observation=0.0005)) == 100
    # Credit is not saved up without limit.
    assert len(observed_steps(1000, step=10, observation=0.3)) < 600


def test_steps_after_a_change_are_observed_on_debt() -> None:
    observed = observed_steps(100, step=0.001, observation=0.005, change=50)
    assert {50, 51, 52, 53} <= observed
    assert 54 not in observed


def test_what_is_tested_in_each_step_does_not_use_up_what_steps_after_a_change_may_owe() -> None:
    clock = Clock()
    cadence = Cadence(Clocks(clock, clock, clock))
    for _ in range(20000):
        with cadence.spending():
            clock.now += 0.0001
        clock.now += 0.001
        cadence.end_step(lambda: False)
    assert cadence.changed()


def test_steps_that_decide_are_observed_until_the_debt_is_too_large() -> None:
    observed = observed_steps(1000, step=0.001, observation=0.005, change=100, undecided=range(100, 1000))
    assert set(range(100, 108)) <= observed
    assert len(observed) < 30


class LaterCopy:
    """A copy from a device that arrives when the test sets `arrived`."""

    def __init__(self, values: Any) -> None:
        self._values = values.tolist()
        self.arrived = False

    def has_arrived(self) -> bool:
        return self.arrived

    def values(self) -> list[float]:
        return list(self._values)


def test_results_of_a_device_are_delivered_in_order_once_they_have_arrived() -> None:
    copies: list[LaterCopy] = []

    def copy(values: Any) -> LaterCopy:
        copies.append(LaterCopy(values))
        return copies[-1]

    readout = Readout(copy, at_once=())
    delivered: list[list[float]] = []
    readout.read([torch.tensor(True), torch.tensor([2.0, 3.0])], delivered.append)
    readout.read([torch.tensor(4.0)], delivered.append)
    readout.poll()
    copies[1].arrived = True
    readout.poll()
    assert delivered == []
    copies[0].arrived = True
    assert readout.poll()
    assert delivered == [[1, 2, 3], [4]]
    assert not readout.poll()


class Hooks:
    """Stands in for the adapter of a job, but for the signs."""

    def __init__(self, signs: Any) -> None:
        self.forget_signs, self.follow_modes = signs.forget_signs, signs.follow_modes
        self.sign_before_step, self.sign_before_backward = signs.sign_before_step, signs.sign_before_backward
        self.passed = 0
        self.watched = True
        self.on_output: Callable[[object, object], None] | None = None
        self.suspicious_only = False
        self.findings: list[str] = []

    def watches(self, condition: str | None) -> bool:
        return self.watched

    def report(self, condition: str, *finding: object) -> bool:
        self.findings.append(condition)
        return True

    def enter_ignored(self) -> int:
        return 0

    def leave_ignored(self, depth: int) -> None: ...

    def passed_steps(self) -> int:
        return self.passed

    def pass_steps_of(self, optimizer: object) -> None: ...

    def observe_models(self, on_output: Callable[[object, object], None] | None, suspicious_only: bool) -> None:
        self.on_output, self.suspicious_only = on_output, suspicious_only


class Training:
    """A small training under an observer whose clock never advances, so that it earns no credit."""

    def __init__(self, signs: Any = _hooks) -> None:
        torch.manual_seed(0)
        self.hooks = Hooks(signs)
        self.observer = TrainingObserver(self.hooks, UndoList(), Cadence(Clocks(Clock(), Clock(), Clock())))
        self.model = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        self.inputs, self.labels = torch.randn(16, 8), torch.randint(2, (16,))

    def call(self) -> Any:
        hooks, trains = self.hooks, torch.is_grad_enabled()
        observed = hooks.on_output and (not hooks.suspicious_only or (self.model.training and not trains))
        if observed:
            self.observer.model_called(self.model, (self.inputs,), {})
        output = self.model(self.inputs)
        if observed:
            assert hooks.on_output
            hooks.on_output(self.model, output)
        return output

    def step(self) -> int:
        """Trains a step. Returns how many ops the tests have run."""
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.call(), self.labels)
        with Ops() as before_backward:
            self.observer.before_backward([loss])
        loss.backward()
        with Ops() as before_step:
            self.observer.before_step(self.optimizer)
        self.optimizer.step()
        with Ops() as after_step:
            self.observer.after_step(self.optimizer)
        return before_backward.count + before_step.count + after_step.count


class Ops(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Counts ops."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def test_a_step_that_is_not_observed_runs_no_op() -> None:
    training = Training()
    ops = [training.step() for _ in range(30)]
    assert all(ops[:5])
    # Most of these ops run once for each of the four parameters.
    assert max(ops[2:5]) < 110
    assert not any(ops[5:])
    assert training.hooks.suspicious_only


def test_the_steps_after_a_change_are_observed(signs: Any) -> None:
    training = Training(signs)
    for _ in range(30):
        training.step()
    training.optimizer.param_groups[0]["lr"] = 0.0
    ops = [training.step() for _ in range(30)]
    assert all(ops[:3])
    assert not any(ops[4:])
    assert training.hooks.findings == ["learning_rate_not_positive"]


@pytest.fixture(params=["compiled", "python"])
def signs(request: pytest.FixtureRequest) -> Iterator[Any]:
    found = _hooks if request.param == "compiled" else Signs()
    yield found
    found.forget_signs()


class Stepped:
    """A model with an optimizer whose steps are compared."""

    def __init__(self, signs: Any) -> None:
        signs.forget_signs()
        self.signs = signs
        self.model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        signs.follow_modes([self.model])

    def step(self, reset: bool = True) -> tuple[bool, bool]:
        """Trains a step. Returns whether there was a sign before the backward pass, and before the step."""
        if reset:
            self.optimizer.zero_grad()
        loss = self.model(torch.ones(2, 3)).sum()
        backward = self.signs.sign_before_backward((loss,))
        if loss.requires_grad:
            loss.backward()
        step = self.signs.sign_before_step(self.optimizer)
        self.optimizer.step()
        return backward, step


QUIET, BACKWARD, STEP = (False, False), (True, False), (False, True)


def test_steps_like_the_one_before_have_no_sign(signs: Any) -> None:
    stepped = Stepped(signs)
    assert [stepped.step() for _ in range(3)] == [QUIET] * 3
    # A schedule.
    stepped.optimizer.param_groups[0]["lr"] = 0.05
    assert stepped.step() == QUIET
    # Rates that are tensors are not read.
    stepped.optimizer.param_groups[0]["lr"] = torch.tensor(0.1)
    assert stepped.step() == QUIET


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.0, 0.01])
def test_another_learning_rate_is_a_sign_once(signs: Any, rate: float) -> None:
    stepped = Stepped(signs)
    stepped.step()
    stepped.optimizer.param_groups[0]["lr"] = rate
    assert [stepped.step() for _ in range(3)] == [STEP, QUIET, QUIET]


def test_a_parameter_that_comes_or_loses_its_gradient_is_a_sign(signs: Any) -> None:
    stepped = Stepped(signs)
    stepped.step()
    stepped.optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
    assert [stepped.step() for _ in range(2)] == [STEP, QUIET]
    stepped.model[0].weight.requires_grad_(False)
    stepped.model[0].weight.grad = None
    assert [stepped.step() for _ in range(2)] == [STEP, QUIET]


def test_another_mode_is_a_sign(signs: Any) -> None:
    stepped = Stepped(signs)
    stepped.step()
    stepped.model.eval()
    assert [stepped.step() for _ in range(2)] == [STEP, QUIET]
    # A model that is followed from now on.
    other = torch.nn.Dropout()
    signs.follow_modes([stepped.model, other])
    assert stepped.step() == QUIET
    other.eval()
    assert [stepped.step() for _ in range(2)] == [STEP, QUIET]
    del other
    assert stepped.step() == QUIET


def test_gradients_that_are_no_longer_reset_are_a_sign(signs: Any) -> None:
    stepped = Stepped(signs)
    stepped.step()
    stepped.step()
    assert [stepped.step(reset=False) for _ in range(2)] == [BACKWARD, QUIET]
    stepped.optimizer.zero_grad(set_to_none=False)
    assert stepped.step(reset=False) == QUIET


def test_a_loss_without_history_is_a_sign(signs: Any) -> None:
    stepped = Stepped(signs)
    stepped.step()
    assert signs.sign_before_backward((torch.ones(1),))
    assert not signs.sign_before_backward((torch.ones(1),))
    edge = torch.autograd.graph.get_gradient_edge(stepped.model(torch.ones(1, 3)))
    assert not signs.sign_before_backward((edge,))
    assert signs.sign_before_backward((edge, torch.ones(1)))


def test_an_optimizer_unlike_pytorchs_is_an_error(signs: Any) -> None:
    class Other:
        param_groups = ({"lr": 1.0},)

    with pytest.raises((TypeError, KeyError)):
        signs.sign_before_step(Other())


def test_evaluation_in_training_mode_is_found_between_steps_that_are_not_observed() -> None:
    training = Training()
    training.model.append(torch.nn.Dropout(0.5))
    for _ in range(30):
        training.step()
    with torch.no_grad():
        for _ in range(3):
            training.call()
    assert training.hooks.findings == ["wrong_mode"]


def test_calls_between_steps_that_are_passed_are_not_between_the_same_two() -> None:
    training = Training()
    training.model.append(torch.nn.Dropout(0.5))
    for step in range(60):
        if step < 30:
            training.step()
        else:
            training.hooks.passed += 1
        # A teacher's, for example.
        training.inputs = torch.randn(16, 8)
        with torch.no_grad():
            training.call()
    assert training.hooks.findings == []


def test_nothing_is_done_once_no_condition_is_watched() -> None:
    training = Training()
    training.step()
    training.hooks.watched = False
    training.step()
    assert training.step() == 0
    assert training.hooks.on_output is None
    training.hooks.watched = True
    training.step()
    assert training.step() > 0
