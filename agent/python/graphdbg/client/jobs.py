"""A job that is debugged, or that has ended: control, watchpoints, hits and tensors."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .arrays import array_of
from .errors import CommandRefusedError, InvalidRequestError, WaitTimeoutError
from .events import EventStream
from .graph import Graph
from .http import HttpClient, Json, quote
from .models import (
    Comparison,
    Diagnosis,
    Histogram,
    HistoryPoint,
    Hit,
    Incident,
    JobInfo,
    LiveRule,
    RankRecording,
    SelectionPreview,
    Statistics,
    Watchpoint,
)
from .paused_job import PausedJob

if TYPE_CHECKING:
    from graphdbg.rules.finding import Finding

    from .arrays import Array

# Other texts are expressions.
_CONDITION_ID = re.compile(r"[a-z][a-z0-9_]*")
# The time in which a job executes a command; a long op delays that.
_COMMAND_SECONDS = 600.0


def full_name(tensor: str) -> str:
    """The name of a tensor. The name of a node means its first output."""
    _, colon, slot = tensor.rpartition(":")
    return tensor if colon and slot.isdigit() else f"{tensor}:0"


def _recordings(answer: Json) -> list[RankRecording]:
    return [RankRecording.from_json(each) for each in answer["ranks"]]


class Job(PausedJob):
    """One job of a server. Not thread-safe; use one for each thread.

    The properties are those of `info`, the newest report that this object has received;
    `refresh` asks for a new one.

    Attributes:
        id: The id of the job.
        info: The newest report.
    """

    def __init__(self, http: HttpClient, info: JobInfo) -> None:
        self.id = info.id
        self.info = info
        self._http = http
        self._path = f"/jobs/{quote(info.id)}"
        self._events: EventStream | None = None
        # The command whose outcome has not been received yet.
        self._pending: str | None = None

    def __repr__(self) -> str:
        node = f" at {self.node}" if self.node else ""
        return f"<graphdbg job {self.id!r}: {self.state}, step {self.step}{node}>"

    @property
    def state(self) -> str:
        return self.info.state

    @property
    def step_number(self) -> int:
        """The current step, from 1; 0 before the first one."""
        return self.info.step

    @property
    def node(self) -> str:
        return self.info.node

    def refresh(self) -> JobInfo:
        """Asks the server for the job's state."""
        self.info = JobInfo.from_json(self._http.get(self._path))
        return self.info

    def page(self, embed: bool = False) -> str:
        """A new address of the job's page. It works once and for 60 seconds.

        Args:
            embed: Views of VS Code may show the page in a frame.
        """
        return str(self._http.page(self._path, embed=embed)["url"])

    def forget(self) -> None:
        """Removes the job, which must have ended, from the server."""
        self._http.delete(self._path)

    def close(self) -> None:
        """Closes the connection for events. The job itself continues unchanged."""
        if self._events is not None:
            self._events.close()
            self._events = None

    # ---- control

    def continue_(self, rank: int | None = None) -> None:
        """Continues to the next hit, or to the end. `rank`: only this one; default: all together."""
        self._control("continue", rank)

    def step(self, n: int = 1, rank: int | None = None) -> None:
        """Continues for `n` steps. Use `wait_for_stop` afterwards, as with all of these."""
        self._control("step", rank, steps=n)

    def next_node(
        self,
        rank: int | None = None,
        *,
        within: str | None = None,
        outside: str | None = None,
        other_line: bool = False,
    ) -> None:
        """Continues to the next node that executes, or over some nodes to the next one after them.

        With any of the keywords it stops at the end of the step if no node of it is left to stop at.

        Args:
            rank: Only this rank. Default: the only one; a job of several ranks needs it.
            within: Passes over nodes of scopes inside this scope ("" is the top), as `next` steps over calls.
            outside: Passes over this scope's nodes and those inside it, as `finish` leaves a function.
            other_line: Passes over nodes with the source line of the node at which the rank stands. With `within`, the
                line is that of this module's function: passes over all that it executes, and stops at the first node
                that another line executes, also inside the modules that this line calls.

        Raises:
            NotFoundError: There is no such scope (code `unknown_scope`).
            ApiError: The job's agent passes over no nodes (code `unsupported_command`).
        """
        fields: dict[str, Any] = {"within": within, "outside": outside}
        fields = {name: value for name, value in fields.items() if value is not None}
        if other_line:
            fields["other_line"] = True
        self._control("next_node", rank, **fields)

    def run_to(self, node: str, rank: int | None = None, pending: bool = False) -> None:
        """Continues until a node has executed.

        Args:
            node: The full name of the node.
            rank: Only this rank. Default: all ranks together.
            pending: Accepts a node that does not exist yet, such as an op before the first step.

        Raises:
            NotFoundError: There is no such node (code `unknown_node`).
        """
        self._control("continue_to", rank, node=node, **({"pending": True} if pending else {}))

    def pause(self, rank: int | None = None) -> None:
        """Asks a running job to stop at its next op."""
        self._control("pause", rank)

    def terminate(self) -> None:
        """Ends the job as an exception in its main thread would."""
        self._control("terminate", None)

    def recheck(self, rank: int | None = None) -> None:
        """Checks all watchpoints on the values that a paused job has now."""
        self._control("recheck", rank)

    def take_over(self) -> None:
        """Takes over the control of the job from the user who has it."""
        self._http.post(f"{self._path}/lease", {})

    def wait_for_stop(self, timeout: float | None = None) -> JobInfo:
        """Waits until the job is paused or has ended; returns at once if it is so already.

        After a command of this object it waits for the stop that follows the command.

        Args:
            timeout: In seconds. Default: no limit.

        Returns:
            The job; `is_paused` and `has_ended` distinguish the two.

        Raises:
            CommandRefusedError: The job did not execute the command.
            UnreachableError: The server has gone away.
            WaitTimeoutError: The job has not stopped in time.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        self._stream()
        while True:
            if self._pending is None and (self.info.is_paused or self.info.has_ended):
                # Somebody else may have resumed it meanwhile.
                self.refresh()
                if self.info.is_paused or self.info.has_ended:
                    return self.info
            self._receive(deadline)

    def wait_for_resume(self, timeout: float | None = None) -> JobInfo:
        """Waits until a user has resumed a paused job, for example on the page, or it has ended.

        Raises:
            WaitTimeoutError: It is still paused.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.info.is_paused:
            self._receive(deadline)
        return self.info

    def check_watchpoints(self) -> list[Hit]:
        """Checks all watchpoints on the values of a paused job.

        Returns:
            The hits that this check has found, in execution order.
        """
        before = self.refresh().hit_count
        known = {hit.id for hit in self.hits(step=self.info.step)} if before else set()
        self.recheck()
        info = self.wait_for_stop(_COMMAND_SECONDS)
        if info.hit_count == before:
            return []
        return [hit for hit in self.hits(step=info.step) if hit.id not in known]

    def _control(self, command: str, rank: int | None, **fields: Any) -> None:
        # Opened first, so that the outcome of the command is among the events.
        self._stream()
        body = {"command": command, **fields} | ({} if rank is None else {"rank": rank})
        self._pending = str(self._http.post(f"{self._path}/control", body)["command_id"])

    def _stream(self) -> EventStream:
        if self._events is None:
            self._events = EventStream(self._http, self.id)
            # A snapshot comes first. Later it would seem to follow a command that it precedes.
            self._receive(None)
        return self._events

    def _receive(self, deadline: float | None) -> None:
        event = self._stream().next(None if deadline is None else max(deadline - time.monotonic(), 0.0))
        if event is None:
            raise WaitTimeoutError(f"job '{self.id}' is still {self.state}")
        self._handle(event)

    def _handle(self, event: Json) -> None:
        if event["type"] not in ("snapshot", "state", "job") or event.get("info") is None:
            return
        self.info = self.info.after(event["info"])
        # A snapshot replaces events that this client was too slow for, so the command is older.
        pending = self._pending
        if self.info.has_ended or event["type"] == "snapshot" or event.get("command_id") == pending:
            self._pending = None
        if event.get("error") and event.get("command_id") == pending:
            raise CommandRefusedError(f"job '{self.id}' refused the command: {event['error']}")

    # ---- recording

    def record(
        self,
        to: str | None = None,
        *,
        on: bool = True,
        level: str | None = None,
        keep: str | None = None,
        collections: Sequence[str] | None = None,
    ) -> list[RankRecording]:
        """Switches the recording of the job on or off, between two steps.

        Returns once all ranks have opened their files. A recording that is switched on again, or on with other
        arguments, is a run of its own.

        Args:
            to: The directory of runs on the machine of each rank. Default: that of the job's configuration,
                else that of the recording before, else "runs" in its working directory.
            on: False ends the recording with the current step.
            level: "light", "statistics" or "tensors".
            keep: "all", or "ring" for the newest steps only.
            collections: Names of predefined collections, such as "weights".

        Raises:
            ApiError: `code` is "recording_failed" if a rank cannot record, for example because the directory is not
                writable; "unsupported_command" if its agent cannot be switched; "not_allowed_by_job".
        """
        settings = {"directory": to, "level": level, "keep": keep, "collections": collections}
        body: Json = {"on": on, **{name: value for name, value in settings.items() if value is not None}}
        return _recordings(self._http.put(f"{self._path}/recording", body))

    def recording(self) -> list[RankRecording]:
        """The current recording of each rank, by rank."""
        return _recordings(self._http.get(f"{self._path}/recording"))

    # ---- rules

    def add_rule(
        self,
        name: str,
        when: str | None = None,
        *,
        rule: str | None = None,
        params: Mapping[str, Any] | None = None,
        select: Mapping[str, Sequence[str]] | None = None,
        series: Sequence[str] | None = None,
        reduce: Mapping[str, str] | None = None,
        hold: int = 1,
        cool_down: int = 10,
        actions: Sequence[str | Json] = (),
        act_from: int | None = None,
    ) -> LiveRule:
        """Evaluates a rule over what the job has recorded, and then over each step soon after it has ended.

        Args:
            name: Its name in findings.
            when: The expression, such as "value > 10 * mean_before(value, 20)".
            rule: Instead, the id of a built-in rule that consists of expressions; of several, the first is returned.
            params: Its parameters.
            select: Lists of names by `collections`, `include`, `exclude`, `op_types`, `nodes`, `scopes`, `patterns`
                or `categories`. Default: every tensor.
            series: What distinguishes two series: some of "rank", "tensor", "mode". Default: all.
            reduce: Values over the observations of a step, such as "max(l2)", by name.
            hold: Observations in a row for which `when` must be true.
            cool_down: Observations without a match before the rule is reported again.
            actions: What a finding does: some of "pause" (after the step that the job is at), "stop", "log" and
                {"record": {"level": "tensors", "collections": ["weights"], "steps": 20}}.
            act_from: The first step whose findings have actions. Default: that after those recorded already.

        Raises:
            ApiError: `code` is "not_recorded" if the job records nothing; "run_not_here" if the server does not read
                the directory (`graphdbg start --runs DIR`); "rule_exists".
            InvalidRequestError: The rule is invalid; `field` names what.
        """
        given = {
            "when": when,
            "rule": rule,
            "params": params,
            "select": select,
            "series": series,
            "reduce": reduce,
            "act_from": act_from,
        }
        body: Json = {
            "name": name,
            "for": hold,
            "cool_down": cool_down,
            "actions": list(actions),
            **{key: value for key, value in given.items() if value is not None},
        }
        answer = self._http.post(f"{self._path}/rules", {"rules": [body]})
        return next(each for each in map(LiveRule.from_json, answer["rules"]) if each.name in (name, f"{name} (1)"))

    def rules(self) -> list[LiveRule]:
        """The rules of the job, in the order in which they were added."""
        return [LiveRule.from_json(each) for each in self._http.get(f"{self._path}/rules")["rules"]]

    def remove_rule(self, rule: LiveRule | str) -> None:
        """Ends the evaluation of a rule. Its findings stay."""
        name = rule if isinstance(rule, str) else rule.name
        self._http.delete(f"{self._path}/rules/{quote(name)}")

    def findings(self, rule: LiveRule | str | None = None) -> list[Finding]:
        """What rules have found in this job, in the order in which it was found; at most the last 10,000."""
        from graphdbg.rules.finding import Finding

        name = rule.name if isinstance(rule, LiveRule) else rule
        answer = self._http.get(f"{self._path}/findings", **({"rule": name} if name else {}))
        return [Finding.from_json(each) for each in answer["findings"]]

    # ---- watchpoints and hits

    def watch(
        self,
        condition: str,
        *,
        params: Mapping[str, Any] | None = None,
        nodes: Sequence[str] = (),
        patterns: Sequence[str] = (),
        scopes: Sequence[str] = (),
        categories: Sequence[str] = (),
        regexes: Sequence[str] = (),
        op_types: Sequence[str] = (),
        sources: Sequence[str] = (),
        dtypes: Sequence[str] = (),
        ranks: Sequence[int] = (),
        exclude: Mapping[str, Sequence[str] | Sequence[int]] | None = None,
        pause: str = "node",
        enabled: bool = True,
        **more: Any,
    ) -> Watchpoint:
        """Adds a watchpoint.

        Args:
            condition: The id of a condition, such as "nan", or an expression, such as "abs_max > 1e3 && step > 100".
            params: The condition's parameters, such as {"param": 1e3}; `Client.conditions` lists them.
            nodes: Full names of nodes. Nodes, patterns, scopes, categories and regexes add up; everything is
                watched if all of them are empty. The other lists narrow what is watched.
            patterns: Full names with `*` and `?`.
            scopes: Full names of scopes, with everything in them.
            categories: "weight", "gradient", "activation", "optimizer" or "other".
            regexes: Regular expressions of RE2, found anywhere in a full name, in upper or lower case.
            op_types: Types of ops, such as "addmm".
            sources: Lines of the program, such as "model.py:32", or files.
            dtypes: Types of tensors, such as "float16".
            ranks: The ranks on which it is checked.
            exclude: The same lists by name; what any of their entries describes is left out.
            pause: When a hit pauses the job: "node" at once, "step" at the end of the step, or "none".
            enabled: Whether it is checked.
            more: Further fields of the HTTP interface: `once`, `ignore_count`, `muted_until_step`, `group`,
                `actions`.

        Raises:
            InvalidRequestError: An argument is invalid; `field` names it.
        """
        body: dict[str, Any] = {
            "condition": _condition(condition, params),
            "nodes": list(nodes),
            "patterns": list(patterns),
            "scopes": list(scopes),
            "categories": list(categories),
            "pause": pause,
            "enabled": enabled,
            **more,
        }
        # Earlier servers refuse these, even if they are empty.
        lists = {"regexes": regexes, "op_types": op_types, "sources": sources, "dtypes": dtypes, "ranks": ranks}
        body |= {name: list(entries) for name, entries in lists.items() if entries}
        if exclude:
            body["exclude"] = {name: list(entries) for name, entries in exclude.items()}
        return Watchpoint.from_json(self._http.post(f"{self._path}/watchpoints", body))

    def preview_watchpoint(self, condition: str, **selection: Any) -> SelectionPreview:
        """What a watchpoint with this selection would cover, and what its checks would take; adds none.

        Args:
            condition: The id of a condition.
            selection: The lists that `watch` takes: `nodes`, `op_types`, `exclude` and so on.
        """
        body = {"condition": {"id": condition}, **selection}
        return SelectionPreview.from_json(self._http.post(f"{self._path}/watchpoints/preview", body))

    def watch_recommended(self) -> list[Watchpoint]:
        """Adds the recommended watchpoints that do not exist yet, and returns all of them."""
        answer = self._http.post(f"{self._path}/watchpoints/recommended", {})
        return [Watchpoint.from_json(each) for each in answer["watchpoints"]]

    def watchpoints(self) -> list[Watchpoint]:
        """The watchpoints, by id."""
        answer = self._http.get(f"{self._path}/watchpoints")
        return [Watchpoint.from_json(each) for each in answer["watchpoints"]]

    def change_watchpoint(self, watchpoint: Watchpoint | int, **fields: Any) -> Watchpoint:
        """Changes fields of a watchpoint, such as `enabled` and `pause`."""
        return Watchpoint.from_json(self._http.patch(self._watchpoint_path(watchpoint), fields))

    def unwatch(self, watchpoint: Watchpoint | int) -> None:
        """Removes a watchpoint and keeps its hits."""
        self._http.delete(self._watchpoint_path(watchpoint))

    def _watchpoint_path(self, watchpoint: Watchpoint | int) -> str:
        return f"{self._path}/watchpoints/{watchpoint.id if isinstance(watchpoint, Watchpoint) else watchpoint}"

    def hits(
        self,
        *,
        watchpoint: Watchpoint | int | None = None,
        rank: int | None = None,
        step: int | None = None,
        node: str | None = None,
    ) -> Iterator[Hit]:
        """Yields hits in execution order. The pages are requested when they are reached."""
        number = watchpoint.id if isinstance(watchpoint, Watchpoint) else watchpoint
        cursor: str | None = None
        while True:
            page = self._http.get(
                f"{self._path}/hits", watchpoint=number, rank=rank, step=step, node=node, limit=1000, cursor=cursor
            )
            yield from map(Hit.from_json, page["hits"])
            cursor = page.get("next_cursor")
            if not cursor:
                return

    def diagnosis(self, hit: Hit | int) -> Diagnosis:
        """The likely cause of a hit, as the page and the terminal show it."""
        number = hit.id if isinstance(hit, Hit) else hit
        return Diagnosis.from_json(self._http.get(f"{self._path}/hits/{number}/diagnosis"))

    def incidents(self) -> list[Incident]:
        """The hits by their causes, in the order of their first hits; the first 1,000."""
        page = self._http.get(f"{self._path}/incidents", limit=1000)
        return [Incident.from_json(each) for each in page["incidents"]]

    # ---- tensors

    def tensor(
        self, name: str, *, step: int | str | None = None, rank: int | None = None, slice: str | None = None
    ) -> Array:
        """The values of a tensor of a paused job.

        Args:
            name: NODE:SLOT; a node's name means its first output.
            step: A number, "current" (the default) or "previous".
            rank: Default: 0.
            slice: NumPy's basic indexing, such as "[0,:,10:20]". Default: the whole tensor. At most 256 MiB.

        Returns:
            A new array. bfloat16 and float8 need the package ml_dtypes.

        Raises:
            ValueGoneError: The value no longer exists.
            NotFoundError: There is no such node.
        """
        values, headers = self._http.fetch(
            f"{self._path}/tensor",
            accept="application/octet-stream",
            name=full_name(name),
            step=step,
            rank=rank,
            slice=slice,
        )
        shape = headers["X-Graphdbg-Shape"]
        return array_of(values, headers["X-Graphdbg-Dtype"], tuple(int(size) for size in shape.split(",") if size))

    def read_bytes(
        self, name: str, offset: int, count: int, *, step: int | str | None = None, rank: int | None = None
    ) -> bytes:
        """Some bytes of a tensor of any size: little-endian values in row-major order.

        Only the elements that have some of the bytes are fetched.

        Args:
            name, step, rank: As for `tensor`.
            offset: The first byte.
            count: The number of bytes, at most 256 MiB.

        Returns:
            These bytes; fewer if the tensor ends before.
        """
        if offset < 0 or count < 0:
            raise ValueError(f"cannot read {count} bytes at {offset}")
        if count == 0:
            return b""
        try:
            values, _ = self._http.fetch(
                f"{self._path}/tensor",
                accept="application/octet-stream",
                byte_range=f"{offset}-{offset + count - 1}",
                name=full_name(name),
                step=step,
                rank=rank,
            )
        except InvalidRequestError as error:
            if error.code == "no_such_range":
                return b""
            raise
        return values

    def tensor_statistics(self, name: str, *, step: int | str | None = None, rank: int | None = None) -> Statistics:
        """The statistics of a whole tensor; the arguments are those of `tensor`."""
        answer = self._http.get(f"{self._path}/tensor/statistics", name=full_name(name), step=step, rank=rank)
        return Statistics.from_json(answer["statistics"])

    def histogram(
        self,
        name: str,
        *,
        bins: int = 64,
        step: int | str | None = None,
        rank: int | None = None,
        slice: str | None = None,
    ) -> Histogram:
        """The histogram of a tensor with bins of equal width; the other arguments are those of `tensor`."""
        query = {"name": full_name(name), "bins": bins, "step": step, "rank": rank, "slice": slice}
        return Histogram.from_json(self._http.get(f"{self._path}/tensor/histogram", **query))

    def history(self, name: str, *, rank: int | None = None) -> list[HistoryPoint]:
        """The known statistics of a tensor by step: of hits, and of steps in which it was asked for."""
        answer = self._http.get(f"{self._path}/tensor/history", name=full_name(name), rank=rank)
        return [HistoryPoint(each["step"], Statistics.from_json(each["statistics"])) for each in answer["points"]]

    def compare(
        self,
        name: str,
        with_: str = "previous",
        *,
        step: int | str | None = None,
        rank: int | None = None,
        slice: str | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        listed: int | None = None,
    ) -> Comparison:
        """Compares a tensor of any size with itself elsewhere, or with another one of the same shape.

        Args:
            name: NODE:SLOT; a node's name means its first output.
            with_: "previous", "step:N", "rank:R[,TENSOR][@STEP]", "TENSOR[@STEP]" or
                "run:RUN[:RANK][,TENSOR][@STEP]", where TENSOR is tensor:NODE:SLOT, and RUN a recorded run that the
                server has. What it does not name is as on the left side.
            step, rank, slice: As for `tensor`.
            rtol, atol: Tolerances as in numpy.allclose. Default: 1e-5 and 1e-8.
            listed: The number of pairs in `not_close`, at most 1,000. Default: 16.
        """
        query = {"name": full_name(name), "with": with_, "step": step, "rank": rank, "slice": slice}
        answer = self._http.get(f"{self._path}/tensor/compare", **query, rtol=rtol, atol=atol, list=listed)
        return Comparison.from_json(answer)

    # ---- graph

    def graph(self, graph: str | None = None) -> Graph:
        """A graph of the job. Default: the main one."""
        return Graph(self._http, self._path, graph)

    def graphs(self) -> list[str]:
        """The ids of the job's graphs."""
        return [each["id"] for each in self._http.get(f"{self._path}/graphs")["graphs"]]


def _condition(text: str, params: Mapping[str, Any] | None) -> Json:
    if _CONDITION_ID.fullmatch(text):
        return {"id": text, "params": dict(params or {})}
    if params:
        problem = {"detail": "an expression takes no params", "code": "invalid_argument", "field": "params"}
        raise InvalidRequestError(422, problem)
    return {"id": "expression", "params": {"expression": text}}
