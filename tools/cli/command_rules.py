"""`graphdbg rules RUN`: evaluates rules over what a run recorded."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from . import report
from .errors import CliError
from .recorded import Progress, add_run, steps_range
from .terminal import visible

if TYPE_CHECKING:
    from graphdbg.rules import ExpressionRule, Finding, RuleResult
    from graphdbg.runs import Run

_COLUMNS = ("step", "rank", "mode", "rule", "tensor", "values")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "rules",
        help="evaluate rules over what a run recorded",
        description="Lists where rules, which look at a tensor over several steps, begin to match. Without --rule and "
        "--config, all built-in rules are evaluated that fit the run. Exits with 1 if there is any finding.",
    )
    add_run(parser)
    parser.add_argument(
        "--rule", action="append", metavar="NAME", help="only this built-in rule, or rule of the file (again for more)"
    )
    parser.add_argument("--config", metavar="F", help="the rules of this configuration file (key `rules`)")
    parser.add_argument(
        "--engine",
        choices=("auto", "log", "duckdb", "spark"),
        default="auto",
        help="read the log, or evaluate SQL over the run's tables (default: the log if it is here and complete); "
        "spark needs a packed run, PySpark and Java",
    )
    parser.add_argument("--rank", type=int, action="append", metavar="R", help="only this rank (again for more)")
    parser.add_argument(
        "--steps", type=steps_range, metavar="A:B", help="only steps A to B, both inclusive; either may be missing"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from graphdbg.rules import evaluate, refuse_unobserved
    from graphdbg.runs import open_run
    from graphdbg.runs.summary import find_run

    recorded = open_run(find_run(arguments.run_name))
    chosen = _chosen(arguments.rule, arguments.config)
    rules = _fitting(recorded) if chosen is None else chosen
    progress = Progress()
    try:
        results = evaluate(
            recorded,
            rules,
            arguments.steps or (None, None),
            arguments.rank,
            arguments.engine,
            progress.of("graphdbg: evaluating rules"),
        )
    finally:
        progress.clear()
    _print(results, arguments.json)
    if chosen is not None:
        refuse_unobserved(results)
    return 1 if any(result.findings for result in results) else 0


def _chosen(names: list[str] | None, file: str | None) -> list[ExpressionRule] | None:
    """The rules that the options name; None if there are no such options."""
    from graphdbg.rules import built_in, read_rules

    configured = read_rules(file) if file else []
    if not names:
        return configured or None
    own = {rule.name: rule for rule in configured}
    return [own.get(name) or built_in(name, "--rule") for name in names]


def _fitting(recorded: Run) -> list[ExpressionRule]:
    """The built-in rules that need no parameters and whose collections the run has."""
    from graphdbg.rules import BUILT_INS, RuleError, built_in

    known = recorded.collections()
    rules = []
    for name in BUILT_INS:
        try:
            rule = built_in(name)
        except RuleError:
            continue
        if all(each in known for each in rule.select.get("collections", ())):
            rules.append(rule)
        else:
            report.log(f"{name} is not evaluated: the run has no collection {', '.join(rule.select['collections'])}")
    if not rules:
        raise CliError("no built-in rule fits the run")
    return rules


def _print(results: list[RuleResult], as_json: bool) -> None:
    findings = [finding for result in results for finding in result.findings]
    findings.sort(key=lambda finding: finding.step)
    if as_json:
        rules = [
            {
                "rule": each.rule.name,
                "finding_count": each.count,
                "observations": each.observations,
                "unknown": each.unknown,
            }
            for each in results
        ]
        print(json.dumps({"rules": rules, "findings": [finding.json() for finding in findings]}))
        return
    if findings:
        _print_table([_COLUMNS, *map(_cells, findings)])
    for each in results:
        report.log(_summary(each))


def _cells(finding: Finding) -> tuple[str, ...]:
    values = ", ".join(
        f"{name} = {'unknown' if value is None else f'{value:.6g}'}" for name, value in finding.values.items()
    )
    rank = "all" if finding.rank is None else str(finding.rank)
    return (str(finding.step), rank, finding.mode or "", finding.rule, finding.tensor or "", values)


def _print_table(rows: list[tuple[str, ...]]) -> None:
    shown = [tuple(visible(cell) for cell in row) for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(_COLUMNS))]
    for row in shown:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _summary(result: RuleResult) -> str:
    name = result.rule.name
    if result.observations == 0:
        return f"{name}: nothing that it selects was recorded"
    if result.observations is not None and result.observations == result.unknown:
        return (
            f"{name}: undecided for all {result.observations} observations: too few, or what it needs was not recorded"
        )
    listed = f", the first {len(result.findings)} listed" if len(result.findings) < result.count else ""
    return f"{name}: {result.count} finding{'' if result.count == 1 else 's'}{listed}"
