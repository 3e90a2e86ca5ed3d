"""Runs the debugger server of this package."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from graphdbg._deferred_signals import uninterrupted

from .client import Client, Json
from .errors import CliError


def server_program() -> Path:
    program = Path(__file__).resolve().parent.parent / "lib" / "graphdbg-server"
    if not program.exists():
        raise CliError(
            f"this installation of graphdbg has no server: {program} is missing; reinstall the graphdbg wheel"
        )
    return program


class ServerProcess:
    """A server on free ports that ends with this process."""

    def __init__(
        self,
        data_dir: Path,
        port: int = 0,
        *,
        temporary: bool = False,
        frame_ancestors: Sequence[str] = (),
        runs: Sequence[Path] = (),
    ) -> None:
        """Starts the server.

        Args:
            data_dir: The data directory.
            port: The port of the page; 0 picks a free one.
            temporary: The server removes the directory should this process be killed.
            frame_ancestors: Origins of pages that may show the page in a frame.
            runs: Recorded runs, and directories of them.
        """
        command = [
            str(server_program()),
            "--json",
            f"--port={port}",
            "--debugger-port=0",
            f"--data-dir={data_dir}",
            f"--parent-pid={os.getpid()}",
            *(["--temporary-data-dir"] if temporary else []),
            *([f"--frame-ancestors={','.join(frame_ancestors)}"] if frame_ancestors else []),
            *(f"--runs={run}" for run in runs),
        ]
        socket = data_dir / "agent.sock"
        # The server refuses a directory that others can enter, and names that are
        # too long for the address of a socket.
        closed = data_dir.stat().st_mode & 0o077 == 0
        self.debugger_socket = socket if closed and len(os.fsencode(socket)) < 108 else None
        if self.debugger_socket:
            command.append(f"--debugger-socket={self.debugger_socket}")
        self._log = data_dir / "server.log"
        with self._log.open("wb") as log, uninterrupted():
            # The server runs in its own session, so that Ctrl-C reaches only the job.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        try:
            addresses = self._read_addresses()
            self.url: str = addresses["url"]
            self.debugger_address: str = addresses["debugger_address"]
            self.data_dir = data_dir
            self.client = Client.from_data_dir(addresses["http_address"], data_dir)
        except BaseException:
            # Ctrl-C while it starts: nobody else knows it, and it writes to the directory.
            self.stop()
            raise

    def _read_addresses(self) -> Json:
        assert self._process.stdout is not None
        first_line = self._process.stdout.readline()
        if not first_line:
            self._process.wait()
            lines = self._log.read_text(errors="replace").strip().splitlines()
            raise CliError(lines[-1].removeprefix("graphdbg: ") if lines else "the server did not start")
        addresses: Json = json.loads(first_line)
        return addresses

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
