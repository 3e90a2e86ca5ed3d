"""Debugs a function in this process, with a server of its own in a child process."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from graphdbg import Terminated, _exit_report

from . import report
from .break_on import watchpoints_of
from .client import Json
from .errors import USAGE, CliError
from .function_control import FunctionControl
from .job_follower import job_summary, overhead_of, split_absorbed
from .kept_jobs import keep_job
from .limit_batches import limit_batches
from .recorded_run import RecordedRun
from .run_directory import run_directory
from .run_result import RunResult
from .server_process import ServerProcess

# A process has one agent.
_running = threading.Lock()


@dataclasses.dataclass
class FunctionOptions:
    """The options of `run_local` for a function."""

    wait: bool = False
    steps: int | None = None
    break_on: Sequence[str] = ()
    on_hit: str = "terminate"
    limit_batches: int | None = None
    keep_tensors: int = 16
    page: bool = False
    record: str | Path | None = None
    port: int = 0
    frame_ancestors: Sequence[str] = ()
    # Called once with the page's address.
    announce: Callable[[str], None] = report.log_page


class FunctionRun:
    """A server, and one function that runs under it in this process.

    The server, and with it the page, stays until `close`.
    """

    def __init__(self, name: str, options: FunctionOptions) -> None:
        self._name = name
        self._options = options
        self._result: Json | None = None
        self._recorded = RecordedRun(options.record, {})
        self._resources = contextlib.ExitStack()
        self._directory = self._resources.enter_context(run_directory())
        try:
            self.server = ServerProcess(
                self._directory, options.port, temporary=True, frame_ancestors=options.frame_ancestors
            )
            self._resources.callback(self.server.stop)
            # FunctionControl decides where they pause.
            self._watchpoints = watchpoints_of(options.break_on, "node", self.server.client) if options.break_on else []
        except BaseException:
            self._resources.close()
            raise

    def close(self) -> None:
        """Ends the server."""
        directory = self._directory
        self.server.stop()
        if self._result is not None:
            keep_job(directory, self._name, self._result)
        self._resources.close()

    def run(self, function: Callable[[], Any]) -> RunResult:
        """Runs the function until it returns, raises or is terminated.

        An exception is reported in the result. KeyboardInterrupt is raised.

        Raises:
            CliError: The process is being debugged already, this is not its main thread, or the
                agent cannot be opened.
        """
        if threading.current_thread() is not threading.main_thread():
            raise CliError("run_local with a function must be called on the main thread", USAGE)
        if _exit_report.has_agent() or not _running.acquire(blocking=False):
            raise CliError("this process is being debugged already, and a process has one debugger at a time", USAGE)
        try:
            return self._run(function)
        finally:
            _running.release()

    def _run(self, function: Callable[[], Any]) -> RunResult:
        from graphdbg._torch import follow

        with _environment(self._variables()):
            adapter = follow.open_job(self._name)
        if adapter is None:
            raise CliError("cannot debug this process; the reason is reported above, or it is a forked child")
        control = FunctionControl(self.server.client, self._name, self._watchpoints, self._options)
        if self._options.page:
            self._options.announce(self.server.url)
        control.start()
        began = time.monotonic()
        outcome = _Outcome()
        try:
            follow.adopt_existing()
            with limit_batches(self._options.limit_batches), _environment(self._place()):
                outcome.run(function)
        finally:
            seconds = time.monotonic() - began
            outcome.close(adapter)
            follow.close_job()
            control.finish()
            self._result = self._fields(outcome, control, seconds)
        if control.error is not None:
            raise CliError(f"the debugger could not control the function: {control.error}") from control.error
        if isinstance(outcome.error, KeyboardInterrupt):
            raise outcome.error
        result = RunResult(self._result, control.arrays)
        result.value, result.error = outcome.value, outcome.error
        return result

    def _variables(self) -> dict[str, str]:
        """The agent's configuration. It is in the environment only while the agent is opened, so that
        programs that the function starts are not debugged."""
        host, _, port = self.server.debugger_address.rpartition(":")
        socket = self.server.debugger_socket
        return {
            "GRAPHDBG_ENABLE": "1",
            "GRAPHDBG_HOST": host,
            "GRAPHDBG_PORT": port,
            **({"GRAPHDBG_SOCKET": str(socket)} if socket else {}),
            "GRAPHDBG_TOKEN_FILE": str(self.server.data_dir / "agent_token"),
            **self._place(),
            "GRAPHDBG_WAIT": "1",
            **self._recorded.variables(),
            # The server ends only if something is wrong with it, and the function must not wait for it.
            "GRAPHDBG_ON_DISCONNECT": "resume",
            "GRAPHDBG_GRACE": "0",
        }

    def _place(self) -> dict[str, str]:
        """The variables that the agent reads again when the function first trains."""
        return {"GRAPHDBG_JOB": self._name, "GRAPHDBG_RANK": "0", "GRAPHDBG_WORLD_SIZE": "1"}

    def _fields(self, outcome: _Outcome, control: FunctionControl, seconds: float) -> Json:
        job = control.final_job()
        terminated = isinstance(outcome.error, Terminated)
        if not control.started:
            report.log("nothing was debugged: the function trained nothing with PyTorch, or an error is reported above")
        return {
            "status": "terminated" if terminated else "finished" if outcome.exit_code == 0 else "failed",
            "exit_code": outcome.exit_code,
            "exception": outcome.exception((job or {}).get("exception")),
            "steps": job["step"] if job else 0,
            "wall_seconds": round(seconds, 3),
            "overhead": overhead_of([job] if job else []),
            **split_absorbed(self.server.client.hits(job["id"]) if job else []),
            "incidents": self._incidents(job),
            "stages": [],
            "run": self._recorded.directory(),
            "metrics": (job or {}).get("metrics", {}),
            "artifacts": [],
            "debugged": control.started,
            "findings": [],
            "jobs": [job_summary(job)] if job else [],
        }

    def _incidents(self, job: Json | None) -> list[Json]:
        if job is None:
            return []
        return [each | {"job": job["id"]} for each in self.server.client.incidents(job["id"])]


class _Outcome:
    """How a function ended."""

    def __init__(self) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self.exit_code = 0

    def run(self, function: Callable[[], Any]) -> None:
        try:
            self.value = function()
        except SystemExit as error:
            self.error = error
            self.exit_code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        except KeyboardInterrupt as error:
            self.error, self.exit_code = error, 130
        except Exception as error:
            self.error, self.exit_code = error, 1

    def close(self, adapter: Any) -> None:
        """Reports the end to the server."""
        if self.error is None:
            adapter.last_step()
        described = self._described() or {}
        if isinstance(self.error, Exception):
            from graphdbg._torch.follow import report_failure

            report_failure(adapter, self.error, described["type"], described["message"], described["traceback"])
        adapter.close(self.exit_code, described.get("type"), described.get("message"), described.get("traceback"))

    def exception(self, reported: Json | None) -> Json | None:
        """The exception for the result; the server may know the node at which it happened."""
        described = self._described()
        if described is None:
            return None
        return described | {"node": (reported or {}).get("node")}

    def _described(self) -> Json | None:
        error = self.error
        if error is None or isinstance(error, SystemExit):
            return None
        # Begins with the user's function: the frames of graphdbg are of no interest.
        trace = error.__traceback__
        while trace is not None and Path(trace.tb_frame.f_code.co_filename).parent == Path(__file__).parent:
            trace = trace.tb_next
        return {
            "type": _exit_report.type_name(error),
            "message": _exit_report.message(error),
            "traceback": "".join(traceback.format_exception(type(error), error, trace)),
        }


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Sets variables, and removes all others that configure the agent."""
    before = {k: v for k, v in os.environ.items() if k.startswith(("GRAPHDBG_", "MS_DEBUGGER_"))}
    kept = {k: v for k, v in before.items() if k in ("GRAPHDBG_ADAPTER", "GRAPHDBG_CAPTURE", "GRAPHDBG_COMPILED")}
    kept |= {k: v for k, v in before.items() if k in ("GRAPHDBG_TENSOR_BUDGET", "GRAPHDBG_PARTIAL_MEM")}
    _replace(before, kept | variables)
    try:
        yield
    finally:
        _replace(kept | variables, before)


def _replace(old: dict[str, str], new: dict[str, str]) -> None:
    for name in old:
        os.environ.pop(name, None)
    os.environ.update(new)
