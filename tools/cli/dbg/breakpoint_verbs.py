"""Verbs of breakpoints and watchpoints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..debugger import Breakpoint, DebuggerError
from ..debugger.breakpoints import CHANGED, node_of_tensor
from ..debugger.evaluate import STATISTICS, Evaluator
from ..debugger.expressions import Binary, Expression, Number, Reference, parse
from ..debugger.graph_index import is_file
from ..debugger.places import is_line, line_of
from ..debugger.source_lines import line_of_function, local_text
from . import arguments
from .frame_verbs import short
from .verb import Verb

if TYPE_CHECKING:
    from .interpreter import Interpreter

_GROUP = "Breakpoints"
# By comparison: the statistic that some element meets it by.
_EXTREMES = {">": "max", ">=": "max", "<": "min", "<=": "min"}
# Measures of conditions that are no statistics.
_WORDS = ("step", "rank", "sd", "max_min", "inf_count")
# Between conditions, as in "nan, inf".
_LIST = re.compile(r"\s*(?:,|\||\bor\b|\s)+\s*")
_QUANTILE = re.compile(r"p\d\d")
_MEASURES = ("change_", "previous_", "zero_", "inactive_")


def _break(debugger: Interpreter, text: str, once: bool = False) -> None:
    place, condition = arguments.split_if(text)
    breakpoints = debugger.session.breakpoints
    place = place or _here(debugger)
    if place.isdigit():
        place = f"{short(debugger.default_file())}:{place}"
    place = _of_function(debugger, place) or place
    if is_line(place):
        file, line = line_of(place)
        made = breakpoints.add_lines(file, line, condition, once=once)
    else:
        made = breakpoints.add_nodes(place.strip("`"), condition, once=once)
    _show_made(debugger, made)


def _of_function(debugger: Interpreter, name: str) -> str | None:
    """FILE:LINE of a function of the program, such as cross_entropy or Net.forward, unless the graph has the name."""
    index = debugger.session.graph_index()
    if not name.replace(".", "_").isidentifier() or index.node_of(name) is not None or index.scope_of(name) is not None:
        return None
    if index.scopes_of_type(name):
        return None
    files = dict.fromkeys([*filter(None, [debugger.script]), *index.files()])
    for file in files:
        text = debugger.session.source_text(file) or local_text(file)
        line = line_of_function(text, name) if text is not None else None
        if line is not None:
            return f"{short(file)}:{line}"
    return None


def _here(debugger: Interpreter) -> str:
    """The node at which the job stands."""
    stop = debugger.session.stop
    if stop is None or not stop.node:
        raise DebuggerError("the job stands at no node: name a node, a pattern or FILE:LINE")
    return stop.node


def _tbreak(debugger: Interpreter, text: str) -> None:
    _break(debugger, text, once=True)


def _rbreak(debugger: Interpreter, text: str) -> None:
    regex, condition = arguments.split_if(arguments.needed(text, "a regular expression"))
    _show_made(debugger, debugger.session.breakpoints.add_nodes(regex, condition, regex=True))


def _watch(debugger: Interpreter, text: str) -> None:
    condition, nodes = arguments.split_on(arguments.needed(text, "a condition"))
    several = _LIST.split(condition)
    if len(several) > 1 and all(each.partition(":")[0] in debugger.session.conditions() for each in several):
        for each in several:
            _show_made(debugger, debugger.session.breakpoints.add_condition(each, nodes))
        return
    tensor, tested = _tensor_of(debugger, condition) if nodes is None else (None, None)
    if tensor is not None:
        _show_made(debugger, debugger.session.breakpoints.add_data(tensor, tested))
        return
    _show_made(debugger, debugger.session.breakpoints.add_condition(condition, nodes))


def _tensor_of(debugger: Interpreter, text: str) -> tuple[str | None, str | None]:
    """The tensor that a text such as `weight`, `loss` or `loss > 10` is about, and what is tested of it, if anything.

    Measures of conditions, such as abs_max, win over tensors of the same name.
    """
    try:
        target, tested = _compared(parse(text))
    except DebuggerError:
        return None, None
    measures = {*STATISTICS, *debugger.session.conditions(), *_WORDS}
    if not isinstance(target, Reference) or _QUANTILE.fullmatch(target.name) or target.name in measures:
        return None, None
    try:
        return Evaluator(debugger.session).tensor_name(target.name, debugger.frame, executed=False), tested
    except DebuggerError:
        if tested is None or any(target.name.startswith(word) for word in _MEASURES):
            # It may be meant for a condition or a measure, whose names the server knows.
            return None, None
        raise


def _compared(expression: Expression) -> tuple[Expression, str | None]:
    """What is compared with a number, and the condition that some element meets it."""
    if isinstance(expression, Binary) and isinstance(expression.right, Number) and expression.operator in _EXTREMES:
        operator = expression.operator
        return expression.left, f"{_EXTREMES[operator]} {operator} {expression.right.value:g}"
    return expression, None


def _dprintf(debugger: Interpreter, text: str) -> None:
    place, comma, message = text.partition(",")
    if not comma:
        raise DebuggerError('what is missing: a place and a message, as in dprintf model.py:32,"loss {mean}"')
    place, message = place.strip(), message.strip().strip('"')
    if is_line(place):
        file, line = line_of(place)
        made = debugger.session.breakpoints.add_lines(file, line, log=message)
    else:
        made = debugger.session.breakpoints.add_nodes(place, log=message)
    _show_made(debugger, made)


def _show_made(debugger: Interpreter, made: Breakpoint) -> None:
    kind = {"condition": "Watchpoint", "data": "Watchpoint"}.get(made.kind, "Breakpoint")
    if made.log is not None:
        kind = "Log point"
    once = "Temporary " if made.once else ""
    where = f"{made.file}:{made.line}" if made.kind == "line" else made.text
    asked = f" (no op at {made.text})" if made.kind == "line" and where != made.text else ""
    tested = f" if {made.condition}" if made.kind in ("line", "node") and made.condition != "executed" else ""
    covered = (
        f", {made.node_count} node{'' if made.node_count == 1 else 's'}" if made.verified else ", no node known yet"
    )
    debugger.out.line(f"{once}{kind if not once else kind.lower()} {made.id}: {where}{asked}{tested}{covered}")


def _delete(debugger: Interpreter, text: str) -> None:
    breakpoints = debugger.session.breakpoints
    if text.strip():
        for each in arguments.numbers(text):
            breakpoints.remove(each)
            debugger.commands.pop(each, None)
        return
    if breakpoints.list():
        debugger.confirm("Delete all breakpoints?")
    for known in breakpoints.list():
        breakpoints.remove(known.id)
    debugger.commands.clear()


def _clear(debugger: Interpreter, text: str) -> None:
    place = text.strip() or str(debugger.current_frame().line)
    place = f"{debugger.default_file()}:{place}" if place.isdigit() else place
    breakpoints = debugger.session.breakpoints
    found = [each for each in breakpoints.list() if _is_at(each, _of_function(debugger, place) or place)]
    if not found:
        raise DebuggerError(f"no breakpoint at {place}")
    for each in found:
        breakpoints.remove(each.id)
        debugger.commands.pop(each.id, None)
    debugger.out.line(f"deleted {', '.join(str(each.id) for each in found)}")


def _is_at(breakpoint: Breakpoint, place: str) -> bool:
    if breakpoint.kind != "line" or not is_line(place):
        return breakpoint.text == place
    file, line = line_of(place)
    is_same = is_file(breakpoint.file, file) or is_file(file, breakpoint.file)
    return is_same and line in (breakpoint.line, line_of(breakpoint.text)[1])


def _enable(debugger: Interpreter, text: str) -> None:
    _switch(debugger, text, True)


def _disable(debugger: Interpreter, text: str) -> None:
    _switch(debugger, text, False)


def _switch(debugger: Interpreter, text: str, on: bool) -> None:
    breakpoints = debugger.session.breakpoints
    for number in arguments.numbers(text) or [each.id for each in breakpoints.list()]:
        breakpoints.enable(number, on)


def _ignore(debugger: Interpreter, text: str) -> None:
    words = arguments.numbers(text)
    if len(words) != 2:
        raise DebuggerError("what is missing: ignore takes a breakpoint and a count, as in ignore 1 5")
    debugger.session.breakpoints.ignore(words[0], words[1])
    debugger.out.line(f"the next {words[1]} hits of breakpoint {words[0]} do not stop")


def _condition(debugger: Interpreter, text: str) -> None:
    number, _, condition = text.strip().partition(" ")
    debugger.session.breakpoints.set_condition(arguments.number(number, 0), condition.strip() or None)
    if not condition.strip():
        debugger.out.line(f"breakpoint {number} stops each time now")


def _commands(debugger: Interpreter, text: str) -> None:
    known = debugger.session.breakpoints.list()
    if not known:
        raise DebuggerError("there is no breakpoint that could have commands")
    number = arguments.number(text, known[-1].id)
    debugger.session.breakpoints.get(number)
    lines: list[str] = []
    while (line := debugger.read_more(">")) is not None and line.strip() != "end":
        lines.append(line)
    debugger.commands[number] = lines
    if not lines:
        debugger.commands.pop(number)


def _save(debugger: Interpreter, text: str) -> None:
    what, _, file = text.strip().partition(" ")
    if not file or not "breakpoints".startswith(what):
        raise DebuggerError("what is missing: save breakpoints FILE")
    lines = [line for each in debugger.session.breakpoints.list() for line in saved_lines(debugger, each)]
    try:
        Path(file.strip()).write_text("".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise DebuggerError(f"cannot write {file.strip()}: {error.strerror}") from None
    debugger.out.line(f'saved; "source {file.strip()}" makes them again')


def saved_lines(debugger: Interpreter, each: Breakpoint) -> list[str]:
    """The lines that make a breakpoint again."""
    tested = f" if {each.condition}" if each.condition != "executed" else ""
    if each.kind == "data" and each.condition != CHANGED:
        lines = [f"watch {each.condition} on {node_of_tensor(each.text)}"]
    elif each.kind in ("condition", "data"):
        lines = [f"watch {each.text}"]
    elif each.log is not None:
        lines = [f'dprintf {each.text},"{each.log}"']
    else:
        lines = [f"{'tbreak' if each.once else 'break'} {each.text}{tested}"]
    if each.id in debugger.commands:
        lines += ["commands", *debugger.commands[each.id], "end"]
    return lines


_PLACES = (
    "The place is a full name, a pattern with * (within a segment) and **, a scope (its first op), the class of a "
    "module, a function of the program, FILE:LINE or LINE, or nothing for the node at which the job stands. A line "
    "without ops means the next one with ops in the same function. The job stops after the op, once for each run of "
    "a line."
)

VERBS = [
    Verb(
        "break",
        _break,
        "NODE|PATTERN|SCOPE|FILE:LINE [if CONDITION]",
        "stop after a node or a line",
        f"{_PLACES} CONDITION is a condition's id or an expression over the statistics of each output.",
        "break model.py:32 if abs_max > 1e3",
        _GROUP,
        completes="line",
        aliases=("b", "br"),
    ),
    Verb(
        "tbreak",
        _tbreak,
        "PLACE [if CONDITION]",
        "the same, for one stop",
        f"A breakpoint that is deleted at its first stop. {_PLACES}",
        "tbreak forward/fc1/addmm",
        _GROUP,
        completes="line",
        aliases=("tb",),
    ),
    Verb(
        "rbreak",
        _rbreak,
        "REGEX [if CONDITION]",
        "stop after all nodes whose names match",
        "The regular expression is found anywhere in the full name, in upper or lower case.",
        "rbreak attention.*softmax",
        _GROUP,
    ),
    Verb(
        "watch",
        _watch,
        "CONDITION|EXPRESSION|TENSOR [on NODES]",
        "stop at tensors that meet a condition",
        'CONDITION is an id ("info conditions" lists them), with its parameters behind colons, or an expression over '
        "statistics, step and rank. NODES is a name, a pattern or a scope. Without it every tensor is watched. A "
        "tensor's name alone stops when the tensor changes.",
        "watch abs_max > 1e3 on forward/encoder/**",
        _GROUP,
        completes="condition",
        aliases=("wa",),
    ),
    Verb(
        "dprintf",
        _dprintf,
        "PLACE,MESSAGE",
        "print a line at a node without stopping",
        "{abs_max} and other statistics of the output, {node}, {step} and {rank} are filled in.",
        'dprintf model.py:32,"step {step}: {abs_max}"',
        _GROUP,
        completes="line",
    ),
    Verb(
        "delete",
        _delete,
        "[N ...]",
        "delete breakpoints",
        "Without numbers all of this session. Watchpoints of the page and of other sessions are never touched.",
        "delete 1 3-5",
        _GROUP,
        aliases=("d",),
    ),
    Verb(
        "clear",
        _clear,
        "[PLACE]",
        "delete the breakpoints at a place",
        "The place is written as for break; without it the current line.",
        "clear model.py:32",
        _GROUP,
        completes="line",
    ),
    Verb("enable", _enable, "[N ...]", "switch breakpoints on", "Without numbers all.", "enable 2", _GROUP),
    Verb("disable", _disable, "[N ...]", "switch breakpoints off", "Without numbers all.", "disable 2", _GROUP),
    Verb(
        "ignore",
        _ignore,
        "N COUNT",
        "let the next hits of a breakpoint pass",
        "Counts for each rank.",
        "ignore 1 20",
        _GROUP,
    ),
    Verb(
        "condition",
        _condition,
        "N [CONDITION]",
        "change the condition of a breakpoint",
        "Without a condition the breakpoint stops each time.",
        "condition 1 nan_count > 0",
        _GROUP,
        aliases=("cond",),
    ),
    Verb(
        "commands",
        _commands,
        "[N]",
        "what to do when a breakpoint is hit",
        'The lines that follow, up to "end", are executed at each hit of the breakpoint, by default the newest one.',
        "commands 1",
        _GROUP,
    ),
    Verb(
        "save",
        _save,
        "breakpoints FILE",
        "write the breakpoints to a file",
        '"source FILE" makes them again, also in another session.',
        "save breakpoints my.dbg",
        _GROUP,
        completes="file",
    ),
]
