"""What Tab offers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from graphdbg.client.errors import GraphdbgError

from ..debugger import Completion
from ..debugger.places import is_line
from .all_verbs import VERBS
from .info_verbs import SUBJECTS
from .interpreter import Interpreter, split_verb
from .verb import Verb

_MAX_FILES = 500


def complete(debugger: Interpreter, text: str) -> list[Completion]:
    """How a line may go on at its end."""
    line = text.lstrip()
    word, _ = split_verb(line) if line else ("", "")
    begin = len(text) - len(line)
    if len(word) == len(line):
        return [Completion(verb.name, begin, verb.name, "word", verb.summary) for verb in VERBS.beginning(word)]
    try:
        verb = VERBS.find(word)
    except GraphdbgError:
        return []
    start = begin + len(word)
    with contextlib.suppress(GraphdbgError, OSError):
        return list(_arguments(debugger, verb, text, start))
    return []


def _arguments(debugger: Interpreter, verb: Verb, text: str, start: int) -> Iterator[Completion]:
    """What may follow a verb that ends at `start`."""
    rest = text[start:]
    last = rest.rpartition(" ")[2]
    at = len(text) - len(last)
    if verb.completes == "verb":
        yield from (Completion(each.name, at, each.name, "word", each.summary) for each in VERBS.beginning(last))
    elif verb.completes == "expression":
        yield from _shifted(debugger.session.complete(rest, debugger.frame), start)
    elif verb.completes == "line":
        yield from _places(debugger, last, at)
    elif verb.completes in ("node", "scope"):
        found = _nodes(debugger, last, at)
        yield from (each for each in found if verb.completes == "node" or each.kind == "scope")
    elif verb.completes == "condition":
        yield from _nodes(debugger, last, at) if " on " in rest else _conditions(debugger, last, at)
    elif verb.completes == "info":
        yield from _info(debugger, rest, last, at)
    elif verb.completes == "file":
        yield from _files(last, at)


def _nodes(debugger: Interpreter, typed: str, at: int) -> Iterator[Completion]:
    for each in debugger.session.complete_nodes(typed):
        yield Completion(each.text, at, each.label, each.kind, each.detail)


def _places(debugger: Interpreter, typed: str, at: int) -> Iterator[Completion]:
    """Nodes, and files of ops with their lines."""
    index = debugger.session.graph_index()
    file, colon, line = typed.rpartition(":")
    if colon and is_line(f"{file}:1"):
        for number in sorted(index.lines_of(file)):
            if str(number).startswith(line):
                yield Completion(f"{file}:{number}", at, str(number), "word")
        return
    yield from _nodes(debugger, typed, at)
    for each in index.files():
        name = Path(each).name
        if name.startswith(typed):
            yield Completion(f"{name}:", at, f"{name}:", "file", each)


def _conditions(debugger: Interpreter, typed: str, at: int) -> Iterator[Completion]:
    for name, row in debugger.session.conditions().items():
        if name.startswith(typed):
            yield Completion(name, at, name, "condition", row["title"])


def _info(debugger: Interpreter, rest: str, typed: str, at: int) -> Iterator[Completion]:
    words = rest.split()
    if len(words) > 1 or (words and rest.endswith(" ")):
        if words[0] in ("scope", "inputs", "outputs"):
            yield from _nodes(debugger, typed, at)
        elif words[0] == "line":
            yield from _places(debugger, typed, at)
        return
    for name, (_, what) in SUBJECTS.items():
        if name.startswith(typed):
            yield Completion(name, at, name, "word", what)


def _files(typed: str, at: int) -> Iterator[Completion]:
    folder, slash, begin = typed.rpartition("/")
    for number, each in enumerate(sorted(Path(folder + slash or ".").expanduser().iterdir())):
        if number >= _MAX_FILES:
            return
        if each.name.startswith(begin):
            name = f"{each.name}/" if each.is_dir() else each.name
            yield Completion(f"{folder}{slash}{name}", at, name, "file")


def _shifted(completions: list[Completion], by: int) -> Iterator[Completion]:
    """Completions of a part of the line that begins at `by`."""
    for each in completions:
        yield Completion(each.text, each.start + by, each.label, each.kind, each.detail)
