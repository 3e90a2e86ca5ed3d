"""`graphdbg conditions`: what watchpoints can look for, with causes and next steps."""

from __future__ import annotations

import argparse
import difflib
import json
import textwrap
from typing import Any

from .break_on import NOT_TRAINING
from .client import Client, Json
from .errors import USAGE, CliError
from .run_directory import run_directory
from .server_process import ServerProcess

_WIDTH = 100


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "conditions",
        help="list conditions, with likely causes and what to try",
        description="Lists the conditions that `graphdbg run --break-on` and watchpoints know. With IDs, prints these "
        "with their parameters, the likely causes of a hit, and what to look at next.",
    )
    parser.add_argument("ids", nargs="*", metavar="ID", help="a condition, such as nan, or the set not_training")
    parser.add_argument("--op", default="", metavar="TYPE", help="an op, such as aten::log: its causes come first")
    parser.add_argument("--dtype", default="", help="the data type of the tensor, such as float16")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    with run_directory() as data_dir:
        # The conditions are those of this version, whatever servers are running.
        server = ServerProcess(data_dir, port=0, temporary=True)
        try:
            rows = _rows(server.client, arguments)
        finally:
            server.stop()
    if arguments.json:
        print(json.dumps({"conditions": rows}))
    elif arguments.ids:
        print("\n\n".join("\n".join(_details(row)) for row in rows))
    else:
        width = max(len(row["id"]) for row in rows)
        for row in rows:
            print(f"{row['id']:{width}}  {row['title']}")
    return 0


def _rows(client: Client, arguments: argparse.Namespace) -> list[Json]:
    known = {row["id"]: row for row in client.get("/conditions")["conditions"]}
    if not arguments.ids:
        return list(known.values())
    training = [each for each, row in known.items() if row["target"] == "training"]
    ids = [each for given in arguments.ids for each in (training if given == NOT_TRAINING else [given])]
    for each in ids:
        if each not in known:
            near = difflib.get_close_matches(each, known, n=1)
            raise CliError(f"there is no condition {each}" + (f"; did you mean {near[0]}?" if near else ""), USAGE)
    about: dict[str, Any] = {"op_type": arguments.op, "dtype": arguments.dtype}
    return [known[each] | {"advice": client.get(f"/conditions/{each}/advice", **about)} for each in ids]


def _details(row: Json) -> list[str]:
    lines = [f"{row['id']}: {row['title']}", *_wrapped(row["help"], "    ", "    ")]
    lines += [line for param in row["params"] for line in _wrapped(_param(param), "    ", "      ")]
    for title, key in (("likely causes", "causes"), ("what to do next", "next")):
        sentences = row["advice"][key]
        if sentences:
            lines.append(f"  {title}")
            lines += [line for each in sentences for line in _wrapped(each, "    - ", "      ")]
    return lines


def _param(param: Json) -> str:
    default = param["default"]
    value = "required" if param["required"] else f"default {json.dumps(default)}" if default is not None else "optional"
    return f"{param['name']}: {param['title']} ({value})"


def _wrapped(text: str, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=others)
