"""Variables for the agent, which the process has only until the agent has read them."""

from __future__ import annotations

import os
from collections.abc import Mapping


class AgentEnvironment:
    def __init__(self, variables: Mapping[str, str]) -> None:
        """Sets the variables."""
        self._before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)

    def take_back(self) -> None:
        """Programs that the process starts from now on are not debugged."""
        before, self._before = self._before, {}
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
