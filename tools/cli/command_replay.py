"""`graphdbg replay BUNDLE`: repeats a captured hit."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .command_run import positive
from .errors import USAGE, CliError
from .replay.bundle_file import BadBundle, BundleFile
from .replay.verdict import SAME_BITS, SAME_CONDITION
from .terminal import visible

# Exit codes.
_SAME, _DIFFERS, _NO_BUNDLE, _CANNOT_RUN = 0, 1, USAGE, 3
_KINDS = {"nan_count": "NaN", "pos_inf_count": "inf", "neg_inf_count": "-inf"}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "replay",
        help="repeat a captured hit",
        description="Repeats the ops of a bundle and says whether the result is that of the job: same bits, same "
        "condition, other result, or does not fail. Executes nothing that the bundle contains. Needs PyTorch and "
        "safetensors.",
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
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    try:
        with BundleFile(arguments.bundle) as bundle:
            result = _replay(bundle, arguments)
            manifest = bundle.manifest
    except (BadBundle, OSError) as error:
        raise CliError(str(error), _NO_BUNDLE) from None
    if arguments.json:
        print(json.dumps(result))
    else:
        _print(manifest, result)
    return _SAME if result["verdict"] in (SAME_BITS, SAME_CONDITION) else _DIFFERS


def _replay(bundle: BundleFile, arguments: argparse.Namespace) -> dict[str, Any]:
    try:
        from .replay.run_bundle import CannotRun, run_bundle
    except ImportError as error:
        raise CliError(f"a replay needs {error.name}: pip install {error.name}", _CANNOT_RUN) from None
    try:
        return run_bundle(bundle, arguments.dtype, arguments.device, arguments.threads, arguments.modules)
    except CannotRun as error:
        raise CliError(f"cannot replay {arguments.bundle}: {error}", _CANNOT_RUN) from None


def _print(manifest: dict[str, Any], result: dict[str, Any]) -> None:
    hit = manifest["hit"]
    print(visible(f"{hit.get('condition')} at {manifest['node']}:{manifest.get('slot')}, step {manifest.get('step')}"))
    print(f"in the job: {_counts(result['statistics_in_job'])}")
    print(f"here:       {_counts(result['statistics'])}")
    print(result["verdict"])


def _counts(found: Any) -> str:
    if not isinstance(found, dict):
        return "unknown"
    parts = [f"{found[key]} {name}" for key, name in _KINDS.items() if found.get(key)]
    text = f"{', '.join(parts) or 'only finite elements'} of {found.get('count')} elements"
    if found.get("abs_max") is not None:
        text += f", the largest {found['abs_max']:.6g}"
    return visible(text)
