"""A recorded run behind a server of its own, for what the server knows to do and Python does not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from .client import Client, quote
from .errors import CliError
from .run_directory import run_directory
from .server_process import ServerProcess


@contextlib.contextmanager
def served_run(directory: Path) -> Iterator[tuple[Client, str]]:
    """A client, and the path of the run below the server's API.

    Raises:
        CliError: There is no run in the directory.
    """
    with run_directory() as data_dir:
        server = ServerProcess(data_dir, port=0, temporary=True, runs=[directory.resolve()])
        try:
            runs = server.client.get("/runs")["runs"]
            if not runs:
                raise CliError(f"{directory} is not a recorded run")
            yield server.client, f"/runs/{quote(runs[0]['id'])}"
        finally:
            server.stop()
