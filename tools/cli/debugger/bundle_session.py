"""A session with a captured hit: its ops are repeated in this process, and it moves both ways among them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphdbg.client.errors import UNAVAILABLE
from graphdbg.client.http import Json
from graphdbg.client.models import Hit, NodeDetail, Source, TensorInfo

from ..replay.bundle_file import BadBundle, BundleFile
from . import statistic_conditions
from .bundle_breakpoints import BundleBreakpoints
from .errors import DebuggerError
from .graph_index import GraphIndex, is_file
from .places import is_line
from .session import Session
from .small_graph import SmallNode, small_graph
from .stops import Event, RankState, Reason, Stop
from .tensor_views import ArrayTensor, sliced_shape
from .values import TensorView

if TYPE_CHECKING:
    from graphdbg.client.arrays import Array


# The results of all ops are kept to be looked at, unless they have more bytes: then those of one op.
_KEPT_BYTES = 1 << 30


class BundleSession(Session):
    """A captured hit. The place is the number of an op of the tape, from -1, before the first one."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.kind = "bundle"
        self.can_reverse = True
        self.name = path.name
        self._path = path
        try:
            with BundleFile(path) as bundle:
                self.manifest: dict[str, Any] = bundle.manifest
                self._tape = bundle.json("tape.json")
                self._texts = {
                    name: bundle.read(name).decode(errors="replace") for name in bundle.members if "source" in name
                }
            self._ops: list[Any] = _unique(self._tape["ops"])
            self._hit_place = int(self._tape["target"]["op"])
            self._index = small_graph([_small_node(op) for op in self._ops])
            # A file may be anybody's: what is wrong with it is found here and not when it is looked at.
            self._stack = [Source.from_json(each) for each in self.manifest.get("stack") or ()]
            self._read = self._all_inputs()
            if not 0 <= self._hit_place < len(self._ops):
                raise BadBundle("the hit is at none of its ops")
        except (BadBundle, OSError) as error:
            raise DebuggerError(str(error)) from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise DebuggerError(f"{path} is not a bundle: {error}") from None
        self._rank = int(self.manifest.get("rank") or 0)
        self._place = self._hit_place
        self._last_results: tuple[int, list[Array | None]] = (-1, [])
        self._stop = self.stop_at(self._place, "watchpoint")
        self._bundle_breakpoints = BundleBreakpoints(self)
        self.breakpoints = self._bundle_breakpoints

    # ---- where it is

    @property
    def state(self) -> str:
        return "paused"

    def stop_of(self, rank: int) -> Stop | None:
        return self._stop

    def ranks(self) -> list[RankState]:
        return [RankState(self._rank, "paused", self._stop.step, self._stop.node)]

    def stop_at(self, place: int, reason: Reason = "node", ids: tuple[int, ...] = ()) -> Stop:
        """The stop after an op, by its number; -1: before the first one."""
        step = int(self.manifest.get("step") or 0)
        if place < 0:
            return Stop("entry", self._rank, step, description="before the first captured op")
        node = self._ops[place]["node"]
        if place == self._hit_place:
            condition = self.manifest["hit"].get("condition")
            text = f"{condition} at {node}:{self.manifest.get('slot')}, step {step}, where the bundle ends"
            return Stop("watchpoint", self._rank, step, node, self._hits(), ids, description=text)
        return Stop(reason, self._rank, step, node, (), ids, description=f"after {node}, step {step}")

    def _hits(self) -> tuple[Hit, ...]:
        hit = self.manifest["hit"]
        try:
            return (Hit.from_json(hit),)
        except (KeyError, TypeError, ValueError):
            # The manifest of a bundle may be anybody's.
            return ()

    # ---- moves

    def continue_(self, rank: int | None = None) -> None:
        self._to(1, lambda place: bool(self._bundle_breakpoints.hits_at(place)), self._hit_place)

    def reverse_continue(self) -> None:
        self._to(-1, lambda place: bool(self._bundle_breakpoints.hits_at(place)), -1)

    def step(self, n: int = 1, rank: int | None = None) -> None:
        raise DebuggerError("a bundle has only the ops of one step; use stepi, next and continue")

    def step_node(self, rank: int | None = None) -> None:
        self._to(1, lambda place: True, self._hit_place)

    def reverse_step_node(self) -> None:
        self._to(-1, lambda place: True, -1)

    def next(self, rank: int | None = None, line: bool = True, frame: int | None = None) -> None:
        self._to(1, self._other_line(line), self._hit_place)

    def reverse_next(self, line: bool = True) -> None:
        self._to(-1, self._other_line(line), -1)

    def finish(self, rank: int | None = None, frame: int | None = None) -> None:
        self._to(1, self._outside(), self._hit_place)

    def reverse_finish(self) -> None:
        self._to(-1, self._outside(), -1)

    def until(self, node: str, rank: int | None = None) -> None:
        wanted = {each["node"] for each in self._ops if each["node"] == node}
        if is_line(node):
            file, _, line = node.rpartition(":")
            wanted = {self._index.name(each) for each in self._index.lines_of(file).get(int(line), [])}
        if not wanted:
            raise self.unknown_node(node)
        self._to(1, lambda place: self._ops[place]["node"] in wanted, self._hit_place)

    def _other_line(self, line: bool) -> Callable[[int], bool]:
        here = self._index.line(self._place) if self._place >= 0 else ("", 0)
        return lambda place: not line or self._index.line(place) != here

    def _outside(self) -> Callable[[int], bool]:
        scope = self._stop.node.rpartition("/")[0]
        if not scope:
            raise DebuggerError('"finish" has no scope to leave here')
        return lambda place: not self._ops[place]["node"].startswith(f"{scope}/")

    def _to(self, direction: int, is_goal: Callable[[int], bool], end: int) -> None:
        """To the next place that is a goal, or to the end."""
        if self._place == end:
            raise DebuggerError(f"the bundle {'ends' if direction > 0 else 'begins'} here")
        place = self._place + direction
        while place != end and not is_goal(place):
            place += direction
        for passed in range(self._place + 1, place + 1):
            for event in self._bundle_breakpoints.logged_at(passed):
                self._tell(event)
        ids = tuple(self._bundle_breakpoints.hits_at(place)) if place >= 0 else ()
        self._place = place
        self._stop = self.stop_at(place, "watchpoint" if ids else "node", ids)
        self._bundle_breakpoints.count(ids)
        self._tell(Event("stopped", rank=self._rank, stop=self._stop))

    def pause(self, rank: int | None = None) -> None:
        raise DebuggerError("a bundle does not run; it stands already")

    def terminate(self) -> None:
        raise DebuggerError("a bundle has no process that could be ended")

    def detach(self, resume: bool = True) -> None:
        self.close()

    def wait(self, timeout: float | None = None) -> Stop | None:
        return self._stop

    def interrupt_wait(self) -> None:
        pass

    # ---- looking

    def node(self, name: str) -> NodeDetail:
        number = self._index.node_of(name)
        if number is None:
            raise self.unknown_node(name)
        op = self._ops[number]
        source = Source.from_json(op["source"])
        stack = [source] if source else []
        if number == self._hit_place:
            stack = [each for each in self._stack if each is not None] or stack
            # The tape has no names of functions.
            source = next((each for each in stack if each.user), source)
        outputs = tuple(_info(name, slot, each["tensor"]) for slot, each in enumerate(op["results"]) if each)
        inputs = tuple(self._read[number])
        return NodeDetail(
            name, "op", op["op"], "other", outputs, 0, source, number, "main", inputs, (), {}, tuple(stack)
        )

    def _all_inputs(self) -> list[list[TensorInfo]]:
        """By the number of an op, the tensors that it reads and an earlier one has made."""
        made: dict[int, tuple[str, int]] = {}
        inputs = []
        for op in self._ops:
            read = [each["value"]["tensor"] for each in op["arguments"] if _is_tensor(each["value"])]
            inputs.append([_info(*made[each["storage"]], each) for each in read if each["storage"] in made])
            for slot, each in enumerate(op["results"]):
                if each:
                    made[each["tensor"]["storage"]] = (op["node"], slot)
        return inputs

    def tensor_view(self, name: str, step: str | None = None, rank: int | None = None, slice: str = "") -> TensorView:
        if step is not None:
            raise DebuggerError("a bundle has the values of one step only")
        node, _, slot = name.rpartition(":")
        number = self._index.node_of(node)
        if number is None:
            raise self.unknown_node(node)
        if number > self._place:
            raise DebuggerError(f"{node} has not been executed yet at this place")
        result = dict(enumerate(self.outputs_at(number))).get(int(slot))
        if result is None:
            raise DebuggerError(f"{node} has no output {slot}")
        whole = ArrayTensor(name, result, self._rank)
        if not slice:
            return whole
        sliced_shape(whole.shape, slice)
        return ArrayTensor(f"{name}{slice}", whole.read(slice), self._rank)

    def outputs_at(self, number: int) -> list[Array | None]:
        """The results of an op as they were when it had run."""
        if sum(_result_bytes(op) for op in self._ops) <= _KEPT_BYTES:
            return self._values[number]
        if self._last_results[0] != number:
            steps = self._steps()
            results: list[Array | None] = []
            for _ in range(number + 1):
                results = next(steps)
            self._last_results = (number, results)
        return self._last_results[1]

    @functools.cached_property
    def _values(self) -> list[list[Array | None]]:
        """The results of all ops, by number."""
        return list(self._steps())

    def _steps(self) -> Iterator[list[Array | None]]:
        """Repeats the ops one by one: the results of each."""
        try:
            from ..replay.replays import CannotRun, replay_of, reported
        except ImportError as error:
            raise DebuggerError(f"a replay needs {error.name}: pip install {error.name}", UNAVAILABLE) from None
        try:
            with BundleFile(self._path) as bundle, reported(bundle):
                for _, results in replay_of(bundle).steps():
                    yield [None if each is None else _array(each) for each in results]
        except (BadBundle, CannotRun, OSError) as error:
            raise DebuggerError(f"cannot replay {self.name}: {error}", UNAVAILABLE) from None

    def replay(self, dtype: str | None = None) -> str:
        from ..replay.run_bundle import CannotRun, run_bundle

        if dtype not in (None, "float16", "bfloat16", "float32", "float64"):
            raise DebuggerError(f"{dtype} is none of float16, bfloat16, float32 and float64")
        try:
            with BundleFile(self._path) as bundle:
                found = run_bundle(bundle, dtype)
        except (BadBundle, CannotRun, OSError) as error:
            raise DebuggerError(f"cannot replay {self.name}: {error}", UNAVAILABLE) from None
        bad = sum(found["statistics"][kind] or 0 for kind in ("nan_count", "pos_inf_count", "neg_inf_count"))
        return f"{found['verdict']}: {bad:g} of {found['statistics']['count']:g} elements are not finite"

    def whatif(self) -> list[str]:
        """Repeats the hit in other ways: a line for each, and what they mean."""
        try:
            from graphdbg._bundle.experiments import conclusion, run_experiments, table

            from ..replay.replays import repeatable, reported
        except ImportError as error:
            raise DebuggerError(f"a replay needs {error.name}: pip install {error.name}", UNAVAILABLE) from None
        try:
            with BundleFile(self._path) as bundle, reported(bundle):
                outcomes = run_experiments(repeatable(bundle))
        except (BadBundle, OSError) as error:
            raise DebuggerError(f"cannot replay {self.name}: {error}", UNAVAILABLE) from None
        return [*table(outcomes), conclusion(outcomes)]

    def graph_index(self) -> GraphIndex:
        return self._index

    def source_text(self, file: str) -> str | None:
        return next((text for name, text in self._texts.items() if is_file(file, Path(name).name)), None)

    def hits(self) -> Iterator[Hit]:
        return iter(self._hits())

    def conditions(self) -> dict[str, Json]:
        return statistic_conditions.rows()

    def close(self) -> None:
        self._bundle_breakpoints.remove_all()


