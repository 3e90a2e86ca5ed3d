"""Makes ONNX Runtime debuggable in this process, right after `import onnxruntime`."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _exit_report
from .._agent import Agent, TooLarge
from .._log import log, warn_not_debugged
from .._process import default_job_name
from . import elements
from .execution_reporter import ExecutionReporter
from .internal_sessions import internal_sessions, is_internal
from .model import CannotSplit, Model
from .options import ReplacedInitializers
from .session import PieceFailed, Session
from .values import ort_value

_MODULE = "onnxruntime.capi.onnxruntime_inference_collection"
_ORT_FORMAT = b"ORTM"


def follow() -> None:
    """Follows all sessions that are made from now on. Never raises."""
    try:
        import onnxruntime

        _Follower(onnxruntime).install()
    except Exception as error:
        warn_not_debugged(f"cannot follow ONNX Runtime: {error}")


class _Follower:
    """Replaces the methods of InferenceSession that make and run sessions."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self._collection = sys.modules[_MODULE]
        # Runs of different threads are made in pieces one after the other.
        self._lock = threading.RLock()
        self._agent: Agent | None = None
        self._opened = False
        self._pid = os.getpid()
        self._names: dict[str, int] = {}
        self._replaced = ReplacedInitializers()
        self._sessions: weakref.WeakKeyDictionary[Any, Session] = weakref.WeakKeyDictionary()
        # The program's sessions, including those whose models cannot be split: their runs
        # count as steps, too.
        self._followed: weakref.WeakSet[Any] = weakref.WeakSet()
        self._compared: weakref.WeakSet[Any] = weakref.WeakSet()
        # Failures of the current run, and sessions whose failures have been reported.
        self._failed: weakref.WeakKeyDictionary[Any, PieceFailed] = weakref.WeakKeyDictionary()
        self._reported: weakref.WeakSet[Any] = weakref.WeakSet()

    def install(self) -> None:
        self._replaced.watch(self._runtime.SessionOptions)
        base, cls = self._collection.Session, self._collection.InferenceSession
        cls.__init__ = self._around_init(cls.__init__)
        base.run = self._around_run(base.run, self._run)
        base.run_with_ort_values = self._around_run(base.run_with_ort_values, self._run_with_ort_values)
        base.run_with_iobinding = self._around_run(base.run_with_iobinding, self._run_with_iobinding)

    # ---- sessions

    def _around_init(self, init: Any) -> Any:
        @functools.wraps(init)
        def wrapper(session: Any, path_or_bytes: Any, sess_options: Any = None, *args: Any, **kwargs: Any) -> None:
            init(session, path_or_bytes, sess_options, *args, **kwargs)
            if is_internal() or os.getpid() != self._pid:
                return
            try:
                with internal_sessions(), self._lock:
                    self._add(session, path_or_bytes, sess_options)
            except Exception as error:
                warn_not_debugged(f"cannot follow a session of ONNX Runtime: {error}")

        return wrapper

    def _add(self, session: Any, path_or_bytes: Any, options: Any) -> None:
        agent = self._open(session)
        if agent is None or agent.is_off():
            return
        self._followed.add(session)
        folder = Path(tempfile.mkdtemp(prefix="graphdbg-onnx-"))
        weakref.finalize(session, shutil.rmtree, folder, ignore_errors=True)
        name = self._name_of(path_or_bytes)
        try:
            if options in self._replaced:
                raise CannotSplit("its options replace initializers of the model")
            model = Model.split(_file_of(path_or_bytes, folder), name, folder)
            self._sessions[session] = Session(ExecutionReporter(agent, model), self._runtime, model, session)
        except (CannotSplit, TooLarge) as error:
            agent.notify(f"cannot debug the session of {name}: {error}")
            return
        for finding in model.findings:
            agent.notify(f"{name}: {finding}")
        for argument in session.get_inputs():
            if argument.type == "tensor(string)":
                agent.notify(f"runs of {name} are not debugged: its input {argument.name} has strings")

    def _open(self, session: Any) -> Agent | None:
        if not self._opened:
            self._opened = True
            if _exit_report.has_agent():
                log(
                    "the program uses both PyTorch and ONNX Runtime, and only PyTorch is debugged; "
                    "set GRAPHDBG_FRAMEWORK=onnxruntime to debug its ONNX models instead"
                )
                return None
            agent = Agent()
            device = "cuda" if "CUDAExecutionProvider" in session.get_providers() else "cpu"
            if agent.open("onnxruntime", str(self._runtime.__version__), default_job_name(), device):
                self._agent = agent
                _exit_report.set_agent(agent)
        return self._agent

    def _name_of(self, path_or_bytes: Any) -> str:
        name = "model" if isinstance(path_or_bytes, bytes) else Path(os.fsdecode(path_or_bytes)).stem
        name = re.sub(r"[/\x00-\x1f]", "_", name) or "model"
        number = self._names[name] = self._names.get(name, -1) + 1
        return f"{name}_{number}" if number else name

    # ---- runs

    def _around_run(self, run: Any, in_pieces: Any) -> Any:
        @functools.wraps(run)
        def wrapper(session: Any, *args: Any, **kwargs: Any) -> Any:
            agent = self._agent
            if agent is None or is_internal() or session not in self._followed:
                return run(session, *args, **kwargs)
            if agent.is_off() or os.getpid() != self._pid:
                return run(session, *args, **kwargs)
            with internal_sessions():
                # If another thread waits for the user in `start`, this one waits, too.
                with self._lock:
                    agent.start()
                if agent.follows_ops() and session in self._sessions:
                    with self._lock:
                        result = in_pieces(agent, self._reporting_failures(agent, run), session, *args, **kwargs)
                        agent.step_end()
                else:
                    result = run(session, *args, **kwargs)
                    with self._lock:
                        agent.step_end()
            return result

        return wrapper

    def _reporting_failures(self, agent: Agent, run: Any) -> Any:
        """Wraps `run`, and reports the node that has failed in the run in pieces, if any."""

        def whole(session: Any, *args: Any) -> Any:
            failed = self._failed.pop(session, None)
            try:
                result = run(session, *args)
            except Exception:
                if failed is not None:
                    agent.notify(f"node {failed} failed: {failed.__cause__}")
                raise
            if failed is not None and session not in self._reported:
                self._reported.add(session)
                agent.notify(
                    f"node {failed} cannot be run on its own; it and later nodes are not debugged: {failed.__cause__}"
                )
            return result

        return whole

    def _run(
        self,
        agent: Agent,
        run: Any,
        session: Any,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: Any = None,
    ) -> Any:
        names, outputs = self._in_pieces(agent, session, output_names, input_feed)
        if names and self._is_exact(session) and all(name in outputs and outputs[name].is_tensor() for name in names):
            return [outputs[name].numpy() for name in names]
        result = run(session, output_names, input_feed, run_options)
        # NumPy cannot represent all outputs that a model can have.
        with contextlib.suppress(Exception):
            self._compare(agent, session, outputs, dict(zip(names, result, strict=True)))
        return result

    def _is_exact(self, session: Any) -> bool:
        return session in self._sessions and self._sessions[session].exact

    def _run_with_ort_values(
        self,
        agent: Agent,
        run: Any,
        session: Any,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, Any],
        run_options: Any = None,
    ) -> Any:
        names, outputs = self._in_pieces(agent, session, output_names, input_dict_ort_values)
        if names and self._is_exact(session) and all(name in outputs for name in names):
            return [self._runtime.OrtValue(outputs[name]) for name in names]
        return run(session, output_names, input_dict_ort_values, run_options)

    def _run_with_iobinding(self, agent: Agent, run: Any, session: Any, iobinding: Any, run_options: Any = None) -> Any:
        # The program's own session writes outputs to where the program has bound them.
        self._in_pieces(agent, session, None, _bound_inputs(iobinding))
        return run(session, iobinding, run_options)

    def _in_pieces(
        self, agent: Agent, session: Any, output_names: Sequence[str] | None, given: Mapping[str, Any]
    ) -> tuple[Sequence[str], dict[str, Any]]:
        """Runs a session in pieces.

        Returns the names of the requested outputs and the outputs that are available.
        Both are empty if the arguments are wrong.
        """
        if not isinstance(output_names, list | tuple | None):
            return [], {}
        names = output_names or [output.name for output in session.get_outputs()]
        feeds = self._feeds(session, given)
        if feeds is None:
            return names, {}
        try:
            return names, self._sessions[session].run(feeds)
        except PieceFailed as failed:
            self._failed[session] = failed
        except Exception as error:
            if error is agent.raised:
                raise
            # An error of graphdbg must not affect the program.
            del self._sessions[session]
            agent.notify(f"a session is no longer debugged: {type(error).__name__}: {error}")
        return names, {}

    def _compare(self, agent: Agent, session: Any, pieces: Mapping[str, Any], whole: Mapping[str, Any]) -> None:
        """Notifies the user, once per session, if pieces produce other values than the program gets."""
        if session in self._compared:
            return
        for name, value in whole.items():
            if name not in pieces or not pieces[name].is_tensor():
                continue
            in_pieces = pieces[name].numpy()
            if in_pieces.tobytes() != value.tobytes():
                self._compared.add(session)
                agent.notify(_difference(name, in_pieces, value))
                return

    def _feeds(self, session: Any, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """The OrtValues of a run's inputs; None if ONNX Runtime would refuse or convert them."""
        wanted = {argument.name: argument for argument in session.get_inputs()}
        if not isinstance(given, Mapping) or set(given) != set(wanted):
            return None
        feeds = {}
        for name, value in given.items():
            try:
                feeds[name] = self._copy_of(value)
            except Exception:
                return None
            if not _fits(wanted[name], feeds[name]):
                return None
        return feeds

    def _copy_of(self, value: Any) -> Any:
        """An OrtValue with its own memory, because the program may write into a value that the agent retains."""
        if not isinstance(value, self._runtime.OrtValue):
            return ort_value(self._runtime, value)
        ort = value._get_c_value()
        readable = ort.is_tensor() and ort.device_name().lower() == "cpu" and ort.element_type() in elements.NUMPY
        return ort_value(self._runtime, ort.numpy()) if readable else ort


def _bound_inputs(iobinding: Any) -> dict[str, Any]:
    """The bound inputs that can be read, which excludes those that are bound by address."""
    arrays = getattr(iobinding, "_numpy_obj_references", {})
    values = getattr(iobinding, "_bound_inputs", {})
    return arrays | {name: value for name, value in values.items() if value is not None}


def _difference(name: str, in_pieces: Any, whole: Any) -> str:
    by = "differs"
    if in_pieces.dtype.kind in "fiu":
        error = abs(in_pieces.astype(float) - whole.astype(float)).max()
        by += f" by up to {error:.3g}" if error < float("inf") else " in values that are not finite"
    return (
        "watched nodes run one by one, without ONNX Runtime's merging of nodes and its float32 precision "
        f"between half-float nodes, so their values differ from the program's: {name} {by}. "
        "The program gets the output of its own session"
    )


def _fits(argument: Any, ort: Any) -> bool:
    if not ort.is_tensor() or ort.data_type() != argument.type:
        return False
    shape = ort.shape()
    if not argument.shape:
        return True
    sizes = list(zip(argument.shape, shape, strict=False))
    return len(argument.shape) == len(shape) and all(not isinstance(a, int) or a == b for a, b in sizes)


def _file_of(path_or_bytes: Any, folder: Path) -> Path:
    """The model as a file. Raises CannotSplit if it has ONNX Runtime's own format."""
    if isinstance(path_or_bytes, bytes):
        file = folder / "model.onnx"
        file.write_bytes(path_or_bytes)
    else:
        file = Path(os.fsdecode(path_or_bytes))
    with open(file, "rb") as stream:
        if stream.read(8)[4:] == _ORT_FORMAT:
            raise CannotSplit("it has ONNX Runtime's own format, which contains no graph to show")
    return file
