"""A job as a debugger sees it. What is common to live jobs, recorded runs and bundles."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from graphdbg.client.errors import ApiError, NotFoundError
from graphdbg.client.http import Json
from graphdbg.client.jobs import Job
from graphdbg.client.models import Comparison, Hit, NodeDetail

from .breakpoints import Breakpoints
from .completion import Completion
from .errors import DebuggerError
from .expressions import Reference
from .frames import Frame, frame_after, frames_of, label_frame, scope_of
from .graph_index import GraphIndex, is_file
from .stops import Event, RankState, Stop
from .values import TensorView, Value

Kind = Literal["live", "recorded", "bundle"]


class Session(abc.ABC):
    """One job. Methods that look may be called from several threads, also while another one waits.

    Moves return at once; `wait` then returns the stop that follows. All methods raise DebuggerError for what a user
    can cause, and errors of the client, such as UnreachableError, for the rest.

    Attributes:
        name: The id of the job or run, or the name of the file.
        kind: What it is.
        can_reverse: Whether it can be moved backwards.
        breakpoints: Those of this session.
    """

    name: str
    kind: Kind
    can_reverse: bool = False
    breakpoints: Breakpoints

    def __init__(self) -> None:
        self._rank = 0
        # By rank: the scope of the frame in which it was last moved by `next` or `finish`, until its next move.
        self._moved_in: dict[int, str] = {}
        # The ranks of which the user has gone into a module where they stand.
        self._entered: set[int] = set()
        self._nodes: dict[str, NodeDetail] = {}
        self._subscribers: list[Callable[[Event], None]] = []

    @property
    def job(self) -> Job:
        """The client's job: what this class does not offer. Of a recorded run it can only be read."""
        raise DebuggerError(f"{self.name} is a captured hit, and its job is not here")

    # ---- where it is

    @property
    @abc.abstractmethod
    def state(self) -> str:
        """A state of the HTTP API, such as "paused" or "finished"."""

    @property
    def knows_all(self) -> bool:
        """Whether a whole step has been executed, so that all of its ops are known."""
        return True

    @property
    def stop(self) -> Stop | None:
        """Where the current rank stands; None while it runs."""
        return self.stop_of(self._rank)

    @abc.abstractmethod
    def stop_of(self, rank: int) -> Stop | None:
        """Where a rank stands; None while it runs. Once the job has ended: the end."""

    @abc.abstractmethod
    def ranks(self) -> list[RankState]:
        """All ranks, ascending."""

    @property
    def rank(self) -> int:
        """The current rank, which moves and expressions are about."""
        return self._rank

    def select_rank(self, rank: int) -> None:
        """Makes a rank the current one."""
        known = [each.rank for each in self.ranks()]
        if rank not in known:
            raise DebuggerError(f"there is no rank {rank}; there are {_ranges(known)}")
        self._rank = rank

    # ---- moves

    @abc.abstractmethod
    def continue_(self, rank: int | None = None) -> None:
        """Continues to the next hit or the end. `rank`: only this one; default: all together."""

    @abc.abstractmethod
    def step(self, n: int = 1, rank: int | None = None) -> None:
        """Continues for `n` training steps. Default: all ranks together."""

    @abc.abstractmethod
    def step_node(self, rank: int | None = None) -> None:
        """To the next node (stepi). Default: the current rank."""

    @abc.abstractmethod
    def next(self, rank: int | None = None, line: bool = True, frame: int | None = None) -> None:
        """To the next line of a frame or of its caller, or to the end of the step.

        The line may call modules; the node is then inside of them, and `stop_frame` is the line's.

        Args:
            rank: Default: the current one.
            line: Otherwise to the next node that is not in a scope inside that of the frame.
            frame: Default: `stop_frame`.
        """

    @abc.abstractmethod
    def finish(self, rank: int | None = None, frame: int | None = None) -> None:
        """To the first node outside the scope of a frame, or the end of the step. Default: `stop_frame`."""

    @abc.abstractmethod
    def until(self, node: str, rank: int | None = None) -> None:
        """To a node, by its full name or by FILE:LINE. Before the first step the name is not checked."""

    @abc.abstractmethod
    def pause(self, rank: int | None = None) -> None:
        """Asks a running job to stop at its next op."""

    @abc.abstractmethod
    def terminate(self) -> None:
        """Ends the job as an exception in its main thread would."""

    @abc.abstractmethod
    def detach(self, resume: bool = True) -> None:
        """Removes this session's watchpoints, continues a paused job if `resume`, and closes the session."""

    def reverse_step_node(self) -> None:
        """To the node before. Recorded runs and bundles only, like all of these."""
        raise self._no_reverse()

    def reverse_step(self, n: int = 1) -> None:
        """To the end of the step `n` steps before."""
        raise self._no_reverse()

    def reverse_continue(self) -> None:
        """To the previous hit of a breakpoint, or the begin."""
        raise self._no_reverse()

    def reverse_next(self, line: bool = True) -> None:
        """The move that `next` undoes."""
        raise self._no_reverse()

    def reverse_finish(self) -> None:
        """To the last node before the current scope was entered."""
        raise self._no_reverse()

    def _no_reverse(self) -> DebuggerError:
        return DebuggerError(
            "a live job cannot go back; record it (graphdbg run --record DIR) and debug the run: graphdbg dbg RUN"
        )

    @abc.abstractmethod
    def wait(self, timeout: float | None = None) -> Stop | None:
        """The stop after the last move, or where it stands if there was none; the end has the reason "ended".

        Args:
            timeout: In seconds. Default: no limit.

        Returns:
            None if it has not stopped in time.

        Raises:
            DebuggerError: The job refused the move.
        """

    @abc.abstractmethod
    def interrupt_wait(self) -> None:
        """Makes a `wait` in another thread return None soon."""

    # ---- events

    def subscribe(self, callback: Callable[[Event], None]) -> None:
        """Calls `callback` for every event from now on, on the thread that receives events."""
        self._subscribers.append(callback)

    def _tell(self, event: Event) -> None:
        for callback in list(self._subscribers):
            callback(event)

    # ---- looking

    def frames(self, rank: int | None = None) -> list[Frame]:
        """The stack of a stopped rank, innermost first. Default: the current rank."""
        stop = self._stopped(self._rank if rank is None else rank)
        if not stop.node:
            return label_frame(stop.description if stop.reason == "entry" else _label(stop))
        try:
            return frames_of(self.node(stop.node), self.type_of)
        except NotFoundError:
            return [Frame(0, stop.node, "node", scope_of(stop.node))]

    def stop_frame(self, rank: int | None = None) -> int:
        """The number of the frame in which the user stands. Default: of the current rank.

        It is 0, or after `next` and `finish` the frame of the line that was run to, if the node at which the rank
        stands is inside modules of the user's that this line calls. The same holds for a breakpoint on such a line.
        """
        number = self._rank if rank is None else rank
        stop = self.stop_of(number)
        scope = self._moved_in.get(number)
        if stop is not None and stop.reason == "watchpoint" and stop.breakpoint_ids and number not in self._entered:
            return self._frame_of_breakpoint(number, stop.breakpoint_ids)
        if stop is None or stop.reason not in ("node", "watchpoint") or scope is None:
            return 0
        return frame_after(self.frames(number), scope)

    def _frame_of_breakpoint(self, rank: int, ids: Sequence[int]) -> int:
        known = [each for each in self.breakpoints.list() if each.id in ids]
        if not known or any(each.kind != "line" for each in known):
            return 0
        frames = self.frames(rank)
        files = {each.file for each in frames}
        lines = {(file, each.line) for each in known for file in files if is_file(file, each.file)}
        return next((each.number for each in frames if not each.subtle and (each.file, each.line) in lines), 0)

    def _forget_moves(self, rank: int | None, moved_in: str | None = None) -> None:
        """A rank moves, or all of them; `moved_in`: in the frame of this scope."""
        for each in [*self._moved_in, *self._entered] if rank is None else [rank]:
            self._moved_in.pop(each, None)
            self._entered.discard(each)
        if rank is not None and moved_in is not None:
            self._moved_in[rank] = moved_in

    def enter(self, rank: int | None = None) -> bool:
        """Goes into the module that the line of `stop_frame` calls; nothing is executed.

        Returns:
            False if that frame is the innermost one already.
        """
        number = self._rank if rank is None else rank
        outer = self.stop_frame(number)
        if outer == 0:
            return False
        inner = [each for each in self.frames(number)[:outer] if each.kind == "scope" and not each.subtle]
        self._moved_in[number] = inner[-1].scope
        self._entered.add(number)
        self._tell(Event("stopped", rank=number, stop=self.stop_of(number)))
        return True

    def type_of(self, scope: str) -> str:
        """The class of a scope's module; "" if it is unknown."""
        index = self.graph_index()
        number = index.scope_of(scope)
        return "" if number is None else index.scope_type(number)

    def node(self, name: str) -> NodeDetail:
        """One node.

        Raises:
            DebuggerError: There is none of this name; names the nearest.
        """
        try:
            return self.job.graph().node(name)
        except NotFoundError as error:
            if error.code != "unknown_node":
                raise
            raise self.unknown_node(name) from None

    def known_node(self, name: str) -> NodeDetail:
        """A node that exists, for what never changes, such as its stack; fetched once."""
        if name not in self._nodes:
            self._nodes[name] = self.node(name)
        return self._nodes[name]

    def unknown_node(self, name: str, scopes: Sequence[str] = ("",)) -> DebuggerError:
        """The error for a name that no node has, in any of these scopes."""
        index = self.graph_index()
        near = next(filter(None, (index.nearest_in(f"{scope}/{name}".strip("/")) for scope in scopes)), [])
        near = near or index.nearest(name)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        error = DebuggerError(f"no node is called {name}{hint}")
        error.code = "unknown_node"
        return error

    @abc.abstractmethod
    def tensor_view(self, name: str, step: str | None = None, rank: int | None = None, slice: str = "") -> TensorView:
        """A tensor.

        Args:
            name: The full name, NODE:SLOT.
            step: "previous" or a number. Default: where the rank stands.
            rank: Default: the current one.
            slice: As NumPy writes it. Default: all of it.
        """

    @abc.abstractmethod
    def graph_index(self) -> GraphIndex:
        """The names, lines and order of all nodes that are known now."""

    @abc.abstractmethod
    def source_text(self, file: str) -> str | None:
        """A file of the user's code as the job read it; None if it is not known."""

    def evaluate(self, text: str, frame: int = 0) -> Value:
        """The value of an expression, as the reference of `graphdbg dbg` describes them.

        Args:
            text: Such as "$", "weight", "in0[0,:].abs_max" or "forward/fc/addmm:0@-1".
            frame: The frame in whose scope names are looked up first.
        """
        from .evaluate import Evaluator

        return Evaluator(self).evaluate(text, frame)

    def compare(self, left: Reference, right: Reference, frame: int = 0) -> Comparison:
        """Compares two tensors element by element, in the slice of the left one."""
        from .evaluate import Evaluator

        evaluator = Evaluator(self)
        tensors = [evaluator.tensor(each, frame) for each in (left, right)]
        here, there = tensors
        other = f"rank:{there.rank},tensor:{there.name}@{there.step}"
        step = None if here.step == "current" else here.step
        try:
            return self.job.compare(here.name, other, step=step, rank=here.rank, slice=here.slice or None)
        except ApiError as error:
            raise sentence_of(error) from None

    def complete(self, text: str, frame: int = 0) -> list[Completion]:
        """How an expression may go on, at the end of `text`."""
        from .completion import complete_expression

        return complete_expression(self, text, frame)

    def complete_nodes(self, prefix: str) -> list[Completion]:
        """Full names of nodes and scopes that begin like this, scope by scope."""
        from .completion import complete_nodes

        return complete_nodes(self.graph_index(), prefix)

    def hits(self) -> Iterator[Hit]:
        """All hits of the job in execution order, also of others' watchpoints."""
        return self.job.hits()

    @abc.abstractmethod
    def conditions(self) -> dict[str, Json]:
        """The conditions that breakpoints may have, by id, as the HTTP API describes them."""

    def page(self) -> str:
        """A new address of the page of the job or run. It works once and for 60 seconds."""
        raise DebuggerError(f"{self.name} has no page")

    def catch(self, node: str) -> None:
        """Keeps the outputs of a node from its next execution until the stop after it. Live jobs only."""
        raise DebuggerError("only a live job can keep values")

    def capture(self, hit: int) -> bytes:
        """A hit of the step at which a live job stands as a bundle: its ops with their values."""
        raise DebuggerError("only hits of a live job can be captured")

    def replay(self, dtype: str | None = None) -> str:
        """Repeats the ops of a bundle, also in another type such as "float64", and says what that has given."""
        raise DebuggerError("only a bundle can be replayed; capture writes one")

    def whatif(self) -> list[str]:
        """What other ways to repeat a hit give: a line for each, and what they mean."""
        raise DebuggerError("only a bundle can be repeated in other ways; capture writes one")

    @abc.abstractmethod
    def close(self) -> None:
        """Removes this session's watchpoints, no others, and closes its connections. The job goes on as it is."""

    def _stopped(self, rank: int) -> Stop:
        stop = self.stop_of(rank)
        if stop is None:
            raise DebuggerError(f"rank {rank} is running; pause it first")
        return stop


def _label(stop: Stop) -> str:
    if stop.has_ended:
        return "the job has ended"
    return f"end of step {stop.step}" if stop.step else "before the first step"


def _ranges(numbers: list[int]) -> str:
    if len(numbers) > 8:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers)) or "none"


def sentence_of(error: ApiError) -> DebuggerError:
    """The server's sentence as an error of this package, without the names of its arguments."""
    return DebuggerError(str(error).removeprefix("condition.params.expression: "))
