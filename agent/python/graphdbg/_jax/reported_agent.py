"""Reports the end of the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._agent import Agent
from . import callbacks, structure
from .followed import Followed


class ReportedAgent:
    def __init__(self, agent: Agent, functions: Mapping[Any, Followed | None]) -> None:
        """`functions` are those of the program that are followed."""
        self._agent = agent
        self._functions = functions
        self.close = agent.close
        self.close_at_exit = agent.close_at_exit

    def failed(self, exception: BaseException, type_name: str, message: str, trace: str) -> None:
        node = self._callback(message) if "callback" in message.partition("\n")[0].lower() else 0
        if node:
            self._agent.op_failed(node, message)
        self._agent.failed(exception, type_name, message, trace)

    def _callback(self, message: str) -> int:
        """The node of the callback that has raised an error; 0 if the error does not tell which one it is."""
        nodes = {
            followed.ops[number]: op
            for followed in self._functions.values()
            if followed is not None
            for number, op in enumerate(followed.program.ops)
            if op.primitive in structure.CALLBACKS
        }
        running = [node for node, op in nodes.items() if callbacks.was_running(op.called, message)]
        returned = [node for node, op in nodes.items() if callbacks.may_have_returned(op.avals, message)]
        return next((each[0] for each in (list(nodes), running, returned) if len(each) == 1), 0)
