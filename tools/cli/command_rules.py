"""`graphdbg rules RUN`: evaluates rules over what a run recorded; `graphdbg rules --list` shows the rules."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from . import report
from .errors import CliError
from .list_rules import print_rules
from .progress import Progress
from .recorded import add_ranks, add_run, require, steps_range
from .terminal import visible

if TYPE_CHECKING:
    from graphdbg.rules import AnyRule, Finding, Rule, RuleResult
    from graphdbg.runs import Run

    Own = dict[str, type[Rule]]

_COLUMNS = ("step", "rank", "mode", "rule", "tensor", "values")


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "rules",
        help="evaluate rules over what a run recorded",
        description="Lists where rules, which look at a tensor over several steps, begin to match. Without --rule, "
        "--config and --rules-from, all built-in rules are evaluated that fit the run. Exits with 1 if there is any "
        "finding, or a rule in Python has failed.",
        epilog="Rules are expressions, or classes derived from graphdbg.Rule in a Python file (--rules-from), or in an "
        "installed package, with an entry point of the group graphdbg.rules. Parameters are given in a configuration "
        "file: {rule: NAME, params: {threshold: 0.1}}.",
    )
    add_run(parser, optional=True)
    parser.add_argument("--list", action="store_true", help="show all rules with their parameters and advice")
    parser.add_argument(
        "--rule", action="append", metavar="NAME", help="only the rule of this name or id (again for more)"
    )
    parser.add_argument("--config", metavar="F", help="the rules of this configuration file (key `rules`)")
    parser.add_argument(
        "--rules-from",
        action="append",
        metavar="F.py",
        help="the rules of this Python file, which is executed (again for more); with --config or --rule, those that "
        "are named there",
    )
    parser.add_argument(
        "--engine",
        choices=("auto", "log", "duckdb", "spark"),
        default="auto",
        help="for expressions: read the log, or evaluate SQL over the run's tables (default: the log if it is here and "
        "complete); spark needs a packed run, PySpark and Java",
    )
    add_ranks(parser)
    parser.add_argument(
        "--steps", type=steps_range, metavar="A:B", help="only steps A to B, both inclusive; either may be missing"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from graphdbg.rules import evaluate, listed, load_files, refuse_unobserved
    from graphdbg.runs import open_run
    from graphdbg.runs.summary import find_run

    own = load_files(arguments.rules_from or [])
    if arguments.list:
        print_rules(listed(own), arguments.json)
        return 0
    require(arguments.run_name is not None, "missing RUN, or --list")
    recorded = open_run(find_run(arguments.run_name))
    chosen = _chosen(arguments.rule, arguments.config, own)
    rules = _fitting(recorded) if chosen is None else chosen
    with Progress("graphdbg: evaluating rules") as progress:
        results = evaluate(
            recorded,
            rules,
            arguments.steps or (None, None),
            arguments.rank,
            arguments.engine,
            progress.of("graphdbg: evaluating rules"),
        )
    _print(results, arguments.json)
    if chosen is not None:
        refuse_unobserved(results)
    return 1 if any(result.findings or result.error for result in results) else 0


def _chosen(names: list[str] | None, file: str | None, own: Own) -> list[AnyRule] | None:
    """The rules that the options name; None if there are no such options."""
    from graphdbg.rules import built_in, read_rules

    configured = read_rules(file, own) if file else [built_in(name, "--rules-from", own) for name in own]
    if not names:
        return configured or None
    by_name = {rule.name: rule for rule in configured} if file else {}
    return [by_name.get(name) or built_in(name, "--rule", own) for name in names]


def _fitting(recorded: Run) -> list[AnyRule]:
    """The built-in rules that need no parameters and whose collections the run has."""
    from graphdbg.rules import RuleError, built_in
    from graphdbg.rules.classes import built_in_ids

    known = recorded.collections()
    rules = []
    for name in built_in_ids():
        try:
            rule = built_in(name)
        except RuleError:
            continue
        missing = [each for part in rule.parts for each in part.select.get("collections", ()) if each not in known]
        if not missing:
            rules.append(rule)
        else:
            report.log(f"{name} is not evaluated: the run has no collection {', '.join(missing)}")
    if not rules:
        raise CliError("no built-in rule fits the run")
    return rules


def _print(results: list[RuleResult], as_json: bool) -> None:
    from graphdbg.rules import PythonRule

    found = [(finding, result) for result in results for finding in result.findings]
    found.sort(key=lambda each: each[0].step)
    if as_json:
        rules = [
            {
                "rule": each.rule.name,
                "finding_count": each.count,
                "observations": each.observations,
                "unknown": each.unknown,
                "error": each.error,
                "missing": each.missing,
            }
            for each in results
        ]
        print(json.dumps({"rules": rules, "findings": [finding.json() for finding, _ in found]}))
        return
    if found:
        rows = (_cells(finding, not isinstance(result.rule, PythonRule)) for finding, result in found)
        _print_table([_COLUMNS, *rows])
    for each in results:
        report.log(_summary(each))
        if each.findings:
            _log_advice(each)


def _log_advice(result: RuleResult) -> None:
    """The first cause and the first thing to try; `graphdbg rules --list --json` has all."""
    from graphdbg.rules import advice_for

    advice = advice_for(result.rule)
    for title, lines in (("cause?", advice.causes), ("try   ", advice.next)) if advice else ():
        if lines:
            report.log(f"  {title}  {visible(lines[0])}")


def _cells(finding: Finding, is_expression: bool) -> tuple[str, ...]:
    values = ", ".join(
        f"{name} = {'unknown' if value is None else f'{value:.6g}'}" for name, value in finding.values.items()
    )
    # The message of an expression repeats its text.
    found = values if is_expression else finding.message
    rank = "all" if finding.rank is None else str(finding.rank)
    return (str(finding.step), rank, finding.mode or "", finding.rule, finding.tensor or "", found)


def _print_table(rows: list[tuple[str, ...]]) -> None:
    shown = [tuple(visible(cell) for cell in row) for row in rows]
    widths = [max(len(row[column]) for row in shown) for column in range(len(_COLUMNS))]
    for row in shown:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _summary(result: RuleResult) -> str:
    name = result.rule.name
    if result.error:
        return f"{name} was switched off: {visible(result.error)}"
    if result.observations == 0:
        return f"{name}: nothing that it selects was recorded"
    if result.observations is not None and result.observations == result.unknown:
        reason = visible(result.missing) or "too few, or what it needs was not recorded"
        return f"{name}: undecided for all {result.observations} observations: {reason}"
    if result.missing and not result.count:
        return f"{name}: undecided: {visible(result.missing)}"
    listed = f", the first {len(result.findings)} listed" if len(result.findings) < result.count else ""
    return f"{name}: {result.count} finding{'' if result.count == 1 else 's'}{listed}"
