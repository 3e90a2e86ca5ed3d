"""Files in a child's directory, by which it and the MCP server tell each other what they need."""

from __future__ import annotations

SPEC, ADDRESS, RESULT, MESSAGES = "spec.json", "address", "result.json", "messages"
