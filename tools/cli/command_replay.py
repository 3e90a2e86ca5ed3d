"""`graphdbg replay BUNDLE`: repeats a captured hit."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from graphdbg._bundle.verdict import SAME_BITS, SAME_CONDITION

from .command_run import positive
from .errors import USAGE, CliError
from .replay.bundle_file import BadBundle, BundleFile
from .terminal import visible

# Exit codes.
_SAME, _DIFFERS, _NO_BUNDLE, _CANNOT_RUN = 0, 1, USAGE, 3
_KINDS = {"nan_count": "NaN", "pos_inf_count": "inf", "neg_inf_count": "-inf"}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "replay",
        help="repeat a captured hit",
        description="Repeats the ops of a bundle and says whether the result is that of the job: same bits, same "
        "condition, other result, or does not fail, and then what that may mean. Executes nothing that the bundle "
        "contains. Needs PyTorch and safetensors.",
        epilog="Exit codes: 0 same bits or condition, 1 it does not fail here, 2 not a bundle, 3 it cannot run here.",
    )
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="a file that ends in .graphdbg")
    parser.add_argument(
        "--dtype",
        choices=("float16", "bfloat16", "float32", "float64"),
        help="the type of all floating-point numbers (default: those of the job)",
    )
    parser.add_argument("--device", metavar="DEVICE", help="where to run, such as cpu or cuda:0 (default: as the job)")
    parser.add_argument("--threads", type=positive, metavar="N", help="threads of the CPU's kernels")
    parser.add_argument(
        "--import",
        dest="modules",
        action="append",
        default=[],
        metavar="MODULE",
        help="import a module, which is executed, because it defines operators; can be repeated",
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--bisect",
        action="store_true",
        help="find the shortest stretch of the ops whose inputs are finite and whose end is not",
    )
    way.add_argument(
        "--what-if",
        action="store_true",
        help="repeat it in other ways (in float64, with finite inputs, with one thread), and say what the cause is",
    )
    way.add_argument(
        "--debug", action="store_true", help="step through the ops in the terminal, both ways: the same as graphdbg dbg"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.debug:
        return _debug(arguments)
    try:
        with BundleFile(arguments.bundle) as bundle:
            return _run(bundle, arguments)
    except (BadBundle, OSError) as error:
        raise CliError(str(error), _NO_BUNDLE) from None


def _run(bundle: BundleFile, arguments: argparse.Namespace) -> int:
    try:
        from .replay import other_result
        from .replay.replays import CannotRun, import_modules
        from .replay.run_bundle import run_bundle, set_threads
    except ImportError as error:
        raise CliError(f"a replay needs {error.name}: pip install {error.name}", _CANNOT_RUN) from None
    try:
        import_modules(arguments.modules)
        set_threads(arguments.threads)
        warning = other_result.version_warning(bundle.json("environment.json"))
        if warning:
            print(visible(f"graphdbg: {warning}"), file=sys.stderr)
        if arguments.bisect:
            return _bisect(bundle, arguments)
        if arguments.what_if:
            return _what_if(bundle, arguments)
        result = run_bundle(bundle, arguments.dtype, arguments.device)
        differs = result["verdict"] not in (SAME_BITS, SAME_CONDITION)
        changed = arguments.dtype or arguments.device or arguments.threads
        result["explanation"] = other_result.explain(bundle) if differs and not changed else []
    except CannotRun as error:
        raise CliError(f"cannot replay {arguments.bundle}: {error}", _CANNOT_RUN) from None
    if arguments.json:
        print(json.dumps(result))
    else:
        _print(bundle.manifest, result)
    return _DIFFERS if differs else _SAME


def _debug(arguments: argparse.Namespace) -> int:
    from .dbg.loop import Options, debug
    from .debugger import DebuggerError, open_bundle

    try:
        session = open_bundle(arguments.bundle)
    except DebuggerError as error:
        raise CliError(str(error), _NO_BUNDLE) from None
    print("the ops of the bundle: stepi and reverse-stepi move among them, print shows values")
    return debug(session, Options([], [], False, True, False))


def _bisect(bundle: BundleFile, arguments: argparse.Namespace) -> int:
    from .replay.bisect import bisect

    found = bisect(bundle, arguments.device)
    if found is None:
        print("all results are finite here" if not arguments.json else json.dumps(None))
        return _DIFFERS
    if arguments.json:
        print(json.dumps({"ops": found.ops, "ends": found.ends, "behind": found.behind, "given": found.given}))
        return _SAME
    (op,), (end,) = found.ops, found.ends
    if found.given:
        print(visible(f"not finite before any op of the bundle: {', '.join(found.given)}"))
    print(visible(f"{_op(op)}"))
    print(f"  {'its other inputs' if found.given else 'its inputs'} are finite, its result has {_kinds(end)}")
    for each in found.behind:
        print(visible(f"then {_op(each)}"))
    return _SAME


def _op(op: dict[str, Any]) -> str:
    source = op.get("source")
    place = f"   {source.get('file')}:{source.get('line')}" if isinstance(source, dict) else ""
    return f"{op['node']} ({op['op']}){place}"


def _kinds(found: dict[str, int]) -> str:
    return ", ".join(f"{found[key]} {name}" for key, name in _KINDS.items() if found.get(key))


def _what_if(bundle: BundleFile, arguments: argparse.Namespace) -> int:
    from graphdbg._bundle.experiments import AS_IT_WAS, conclusion, run_experiments, table

    from .replay.replays import repeatable, reported

    with reported(bundle):
        outcomes = run_experiments(repeatable(bundle))
    sentence = conclusion(outcomes)
    if arguments.json:
        print(json.dumps({"outcomes": [dataclasses.asdict(each) for each in outcomes], "conclusion": sentence}))
    else:
        for line in table(outcomes):
            print(visible(line))
        print(sentence)
    return _SAME if any(each.id == AS_IT_WAS and each.fails for each in outcomes) else _DIFFERS


def _print(manifest: dict[str, Any], result: dict[str, Any]) -> None:
    hit = manifest["hit"]
    print(visible(f"{hit.get('condition')} at {manifest['node']}:{manifest.get('slot')}, step {manifest.get('step')}"))
    print(f"in the job: {_counts(result['statistics_in_job'])}")
    print(f"here:       {_counts(result['statistics'])}")
    print(result["verdict"])
    for sentence in result["explanation"]:
        print(visible(f"  {sentence}"))


def _counts(found: Any) -> str:
    if not isinstance(found, dict):
        return "unknown"
    parts = [f"{found[key]} {name}" for key, name in _KINDS.items() if found.get(key)]
    text = f"{', '.join(parts) or 'only finite elements'} of {found.get('count')} elements"
    if found.get("abs_max") is not None:
        text += f", the largest {found['abs_max']:.6g}"
    return visible(text)
