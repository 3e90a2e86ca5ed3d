"""Reports the end of the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._agent import Agent
from . import structure
from .followed import Followed


class ReportedAgent:
    def __init__(self, agent: Agent, functions: Mapping[Any, Followed | None]) -> None:
        """`functions` are those of the program that are followed."""
        self._agent = agent
        self._functions = functions
        self.close = agent.close
        self.close_at_exit = agent.close_at_exit

    def failed(self, exception: BaseException, type_name: str, message: str, trace: str) -> None:
        node = self._callback() if "callback" in message.partition("\n")[0].lower() else 0
        if node:
            self._agent.op_failed(node, message)
        self._agent.failed(exception, type_name, message, trace)

    def _callback(self) -> int:
        """The node that calls the program's own Python code; 0 if there are several, which the error does not tell."""
        nodes = {
            followed.ops[number]
            for followed in self._functions.values()
            if followed is not None
            for number, op in enumerate(followed.program.ops)
            if op.primitive in structure.CALLBACKS
        }
        return nodes.pop() if len(nodes) == 1 else 0