def _unique(ops: list[Any]) -> list[Any]:
    """The ops of a tape with different names: a node may be there twice, as one that was executed twice."""
    seen: dict[str, int] = {}
    unique = []
    for op in ops:
        seen[op["node"]] = seen.get(op["node"], 0) + 1
        again = "" if seen[op["node"]] == 1 else f"#{seen[op['node']]}"
        unique.append({**op, "node": f"{op['node']}{again}"})
    return unique


def _small_node(op: Any) -> SmallNode:
    source = op["source"] or {"file": "", "line": 0}
    first = next((each["tensor"] for each in op["results"] if each), None)
    output = f"{first['dtype']}[{', '.join(map(str, first['sizes']))}]" if first else ""
    return SmallNode(op["node"], op["op"], output, str(source["file"]), int(source["line"]))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, dict) and "tensor" in value


def _result_bytes(op: Any) -> int:
    """How many bytes the results of an op have, taking 8 for each element."""
    return sum(8 * math.prod(each["tensor"]["sizes"]) for each in op["results"] if each)


def _info(node: str, slot: int, tensor: Any) -> TensorInfo:
    return TensorInfo(node, slot, str(tensor["dtype"]), tuple(tensor["sizes"]))


def _array(tensor: Any) -> Any:
    """A copy of a torch tensor, since later ops may overwrite it. NumPy has no bfloat16."""
    import torch

    copy = tensor.detach().clone().cpu()
    if copy.is_floating_point() and (copy.dtype == torch.bfloat16 or copy.dtype.itemsize == 1):
        copy = copy.float()
    return copy.numpy()
