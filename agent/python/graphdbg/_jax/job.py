"""Decides which functions of the program are followed, and where its steps end."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from .. import _exit_report
from .._agent import Agent, TooLarge
from .._log import log, warn_not_debugged
from .._process import default_job_name
from .._torch.build_adapter import CannotBuild
from . import structure
from .followed import Followed
from .look import Look
from .names import cleaned
from .program import program_of
from .seam import Seam
from .steps import Role, role_of
from .tap_library import TapLibrary

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
        self._functions: weakref.WeakKeyDictionary[Any, Followed | None] = weakref.WeakKeyDictionary()
        self._calls: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._by_callable: weakref.WeakKeyDictionary[Any, Followed | None] = weakref.WeakKeyDictionary()
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
        if followed is None:
            return original(*arguments, **parameters), closed in self._functions
        return self._call(followed, original, arguments, parameters)

    def _is_out_of_view(self) -> bool:
        if self._refused or getattr(self._local, "internal", False) or os.getpid() != self._pid:
            return True
        return self._agent is not None and self._agent.is_off()

    def _call(
        self, followed: Followed, original: Any, arguments: tuple[Any, ...], parameters: dict[str, Any]
    ) -> tuple[Any, bool]:
        agent = self._agent
        assert agent is not None
        for argument in followed.program.role.state:
            followed.set_state(argument, arguments[argument])
        with self._lock:
            agent.start()
            self._begin(followed)
            look = self._look(followed, original, arguments, parameters)
        result = original(*arguments, **parameters)
        if look is not None and look.outputs is not None:
            self._compare(followed, look.outputs, result[0])
        self._end(followed, result[0])
        return result, not agent.follows_ops()

    def has_called(self, function: Any, outputs: Any) -> None:
        if self._agent is None or self._is_out_of_view():
            return
        try:
            followed = self._by_callable[function]
        except KeyError:
            followed = self._by_callable[function] = self._called(function, outputs)
        if followed is not None:
            self._begin(followed)
            self._end(followed, self._jax.tree_util.tree_leaves(outputs))

    def _called(self, function: Any, outputs: Any) -> Followed | None:
        """The followed function that the program has as this object."""
        name = str(getattr(function, "__name__", ""))
        types = [(each.shape, each.dtype) for each in self._jax.tree_util.tree_leaves(outputs)]
        for followed in self._functions.values():
            if followed is not None and followed.called == name and followed.output_types == types:
                return followed
        return None

    # ---- steps

    def _begin(self, followed: Followed) -> None:
        if followed.program.role.gradients and self._step_is_open:
            self._end_step()

    def _end(self, followed: Followed, outputs: Any) -> None:
        role = followed.program.role
        for argument, output in role.state.items():
            followed.set_state(argument, outputs[output])
        if role.gradients:
            self._step_is_open = True
        elif followed is self._leader or (role.updates and self._step_is_open):
            self._end_step()

    def _end_step(self) -> None:
        assert self._agent is not None
        self._step_is_open = False
        with self._lock:
            self._agent.step_end()

    # ---- looking

    def _look(
        self, followed: Followed, original: Any, arguments: tuple[Any, ...], parameters: dict[str, Any]
    ) -> Look | None:
        agent = self._agent
        assert agent is not None
        if not agent.follows_ops() or followed.why_opaque is not None:
            return None

        def run(closed: Any) -> Any:
            outputs = original(
                *arguments,
                **{**parameters, "jaxpr": closed, "donated_invars": (False,) * len(parameters["donated_invars"])},
            )[0]
            return self._jax.block_until_ready(outputs)

        closed = parameters["jaxpr"]
        try:
            self._local.internal = True
            if self._library is None:
                self._library = TapLibrary()
            look = Look(agent, self._library, followed, run, closed, arguments)
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
            if role.steps and (self._leader is None or not self._leader.program.role.steps):
                self._leader = followed
            elif not role.trains and self._leader is None and not role.updates:
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
        number = self._names[name] = self._names.get(name, -1) + 1
        name = f"{name}_{number}" if number else name
        try:
            followed = Followed(agent, program_of(closed, name, role), "" if self._orders == 1 else name, self._orders)
        except TooLarge as error:
            self._functions[closed] = None
            agent.notify(f"cannot debug {name}: {error}")
            return None
        self._orders += len(followed.ops)
        followed.called = called
        followed.output_types = [(aval.shape, aval.dtype) for aval in closed.out_avals]
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
        if _exit_report.has_agent():
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
        _exit_report.set_agent(agent)
        return agent
