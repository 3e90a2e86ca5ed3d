"""Verbs about the hit at which a job stands, and about changes of the paused job."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from graphdbg.client.errors import ApiError
from graphdbg.client.models import Hit
from graphdbg.client.paused_job import PausedJob, WhatIf

from ..debugger import DebuggerError, Session, open_bundle
from ..debugger.session import sentence_of
from . import arguments
from .verb import Verb

if TYPE_CHECKING:
    from .interpreter import Interpreter

_Answer = TypeVar("_Answer")

_GROUP = "Job and debugger"
_NO_HIT = "this needs a hit: set a breakpoint, and ask again at its stop"
_TYPES = ("float16", "bfloat16", "float32")
# NAME, or NAME[SLICE], and VALUES.
_ASSIGNMENT = re.compile(r"(?P<name>[^\s\[]+)(?P<slice>\[[^\]]*\])?\s*=?\s*(?P<values>.+)")


def _capture(debugger: Interpreter, text: str) -> None:
    hit = _hit(debugger)
    file = Path(text.strip() or f"{debugger.session.name}-hit{hit.id}.graphdbg")
    content = debugger.session.capture(hit.id)
    try:
        with open(file, "xb") as out:
            out.write(content)
    except OSError as error:
        raise DebuggerError(f"cannot write {file}: {error.strerror}") from None
    debugger.out.line(f"{file}: {len(content):,} bytes; graphdbg dbg {file} steps through it")


def _replay(debugger: Interpreter, text: str) -> None:
    if debugger.session.kind == "bundle":
        debugger.out.line(debugger.session.replay(text.strip() or None))
        return
    hit = _hit(debugger)
    _show(debugger, _asked(lambda: _job(debugger).replay_step(hit)))


def _whatif(debugger: Interpreter, text: str) -> None:
    words = text.split()
    if debugger.session.kind == "bundle":
        _experiment(debugger, debugger.session, text.strip())
        return
    hit = _hit(debugger)
    if words and words[0] in _TYPES:
        _in_a_bundle(debugger, hit, words[0])
        return
    try:
        found = _job(debugger).what_if(hit, *words)
    except ApiError as error:
        if error.code != "unsupported":
            raise sentence_of(error) from None
        # An older agent.
        _in_a_bundle(debugger, hit, "")
        return
    _show(debugger, found)


def _in_a_bundle(debugger: Interpreter, hit: Hit, dtype: str) -> None:
    """Repeats a hit in this process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hit.graphdbg"
        file.write_bytes(debugger.session.capture(hit.id))
        _experiment(debugger, open_bundle(file), dtype)


def _experiment(debugger: Interpreter, bundle: Session, dtype: str) -> None:
    """Repeats a captured hit in one type, or in the ways that tell its cause."""
    for line in [f"in {dtype}: {bundle.replay(dtype)}"] if dtype else bundle.whatif():
        debugger.out.line(line)


def _show(debugger: Interpreter, found: WhatIf) -> None:
    words = {True: "fails", False: "does not fail", None: "cannot run"}
    for each in found.outcomes:
        debugger.out.line(f"{each.title:40} {words[each.fails]:14} {each.text}")
    if found.conclusion:
        debugger.out.line(found.conclusion)
    if found.level != "step":
        reason = f": {found.why_not_step}" if found.why_not_step else ""
        debugger.out.line(f"(the op and some before it, not the whole step{reason})", "dim")


def _change(debugger: Interpreter, text: str) -> None:
    what, _, rest = arguments.needed(text, "what to change; see help change").partition(" ")
    job = _job(debugger)
    if what == "skip":
        done = _asked(job.skip_step)
    elif what == "restore":
        done = _asked(job.restore_step)
    elif what == "lr":
        rate, optimizer, group, *_ = [*rest.split(), None, None, None]
        if rate is None:
            raise DebuggerError("what is missing: a learning rate")
        value = _numbers(rate)[0]
        done = _asked(
            lambda: job.set_learning_rate(value, optimizer=_place(optimizer), group=_place(group)),
        )
    else:
        done = _assign(debugger, job, text.strip())
    for line in done:
        debugger.out.line(line)


def _assign(debugger: Interpreter, job: PausedJob, text: str) -> list[str]:
    match = _ASSIGNMENT.fullmatch(text)
    if match is None:
        raise DebuggerError("what is missing: change NAME VALUE, or change NAME[SLICE] VALUE ...")
    name, values = match["name"], _numbers(match["values"])
    tensor = name if name.rpartition(":")[2].isdigit() else f"{name}:0"
    given = values[0] if len(values) == 1 else values
    rank = debugger.session.rank
    return _asked(lambda: job.set_values(tensor, given, slice=match["slice"] or "", rank=rank))


def _numbers(text: str) -> list[float]:
    try:
        return [float(each) for each in text.replace(",", " ").split()]
    except ValueError:
        raise DebuggerError(f"{text} is no number") from None


def _place(text: str | None) -> int | None:
    return None if text is None else arguments.number(text, 0)


def _asked(ask: Callable[[], _Answer]) -> _Answer:
    try:
        return ask()
    except ApiError as error:
        raise sentence_of(error) from None


def _job(debugger: Interpreter) -> PausedJob:
    if debugger.session.kind != "live":
        raise DebuggerError("only a live job can be changed, and its ops repeated")
    return debugger.session.job


def _hit(debugger: Interpreter) -> Hit:
    """The hit at which a live job stands."""
    if debugger.session.kind != "live":
        raise DebuggerError("only hits of a live job can be captured")
    stop = debugger.session.stop
    if stop is None or not stop.hits:
        raise DebuggerError(_NO_HIT)
    return stop.hits[0]


VERBS = [
    Verb(
        "capture",
        _capture,
        "[FILE]",
        "write the hit with its ops and values to a bundle",
        "At a stop by a watchpoint. The bundle can be replayed without the program: graphdbg dbg FILE.",
        "capture nan.graphdbg",
        _GROUP,
        completes="file",
    ),
    Verb(
        "replay",
        _replay,
        "[TYPE]",
        "repeat the ops of the hit or of a bundle, as they were or in another type",
        "Says whether the result has the same bits, or fails again. At a stop by a watchpoint, the ops are repeated in "
        "the paused process. TYPE, of a bundle: float16, bfloat16, float32 or float64.",
        "replay",
        _GROUP,
    ),
    Verb(
        "whatif",
        _whatif,
        "[EXPERIMENT ... | TYPE]",
        "repeat the hit in other ways, and say what its cause is",
        "In float64, with what is upstream in float64, with finite inputs, on the CPU, with one thread and "
        "deterministic kernels; or only in some of these ways: as_it_was, float64, upstream_float64, finite_inputs, "
        "cpu, deterministic. A job that is stopped at a hit stays as it is: ops are repeated on copies.",
        "whatif float64",
        _GROUP,
    ),
    Verb(
        "change",
        _change,
        "NAME[SLICE] VALUE ... | lr RATE [OPTIMIZER [GROUP]] | skip | restore",
        "change a value of the paused job, its learning rate, or skip or take back a step",
        "Needs the role admin, and a job whose GRAPHDBG_ALLOW has change. A slice is that of NumPy's basic indexing; "
        "give one value for all of its elements, or one for each. skip: the next step of the optimizers does nothing. "
        "restore: at the end of a step, weights and optimizer states get the values back that they had before it, if "
        "the configuration has capture: {tape: whole_step}.",
        "change forward/fc1/bias[0:2] 0.5",
        _GROUP,
    ),
]
