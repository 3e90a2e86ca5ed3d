"""Decides which functions of the program are followed, and where its steps end."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import _exit_report
from .._agent import Agent, TooLarge
from .._build_adapter import CannotBuild
from .._log import log, warn_not_debugged
from .._process import default_job_name
from . import structure
from .followed import Followed
from .look import Look
from .memory import keep_freed_memory
from .names import cleaned
from .program import program_of
from .reported_agent import ReportedAgent
from .results import Results
from .seam import Seam
from .steps import Role, role_of, type_of
from .tap_library import TapLibrary
from .values import Addresses


@dataclass(frozen=True)
class _Call:
    """A call of a jitted function."""

    original: Any
    arguments: tuple[Any, ...]
    parameters: dict[str, Any]

    def as_it_is(self) -> Any:
        return self.original(*self.arguments, **self.parameters)

    def keeping_arguments(self, closed: Any = None) -> Any:
        """Calls it, or a function in its place, without donating arguments."""
        donated = (False,) * len(self.parameters["donated_invars"])
        closed = self.parameters["jaxpr"] if closed is None else closed
        return self.original(*self.arguments, **{**self.parameters, "jaxpr": closed, "donated_invars": donated})


# A program that does not train is followed where it calls a function of this size again and again.
_LARGE = 20
_CALLS_OF_INFERENCE = 3


class Job:
    """Implements Calls of seam.py."""

    def __init__(self, jax: Any, pjit: Any) -> None:
        self._jax = jax
        self._seam = Seam(pjit, self)
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._local = threading.local()
        self._agent: Agent | None = None
        self._refused = False
        self._library: TapLibrary | None = None
        self._records = bool(os.environ.get("GRAPHDBG_RECORD"))
        self._addresses = Addresses()
        self._functions: weakref.WeakKeyDictionary[Any, Followed | None] = weakref.WeakKeyDictionary()
        self._calls: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._by_callable: weakref.WeakKeyDictionary[Any, Followed | None] = weakref.WeakKeyDictionary()
        # The roles of functions, by name and types of results. Only for names of followed functions.
        self._roles: dict[Any, set[Any]] = {}
        self._called_names: set[str] = set()
        # Whether several functions are followed.
        self._several = False
        self._names: dict[str, int] = {}
        self._orders = 1
        # The function whose calls are steps.
        self._leader: Followed | None = None
        # A function has found gradients that no other has applied yet.
        self._step_is_open = False

    def install(self) -> None:
        self._seam.install()

    # ---- calls

    def call(self, original: Any, arguments: tuple[Any, ...], parameters: dict[str, Any]) -> tuple[Any, bool]:
        closed = parameters["jaxpr"]
        if self._is_out_of_view():
            return original(*arguments, **parameters), True
        try:
            with self._lock:
                followed = self._followed(closed, parameters["name"])
        except Exception as error:
            self._functions[closed] = followed = None
            warn_not_debugged(f"cannot follow {parameters['name']}: {type(error).__name__}: {error}")
        is_known = closed in self._functions and self._is_told_apart(closed, parameters["name"], followed)
        if followed is None:
            return original(*arguments, **parameters), is_known
        result, fast = self._call(followed, _Call(original, arguments, parameters))
        return result, fast and is_known

    def _is_told_apart(self, closed: Any, name: str, followed: Followed | None) -> bool:
        """Whether `has_called` cannot take calls of a function for those of another one that does something else."""
        if name not in self._called_names:
            return True
        role = followed.program.role if followed is not None else None
        roles = self._roles.setdefault((name, tuple(map(type_of, closed.out_avals))), set())
        own = role and (role.trains, role.gradients, *role.state.items())
        if own not in roles:
            roles.add(own)
            if len(roles) > 1:
                # Calls of the other one are not on the fast path any more.
                self._seam.clear()
        return len(roles) == 1

    def _is_out_of_view(self) -> bool:
        if self._refused or getattr(self._local, "internal", False) or os.getpid() != self._pid:
            return True
        return self._agent is not None and self._agent.is_off()

    def _call(self, followed: Followed, call: _Call) -> tuple[Any, bool]:
        agent = self._agent
        assert agent is not None
        followed.set_state(lambda: {argument: call.arguments[argument] for argument in followed.program.role.state})
        if getattr(self._local, "repeats", False):
            with self._lock:
                look = self._look(followed, call)
            return (look.result if look is not None and look.result is not None else call.keeping_arguments()), False
        with self._lock:
            agent.start()
            self._begin(followed)
            tests = self._tests_results(followed)
            look = None if tests else self._look(followed, call)
        is_bad = False
        if tests:
            # The arguments are kept, so that the call can be repeated, and results need memory of their own.
            keep_freed_memory()
            result = call.keeping_arguments()
            is_bad = self._is_bad(followed, result[0])
            if is_bad:
                with self._lock:
                    look = self._look(followed, call)
        else:
            result = call.as_it_is()
        if look is not None and look.result is not None:
            self._compare(followed, look.result[0], result[0])
            if self._records:
                followed.record_loss(result[0])
        self._end(followed, lambda: result[0], tested=tests and not is_bad)
        return result, not self._looks_at_all(followed) and tests == self._tests_results(followed)

    def has_called(self, function: Any, arguments: Any, keywords: Any, outputs: Any) -> None:
        agent = self._agent
        if agent is None or self._is_out_of_view():
            return
        try:
            followed = self._by_callable[function]
        except KeyError:
            followed = self._by_callable[function] = self._called(function, outputs)
        if followed is None:
            return
        leaves = functools.partial(self._jax.tree_util.tree_leaves, outputs)
        self._begin(followed)
        tests = self._tests_results(followed)
        is_bad = tests and self._is_bad(followed, leaves())
        if is_bad:
            self._repeat(function, arguments, keywords)
        self._end(followed, leaves, tested=tests and not is_bad)
        if self._looks_at_all(followed):
            self._seam.clear()

    def _repeat(self, function: Any, arguments: Any, keywords: Any) -> None:
        """Looks into a call that has been made on the fast path."""
        self._seam.clear()
        self._local.repeats = True
        try:
            function(*arguments, **keywords)
        finally:
            self._local.repeats = False

    def _called(self, function: Any, outputs: Any) -> Followed | None:
        """The followed function that the program has as this object."""
        name = str(getattr(function, "__name__", ""))
        types = [(each.shape, each.dtype) for each in self._jax.tree_util.tree_leaves(outputs)]
        for followed in self._functions.values():
            if followed is not None and followed.called == name and followed.output_types == types:
                return followed
        return None

    # ---- what to look at

    def _tests_results(self, followed: Followed) -> bool:
        """Whether it suffices to test the results of calls, and to look into those whose results are bad."""
        agent = self._agent
        assert agent is not None
        return followed.why_opaque is None and agent.follows_ops() and agent.seeks_only_nonfinite()

    def _looks_at_all(self, followed: Followed) -> bool:
        """Whether every call is looked into."""
        agent = self._agent
        assert agent is not None
        return followed.why_opaque is None and agent.follows_ops() and not agent.seeks_only_nonfinite()

    def _is_bad(self, followed: Followed, outputs: Any) -> bool:
        """Whether a result is NaN or infinite. Waits for the results."""
        assert followed.results is not None
        return followed.results.are_bad(list(outputs), self._addresses, self._taps())

    def _taps(self) -> TapLibrary:
        if self._library is None:
            self._library = TapLibrary()
        return self._library

    # ---- steps

    def _begin(self, followed: Followed) -> None:
        if followed.program.role.gradients and self._step_is_open:
            self._end_step()

    def _end(self, followed: Followed, find_outputs: Callable[[], Any], tested: bool) -> None:
        """`tested`: it is known that no output is NaN or infinite."""
        role = followed.program.role

        def state() -> dict[int, Any]:
            outputs = find_outputs()
            return {argument: outputs[output] for argument, output in role.state.items()}

        followed.set_state(state)
        try:
            assert self._agent is not None
            if self._agent.follows_ops():
                self._agent.tested_finite(followed.state_nodes, tested)
            self._close_step(followed, role)
        finally:
            followed.release_state(remembers=self._several)

    def _close_step(self, followed: Followed, role: Role) -> None:
        if role.gradients:
            self._step_is_open = True
        elif self._leads(followed) or (role.updates and self._step_is_open):
            self._end_step()

    def _leads(self, followed: Followed) -> bool:
        leader = self._leader
        if leader is None:
            return False
        # A function that is traced again for other types of arguments is another graph.
        same = followed.called == leader.called and followed.program.role.steps == leader.program.role.steps
        return followed is leader or same

    def _end_step(self) -> None:
        assert self._agent is not None
        self._step_is_open = False
        with self._lock:
            self._agent.step_end()

    # ---- looking

    def _look(self, followed: Followed, call: _Call) -> Look | None:
        agent = self._agent
        assert agent is not None
        if not agent.follows_ops() or followed.why_opaque is not None:
            return None

        def run(closed: Any) -> Any:
            result = call.keeping_arguments(closed)
            self._jax.block_until_ready(result[0])
            return result

        try:
            self._local.internal = True
            look = Look(agent, self._taps, followed, run, call.parameters["jaxpr"], call.arguments)
            look.report()
            return look
        except CannotBuild as error:
            followed.why_opaque = str(error)
        except Exception as error:
            if error is agent.raised:
                raise
            followed.why_opaque = f"{type(error).__name__}: {error}"
        finally:
            self._local.internal = False
        agent.notify(f"{followed.program.name} is not looked into: {followed.why_opaque}")
        return None

    def _compare(self, followed: Followed, copy: Any, outputs: Any) -> None:
        """Notifies the user, once, if the copy with taps has computed other values than the program gets."""
        if followed.compared:
            return
        followed.compared = True
        import numpy as np

        for mine, own in zip(copy, outputs, strict=True):
            try:
                a, b = np.asarray(mine), np.asarray(own)
            except Exception:
                continue
            if a.tobytes() != b.tobytes() and a.dtype.kind in "fiu":
                error = np.nanmax(np.abs(a.astype(float) - b.astype(float)))
                assert self._agent is not None
                self._agent.notify(
                    f"{followed.program.name} is looked into by a copy that XLA fuses in another way, so values may "
                    f"differ from the program's in the last bits: an output differs by {error:.3g}. "
                    "The program gets the outputs of its own function"
                )
                return

    # ---- functions

    def _followed(self, closed: Any, name: str) -> Followed | None:
        if closed in self._functions:
            return self._functions[closed]
        role = role_of(closed)
        if not self._is_wanted(closed, role):
            return None
        agent = self._open()
        if agent is None:
            return None
        followed = self._add(agent, closed, name, role)
        if followed is not None:
            self._by_callable.clear()
            if (role.steps and (self._leader is None or not self._leader.program.role.steps)) or (
                not role.trains and self._leader is None and not role.updates
            ):
                self._leader = followed
        return followed

    def _is_wanted(self, closed: Any, role: Role) -> bool:
        """Whether the function is to be followed. If that is settled, `_functions` contains it."""
        if role.steps or role.gradients:
            return True
        if role.updates and self._step_is_open:
            return True
        if self._agent is not None or len(closed.jaxpr.eqns) < _LARGE:
            if not role.updates or self._agent is not None:
                self._functions[closed] = None
            return False
        calls = self._calls[closed] = self._calls.get(closed, 0) + 1
        return calls >= _CALLS_OF_INFERENCE

    def _add(self, agent: Agent, closed: Any, called: str, role: Role) -> Followed | None:
        name = cleaned(called).replace("/", "_")
        program = program_of(closed, name, role)
        for followed in self._functions.values():
            if followed is not None and followed.called == called and followed.program.is_like(program):
                self._functions[closed] = followed
                return followed
        number = self._names[name] = self._names.get(name, -1) + 1
        if number:
            name = f"{name}_{number}"
            program = program_of(closed, name, role)
        try:
            followed = Followed(agent, program, "" if self._orders == 1 else name, self._orders)
        except TooLarge as error:
            self._functions[closed] = None
            agent.notify(f"cannot debug {name}: {error}")
            return None
        if called not in self._called_names:
            # Others of this name may be on the fast path.
            self._called_names.add(called)
            self._seam.clear()
        self._several = self._orders > 1
        self._orders += len(followed.ops)
        followed.called = called
        followed.output_types = [(aval.shape, aval.dtype) for aval in closed.out_avals]
        followed.results = Results(self._jax, closed.out_avals)
        reason = structure.why_not_twice(closed.jaxpr)
        platform = self._jax.default_backend()
        if platform != "cpu":
            reason = f"values of {platform} devices are not looked into"
        if reason is not None:
            followed.why_opaque = reason
            agent.notify(f"{name} is not looked into, only its state is: {reason}")
        self._functions[closed] = followed
        return followed

    def _open(self) -> Agent | None:
        if self._agent is not None or self._refused:
            return self._agent
        if not _exit_report.make_free():
            self._refused = True
            log(
                "the program uses JAX beside another framework, which is debugged; "
                "set GRAPHDBG_FRAMEWORK=jax to debug what it does with JAX instead"
            )
            return None
        agent = Agent()
        if not agent.open("jax", str(self._jax.__version__), default_job_name(), "cpu"):
            self._refused = True
            return None
        # Calls of followed functions leave the fast path when somebody begins to look.
        agent.on_level = self._seam.clear
        self._agent = agent
        _exit_report.set_agent(ReportedAgent(agent, self._functions))
        return agent
