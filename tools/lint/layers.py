"""Keeps dependencies between rooms pointing one way.

Each room names the rooms that its files may include or import, and the rule
behind that choice. `tools/dev lint` runs this program, which

- reports every include or import that the table does not allow, with the rule;
- refuses a table with a cycle;
- compares the diagram in README.md with the table (`--write` updates it).

Unit tests, benchmarks and `testing` folders may include any room.
"""

from __future__ import annotations

import argparse
import posixpath
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BEGIN, END = "<!-- rooms: written by tools/lint/layers.py -->", "<!-- end of rooms -->"


@dataclass(frozen=True)
class Room:
    path: str
    may_use: tuple[str, ...]
    rule: str


ROOMS = [
    # --- shared by agent and server
    Room("proto/graphdbg", (), "The wire's messages depend on nothing."),
    Room("proto/mindspore", (), "MindSpore's messages depend on nothing."),
    Room(
        "proto/wire",
        ("proto/graphdbg",),
        "Validation and limits of the wire are a leaf library for agent, server and fuzzers; it opens no sockets.",
    ),
    Room(
        "proto/runs",
        ("proto/wire",),
        "The format of recorded runs is a leaf library for the rooms that write and read them; it opens no file.",
    ),
    # --- agent
    Room(
        "agent/include",
        (),
        "The C interface is all that an integrator installs; it includes C standard headers only.",
    ),
    Room("agent/base", (), "The agent's mutex and annotations include nothing of ours, so every room can use them."),
    Room("agent/tensor", ("proto/wire",), "Types and views of tensors use only the macros for statuses."),
    Room("agent/kernels", ("agent/tensor",), "Kernels compute statistics; they know no threads, no core and no wire."),
    Room(
        "agent/runtime",
        ("agent/base", "agent/kernels", "agent/tensor", "proto/wire"),
        "Loaders of vendor libraries serve the core and do not know it.",
    ),
    Room(
        "agent/conditions",
        ("agent/kernels", "agent/tensor", "proto/graphdbg", "proto/wire"),
        "Conditions are one library for agent and server, so they know neither, only the messages between them.",
    ),
    Room(
        "agent/core",
        (
            "agent/base",
            "agent/conditions",
            "agent/include",
            "agent/kernels",
            "agent/runtime",
            "agent/tensor",
            "proto/graphdbg",
            "proto/runs",
            "proto/wire",
        ),
        "The core knows no framework, no gRPC and no file of a recording.",
    ),
    Room(
        "agent/recording",
        ("agent/base", "agent/core", "agent/kernels", "agent/tensor", "proto/graphdbg", "proto/runs", "proto/wire"),
        "Recording implements the core's interface, and is the only room of the agent that writes to disk.",
    ),
    Room(
        "agent/transport",
        ("agent/base", "agent/core", "proto/graphdbg", "proto/wire"),
        "The transport is the only room of the agent that sees gRPC.",
    ),
    Room(
        "agent/abi",
        (
            *("agent/base", "agent/core", "agent/include", "agent/recording", "agent/runtime", "agent/transport"),
            "proto/runs",
        ),
        "The C functions turn handles into objects of the core; adapters never come in here.",
    ),
    Room(
        "agent/adapters",
        ("agent/base", "agent/include"),
        "An adapter is written against the C interface alone, which proves that the core knows no framework.",
    ),
    Room("agent/examples", ("agent/include",), "An example uses what an integrator has: the C interface."),
    Room(
        "agent/onnx_splitter",
        ("proto/graphdbg", "proto/wire"),
        "The splitter is a program of its own; it shares only messages with the agent.",
    ),
    Room(
        "agent/inject",
        ("proto/wire",),
        "The injector is a program of its own, which knows processes and nothing of the agent.",
    ),
    # --- server
    Room("server/base", ("proto/wire",), "Errors, compression and rate limits know no room of the server."),
    Room(
        "server/model",
        ("agent/conditions", "agent/kernels", "agent/tensor", "proto/graphdbg"),
        "Values are below every other room of the server, so that no room copies another's types.",
    ),
    Room(
        "server/graph",
        ("agent/conditions", "proto/wire", "server/base", "server/model"),
        "The graph knows neither jobs nor wires.",
    ),
    Room(
        "server/tensor",
        ("agent/tensor", "proto/wire", "server/base", "server/model"),
        "Tensor arithmetic works on bytes and knows no job.",
    ),
    Room(
        "server/watch",
        ("agent/conditions", "agent/tensor", "proto/wire", "server/base", "server/graph", "server/model"),
        "Watchpoints and hits know the graph and no job.",
    ),
    Room(
        "server/diagnosis",
        ("agent/conditions", "server/graph", "server/model", "server/watch"),
        "Rules about hits are pure functions of what was measured; they know no job and no wire.",
    ),
    Room("server/auth", ("proto/wire", "server/base"), "Tokens and policies know neither HTTP nor jobs."),
    Room("server/audit", ("proto/wire", "server/base"), "The audit log stores texts and knows no request."),
    Room("server/http", ("proto/wire", "server/auth", "server/base"), "HTTP knows no job; Beast stays inside it."),
    Room(
        "server/jobs",
        (
            "proto/wire",
            "server/base",
            "server/diagnosis",
            "server/graph",
            "server/model",
            "server/tensor",
            "server/watch",
        ),
        "Jobs know no transport and no storage; frontends and the store implement their interfaces.",
    ),
    Room(
        "server/exporters",
        ("proto/wire", "server/base", "server/model"),
        "An exporter writes values of the model; it asks no job.",
    ),
    Room(
        "server/store",
        (
            "agent/conditions",
            "proto/wire",
            "server/base",
            "server/graph",
            "server/jobs",
            "server/model",
            "server/watch",
        ),
        "The store implements the journal that jobs declare.",
    ),
    Room(
        "server/ingest",
        (
            "agent/conditions",
            "proto/graphdbg",
            "proto/wire",
            "server/base",
            "server/graph",
            "server/jobs",
            "server/model",
        ),
        "A frontend of agents decodes, validates and calls the jobs' interface.",
    ),
    Room(
        "server/relay",
        ("proto/graphdbg", "proto/wire", "server/ingest"),
        "A relay passes streams on; it knows no jobs.",
    ),
    Room(
        "server/mindspore",
        (
            "agent/conditions",
            "agent/kernels",
            "agent/tensor",
            "proto/mindspore",
            "proto/wire",
            "server/base",
            "server/graph",
            "server/ingest",
            "server/jobs",
            "server/model",
            "server/tensor",
        ),
        "MindSpore's frontend translates its protocol to the jobs' interface.",
    ),
    Room(
        "server/imports",
        (
            "proto/graphdbg",
            "proto/wire",
            "server/base",
            "server/http",
            "server/ingest",
            "server/jobs",
            "server/model",
        ),
        "An imported model becomes a job through the same interface as an agent.",
    ),
    Room(
        "server/runs",
        (
            "agent/conditions",
            "agent/kernels",
            "agent/tensor",
            "proto/graphdbg",
            "proto/mindspore",
            "proto/runs",
            "proto/wire",
            "server/base",
            "server/diagnosis",
            "server/graph",
            "server/ingest",
            "server/jobs",
            "server/mindspore",
            "server/model",
            "server/tensor",
            "server/watch",
        ),
        "A recorded run implements the interface of jobs over files, MindSpore's dumps among them; it knows no HTTP.",
    ),
    Room(
        "server/rules",
        ("agent/conditions", "proto/runs", "proto/wire", "server/base", "server/jobs", "server/model"),
        "Rules look at runs through the interface of jobs, and act through it.",
    ),
    Room(
        "server/api",
        (
            "agent/conditions",
            "agent/tensor",
            "proto/wire",
            "server/audit",
            "server/auth",
            "server/base",
            "server/exporters",
            "server/http",
            "server/jobs",
            "server/model",
            "server/rules",
            "server/tensor",
        ),
        "Handlers turn requests into calls of the jobs' interface; they see no agent and no store.",
    ),
    Room(
        "server/main",
        (
            "proto/wire",
            "server/api",
            "server/audit",
            "server/auth",
            "server/base",
            "server/http",
            "server/imports",
            "server/ingest",
            "server/jobs",
            "server/mindspore",
            "server/relay",
            "server/rules",
            "server/runs",
            "server/store",
        ),
        "Only main knows every room: it reads flags and wires the rooms together.",
    ),
    # --- page
    Room("webui/src/base", (), "Formatting, names and slices know nothing of the page."),
    Room("webui/src/api", ("webui/src/base",), "The client of the HTTP interface knows no view and no state."),
    Room(
        "webui/src/words",
        ("webui/src/api", "webui/src/base"),
        "Texts of the page import types, and how numbers are written.",
    ),
    Room(
        "webui/src/graph",
        ("webui/src/api", "webui/src/base", "webui/src/words"),
        "Layout and drawing fetch nothing and keep no state of the page.",
    ),
    Room(
        "webui/src/index",
        ("webui/src/api", "webui/src/base", "webui/src/words"),
        "The index answers questions about a graph and draws nothing.",
    ),
    Room(
        "webui/src/worker",
        ("webui/src/graph", "webui/src/index", "webui/src/base"),
        "The worker runs index and layout; it cannot reach the page's state.",
    ),
    Room(
        "webui/src/state",
        (
            "webui/src/api",
            "webui/src/base",
            "webui/src/graph",
            "webui/src/index",
            "webui/src/words",
            "webui/src/worker",
        ),
        "State knows no component.",
    ),
    Room(
        "webui/src/widgets",
        ("webui/src/api", "webui/src/base", "webui/src/graph", "webui/src/state", "webui/src/words"),
        "A widget knows no view.",
    ),
    Room(
        "webui/src/views",
        (
            "webui/src/api",
            "webui/src/base",
            "webui/src/graph",
            "webui/src/index",
            "webui/src/state",
            "webui/src/widgets",
            "webui/src/words",
            "webui/src/worker",
        ),
        "Views are at the top; nothing but the entry point uses them.",
    ),
]

