"""What a debugger asks for."""

from __future__ import annotations

import json
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Settings:
    """The JSON object that `join` and `detach` get.

    Attributes:
        answer: The path of a Unix socket, or the name of an abstract one; "" if nobody wants an answer.
        environment: Variables for the agent, such as GRAPHDBG_HOST, that only it sees.
    """

    answer: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Settings:
        fields = json.loads(text)
        return cls(fields.get("answer") or "", {str(k): str(v) for k, v in fields.get("environment", {}).items()})

    def agent_environment(self) -> dict[str, str]:
        """The variables with the defaults of a program that was not started to be debugged."""
        defaults = {
            "GRAPHDBG_ENABLE": "1",
            # Eager code would take other time and memory, and would have to be compiled again later.
            "GRAPHDBG_COMPILED": "keep",
            "GRAPHDBG_WAIT": "0",
            "GRAPHDBG_ON_DISCONNECT": "detach",
        }
        return {**defaults, **self.environment}
