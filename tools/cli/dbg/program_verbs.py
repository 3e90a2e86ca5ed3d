"""Verbs about ranks, files, the page, and the end."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..debugger import DebuggerError
from . import arguments
from .breakpoint_verbs import saved_lines
from .quit import Again, Quit
from .verb import Verb

if TYPE_CHECKING:
    from .interpreter import Interpreter

_GROUP = "Job and debugger"


def _rank(debugger: Interpreter, text: str) -> None:
    word, _, rest = text.strip().partition(" ")
    if word == "apply":
        which, _, line = rest.strip().partition(" ")
        _apply(debugger, which, line)
        return
    if not word:
        debugger.out.line(f"the current rank is {debugger.session.rank}")
        return
    debugger.session.select_rank(arguments.number(word, 0, "a rank"))
    debugger.frame = 0
    stop = debugger.session.stop
    debugger.out.line(f"rank {word}: {stop.description if stop else 'running'}")
    if stop is not None and stop.node:
        debugger.show_frame()


def _apply(debugger: Interpreter, which: str, line: str) -> None:
    if not line.strip():
        raise DebuggerError(
            "what is missing: rank apply all COMMAND, or rank apply 0 2 ... for one rank: rank apply 1 COMMAND"
        )
    before = debugger.session.rank
    ranks = [each.rank for each in debugger.session.ranks()] if which == "all" else arguments.numbers(which)
    try:
        for rank in ranks:
            debugger.session.select_rank(rank)
            debugger.out.line(f"rank {rank}:", "title")
            debugger.execute(line)
    finally:
        debugger.session.select_rank(before)


def _catch(debugger: Interpreter, text: str) -> None:
    if debugger.session.kind != "live":
        raise DebuggerError("only a live job can keep values; this one has what was recorded")
    node = text.strip() or debugger.current_frame().name
    debugger.session.catch(node)
    debugger.out.line(f"the outputs of {node} are kept from its next execution until the stop after it")


def _page(debugger: Interpreter, text: str) -> None:
    if debugger.session.kind == "bundle":
        raise DebuggerError("a bundle has no page")
    debugger.out.line(debugger.session.page())
    debugger.out.line("this address works once and for 60 seconds", "dim")


def _shell(debugger: Interpreter, text: str) -> None:
    code = subprocess.run(arguments.needed(text, "a command"), shell=True).returncode
    if code:
        debugger.out.line(f"(exit code {code})", "dim")


def _source(debugger: Interpreter, text: str) -> None:
    debugger.source_file(Path(arguments.needed(text, "a file")).expanduser())


def _set(debugger: Interpreter, text: str) -> None:
    name, _, value = text.strip().partition(" ")
    settings = debugger.settings
    if not name:
        debugger.out.table(("setting", "value"), [(each, str(getattr(settings, each))) for each in vars(settings)])
    elif name == "confirm" and value.strip() in ("on", "off"):
        settings.confirm = value.strip() == "on"
    elif name in ("listsize", "elements") and value.strip().isdigit() and int(value) > 0:
        setattr(settings, name, int(value))
    else:
        raise DebuggerError("what can be set: confirm on|off, listsize N, elements N (how many print shows)")


def _echo(debugger: Interpreter, text: str) -> None:
    debugger.out.line(text)


def _detach(debugger: Interpreter, text: str) -> None:
    if debugger.owns_job:
        raise DebuggerError("the job was started here and ends with this debugger; kill ends it, continue lets it run")
    debugger.session.detach(resume=True)
    if debugger.session.kind == "live":
        debugger.out.line("detached; the job continues without this session's breakpoints")
    raise Quit


def _run(debugger: Interpreter, text: str) -> None:
    _begin(debugger, text, "continue", debugger.session.continue_)


def _start(debugger: Interpreter, text: str) -> None:
    _begin(debugger, text, "stepi", debugger.session.step_node)


def _begin(debugger: Interpreter, text: str, verb: str, move: Callable[[], None]) -> None:
    """Moves a job that waits before its first step, or starts its program again."""
    if text.strip():
        raise DebuggerError("arguments belong to the command: graphdbg dbg -- python train.py ARGUMENTS")
    stop = debugger.session.stop
    if stop is not None and stop.reason == "entry":
        debugger.move(move)
        return
    if not debugger.owns_job:
        raise DebuggerError(f"{debugger.session.name} was not started here; continue lets it go on")
    if stop is None or not stop.has_ended:
        debugger.confirm("The job has begun already. Start it again from the beginning?")
    breakpoints = [line for each in debugger.session.breakpoints.list() for line in saved_lines(debugger, each)]
    raise Again([*breakpoints, *(f"display {each}" for each in debugger.displays.values()), verb])


def _kill(debugger: Interpreter, text: str) -> None:
    debugger.confirm("Kill the job?")
    debugger.move(debugger.session.terminate)


def _quit(debugger: Interpreter, text: str) -> None:
    if debugger.owns_job and debugger.session.state in ("running", "pausing", "paused"):
        debugger.confirm("The job was started here and will be killed. Quit?")
    raise Quit(arguments.number(text, 0, "an exit code"))


VERBS = [
    Verb(
        "rank",
        _rank,
        "[R | apply all|R COMMAND]",
        "select a rank, or do something on each",
        "stepi, next, finish and until move the current rank alone; expressions are about it. At a stop, the rank that "
        "caused it becomes the current one.",
        "rank apply all print $.abs_max",
        _GROUP,
        aliases=("thread",),
    ),
    Verb(
        "catch",
        _catch,
        "[NODE]",
        "keep the outputs of a node at its next execution",
        "For values that are gone when the job stops.",
        "catch forward/fc1/addmm",
        _GROUP,
        completes="node",
    ),
    Verb(
        "page",
        _page,
        "",
        "show the address of the job's page",
        "It works once and for 60 seconds.",
        "page",
        _GROUP,
    ),
    Verb(
        "shell", _shell, "COMMAND", "run a command of the shell", "On this machine.", "shell ls", _GROUP, aliases=("!",)
    ),
    Verb(
        "source",
        _source,
        "FILE",
        "execute the lines of a file",
        "As -x does. Lines that begin with # are comments.",
        "source my.dbg",
        _GROUP,
        completes="file",
    ),
    Verb("set", _set, "[NAME VALUE]", "change a setting", "confirm, listsize, elements.", "set listsize 20", _GROUP),
    Verb("echo", _echo, "TEXT", "print a text", "For files of commands.", "echo at the loss", _GROUP),
    Verb(
        "detach",
        _detach,
        "",
        "leave a job, which continues",
        "Removes this session's breakpoints and continues a paused job. Others' watchpoints stay.",
        "detach",
        _GROUP,
    ),
    Verb(
        "run",
        _run,
        "",
        "begin the training, or start it again",
        "Continues a job that waits before its first step. A program that was started here is started again, with the "
        "same breakpoints and displays.",
        "run",
        _GROUP,
        aliases=("r",),
    ),
    Verb(
        "start",
        _start,
        "",
        "the same, and stop after the first node",
        "As run, but only the first node is executed.",
        "start",
        _GROUP,
    ),
    Verb("kill", _kill, "", "end the job", "As an exception in its main thread would.", "kill", _GROUP, aliases=("k",)),
    Verb(
        "quit",
        _quit,
        "[CODE]",
        "leave the debugger",
        "A job that was started here is ended. Another one continues if it was moved from here, and stays as it is if "
        "it was only looked at. This session's breakpoints are removed.",
        "quit",
        _GROUP,
        aliases=("q", "exit"),
    ),
]
