"""Tools for watchpoints and their conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from graphdbg.client import GraphdbgError, Watchpoint
from pydantic import Field

from ..break_on import add_watchpoint, watchpoints_of
from ..client import Json
from ..errors import USAGE
from ..recorded import size_text
from .answers import Answer
from .arguments import JobName
from .described import number
from .hints import without_list
from .subjects import Subject
from .workspace import Workspace

_EXAMPLES = 5
_DETAILS = 3


class WatchTools:
    """Each method is a tool."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def conditions(
        self,
        query: Annotated[str, Field(description="Only those with this text in id, title or explanation.")] = "",
        job: JobName = None,
    ) -> Answer:
        """Lists the conditions that run(break_on=[…]) and watch(…) take, with their parameters; explains the few that
        a query finds."""
        client = self._workspace.any_client(job)
        known = client.conditions()
        found = [each for each in known if each["id"] == query] or [each for each in known if _mentions(each, query)]
        answer = Answer()
        for target in dict.fromkeys(each["target"] for each in found):
            answer.add(f"of {target}:")
            for each in (each for each in found if each["target"] == target):
                parameters = ", ".join(_parameter(each) for each in each["params"] if not each["advanced"])
                answer.add(f"  {each['id']}{f' [{parameters}]' if parameters else ''}: {each['title']}")
                if len(found) <= _DETAILS:
                    answer.add(f"    {each['help']}")
        if not found:
            answer.add("no such condition")
        answer.add("sets: recommended, not_training")
        answer.add(
            "expressions over statistics: abs_max > 1e3 && step > 100, nan_count > 0, zero_percentage > 90, p99 > 10"
        )
        answer.next("explanations: conditions(query=ID); with parameters: abs_max_gt:1e3 or a:x=1:y=2")
        return answer

    def watch(
        self,
        condition: Annotated[
            str,
            Field(
                description="Id, with parameters as abs_max_gt:1e3; a set: recommended, not_training; an expression: "
                "abs_max > 1e3. executed stops where a node or source line executes."
            ),
        ],
        nodes: Annotated[list[str], Field(description="Full names of nodes.")] = [],  # noqa: B006
        scopes: Annotated[list[str], Field(description="Scopes, with everything in them.")] = [],  # noqa: B006
        patterns: Annotated[list[str], Field(description="Full names with * and ?.")] = [],  # noqa: B006
        categories: list[Literal["weight", "gradient", "activation", "optimizer", "other"]] = [],  # noqa: B006
        sources: Annotated[list[str], Field(description="Narrows to source lines: model.py:32.")] = [],  # noqa: B006
        op_types: Annotated[list[str], Field(description="Narrows to types of ops: addmm.")] = [],  # noqa: B006
        dtypes: Annotated[list[str], Field(description="Narrows to types of tensors: float16.")] = [],  # noqa: B006
        ranks: Annotated[list[int], Field(description="Narrows to ranks.")] = [],  # noqa: B006
        exclude: Annotated[
            dict[str, list[str]] | None, Field(description='The same lists by name, left out: {"op_types": ["where"]}.')
        ] = None,
        pause: Annotated[
            Literal["node", "step", "none"],
            Field(description="Where a hit stops: at once, at the step's end, nowhere."),
        ] = "node",
        once: Annotated[bool, Field(description="Only the first hit counts.")] = False,
        preview: Annotated[bool, Field(description="Only say what it would cover and cost; add nothing.")] = False,
        job: JobName = None,
    ) -> Answer:
        """Adds a watchpoint: a condition on the tensors of nodes, by default of all. The lists nodes, scopes, patterns
        and categories add up. Says what it covers and costs."""
        subject = self._workspace.subject(job)
        lists: dict[str, Sequence[Any]] = {
            **{"nodes": nodes, "scopes": scopes, "patterns": patterns, "categories": categories},
            **{"sources": sources, "op_types": op_types, "dtypes": dtypes, "ranks": ranks},
        }
        selection: Json = {name: list(entries) for name, entries in lists.items() if entries}
        selection |= {"exclude": exclude} if exclude else {}
        bodies = [each | selection for each in _bodies(subject, condition, pause)]
        if once:
            bodies = [each | {"once": True} for each in bodies]
        answer = Answer()
        if not preview:
            made = [id for body in bodies for id in add_watchpoint(body, subject.path, subject.client.http)]
            what = f"watchpoint{'s' if len(made) > 1 else ''} {', '.join(map(str, made))}"
            answer.add(f"added: {what}" if made else "all of these exist already")
        previews = [each for each in bodies if each["condition"]["id"] != "recommended"]
        if len(previews) == 1:
            _add_preview(answer, subject.client.http.post(f"{subject.path}/watchpoints/preview", previews[0]))
        elif preview:
            answer.add("a set of conditions has no preview; watch one of them")
        answer.next("continue, or step; watchpoints() lists them; unwatch(watchpoint=…) removes one")
        return answer

    def watchpoints(self, job: JobName = None) -> Answer:
        """Lists the watchpoints of a job with what they cover and their numbers of hits."""
        subject = self._workspace.subject(job)
        found = [Watchpoint.from_json(each) for each in subject.get("/watchpoints")["watchpoints"]]
        answer = Answer()
        for each in found:
            state = "" if each.enabled else ", disabled"
            error = f", cannot be checked: {each.error}" if each.error else ""
            params = ", ".join(f"{name} {value}" for name, value in each.params.items())
            answer.add(
                f"watchpoint {each.id}: {each.condition} {params} on {_selection(each)} ({each.node_count} nodes), "
                f"{each.hit_count} hits, pauses at: {each.pause}{state}{error}"
            )
        if not found:
            answer.add("no watchpoints")
        answer.next("watch(condition=…) adds one, unwatch(watchpoint=…) removes one")
        return answer

    def unwatch(self, watchpoint: Annotated[int, Field(description="Its number.")], job: JobName = None) -> Answer:
        """Removes a watchpoint and keeps its hits."""
        job_of = self._workspace.subject(job).job()
        job_of.unwatch(watchpoint)
        job_of.close()
        answer = Answer()
        answer.add(f"watchpoint {watchpoint} was removed")
        return answer


