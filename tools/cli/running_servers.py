"""Finds servers that run on this machine, as the Python client does."""

from __future__ import annotations

from graphdbg.client.servers import RunningServer, running_servers, server_at, server_of

__all__ = ["RunningServer", "running_servers", "server_at", "server_of"]
