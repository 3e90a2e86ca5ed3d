"""Verbs of the stack and of source code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..debugger import DebuggerError, Frame
from ..debugger.graph_index import is_file
from ..debugger.places import is_line, line_of
from . import arguments
from .verb import Verb

if TYPE_CHECKING:
    from .interpreter import Interpreter

_GROUP = "Stack and source"


def frame_text(frame: Frame) -> str:
    """A frame in one line."""
    place = f" at {short(frame.file)}:{frame.line}" if frame.file else ""
    function = f" in {frame.function}" if frame.function and frame.function != frame.name else ""
    library = " (library)" if frame.subtle and frame.file else ""
    return f"{frame.name}{place}{function}{library}"


def short(file: str) -> str:
    """A path relative to the working directory if it is below it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def show_line(debugger: Interpreter, frame: Frame) -> None:
    """The line of a frame, where its source is known; the next `list` begins around it."""
    if not frame.file:
        return
    try:
        lines = debugger.source_lines(frame.file)
    except DebuggerError:
        return
    if 0 < frame.line <= len(lines):
        debugger.out.source(frame.file, [lines[frame.line - 1]], frame.line, 0, _marked(debugger, frame.file))
    debugger.listing.file = frame.file
    debugger.listing.next = max(1, frame.line - debugger.settings.listsize // 2)


def _backtrace(debugger: Interpreter, text: str) -> None:
    frames = debugger.session.frames()
    most = arguments.number(text, len(frames))
    for frame in frames[:most]:
        here = "*" if frame.number == debugger.frame else " "
        debugger.out.line(f"{here}#{frame.number}  {frame_text(frame)}", "dim" if frame.subtle else "")
    if most < len(frames):
        debugger.out.line(f"({len(frames) - most} more frames)")


def _frame(debugger: Interpreter, text: str) -> None:
    _select(debugger, arguments.number(text, debugger.frame, "the number of a frame"))


def _up(debugger: Interpreter, text: str) -> None:
    last = len(debugger.session.frames()) - 1
    wanted = debugger.frame + arguments.count(text)
    _select(debugger, wanted if debugger.frame == last else min(wanted, last), "this is the outermost frame")


def _down(debugger: Interpreter, text: str) -> None:
    wanted = debugger.frame - arguments.count(text)
    _select(debugger, wanted if debugger.frame == 0 else max(wanted, 0), "this is the innermost frame")


def _select(debugger: Interpreter, number: int, error: str = "") -> None:
    frames = debugger.session.frames()
    if not 0 <= number < len(frames):
        raise DebuggerError(error or f"there is no frame {number}; there are 0 to {len(frames) - 1}")
    debugger.frame = number
    debugger.show_frame()


def _list(debugger: Interpreter, text: str) -> None:
    listing, size = debugger.listing, debugger.settings.listsize
    place = text.strip()
    if place == "-":
        listing.next = max(1, listing.next - 2 * size)
    elif is_line(place):
        listing.file, line = line_of(place)
        listing.next = max(1, line - size // 2)
    elif place:
        listing.next = max(1, arguments.number(place, 1, "a line, FILE:LINE or -") - size // 2)
    frame = _frame_or_none(debugger)
    if not listing.file:
        listing.file = debugger.default_file()
        if not place:
            listing.next = max(1, frame.line - size // 2) if frame is not None and frame.file else 1
    file = _full_name(debugger, listing.file)
    lines = debugger.source_lines(file)
    if listing.next > len(lines):
        raise DebuggerError(f"{short(file)} has {len(lines)} lines")
    shown = lines[listing.next - 1 : listing.next - 1 + size]
    current = frame.line if frame is not None and frame.file == file else 0
    debugger.out.source(file, shown, listing.next, current, _marked(debugger, file))
    listing.next += len(shown)


def _frame_or_none(debugger: Interpreter) -> Frame | None:
    return None if debugger.session.stop is None else debugger.current_frame()


def _full_name(debugger: Interpreter, file: str) -> str:
    found = (each for each in debugger.session.graph_index().files() if is_file(each, file))
    return next(found, file)


def _marked(debugger: Interpreter, file: str) -> list[int]:
    """The lines of a file that have breakpoints."""
    breakpoints = debugger.session.breakpoints.list()
    return [each.line for each in breakpoints if each.kind == "line" and is_file(file, each.file)]


VERBS = [
    Verb(
        "backtrace",
        _backtrace,
        "[N]",
        "show the stack: node, modules, callers",
        "Frame 0 is the node with the user's line. The frames around it are its scopes, each with the line inside its "
        "own forward; below them are the functions that called the model. A backward node has the lines of its "
        "forward node.",
        "backtrace",
        _GROUP,
        aliases=("bt", "where"),
    ),
    Verb(
        "frame",
        _frame,
        "[N]",
        "select a frame",
        "Names are looked up in the scope of the selected frame first, and next and finish are about it.",
        "frame 1",
        _GROUP,
        aliases=("f",),
    ),
    Verb("up", _up, "[N]", "select the frame around this one", "Or the N-th one outwards.", "up", _GROUP, repeats=True),
    Verb(
        "down",
        _down,
        "[N]",
        "select the frame inside this one",
        "Or the N-th one inwards.",
        "down",
        _GROUP,
        repeats=True,
    ),
    Verb(
        "list",
        _list,
        "[LINE|FILE:LINE|-]",
        "show source code",
        "Around the selected frame's line, then what follows; list - shows what precedes. An arrow marks the line of "
        "the frame, a star those with breakpoints.",
        "list model.py:32",
        _GROUP,
        repeats=True,
        completes="line",
        aliases=("l",),
    ),
]
