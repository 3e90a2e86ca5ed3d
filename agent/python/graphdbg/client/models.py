"""Reports of the server about jobs, as typed and immutable objects.

Counts are numbers of elements. Numbers are None where there is no finite element.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

Json = Mapping[str, Any]
Number = float | None
_T = TypeVar("_T")

ENDED_STATES = frozenset({"finished", "terminated", "lost"})


def _make(cls: type[_T], data: Json, **converted: Any) -> _T:
    """Makes a dataclass from the fields of the same names, so that newer servers may send more."""
    names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
    return cls(**{name: data[name] for name in names if name in data} | converted)


def _number(value: Any) -> Number:
    """JSON has no NaN and no infinities, which the server sends as strings."""
    return None if value is None else float(value)


def _numbers(values: Json) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


@dataclass(frozen=True)
class Statistics:
    """Statistics of one tensor, accumulated in float64.

    Attributes:
        count: Number of elements.
        nan_count, pos_inf_count, neg_inf_count: Numbers of NaN and of infinities.
        zero_count, negative_count, positive_count: Numbers of finite elements by sign.
        min, max, mean: Of the finite elements, as all fields below.
        abs_mean, abs_max: Of the absolute values.
        variance: The population variance.
        l1, l2: The norms.
        quantiles: p01, p05, p10, p25, p50, p75, p90, p95 and p99 by name; empty where they were not computed.
    """

    count: int
    nan_count: int
    pos_inf_count: int
    neg_inf_count: int
    zero_count: int
    negative_count: int
    positive_count: int
    min: Number
    max: Number
    mean: Number
    abs_mean: Number
    abs_max: Number
    variance: Number
    l1: Number
    l2: Number
    quantiles: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Json) -> Statistics:
        names = ("min", "max", "mean", "abs_mean", "abs_max", "variance", "l1", "l2")
        numbers = {name: _number(data[name]) for name in names}
        return _make(cls, data, **numbers, quantiles=_numbers(data.get("quantiles", {})))


def statistics_or_none(data: Json | None) -> Statistics | None:
    return None if data is None else Statistics.from_json(data)


@dataclass(frozen=True)
class Source:
    """A line of source code.

    Attributes:
        file: The absolute path.
        line: The number of the line, from 1.
        text: The line; "" if the file cannot be read.
        function: The qualified name of the function.
        user: Whether it is the user's own code; frames of libraries have False.
    """

    file: str
    line: int
    text: str = ""
    function: str = ""
    user: bool = True

    @classmethod
    def from_json(cls, data: Json | None) -> Source | None:
        return None if data is None else _make(cls, data)


@dataclass(frozen=True)
class RankRecording:
    """The current recording of one rank of a live job.

    Attributes:
        rank: Its number, from 0.
        supported: Whether it can be switched on and off.
        state: "off", "starting" (with the next step), "on" or "stopping" (with this step).
        host: The machine that it writes on.
        directory: The directory of the run on that machine; None if nothing is recorded.
        keep: "all", or "ring" for the newest steps only.
        steps, records: The numbers of recorded steps and records.
        dropped: The number of records that found no room.
        bytes: The size of ring, log and saved values.
        time_share: The share of the program's time that measuring took, from 0 to 1.
    """

    rank: int
    supported: bool
    state: str
    host: str
    directory: str | None
    keep: str
    steps: int
    records: int
    dropped: int
    bytes: int
    time_share: float

    @classmethod
    def from_json(cls, data: Json) -> RankRecording:
        return _make(cls, data, time_share=_number(data["time_share"]) or 0.0)


@dataclass(frozen=True)
class LiveRule:
    """A rule that is evaluated while its job runs, over what the job records.

    Attributes:
        name: Its name, unique in the run.
        when: The expression; None for a rule in Python.
        actions: What a finding does: "pause", "stop", "log", or {"record": …}.
        state: "running" until the run has ended and all of it was evaluated, then "done"; "failed".
        observations: The number of observations so far.
        unknown: Those that do not match because what they need was not recorded.
        finding_count: The number of findings.
        error: Why it cannot be evaluated any more, if it failed or was switched off.
        base: The built-in rule that it is, or is a part of; None if there is none.
        act_from: The first step whose findings have the actions carried out.
    """

    name: str
    when: str | None
    actions: tuple[str | Json, ...]
    state: str
    observations: int
    unknown: int
    finding_count: int
    error: str | None
    base: str | None = None
    act_from: int | None = None

    @classmethod
    def from_json(cls, data: Json) -> LiveRule:
        return _make(cls, data, actions=tuple(data["actions"]))


@dataclass(frozen=True)
class Rank:
    """One process of a job.

    Attributes:
        rank: Its number, from 0.
        host, pid, peer: The machine, the process, and the address of its connection.
        device, device_id: The device that it trains on, such as "cuda" and 0.
        state: As JobInfo.state.
        step, node: Where it is.
    """

    rank: int
    host: str
    pid: int
    peer: str
    device: str
    device_id: int
    state: str
    step: int
    node: str


@dataclass(frozen=True)
class ExceptionInfo:
    """The exception that ended or stopped a job.

    Attributes:
        type: The class, such as "ValueError".
        message: Its message.
        traceback: The traceback as text.
        node: The node at which it happened, if known.
    """

    type: str
    message: str
    traceback: str
    node: str | None = None

    @classmethod
    def from_json(cls, data: Json | None) -> ExceptionInfo | None:
        return None if data is None else _make(cls, data)


@dataclass(frozen=True)
class JobInfo:
    """A job as the server reports it at one moment.

    Attributes:
        id, name: The id, which is unique on its server, and the name.
        framework, framework_version: Such as "pytorch" and "2.7.0".
        state: "connecting", "paused", "running", "pausing", "finished", "terminated" or "lost".
        pause_reason: "start", "step", "node", "watchpoint", "user" or "error" while it is paused.
        step: The current step, from 1; 0 before the first one.
        node: The current node; "" at the end of a step.
        world_size: The number of ranks.
        created_at: When it connected: ISO 8601, UTC.
        hit_count: The number of hits so far, without absorbed ones.
        absorbed_hit_count: The number of hits by infinities that reached no result.
        stopped_by: Ids of the watchpoints that caused the pause.
        ranks: Its processes; of a job of more than 64 in a list of jobs, the first ones.
        exit_code, exception: How it has ended; None while it runs.
        metrics: The last value of each scalar that `save_scalar` recorded, by name, once the job has ended.
        overhead: The share of the time of recent steps, from 0 to 1, that its threads have spent in graphdbg's
            code, of the rank that spends most; None before it is measured.
    """

    id: str
    name: str
    framework: str
    framework_version: str
    state: str
    pause_reason: str | None
    step: int
    node: str
    world_size: int
    created_at: str
    hit_count: int
    stopped_by: tuple[int, ...]
    ranks: tuple[Rank, ...]
    exit_code: int | None
    exception: ExceptionInfo | None
    absorbed_hit_count: int = 0
    metrics: Mapping[str, float] = field(default_factory=dict)
    overhead: float | None = None

    @classmethod
    def from_json(cls, data: Json) -> JobInfo:
        return _make(
            cls,
            data,
            stopped_by=tuple(data["stopped_by"]),
            ranks=tuple(_make(Rank, rank) for rank in data["ranks"]),
            exception=ExceptionInfo.from_json(data["exception"]),
            metrics=_numbers(data.get("metrics", {})),
        )

    def after(self, data: Json) -> JobInfo:
        """The job after an event with this `info`, which of many ranks has only those that changed."""
        if data.get("ranks_complete", True):
            return JobInfo.from_json(data)
        ranks = {rank.rank: dataclasses.asdict(rank) for rank in self.ranks}
        for rank in data["ranks"]:
            known = ranks.get(rank["rank"], {})
            # An event about a process that this client has not heard of yet is followed by the process's own.
            if known or "host" in rank:
                ranks[rank["rank"]] = known | rank
        return JobInfo.from_json({**data, "ranks": [ranks[number] for number in sorted(ranks)]})

    @property
    def is_paused(self) -> bool:
        return self.state == "paused"

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED_STATES


@dataclass(frozen=True)
class TensorInfo:
    """An output of a node.

    Attributes:
        node, slot: The node, and the number of the output, from 0.
        dtype: As NumPy and ml_dtypes name it, such as "float32" and "bfloat16".
        shape: The size of each dimension.
    """

    node: str
    slot: int
    dtype: str
    shape: tuple[int, ...]

    @property
    def name(self) -> str:
        """The full name, NODE:SLOT."""
        return f"{self.node}:{self.slot}"

    @classmethod
    def from_json(cls, data: Json, node: str | None = None) -> TensorInfo:
        return _make(cls, data, node=node if node is not None else data["node"], shape=tuple(data["shape"]))


@dataclass(frozen=True)
class Node:
    """A node of a graph: an op, parameter, buffer, constant, input or scope.

    Attributes:
        name: The full name, such as "forward/layer1/relu".
        kind: "op", "parameter", "buffer", "constant", "input" or "scope".
        op_type: Such as "aten::relu", or the class of a scope's module.
        category: "weight", "gradient", "activation", "optimizer" or "other".
        outputs: Its tensors.
        hit_count: The number of hits on it.
        source: The user's own line that called it; for a backward op, that of its forward op.
        order: Its position in the order of execution.
    """

    name: str
    kind: str
    op_type: str
    category: str
    outputs: tuple[TensorInfo, ...]
    hit_count: int
    source: Source | None
    order: int

    @classmethod
    def from_json(cls, data: Json) -> Node:
        return _make(cls, data, **_node_fields(data))


def _node_fields(data: Json) -> dict[str, Any]:
    return {
        "outputs": tuple(TensorInfo.from_json(output, data["name"]) for output in data["outputs"]),
        "source": Source.from_json(data["source"]),
    }


@dataclass(frozen=True)
class NodeDetail(Node):
    """A node with its neighbours.

    Attributes:
        graph: The id of its graph.
        inputs: The tensors that it reads.
        consumers: Names of the nodes that read its outputs.
        attributes: Its properties as the framework reports them.
        stack: The source stack of the call, innermost frame first.
    """

    graph: str
    inputs: tuple[TensorInfo, ...]
    consumers: tuple[str, ...]
    attributes: Mapping[str, str]
    stack: tuple[Source, ...]

    @classmethod
    def from_json(cls, data: Json) -> NodeDetail:
        return _make(
            cls,
            data,
            **_node_fields(data),
            inputs=tuple(TensorInfo.from_json(each) for each in data["inputs"]),
            consumers=tuple(dict.fromkeys(each["node"] for each in data["consumers"])),
            stack=tuple(_make(Source, frame) for frame in data["stack"]),
        )


@dataclass(frozen=True)
class SelectionPreview:
    """What a watchpoint would cover of the nodes that are known.

    Attributes:
        node_count: The number of nodes.
        tensors, bytes: Their outputs of the selected types, as far as these are known, and the memory they take.
        seconds_per_step: An estimate of what checking them takes in a step in which each node is executed once.
        examples: The names of the first nodes.
    """

    node_count: int
    tensors: int
    bytes: int
    seconds_per_step: float
    examples: tuple[str, ...]

    @classmethod
    def from_json(cls, data: Json) -> SelectionPreview:
        return _make(cls, data, examples=tuple(data["examples"]))


@dataclass(frozen=True)
class Watchpoint:
    """A condition on the tensors of a set of nodes.

    Attributes:
        id: Its number, from 1, which is never reused in a job.
        condition, params: The condition's id and parameters.
        nodes, scopes, patterns, categories, regexes: What it watches, together; everything if all are empty.
        op_types, sources, dtypes, ranks: What it is narrowed to, if they are not empty.
        exclude: The same lists by name, of what is left out.
        pause: When a hit pauses the job: "node", "step" or "none".
        enabled: Whether it is checked.
        node_count: The number of nodes that it covers now.
        hit_count: The number of hits.
        error: Why it cannot be checked, if so.
        once: Whether its first hit disables it.
        ignore_count: How many hits of each rank do not count.
        muted_until_step: Hits in earlier steps do not pause the job.
        group: A label, or None.
        actions: What happens at a hit: "pause", "stop", "log", or {"record": …}.
    """

    id: int
    condition: str
    params: Mapping[str, Any]
    nodes: tuple[str, ...]
    scopes: tuple[str, ...]
    patterns: tuple[str, ...]
    categories: tuple[str, ...]
    pause: str
    enabled: bool
    node_count: int
    hit_count: int
    error: str | None
    once: bool = False
    ignore_count: int = 0
    group: str | None = None
    actions: tuple[str | Json, ...] = ()
    regexes: tuple[str, ...] = ()
    op_types: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    exclude: Mapping[str, Any] = field(default_factory=dict)
    muted_until_step: int = 0

    @classmethod
    def from_json(cls, data: Json) -> Watchpoint:
        lists = (
            *("nodes", "scopes", "patterns", "categories", "regexes"),
            *("op_types", "sources", "dtypes", "ranks", "actions"),
        )
        selection = {name: tuple(data[name]) for name in lists if name in data}
        condition = data["condition"]
        return _make(cls, data, condition=condition["id"], params=condition.get("params", {}), **selection)


@dataclass(frozen=True)
class Hit:
    """One tensor that matched a watchpoint's condition, at one step on one rank.

    Attributes:
        id: Its number in the job.
        watchpoint: The id of the watchpoint.
        rank, step: Where it happened.
        node, slot: The tensor; `name` has both.
        op_type, dtype, shape: Of the node, and of the tensor.
        order: Its position in the order of execution.
        condition, params: The watchpoint's condition at that time.
        actual: The measured values that matched.
        statistics: Of the tensor; None if the job reported only the compared values.
        origin: "origin" if the inputs were still good, "propagated" if not, or "unknown".
        absorbed: Whether it is by infinities that reached no result, and therefore did not stop the job.
        source: The user's own line.
        error: Why the condition could not be checked, if so.
        message: What the job has found, for a condition whose target is "training".
        time: ISO 8601, UTC.
    """

    id: int
    watchpoint: int
    rank: int
    step: int
    node: str
    slot: int
    op_type: str
    dtype: str
    shape: tuple[int, ...]
    order: int
    condition: str
    params: Mapping[str, Any]
    actual: Mapping[str, float]
    statistics: Statistics | None
    origin: str
    source: Source | None
    error: str | None
    time: str
    absorbed: bool = False
    message: str | None = None

    @property
    def name(self) -> str:
        """The full name of the tensor, NODE:SLOT."""
        return f"{self.node}:{self.slot}"

    @classmethod
    def from_json(cls, data: Json) -> Hit:
        return _make(
            cls,
            data,
            shape=tuple(data["shape"]),
            actual=_numbers(data["actual"]),
            statistics=statistics_or_none(data["statistics"]),
            source=Source.from_json(data["source"]),
        )


@dataclass(frozen=True)
class Advice:
    """Sentences about a hit, the most likely or useful first.

    Attributes:
        causes: Likely causes. Those that are specific to the op come first.
        next: What to look at or to try next.
    """

    causes: tuple[str, ...]
    next: tuple[str, ...]

    @classmethod
    def from_json(cls, data: Json) -> Advice:
        return cls(tuple(data["causes"]), tuple(data["next"]))


@dataclass(frozen=True)
class Diagnosis:
    """The likely cause of a hit.

    Attributes:
        hit: The id of the hit.
        rule: A stable id, such as "log_of_zero"; None if no rule explains the hit, like `title` and `text`.
        title: What happened: "Overflow in float16".
        text: One or two sentences with numbers as evidence.
        causes: Causes that the condition and the op often have.
        next: What to look at or to try, in this order.
    """

    hit: int
    rule: str | None
    title: str | None
    text: str | None
    causes: tuple[str, ...]
    next: tuple[str, ...]

    @classmethod
    def from_json(cls, data: Json) -> Diagnosis:
        return _make(cls, data, causes=tuple(data["causes"]), next=tuple(data["next"]))


@dataclass(frozen=True)
class Incident:
    """Hits that have one cause, on all ranks and in all steps.

    Attributes:
        id: The id of the first hit at its origin.
        origin: That hit, or the first that is known.
        diagnosis: Its cause.
        conditions: Ids of the conditions that tensors of the origin have met.
        first_rank, ranks: The rank where it began, and all ranks with a hit.
        hit_count, reached_count: The number of hits, and of tensors that the values have reached besides the origin's.
        steps: Ranges of successive steps, each with its first and its last step.
    """

    id: int
    origin: Hit
    diagnosis: Diagnosis
    conditions: tuple[str, ...]
    first_rank: int
    ranks: tuple[int, ...]
    hit_count: int
    reached_count: int
    steps: tuple[tuple[int, int], ...]

    @classmethod
    def from_json(cls, data: Json) -> Incident:
        return _make(
            cls,
            data,
            origin=Hit.from_json(data["origin"]),
            diagnosis=Diagnosis.from_json(data["diagnosis"]),
            conditions=tuple(data["conditions"]),
            ranks=tuple(data["ranks"]),
            steps=tuple((each["first"], each["last"]) for each in data["steps"]),
        )


@dataclass(frozen=True)
class Histogram:
    """How the finite elements of a tensor are distributed.

    Attributes:
        edges: The borders of the bins, one more than `counts`; empty without a finite element.
        counts: The number of elements in each bin.
        nan_count, pos_inf_count, neg_inf_count: The elements in none.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    nan_count: int
    pos_inf_count: int
    neg_inf_count: int

    @classmethod
    def from_json(cls, data: Json) -> Histogram:
        return _make(cls, data, edges=tuple(map(float, data["edges"])), counts=tuple(data["counts"]))


