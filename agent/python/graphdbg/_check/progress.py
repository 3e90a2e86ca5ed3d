"""How far a process has come, as events."""

from __future__ import annotations

import glob
import os
import platform
import sys
import time
from types import FrameType
from typing import Any

from . import failures
from .event_file import EventFile
from .ranks import rank
from .sources import location, user_frame

STAGES = (
    "environment",
    "imports",
    "model",
    "data",
    "forward",
    "loss",
    "backward",
    "optimizer",
    "second_step",
    "run",
)


class CheckComplete(SystemExit):
    """Raised in the program once it has run for the number of steps that are to be checked.

    Like `graphdbg.Terminated` it runs `finally` blocks and exit functions. Its exit code
    is 0, so that launchers do not report a failure.
    """

    def __init__(self) -> None:
        super().__init__(0)


class Progress:
    """Writes the events of this process. No method raises, except `step_end` when the check is complete.

    Attributes:
        step: The number of finished optimizer steps.
        fingerprints: Whether values of the first step are to be compared with those of another run.
    """

    def __init__(self, directory: str) -> None:
        self._events = EventFile(directory)
        self._limit = int(os.environ.get("GRAPHDBG_CHECK_STEPS") or 0)
        self._passed: set[str] = set()
        self._activity = ""
        self._began = time.monotonic()
        self._stage_began = self._began
        self._failure: BaseException | None = None
        self._is_complete = False
        self.step = 0
        self.frameworks: dict[str, str] = {}
        # The names of the model's parameters, by the id of the parameter.
        self.parameter_names: dict[int, str] = {}
        self.fingerprints = os.environ.get("GRAPHDBG_CHECK_REPEAT") == "1"

    def started(self) -> None:
        self._events.write(
            "process",
            pid=os.getpid(),
            parent=os.getppid(),
            argv=sys.orig_argv,
            python=platform.python_version(),
            executable=sys.executable,
        )
        self.passed("environment", python=platform.python_version(), cpus=len(os.sched_getaffinity(0)))

    def torch_imported(self) -> None:
        import torch

        # Asking PyTorch would initialise CUDA, which programs that fork must not find done.
        devices = len(glob.glob("/dev/nvidia[0-9]*")) + len(glob.glob("/dev/davinci[0-9]*"))
        self.note("environment", torch=str(torch.__version__), gpus=devices)

    def framework_imported(self, title: str, version: str) -> None:
        """Notes a framework other than PyTorch whose programs are checked."""
        self.frameworks[title] = version
        self.note("environment", frameworks=self.frameworks)

    def devices_used(self) -> None:
        """Notes the name of the GPU if the program uses one."""
        import torch

        if torch.cuda.is_initialized():
            self.note("environment", gpu=torch.cuda.get_device_name())

    def has_passed(self, stage: str) -> bool:
        return stage in self._passed

    def begin(self, activity: str) -> None:
        """Notes what the program does now, in case it is killed."""
        if self._activity != activity:
            self._activity = activity
            if self.step < 2:
                self._events.write("begin", stage=activity, step=self.step)

    def passed(self, stage: str, **facts: Any) -> None:
        """Reports that a stage has succeeded, once. `facts` are described in the command's messages."""
        if stage in self._passed:
            return
        if stage not in ("environment", "imports"):
            self.passed("imports")
        self._passed.add(stage)
        now = time.monotonic()
        seconds = round(now - self._stage_began, 6)
        self._stage_began = now
        self._events.write("passed", stage=stage, seconds=seconds, rank=rank(), facts=facts)

    def note(self, stage: str, **facts: Any) -> None:
        """Adds facts to a stage."""
        self._events.write("note", stage=stage, facts=facts)

    def found(self, stage: str, kind: str, message: str) -> None:
        """Reports a fault that raises no exception. The first one of a stage counts."""
        frame = user_frame(sys._getframe(1))
        self._events.write(
            "found",
            stage=self._stage_now(stage),
            type=kind,
            message=self._in_step(stage) + message,
            source=location(frame) if frame else None,
            rank=rank(),
            step=self.step,
        )

    def fingerprint(self, part: str, digest: str) -> None:
        self._events.write("fingerprint", part=part, digest=digest, rank=rank())

    def step_end(self) -> None:
        """Raises CheckComplete after the last step to be checked."""
        self.step += 1
        # A process that is killed or forked reports no exit.
        self._events.write("step", step=self.step, rank=rank())
        if self.step == 2:
            self.passed("second_step")
        if self._limit and self.step >= self._limit:
            if not self._is_complete:
                self._is_complete = True
                self._events.write("complete", step=self.step, rank=rank(), facts=self._totals())
            raise CheckComplete

    def exiting(self, code: object, frame: FrameType) -> None:
        """The program calls sys.exit with an exit code other than 0 or a message."""
        caller = user_frame(frame)
        from_arguments = "argparse" in frame.f_code.co_filename
        self._write_exception(
            "SystemExit",
            f"the program exits with {code!r}",
            "",
            location(caller) if caller else None,
            "environment" if from_arguments else self._next_stage(),
        )

    def ended_by(self, exception: BaseException) -> None:
        """An exception ends the program."""
        if self._is_complete or exception is self._failure or isinstance(exception, (CheckComplete, SystemExit)):
            return
        self._failure = exception
        failure = failures.describe(exception)
        stage = failure.activity or self._next_stage()
        if isinstance(exception, (ImportError, SyntaxError)) and "imports" not in self._passed:
            stage = "imports"
        elif not failure.activity and isinstance(exception, OSError) and "data" not in self._passed:
            stage = "data"
        self._write_exception(failure.type, failure.message, failure.traceback, failure.source, stage)

    def _write_exception(
        self, type_name: str, message: str, trace: str, source: dict[str, Any] | None, stage: str
    ) -> None:
        if self._is_complete:
            return
        self._events.write(
            "exception",
            stage=self._stage_now(stage),
            activity=stage,
            type=type_name,
            message=message,
            traceback=trace,
            source=source,
            rank=rank(),
            step=self.step,
        )

    def exited(self) -> None:
        self._events.write("exit", step=self.step, rank=rank(), facts=self._totals())

    def _totals(self) -> dict[str, Any]:
        totals: dict[str, Any] = {"steps": self.step, "seconds": round(time.monotonic() - self._began, 3)}
        import resource

        totals["memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            totals["gpu_memory_bytes"] = torch.cuda.max_memory_allocated()
        return totals

    def _stage_now(self, stage: str) -> str:
        """The stage of a fault: that of the activity in the first step, later the step's own."""
        if stage == "environment" or self.step == 0:
            return stage
        return "second_step" if self.step == 1 else "run"

    def _in_step(self, activity: str) -> str:
        return f"in step {self.step + 1}: " if self.step else ""

    def _next_stage(self) -> str:
        """The first stage that has not passed. Errors in imports are recognised by their type."""
        return next((stage for stage in STAGES[2:] if stage not in self._passed), "run")
