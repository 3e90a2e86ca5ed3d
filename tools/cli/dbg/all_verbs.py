"""All verbs, and `help`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ..debugger import DebuggerError
from . import breakpoint_verbs, frame_verbs, hit_verbs, info_verbs, move_verbs, program_verbs, value_verbs
from .verb import Verb, Verbs

if TYPE_CHECKING:
    from .interpreter import Interpreter

_INTRODUCTION = "A stop is after a node: its outputs are there, and its inputs unless they were overwritten."
_WIDTH = 100


def _help(debugger: Interpreter, text: str) -> None:
    word = text.strip().split(" ")[0]
    if word:
        _help_of(debugger, VERBS.find(word))
        return
    debugger.out.line(_INTRODUCTION)
    debugger.out.line(
        'Beginnings of commands suffice if they are unique; an empty line repeats moves and lists. "help COMMAND" '
        "explains one."
    )
    for group in dict.fromkeys(verb.group for verb in VERBS.all):
        debugger.out.line()
        debugger.out.line(group, "title")
        for verb in VERBS.all:
            if verb.group == group:
                name = f"{verb.name} ({VERBS.shortest(verb)})" if VERBS.shortest(verb) != verb.name else verb.name
                debugger.out.line(f"  {name:24} {verb.summary}")


def _help_of(debugger: Interpreter, verb: Verb) -> None:
    out = debugger.out
    out.line(f"{verb.name} {verb.usage}".strip(), "title")
    for line in textwrap.wrap(f"{verb.summary[0].upper()}{verb.summary[1:]}. {verb.help}", _WIDTH):
        out.line(line)
    out.line(f"Example: {verb.example}")
    short = VERBS.shortest(verb)
    others = [alias for alias in verb.aliases if alias != short]
    if short != verb.name:
        out.line(f"Short: {', '.join([short, *others])}", "dim")


def _apropos(debugger: Interpreter, text: str) -> None:
    word = text.strip().lower()
    if not word:
        raise DebuggerError("what is missing: a word")
    for verb in VERBS.all:
        if word in f"{verb.name} {verb.summary} {verb.help}".lower():
            debugger.out.line(f"{verb.name:16} {verb.summary}")


_HELP = [
    Verb(
        "help",
        _help,
        "[COMMAND]",
        "explain a command, or list all",
        "Each explanation ends with an example.",
        "help watch",
        "Help",
        completes="verb",
        aliases=("h", "?"),
    ),
    Verb("apropos", _apropos, "WORD", "list the commands whose explanation has a word", "", "apropos gradient", "Help"),
]

VERBS = Verbs(
    [
        *move_verbs.VERBS,
        *breakpoint_verbs.VERBS,
        *frame_verbs.VERBS,
        *value_verbs.VERBS,
        *info_verbs.VERBS,
        *hit_verbs.VERBS,
        *program_verbs.VERBS,
        *_HELP,
    ]
)
