"""The HTTP client of the commands, which is that of the Python client."""

from __future__ import annotations

from graphdbg.client.errors import ApiError
from graphdbg.client.http import HttpClient as Client
from graphdbg.client.http import Json, quote
from graphdbg.client.servers import DEFAULT_SERVER, default_data_dir

__all__ = ["DEFAULT_SERVER", "ApiError", "Client", "Json", "default_data_dir", "quote"]