def _bodies(subject: Subject, text: str, pause: str) -> list[Json]:
    """The watchpoints for a condition, a set of them, or an expression."""
    known = {each["id"] for each in subject.client.conditions()} | {"recommended", "not_training", "expr"}
    given = text.strip()
    if given.partition(":")[0] not in known and any(character in given for character in "<>=!"):
        given = f"expr:{given}"
    try:
        return watchpoints_of([given], pause, subject.client.http)
    except GraphdbgError as error:
        raise GraphdbgError(f"condition: {without_list(str(error).removeprefix('--break-on: '))}", USAGE) from None


def _add_preview(answer: Answer, found: Json) -> None:
    examples = ", ".join(found["examples"][:_EXAMPLES]) + (", …" if found["node_count"] > _EXAMPLES else "")
    size, milliseconds = size_text(found["bytes"]), 1e3 * found["seconds_per_step"]
    answer.add(
        f"it covers {found['node_count']:,} known nodes with {found['tensors']:,} tensors ({size}), "
        f"about {milliseconds:.3g} ms a step{': ' if examples else ''}{examples}"
    )


def _mentions(condition: Json, query: str) -> bool:
    texts = (condition["id"], condition["title"], condition["help"])
    return any(query.lower() in text.lower() for text in texts)


def _parameter(parameter: Json) -> str:
    default = parameter["default"]
    return f"{parameter['name']}{'' if default is None else f' = {number(default)}'}"


def _selection(watchpoint: Watchpoint) -> str:
    names = ("nodes", "scopes", "patterns", "categories", "regexes", "op_types", "sources", "dtypes", "ranks")
    parts = [
        f"{name} {', '.join(map(str, getattr(watchpoint, name)[:5]))}" for name in names if getattr(watchpoint, name)
    ]
    return "; ".join(parts) or "everything"