@dataclass(frozen=True)
class HistoryPoint:
    """Statistics of a tensor at the end of one step."""

    step: int
    statistics: Statistics


@dataclass(frozen=True)
class ComparedPair:
    """Two elements at the same place.

    Attributes:
        index: Within the slice.
        left, right: The elements; of a complex element, the part that differs.
    """

    index: tuple[int, ...]
    left: float
    right: float

    @classmethod
    def from_json(cls, data: Json) -> ComparedPair:
        return cls(tuple(data["index"]), float(data["left"]), float(data["right"]))


def _pair(data: Json | None) -> ComparedPair | None:
    return None if data is None else ComparedPair.from_json(data)


@dataclass(frozen=True)
class Comparison:
    """Two tensors, compared element by element.

    Attributes:
        count: The number of pairs.
        all_close: Whether |left - right| <= atol + rtol * |right| for all pairs.
        equal_count: The number of pairs that are equal; NaN equals NaN.
        not_close_count: The number of pairs that are not close.
        non_finite_count: The number of pairs with a NaN or an infinity, which the fields below leave out.
        max_abs_difference, mean_abs_difference, mean_difference, rms_difference, max_relative_difference:
            Of left - right, over the finite pairs.
        max_abs_at: Where the difference is the largest.
        cosine: The cosine of the angle between the tensors.
        max_ulps: The largest distance in units in the last place: how many representable numbers apart. None unless
            both are floats of the same type.
        ulp_counts: The number of pairs at a distance of 0, 1, 2 to 3, 4 to 7, ... units; None as `max_ulps`.
        not_close: The first pairs that are not close.
    """

    count: int
    all_close: bool
    equal_count: int
    not_close_count: int
    non_finite_count: int
    max_abs_difference: Number
    max_abs_at: ComparedPair | None
    mean_abs_difference: Number
    mean_difference: Number
    rms_difference: Number
    max_relative_difference: Number
    cosine: Number
    max_ulps: int | None
    ulp_counts: list[int] | None
    not_close: list[ComparedPair]

    @classmethod
    def from_json(cls, data: Json) -> Comparison:
        names = (
            "max_abs_difference",
            "mean_abs_difference",
            "mean_difference",
            "rms_difference",
            "max_relative_difference",
            "cosine",
        )
        numbers = {name: _number(data[name]) for name in names}
        not_close = [ComparedPair.from_json(each) for each in data["not_close"]]
        return _make(cls, data, **numbers, max_abs_at=_pair(data["max_abs_at"]), not_close=not_close)