BY_PATH = {room.path: room for room in ROOMS}
# The C interface is included by the path under which it is installed.
INSTALLED = {"graphdbg/": "agent/include/graphdbg/"}
EXEMPT = re.compile(r"_test\.|\.test\.tsx?$|_benchmark\.cc$|_fuzzer\.cc$|/testing/|/test_support\.h$")
C_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
TS_IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]""")


def room_of(path: str) -> str | None:
    for depth in (3, 2):
        candidate = "/".join(path.split("/")[:depth])
        if candidate in BY_PATH:
            return candidate
    return None


def dependencies(path: str, line: str) -> list[str]:
    """The files of ours that a line of `path` includes or imports."""
    if path.endswith((".ts", ".tsx")):
        here = posixpath.dirname(path)
        return [posixpath.normpath(posixpath.join(here, name)) for name in TS_IMPORT.findall(line)]
    match = C_INCLUDE.match(line)
    if not match:
        return []
    name = match.group(1)
    for installed, source in INSTALLED.items():
        if name.startswith(installed):
            return [source + name[len(installed) :]]
    return [name]


def check_files() -> list[str]:
    files = subprocess.run(
        ["git", "ls-files", "*.c", "*.cc", "*.cu", "*.h", "*.inc", "webui/src/*.ts", "webui/src/*.tsx"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    errors = []
    for path in files:
        source = room_of(path)
        if source is None or EXEMPT.search(path) or not (ROOT / path).exists():
            continue
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
            for name in dependencies(path, line):
                target = room_of(name)
                if target in (None, source) or target in BY_PATH[source].may_use:
                    continue
                errors.append(f"{path}:{number}: {source} may not use {name}. {BY_PATH[source].rule}")
    return errors


def check_table() -> list[str]:
    """Rooms may only use rooms that come before them in an order without cycles."""
    unknown = [
        f"layers: {room.path} may use {name}, which is no room"
        for room in ROOMS
        for name in room.may_use
        if name not in BY_PATH
    ]
    if unknown:
        return unknown
    done: set[str] = set()
    open_rooms: list[str] = []

    def visit(path: str) -> list[str]:
        if path in open_rooms:
            return [f"layers: circle of rooms: {' -> '.join([*open_rooms[open_rooms.index(path) :], path])}"]
        if path in done:
            return []
        open_rooms.append(path)
        errors = [error for used in BY_PATH[path].may_use for error in visit(used)]
        open_rooms.pop()
        done.add(path)
        return errors

    return [error for room in ROOMS for error in visit(room.path)]


def reachable(path: str) -> set[str]:
    found: set[str] = set()
    for used in BY_PATH[path].may_use:
        found |= {used} | reachable(used)
    return found


def diagram() -> str:
    """The table as a Mermaid flowchart, without arrows that others imply."""
    lines = ["```mermaid", "flowchart TD"]
    for title, prefix in (("page", "webui/src/"), ("server", "server/"), ("agent", "agent/"), ("proto", "proto/")):
        lines.append(f"  subgraph {title}")
        lines += [
            f"    {room.path.replace('/', '_')}[{room.path.removeprefix(prefix)}]"
            for room in ROOMS
            if room.path.startswith(prefix)
        ]
        lines.append("  end")
    for room in ROOMS:
        implied = set().union(*(reachable(used) for used in room.may_use)) if room.may_use else set()
        lines += [
            f"  {room.path.replace('/', '_')} --> {used.replace('/', '_')}"
            for used in room.may_use
            if used not in implied
        ]
    return "\n".join([*lines, "```"])


def readme_with_diagram(text: str) -> str:
    if BEGIN not in text or END not in text:
        raise SystemExit(f"layers: README.md has no diagram between '{BEGIN}' and '{END}'")
    head, rest = text.split(BEGIN, 1)
    return f"{head}{BEGIN}\n{diagram()}\n{END}{rest.split(END, 1)[1]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="update the diagram in README.md")
    arguments = parser.parse_args()

    errors = check_table()
    if not errors:
        text = README.read_text()
        current = readme_with_diagram(text)
        if arguments.write:
            README.write_text(current)
        elif current != text:
            errors.append("README.md: the diagram of rooms is out of date; run tools/dev fmt")
        errors += check_files()
    print("\n".join(errors), end="\n" if errors else "", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
