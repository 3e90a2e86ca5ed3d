"""`info` and `ptype`: tables about the job."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..debugger import DebuggerError
from ..debugger.called_lines import find_place
from ..debugger.places import is_line, line_of
from ..debugger.variables import variables_of
from .frame_verbs import frame_text, short, show_line
from .verb import Verb

if TYPE_CHECKING:
    from .interpreter import Interpreter

_GROUP = "Looking"
_MAX_ROWS = 200


def _breakpoints(debugger: Interpreter, text: str) -> None:
    known = debugger.session.breakpoints.list()
    if not known:
        debugger.out.line("no breakpoints")
        return
    rows = []
    for each in known:
        what = f"{each.file}:{each.line}" if each.kind == "line" else each.text
        note = each.error or ("" if each.verified else "no node known yet")
        if each.ignore_count:
            note = f"{note} ignores {each.ignore_count}".strip()
        kind = "log" if each.log is not None else "once" if each.once else each.kind
        rows.append((each.id, kind, "y" if each.enabled else "n", each.hit_count, what, each.condition, note))
    debugger.out.table(("Num", "Kind", "On", "Hits", "Where", "Condition", ""), rows)
    for each in known:
        for line in debugger.commands.get(each.id, []):
            debugger.out.line(f"    {each.id}: {line}")


def _hits(debugger: Interpreter, text: str) -> None:
    # The newest ones are wanted, and come last.
    hits = list(itertools.islice(debugger.session.hits(), 100_000))
    rows = [
        (hit.id, hit.watchpoint, hit.step, hit.rank, hit.name, hit.condition, hit.origin) for hit in hits[-_MAX_ROWS:]
    ]
    if not rows:
        debugger.out.line("no hits")
        return
    debugger.out.table(("Hit", "Watchpoint", "Step", "Rank", "Tensor", "Condition", "Origin"), rows)
    if len(hits) > _MAX_ROWS:
        debugger.out.line(f"(the last {_MAX_ROWS} of {len(hits)})", "dim")


def _scope(debugger: Interpreter, text: str) -> None:
    index = debugger.session.graph_index()
    name = text.strip().strip("/") or debugger.current_frame().scope
    scope = index.scope_of(name)
    if scope is None:
        raise debugger.session.unknown_node(name)
    rows = [(f"{index.scope_label(each)}/", "scope", index.scope_type(each), "") for each in index.scopes_in(scope)]
    for node in index.nodes_in(scope):
        file, line = index.line(node)
        place = f"{short(file)}:{line}" if file else ""
        rows.append((index.label(node), index.kind(node), index.output(node), place))
    type_name = index.scope_type(scope)
    debugger.out.line(f"{name or 'the top'}{f': {type_name}' if type_name else ''}", "title")
    debugger.out.table(("Name", "Kind", "Type", "Line"), rows[:_MAX_ROWS])
    if len(rows) > _MAX_ROWS:
        debugger.out.line(f"(the first {_MAX_ROWS} of {len(rows)})", "dim")


def _inputs(debugger: Interpreter, text: str) -> None:
    _tensors(debugger, text, "in")


def _outputs(debugger: Interpreter, text: str) -> None:
    _tensors(debugger, text, "out")


def _tensors(debugger: Interpreter, text: str, what: str) -> None:
    stop = debugger.session.stop
    name = text.strip() or (stop.node if stop else "")
    if not name:
        raise DebuggerError("the job stands at no node: name one")
    node = debugger.session.node(name)
    tensors = node.inputs if what == "in" else node.outputs
    if not tensors:
        debugger.out.line(f"{name} has no {what}puts")
        return
    rows = []
    for number, each in enumerate(tensors):
        kind = f"{each.dtype}[{', '.join(map(str, each.shape))}]"
        try:
            value = debugger.session.evaluate(f"`{each.name}`", debugger.frame).text.removeprefix(kind).lstrip(": ")
        except DebuggerError as error:
            value = f"({error})"
        rows.append((f"{what}{number}", each.name, kind, value))
    debugger.out.table(("", "Tensor", "Type", "Value"), rows)


def _locals(debugger: Interpreter, text: str) -> None:
    found = variables_of(debugger.session, debugger.frame)
    rows = []
    for name, tensor in found.items():
        # A value of an earlier step is none of this one.
        with contextlib.suppress(DebuggerError):
            rows.append((name, tensor, debugger.session.evaluate(f"`{tensor}`", debugger.frame).text))
    if not rows:
        debugger.out.line("no variable has a value that ops have made yet; info inputs and info outputs show the op's")
        return
    debugger.out.table(("Variable", "Tensor", "Value"), rows)


def _job(debugger: Interpreter, text: str) -> None:
    session = debugger.session
    stop = session.stop
    rows: list[tuple[str, object]] = [("name", session.name), ("kind", session.kind), ("state", session.state)]
    rows.append(("stands", stop.description if stop else "running"))
    if session.kind != "bundle":
        info = session.job.refresh()
        rows.append(("framework", f"{info.framework} {info.framework_version}"))
        rows.append(("ranks", info.world_size))
        rows.append(("hits", info.hit_count))
    debugger.out.pairs(rows)


def _ranks(debugger: Interpreter, text: str) -> None:
    rows = [
        (
            "*" if each.rank == debugger.session.rank else "",
            each.rank,
            each.state,
            each.step,
            each.node,
            each.device,
            each.host,
            each.pid,
        )
        for each in debugger.session.ranks()
    ]
    debugger.out.table(("", "Rank", "State", "Step", "Node", "Device", "Host", "Process"), rows)


def _conditions(debugger: Interpreter, text: str) -> None:
    rows = []
    for row in debugger.session.conditions().values():
        params = ", ".join(param["name"] for param in row["params"] if param["name"] != "axis")
        if text.strip() in row["id"]:
            rows.append((row["id"], row["title"], params))
    debugger.out.table(("Condition", "Title", "Parameters"), rows)


def _line(debugger: Interpreter, text: str) -> None:
    if not is_line(text.strip()):
        raise DebuggerError("what is missing: info line FILE:LINE")
    file, line = line_of(text.strip())
    index = debugger.session.graph_index()
    found = find_place(debugger.session, file, line)
    if found is None:
        raise DebuggerError(f"no op is known at {file}:{line}, nor behind it in the same function")
    own = index.lines_of(file).get(found.line)
    nodes = own or list(found.nodes)
    what = f"makes {len(nodes)} ops" if own else "calls what makes ops"
    debugger.out.line(f"{file}:{found.line} {what}; a breakpoint stops at those with a star", "title")
    rows = [("*" if node in found.nodes else "", index.name(node), index.output(node)) for node in nodes]
    debugger.out.table(("", "Node", "Output"), rows)


def _frame(debugger: Interpreter, text: str) -> None:
    frame = debugger.current_frame()
    debugger.out.line(f"#{frame.number}  {frame_text(frame)}")
    debugger.out.line(f"kind {frame.kind}, names are looked up in {frame.scope or 'the top'} first")
    show_line(debugger, frame)


def _display(debugger: Interpreter, text: str) -> None:
    rows = list(debugger.displays.items())
    debugger.out.table(("Num", "Expression"), rows)


def _source(debugger: Interpreter, text: str) -> None:
    for file in debugger.session.graph_index().files():
        debugger.out.line(short(file))


def _diagnosis(debugger: Interpreter, text: str) -> None:
    if debugger.session.kind == "bundle":
        raise DebuggerError("a bundle has no incidents; info job shows its hit")
    incidents = debugger.session.job.incidents()
    if not incidents:
        debugger.out.line("no hits")
        return
    for each in incidents[:10]:
        title = each.diagnosis.title or ", ".join(each.conditions)
        debugger.out.line(f"{title} at {each.origin.name}, step {each.origin.step}", "title")
        for sentence in filter(None, (each.diagnosis.text, *each.diagnosis.causes[:2], *each.diagnosis.next[:2])):
            debugger.out.line(f"  {sentence}")


SUBJECTS: dict[str, tuple[Callable[[Interpreter, str], None], str]] = {
    "breakpoints": (_breakpoints, "this session's breakpoints"),
    "hits": (_hits, "what watchpoints have found"),
    "scope": (_scope, "[SCOPE]: what is in a scope"),
    "inputs": (_inputs, "[NODE]: the tensors that a node reads"),
    "locals": (_locals, "the variables of the function that are tensors"),
    "outputs": (_outputs, "[NODE]: the tensors that it has made"),
    "job": (_job, "the job as a whole"),
    "ranks": (_ranks, "the processes of the job"),
    "conditions": (_conditions, "[WORD]: conditions for break and watch"),
    "line": (_line, "FILE:LINE: the nodes that a line makes"),
    "frame": (_frame, "the selected frame"),
    "display": (_display, "what display shows"),
    "sources": (_source, "the files that made ops"),
    "diagnosis": (_diagnosis, "the likely causes of the hits"),
}
# As gdb calls them.
_ALSO = {"watchpoints": "breakpoints", "threads": "ranks", "b": "breakpoints", "args": "inputs"}


def _info(debugger: Interpreter, text: str) -> None:
    word, _, rest = text.strip().partition(" ")
    if not word:
        debugger.out.pairs([(name, what) for name, (_, what) in SUBJECTS.items()])
        return
    subject(word)(debugger, rest)


def subject(word: str) -> Callable[[Interpreter, str], None]:
    """The table of a word or a beginning that only one has."""
    name = _ALSO.get(word, word)
    found = [name] if name in SUBJECTS else [each for each in SUBJECTS if each.startswith(name)]
    if len(found) != 1:
        raise DebuggerError(f"info {word}: expected one of {', '.join(found or SUBJECTS)}")
    return SUBJECTS[found[0]][0]


def _ptype(debugger: Interpreter, text: str) -> None:
    index = debugger.session.graph_index()
    name = text.strip().strip("/")
    if name and index.scope_of(name) is None and debugger.session.stop is not None:
        name = f"{debugger.current_frame().scope}/{name}"
    scope = index.scope_of(name)
    if scope is None:
        raise debugger.session.unknown_node(text.strip())
    _show_type(debugger, scope, 0)


def _show_type(debugger: Interpreter, scope: int, depth: int) -> None:
    index = debugger.session.graph_index()
    indent = "  " * depth
    debugger.out.line(f"{indent}{index.scope_label(scope) if scope else 'graph'}: {index.scope_type(scope) or 'scope'}")
    for node in index.nodes_in(scope):
        if index.kind(node) in ("parameter", "buffer"):
            debugger.out.line(f"{indent}  {index.label(node)}: {index.output(node)} ({index.kind(node)})", "dim")
    for each in index.scopes_in(scope)[:_MAX_ROWS]:
        _show_type(debugger, each, depth + 1)


VERBS = [
    Verb(
        "info",
        _info,
        "WHAT",
        "show a table",
        "One of: " + "; ".join(f"{name}, {what}" for name, (_, what) in SUBJECTS.items()) + ".",
        "info scope forward/fc1",
        _GROUP,
        completes="info",
        aliases=("i",),
    ),
    Verb(
        "ptype",
        _ptype,
        "[SCOPE]",
        "show the modules in a scope with their parameters",
        "Without a scope the whole graph.",
        "ptype forward/encoder",
        _GROUP,
        completes="scope",
    ),
]
