"""`graphdbg bundle BUNDLE`: shows what a bundle contains."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from .errors import USAGE, CliError
from .replay.bundle_file import BadBundle, BundleFile
from .replay.strip import strip_values
from .terminal import visible


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "bundle",
        help="show what a captured hit contains",
        description="Shows what a bundle contains. Executes nothing.",
    )
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="a file that ends in .graphdbg")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--json", action="store_true", help="print the manifest as JSON")
    action.add_argument("--unpack", type=Path, metavar="DIR", help="write the members to a new directory")
    action.add_argument(
        "--strip",
        choices=("values",),
        help="write a copy without values, which ends in .stripped.graphdbg; shapes, statistics and digests stay",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    try:
        with BundleFile(arguments.bundle) as bundle:
            if arguments.unpack:
                _unpack(bundle, arguments.unpack)
            elif arguments.strip:
                print(visible(strip_values(bundle)))
            elif arguments.json:
                print(json.dumps(bundle.manifest))
            else:
                _print(bundle)
    except (BadBundle, OSError) as error:
        raise CliError(str(error), USAGE) from None
    return 0


def _unpack(bundle: BundleFile, directory: Path) -> None:
    directory.mkdir(parents=True, mode=0o700)
    for name in bundle.members:
        file = directory / name
        file.parent.mkdir(exist_ok=True, mode=0o700)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            for piece in bundle.pieces(name):
                out.write(piece)
    print(visible(f"to repeat it: python {directory / 'repro.py'}"))


def _print(bundle: BundleFile) -> None:
    manifest = bundle.manifest
    hit = manifest["hit"]
    lines = [
        f"{hit.get('condition')} at {manifest['node']}:{manifest.get('slot')}",
        f"job {manifest.get('job')}, rank {manifest.get('rank')} of {manifest.get('world_size')}, "
        f"step {manifest.get('step')}",
    ]
    lines += [
        f"  {_frame(frame)}" for frame in manifest.get("stack") or () if isinstance(frame, dict) and frame["user"]
    ]
    if manifest.get("level") == "step":
        lines.append("all ops of the step that led to it")
    elif manifest.get("why_not_step"):
        lines.append(f"the op alone: {manifest['why_not_step']}")
    lines += [
        f"  {each['leaf']}: what {each['op']} has made ({each['node']}), which is not repeated"
        for each in manifest.get("boundaries") or ()
    ]
    lines += [f"{name:24} {size:>12,} bytes" for name, size in bundle.members.items()]
    for line in lines:
        print(visible(line))


def _frame(frame: dict[str, Any]) -> str:
    return f"{frame.get('file')}:{frame.get('line')} in {frame.get('function')}"
