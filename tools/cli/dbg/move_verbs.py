"""Verbs that move the job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..debugger import DebuggerError
from . import arguments
from .verb import Verb

if TYPE_CHECKING:
    from .interpreter import Interpreter

_GROUP = "Moving"


def _continue(debugger: Interpreter, text: str) -> None:
    passes = arguments.count(text)
    stop = debugger.session.stop
    if passes > 1:
        if stop is None or not stop.breakpoint_ids:
            raise DebuggerError("continue N ignores the breakpoint at which the job stands, and it stands at none")
        debugger.session.breakpoints.ignore(stop.breakpoint_ids[0], passes - 1)
    debugger.move(debugger.session.continue_)


def _step(debugger: Interpreter, text: str) -> None:
    steps = arguments.count(text)
    if debugger.session.stop is not None and debugger.session.stop.node and not debugger.knows_steps:
        debugger.knows_steps = True
        debugger.out.line("(a step is a training step; stepi and next go to the next node and line)", "dim")
    debugger.move(lambda: debugger.session.step(steps))


def _stepi(debugger: Interpreter, text: str) -> None:
    _repeat(debugger, text, debugger.session.step_node)


def _next(debugger: Interpreter, text: str) -> None:
    _repeat(debugger, text, lambda: debugger.session.next(frame=debugger.frame))


def _nexti(debugger: Interpreter, text: str) -> None:
    _repeat(debugger, text, lambda: debugger.session.next(line=False, frame=debugger.frame))


def _repeat(debugger: Interpreter, text: str, order: Callable[[], None]) -> None:
    """Gives an order several times; shows the last stop, or the first that has another cause."""
    for left in range(arguments.count(text), 0, -1):
        if left == 1:
            debugger.move(order)
            return
        stop = debugger.move_quietly(order)
        if stop is None:
            return
        if stop.has_ended or stop.reason not in ("node", "step"):
            debugger.show_stop(stop)
            return


def _finish(debugger: Interpreter, text: str) -> None:
    debugger.move(lambda: debugger.session.finish(frame=debugger.frame))


def _until(debugger: Interpreter, text: str) -> None:
    if not text.strip():
        _next(debugger, text)
        return
    node = text.strip()
    node = f"{debugger.default_file()}:{node}" if node.isdigit() else node
    debugger.move(lambda: debugger.session.until(node))


def _pause(debugger: Interpreter, text: str) -> None:
    debugger.move(debugger.session.pause)


def _wait(debugger: Interpreter, text: str) -> None:
    debugger.move(lambda: None)


def _reverse_stepi(debugger: Interpreter, text: str) -> None:
    _repeat(debugger, text, debugger.session.reverse_step_node)


def _reverse_step(debugger: Interpreter, text: str) -> None:
    steps = arguments.count(text)
    debugger.move(lambda: debugger.session.reverse_step(steps))


def _reverse_continue(debugger: Interpreter, text: str) -> None:
    debugger.move(debugger.session.reverse_continue)


def _reverse_next(debugger: Interpreter, text: str) -> None:
    _repeat(debugger, text, debugger.session.reverse_next)


def _reverse_finish(debugger: Interpreter, text: str) -> None:
    debugger.move(debugger.session.reverse_finish)


_BACK = "Only recorded runs and bundles can go back: graphdbg dbg RUN."

VERBS = [
    Verb(
        "continue",
        _continue,
        "[N]",
        "run to the next breakpoint or the end",
        "Continues all ranks until a breakpoint or watchpoint is hit, somebody pauses the job, or it ends. With N, the "
        "breakpoint at which the job stands is ignored N - 1 times. Ctrl-C pauses the job; a second Ctrl-C gives the "
        "prompt back while the job runs.",
        "continue 3",
        _GROUP,
        repeats=True,
        aliases=("c", "cont"),
    ),
    Verb(
        "step",
        _step,
        "[N]",
        "run N training steps",
        "Continues all ranks to the end of a training step, or of N of them. From within a step, its end is the first. "
        "Hits on the way stop the job, too.",
        "step 10",
        _GROUP,
        repeats=True,
        aliases=("s",),
    ),
    Verb(
        "stepi",
        _stepi,
        "[N]",
        "run to the next node, also inside other scopes",
        "Moves the current rank alone to the next op that executes, of whatever scope.",
        "stepi 5",
        _GROUP,
        repeats=True,
        aliases=("si",),
    ),
    Verb(
        "next",
        _next,
        "[N]",
        "run to the next line, over calls of modules",
        "Moves the current rank alone to the next line of the selected frame's function, after the first op that the "
        "line executes. If the line calls a module of yours, the op is inside of that, and the frame of the line is "
        "selected; `down` shows the module. Each round of a loop over modules counts. At the last line it returns to "
        "the caller. If the step has no further op, it stops at the step's end.",
        "next",
        _GROUP,
        repeats=True,
        aliases=("n",),
    ),
    Verb(
        "nexti",
        _nexti,
        "[N]",
        "run to the next node, over calls of modules",
        "As next, but the op may be on the same source line.",
        "nexti",
        _GROUP,
        repeats=True,
        aliases=("ni",),
    ),
    Verb(
        "finish",
        _finish,
        "",
        "run until the current scope is left",
        "Moves the current rank alone to the first op outside the scope of the selected frame, or the step's end.",
        "finish",
        _GROUP,
        repeats=True,
        aliases=("fin",),
    ),
    Verb(
        "until",
        _until,
        "[NODE|FILE:LINE|LINE]",
        "run to a node or a line",
        "Continues the current rank until a node has executed, in this step or a later one. Without a place: as next.",
        "until backward/fc2/mm",
        _GROUP,
        repeats=True,
        completes="line",
        aliases=("u", "advance"),
    ),
    Verb(
        "pause",
        _pause,
        "",
        "stop the job at its next op",
        "Stops a job that runs, as Ctrl-C does while one waits for it. Several ranks stop at the end of the same step.",
        "pause",
        _GROUP,
    ),
    Verb(
        "wait",
        _wait,
        "",
        "wait for the next stop",
        "Waits until the job stops, for example after Ctrl-C has left a wait; shows the stop.",
        "wait",
        _GROUP,
    ),
    Verb(
        "reverse-stepi",
        _reverse_stepi,
        "[N]",
        "go back to the node before",
        f"The opposite of stepi. {_BACK}",
        "reverse-stepi",
        _GROUP,
        repeats=True,
        aliases=("rsi",),
    ),
    Verb(
        "reverse-step",
        _reverse_step,
        "[N]",
        "go back N training steps",
        f"Goes to the end of the training step before, or N before. {_BACK}",
        "reverse-step 10",
        _GROUP,
        repeats=True,
        aliases=("rs",),
    ),
    Verb(
        "reverse-next",
        _reverse_next,
        "[N]",
        "go back to the line before, over calls of modules",
        f"The opposite of next. {_BACK}",
        "reverse-next",
        _GROUP,
        repeats=True,
        aliases=("rn",),
    ),
    Verb(
        "reverse-finish",
        _reverse_finish,
        "",
        "go back to before the current scope",
        f"Goes to the last op before the current scope was entered. {_BACK}",
        "reverse-finish",
        _GROUP,
        repeats=True,
    ),
    Verb(
        "reverse-continue",
        _reverse_continue,
        "",
        "go back to the previous hit of a breakpoint",
        f"Goes to the last hit before this place, or to the begin of the recording. {_BACK}",
        "reverse-continue",
        _GROUP,
        repeats=True,
        aliases=("rc",),
    ),
]
