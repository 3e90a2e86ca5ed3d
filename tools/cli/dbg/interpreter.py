"""Executes the lines that a user types."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from graphdbg.client.errors import GraphdbgError
from graphdbg.client.models import Hit

from ..debugger import DebuggerError, Event, Frame, Session, Stop
from .all_verbs import VERBS
from .causes import show_cause
from .output import Output
from .verb import Verb


@dataclass
class Listing:
    """Where `list` goes on.

    Attributes:
        file: The file; "" before the first list.
        next: The next line.
    """

    file: str = ""
    next: int = 1


@dataclass
class Settings:
    """What `set` changes."""

    listsize: int = 10
    confirm: bool = True
    elements: int = 200


@dataclass
class Interpreter:
    """One debugger in a terminal.

    Attributes:
        session: What is debugged.
        out: Where answers go.
        read_more: Reads another line after a prompt, for `commands`; None at the end.
        ask: Asks a question that is answered with yes or no.
        owns_job: The job was started here, and ends with this debugger.
        script: The file of the program that was started here; "" if it is unknown.
        frame: The number of the current frame.
        displays: Expressions that are shown at each stop, by number.
        commands: Lines that are executed when a breakpoint is hit, by its number.
        has_moved: A move or a pause was ordered here.
        knows_steps: The user was told that `step` is about training steps.
    """

    session: Session
    out: Output
    read_more: Callable[[str], str | None] = lambda prompt: None
    ask: Callable[[str], bool] = lambda question: True
    owns_job: bool = False
    script: str = ""
    frame: int = 0
    listing: Listing = field(default_factory=Listing)
    settings: Settings = field(default_factory=Settings)
    displays: dict[int, str] = field(default_factory=dict)
    commands: dict[int, list[str]] = field(default_factory=dict)
    has_moved: bool = False
    knows_steps: bool = False
    # Until that was said.
    _has_unfound: bool = True
    _repeated: str = ""
    _awaits: bool = False
    _depth: int = 0
    _shown: tuple[str, int, int, str] | None = None

    def __post_init__(self) -> None:
        self.session.subscribe(self._on_event)

    # ---- lines

    def execute(self, line: str) -> None:
        """Executes a line. An empty one repeats the last line if that moved or listed.

        Raises:
            DebuggerError: What the line asks for is not possible.
            Quit: The user leaves.
        """
        text = line.strip()
        if text.startswith("#"):
            return
        if not text:
            text = self._repeated
            if not text:
                return
        word, rest = split_verb(text)
        verb = VERBS.find(word)
        # If it fails, it is not repeated.
        self._repeated = ""
        verb.run(self, rest)
        self._repeated = _repetition(verb, text)

    def execute_all(self, lines: list[str], origin: str) -> None:
        """Executes lines of a file or of a breakpoint; an error names where it was."""
        if self._depth >= 20:
            raise DebuggerError(f"{origin}: commands are nested too deeply")
        self._depth += 1
        remaining = iter(lines)
        before, self.read_more = self.read_more, lambda prompt: next(remaining, None)
        try:
            for number, line in enumerate(remaining, 1):
                if not line.strip():
                    continue
                try:
                    self.execute(line)
                except GraphdbgError as error:
                    raise DebuggerError(f"{origin}:{number}: {error}") from None
        finally:
            self.read_more = before
            self._depth -= 1

    def source_file(self, path: Path) -> None:
        """Executes the lines of a file."""
        try:
            lines = path.read_text().splitlines()
        except OSError as error:
            raise DebuggerError(f"cannot read {path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise DebuggerError(f"{path} is not a file of commands: it is not text") from None
        self.execute_all(lines, str(path))

    # ---- moves

    def move(self, order: Callable[[], None]) -> None:
        """Gives an order that moves the job, waits for the stop, and shows it.

        Ctrl-C pauses the job; twice, it leaves the wait.
        """
        stop = self.move_quietly(order)
        if stop is not None:
            self.show_stop(stop)

    def move_quietly(self, order: Callable[[], None]) -> Stop | None:
        """The same, and returns the stop instead of showing it; None if the user has left the wait."""
        with self._awaiting():
            order()
            self.has_moved = True
            stop = self._wait()
            if stop is not None:
                self.frame = self.session.stop_frame(stop.rank)
            return stop

    def _wait(self) -> Stop | None:
        asked = False
        while True:
            try:
                return self.session.wait()
            except KeyboardInterrupt:
                if asked:
                    self.out.line("the job runs on; its next stop will be shown, and Ctrl-C or pause stops it")
                    return None
                asked = True
                self.out.line("pausing at the next op; Ctrl-C again leaves the wait")
                with contextlib.suppress(DebuggerError):
                    self.session.pause()

    @contextlib.contextmanager
    def _awaiting(self) -> Iterator[None]:
        """Stops are shown by the caller and not by the thread of events."""
        self._awaits = True
        try:
            yield
        finally:
            self._awaits = False

    def _on_event(self, event: Event) -> None:
        """On the thread of events."""
        if event.kind == "output":
            place = f"{event.file}:{event.line}: " if event.file else ""
            self.out.line(f"{place}{event.text.rstrip()}")
        elif event.kind == "server" or (event.kind == "continued" and event.text):
            self.out.line(f"[{event.text}]", "dim")
        elif event.kind == "breakpoint-removed":
            self.out.line(f"[breakpoint {event.breakpoint_id} was removed by somebody else]", "dim")
        elif event.kind in ("stopped", "ended") and event.stop is not None and not self._awaits:
            if _place(event.stop) == self._shown:
                # Another rank, or a detail of the stop, has been reported after it.
                return
            self.out.line(f"[{event.stop.description}]", "stop")

    # ---- stops

    def show_stop(self, stop: Stop) -> None:
        """Shows where the job stands, and does what the user wants to be done at stops."""
        self._shown = _place(stop)
        self._name_unfound()
        if stop.has_ended:
            self.out.line(f"[{stop.description}]", "stop")
            if self.owns_job and not stop.exit_code and not self.session.breakpoints.list():
                self.out.line('[nothing was watched; "watch nan, inf" and "run" stop it at the first bad value]', "dim")
            return
        if stop.rank != self.session.rank:
            self.session.select_rank(stop.rank)
            self.out.line(f"[switching to rank {stop.rank}]", "dim")
        self.frame = self.session.stop_frame()
        self.out.line(self._headline(stop), "stop")
        self.show_frame()
        show_cause(self, stop)
        for number, text in list(self.displays.items()):
            self.show_display(number, text)
        self._after_hits(stop)

    def _name_unfound(self) -> None:
        """Says once which breakpoints are on nodes that the job does not have, now that it has run a step."""
        if not self._has_unfound or not self.session.knows_all:
            return
        self._has_unfound = False
        for each in self.session.breakpoints.list():
            if each.kind == "node" and not each.verified and each.error is None:
                self.out.line(f"[breakpoint {each.id}: {self.session.unknown_node(each.text)}]", "error")

    def _headline(self, stop: Stop) -> str:
        rank = f", rank {stop.rank}" if len(self.session.ranks()) > 1 else ""
        if stop.reason != "watchpoint" or not (stop.breakpoint_ids or stop.watchpoint_ids):
            return f"{stop.description}{rank}"
        if not stop.breakpoint_ids:
            others = ", ".join(map(str, stop.watchpoint_ids))
            return f"Watchpoint {others} of somebody else: {stop.description}{rank}"
        names = ", ".join(map(str, stop.breakpoint_ids))
        found = [hit for hit in stop.hits if hit.condition != "executed"]
        known = [each for each in self.session.breakpoints.list() if each.id in stop.breakpoint_ids]
        if not found:
            return f"Breakpoint {names}, {stop.node or 'between nodes'}, step {stop.step}{rank}"
        hit = found[0]
        values = {name: value for name, value in hit.actual.items() if value} or hit.actual
        measured = ", ".join(f"{name} {value:g}" for name, value in list(values.items())[:3])
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        condition = self._condition(stop, hit)
        kind = "Watchpoint" if known and all(each.kind in ("condition", "data") for each in known) else "Breakpoint"
        text = f"{kind} {names}, {condition} at {hit.name}{more}, step {hit.step}{rank}"
        return f"{text}: {measured}" if measured else text

    def _condition(self, stop: Stop, hit: Hit) -> str:
        """The condition of a hit as the user wrote it."""
        with contextlib.suppress(DebuggerError):
            known = [self.session.breakpoints.get(number) for number in stop.breakpoint_ids]
            own = [each for each in known if len(known) == 1 or each.watchpoint_id == hit.watchpoint]
            return own[0].condition if own else hit.condition
        return hit.condition

    def _after_hits(self, stop: Stop) -> None:
        for number in stop.breakpoint_ids:
            with contextlib.suppress(DebuggerError):
                if self.session.breakpoints.get(number).once:
                    self.session.breakpoints.remove(number)
            if number in self.commands:
                self.execute_all(self.commands[number], f"commands {number}")

    def show_frame(self) -> None:
        """The current frame and its line."""
        from .frame_verbs import frame_text, show_line

        frame = self.current_frame()
        self.out.line(f"#{frame.number}  {frame_text(frame)}")
        show_line(self, frame)

    def current_frame(self) -> Frame:
        frames = self.session.frames()
        self.frame = min(self.frame, len(frames) - 1)
        return frames[self.frame]

    def default_file(self) -> str:
        """The file that a line number alone is about: that of the frame, of the last list, or the program's.

        Raises:
            DebuggerError: There is none.
        """
        files = self.session.graph_index().files()
        frame = self.current_frame().file if self.session.stop is not None else ""
        found = frame or self.listing.file or self.script or (files[0] if len(files) == 1 else "")
        if not found:
            raise DebuggerError("which file? write FILE:LINE")
        return found

    def show_display(self, number: int, text: str) -> None:
        """An expression of `display`."""
        try:
            value = self.session.evaluate(text, self.frame)
            self.out.line(f"{number}: {text} = {value.text}")
        except GraphdbgError as error:
            self.out.line(f"{number}: {text}: {error}", "dim")

    def source_lines(self, file: str) -> list[str]:
        """The lines of a file as the job read it, or else as it is on this machine."""
        text = self.session.source_text(file)
        if text is None:
            try:
                text = Path(file).read_text()
            except (OSError, UnicodeDecodeError):
                raise DebuggerError(f"the source of {file or 'this place'} is not known") from None
        return text.splitlines()

    def confirm(self, question: str) -> None:
        """Asks, if that is wanted. Raises DebuggerError if the answer is no."""
        if self.settings.confirm and not self.ask(question):
            raise DebuggerError("not confirmed")


def _place(stop: Stop) -> tuple[str, int, int, str]:
    return stop.reason, stop.rank, stop.step, stop.node


def split_verb(text: str) -> tuple[str, str]:
    """The verb and the rest. What follows the letters, as in "x/4f" and "p$", belongs to the rest."""
    end = 0
    while end < len(text) and (text[end].isalpha() or (text[end] == "-" and end > 0)):
        end += 1
    if end == 0:
        end = 1
    return text[:end], text[end:].strip()


def _repetition(verb: Verb, text: str) -> str:
    if not verb.repeats:
        return ""
    # "list 10" goes on behind what it has shown, as gdb's does.
    return verb.name if verb.name == "list" else text
