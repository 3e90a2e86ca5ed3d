"""Tools that run commands of graphdbg: checks, recorded runs, rules, comparisons and replays."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Annotated

from graphdbg.client import GraphdbgError
from pydantic import Field

from ..client import Json
from ..errors import USAGE
from .answers import Answer
from .arguments import Directory
from .described import number
from .processes import Child
from .workspace import Workspace

_POLL_SECONDS = 0.05
_ENTRIES = 20
_RunName = Annotated[str, Field(description="Directory of a recorded run, or its id in ./runs or $GRAPHDBG_RECORD.")]
_Seconds = Annotated[float, Field(description="End it after this time.", gt=0, le=3600)]


class ProgramTools:
    """Each method is a tool."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def check(
        self,
        command: Annotated[list[str], Field(description='Program and arguments, such as ["python", "train.py"].')],
        steps: Annotated[int, Field(description="End the program after this many training steps.", ge=1)] = 10,
        repeat: Annotated[bool, Field(description="Run the first step twice and compare to the bit.")] = False,
        cwd: Directory = None,
        timeout_seconds: _Seconds = 300.0,
    ) -> Answer:
        """Brings a training program up stage by stage (environment, imports, model, data, forward, loss, backward,
        optimizer, second step, run), and says which one fails, with its cause, source line and advice. For programs
        that end with an error."""
        options = ["--json", f"--steps={steps}", f"--timeout={timeout_seconds}", *(["--repeat"] if repeat else [])]
        result = self._json(["check", *options, "--", *command], cwd, timeout_seconds + 30)
        answer = Answer()
        for stage in result["stages"]:
            rank = "" if stage["rank"] is None else f" on rank {stage['rank']}"
            answer.add(f"{stage['name']}: {stage['state'].replace('_', ' ')}{rank}")
            if stage["message"]:
                answer.quote(stage["message"])
            if stage["source"]:
                answer.add(f"  source: {stage['source']['file']}:{stage['source']['line']}")
                if stage["code"]:
                    answer.quote(f"  {stage['code'].strip()}")
            if stage["advice"]:
                answer.add(f"  advice: {stage['advice']}")
        if result["determinism"]:
            _add_determinism(answer, result["determinism"])
        if result["status"] == "finished":
            answer.next("all stages passed; run(command=[…]) looks for bad values and training that does not learn")
        else:
            answer.next("correct the stage that failed, then check again")
        return answer

    def runs(
        self,
        directory: Annotated[
            str | None, Field(description="Directory of runs. Default: $GRAPHDBG_RECORD or ./runs.")
        ] = None,
        cwd: Directory = None,
    ) -> Answer:
        """Lists recorded runs."""
        found = self._json(["runs", "--json", *([directory] if directory else [])], cwd)["runs"]
        answer = Answer()
        for each in found[-_ENTRIES:]:
            answer.add(
                f"{each['path']}: {each['ended'] or 'running'}, {each['steps']} steps, {each['ranks']} ranks, "
                f"{each['findings']} findings, {each['program']}"
            )
        if not found:
            answer.add("no recorded runs")
            answer.next("run(command=[…], record=DIR) records one")
            return answer
        if len(found) > _ENTRIES:
            answer.more(f"{len(found) - _ENTRIES} earlier ones; 'graphdbg runs' lists all")
        answer.next("attach(target=DIRECTORY) opens one; rules(run=…) and diff(runs=[…, …]) look at them")
        return answer

    def rules(
        self,
        run: _RunName,
        rules: Annotated[list[str], Field(description="Ids of rules. Default: all that fit the run.")] = [],  # noqa: B006
        steps: Annotated[str | None, Field(description="Only steps A:B.")] = None,
        cwd: Directory = None,
        timeout_seconds: _Seconds = 300.0,
    ) -> Answer:
        """Evaluates rules, which look at tensors over several steps, on a recorded run."""
        options = [*(f"--rule={each}" for each in rules), *([f"--steps={steps}"] if steps else [])]
        found = self._json(["rules", "--json", *options, "--", run], cwd, timeout_seconds)
        answer = Answer()
        for each in found["rules"]:
            error = f", switched off: {each['error']}" if each["error"] else ""
            if each["finding_count"] or error:
                answer.add(f"{each['rule']}: {each['finding_count']} findings{error}")
        quiet = [each["rule"] for each in found["rules"] if not each["finding_count"] and not each["error"]]
        if quiet:
            answer.add(f"nothing found by {', '.join(quiet)}")
        for finding in found["findings"][:_ENTRIES]:
            values = ", ".join(f"{name} {number(value)}" for name, value in finding["values"].items())
            rank = "all ranks" if finding["rank"] is None else f"rank {finding['rank']}"
            answer.add(f"step {finding['step']}, {rank}: {finding['rule']} {finding['tensor'] or ''} {values}")
        if len(found["findings"]) > _ENTRIES:
            answer.more(f"{len(found['findings']) - _ENTRIES} more findings: rules(run=…, rules=[ID], steps=A:B)")
        answer.next("attach(target=RUN), then history(tensor=…) and node(name=…) of a tensor above")
        return answer

    def diff(
        self,
        runs: Annotated[
            list[str], Field(description="Two recorded runs, or one whose ranks are compared.", min_length=1)
        ],
        ranks: Annotated[list[int], Field(description="The rank of each side.", max_length=2)] = [],  # noqa: B006
        rtol: Annotated[float | None, Field(description="Relative tolerance. Default: what rounding explains.")] = None,
        atol: Annotated[float | None, Field(description="Absolute tolerance. Default: 0.")] = None,
        renamed: Annotated[dict[str, str] | None, Field(description="Nodes or scopes by their other names.")] = None,
        cwd: Directory = None,
        timeout_seconds: _Seconds = 300.0,
    ) -> Answer:
        """Finds the first op at which two recorded runs, or two ranks of one, diverge."""
        options = [f"--rank={each}" for each in ranks] + [f"--map={old}={new}" for old, new in (renamed or {}).items()]
        options += [f"--{name}={each}" for name, each in (("rtol", rtol), ("atol", atol)) if each is not None]
        found = self._json(["diff", "--json", *options, "--", *runs], cwd, timeout_seconds)
        answer = Answer()
        result = "they differ" if found["first"] else "they agree"
        answer.add(f"{found['matched']} tensors in {found['steps']} steps compared: {result}")
        for title, each in [("first difference", found["first"])] * bool(found["first"]) + [
            ("then", each) for each in found["next"][:5]
        ]:
            answer.add(
                f"{title}: step {each['step']}, {each['node']}:{each['slot']}, "
                f"{each['measure']} {number(each['here'])} and {number(each['there'])}"
            )
            for given in each["inputs"]:
                answer.add(f"  input {given['node']}:{given['slot']}: {given['state'].replace('_', ' ')}")
        for side, there in (("first", "here"), ("second", "there")):
            if found[f"only_{there}_count"]:
                names = ", ".join(found[f"only_{there}"][:5])
                answer.add(f"only on the {side} side, {found[f'only_{there}_count']} tensors: {names}")
        if found["first"]:
            answer.next("attach(target=RUN) and node(name=…) show the op and its source line")
        return answer

    def replay(
        self,
        bundle: Annotated[str, Field(description="File that run(…, capture=DIR) has written.")],
        dtype: Annotated[str | None, Field(description="Repeat it in this type, such as float32.")] = None,
        device: Annotated[str | None, Field(description="Such as cpu or cuda:0.")] = None,
        cwd: Directory = None,
    ) -> Answer:
        """Repeats a captured hit with its values, outside of the training, and says whether it fails again."""
        options = [*([f"--dtype={dtype}"] if dtype else []), *([f"--device={device}"] if device else [])]
        result = self._json(["replay", "--json", *options, "--", bundle], cwd)
        answer = Answer()
        answer.add(f"verdict: {result['verdict']}")
        for name in ("statistics_in_job", "statistics"):
            if isinstance(result.get(name), dict):
                known = {key: value for key, value in result[name].items() if value is not None}
                answer.add(f"{'in the job' if name != 'statistics' else 'here'}: {known}")
        answer.next('replay(…, dtype="float32") tells whether a wider type helps')
        return answer

    def _json(self, arguments: Sequence[str], cwd: str | None, seconds: float = 300.0) -> Json:
        """Runs a command line of graphdbg and returns the JSON that it has printed."""
        child = self._workspace.processes.start_graphdbg(arguments, cwd)
        deadline = time.monotonic() + seconds
        try:
            while child.is_running() and not self._workspace.closed.is_set():
                if time.monotonic() > deadline:
                    raise GraphdbgError(f"graphdbg {arguments[0]} took more than {seconds:g} s and was ended")
                time.sleep(_POLL_SECONDS)
            return _parsed(child, arguments[0])
        finally:
            child.let_go()


def _parsed(child: Child, command: str) -> Json:
    try:
        found: Json = json.loads(child.output.read_text().strip().splitlines()[-1])
        return found
    except (OSError, ValueError, IndexError):
        lines = [line for line in child.messages().splitlines() if line.startswith("graphdbg")]
        message = lines[-1].removeprefix("graphdbg: ") if lines else f"graphdbg {command} has failed"
        raise GraphdbgError(message, USAGE) from None


def _add_determinism(answer: Answer, repeated: Json) -> None:
    if repeated["same"] is None:
        answer.add("determinism: not compared, the first step was not reached in both runs")
    elif repeated["same"]:
        answer.add("determinism: the first step is the same to the bit in two runs")
    else:
        answer.add(f"determinism: two runs differ first in {repeated['differs']}; advice: {repeated['advice']}")
