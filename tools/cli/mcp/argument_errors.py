"""Wrong arguments of a tool, in words that say how to call it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import ValidationError

# Characters of a wrong value that are repeated.
_SHOWN = 60


class CheckedTool(Tool):
    """A tool whose error for wrong arguments names them, and those that it takes."""

    async def run(self, arguments: dict[str, Any], *others: Any, **more: Any) -> Any:
        try:
            return await super().run(arguments, *others, **more)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            lines = [*_wrong(error.__cause__), f"{self.name} takes {_taken(self.parameters)}"]
            raise ToolError("\n".join(lines)) from None


def _wrong(error: ValidationError) -> Iterator[str]:
    for each in error.errors(include_url=False):
        name = ".".join(map(str, each["loc"])) or "the arguments"
        if each["type"] == "missing":
            yield f"{name} is missing"
        else:
            value = json.dumps(each["input"], default=str)
            shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
            yield f"{name} is wrong: {each['msg'][0].lower()}{each['msg'][1:]}, not {shown}"


def _taken(schema: dict[str, Any]) -> str:
    """Such as "hit (required: the number of the hit) and job"."""
    required = schema.get("required", [])
    names = [
        f"{name} (required: {field.get('description', 'no description').rstrip('.')})" if name in required else name
        for name, field in schema.get("properties", {}).items()
    ]
    return ", ".join(names) if names else "no arguments"
