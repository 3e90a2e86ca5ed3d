"""The cell magic `%%graphdbg`, which `%load_ext graphdbg` adds to IPython and Jupyter."""

from __future__ import annotations

import argparse
import ast
import atexit
import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from . import report
from .errors import CliError
from .function_run import FunctionOptions, FunctionRun
from .run_result import RunResult

_DEFAULT_HEIGHT = 720


class _Parser(argparse.ArgumentParser):
    """Raises instead of ending the kernel."""

    def error(self, message: str) -> Any:
        raise CliError(f"%%graphdbg: {message}")

    def exit(self, status: int = 0, message: str | None = None) -> Any:
        raise _HelpShown


class _HelpShown(Exception):
    pass


def _make_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="%%graphdbg",
        description="Runs the cell under the debugger and shows the page below it. The result object is in the "
        "variable that --result names.",
    )
    parser.add_argument("--no-wait", action="store_true", help="start immediately instead of waiting for Continue")
    parser.add_argument("--steps", type=int, metavar="N", help="start immediately and end the cell after N steps")
    parser.add_argument("--break-on", action="append", default=[], metavar="CONDITIONS", help="such as nan,inf")
    parser.add_argument("--on-hit", choices=("pause", "continue", "terminate"), default="pause", help="at a hit")
    parser.add_argument("--limit-batches", type=int, metavar="N", help="end each DataLoader after N batches")
    parser.add_argument("--result", default="graphdbg_result", metavar="NAME", help="variable (default: %(default)s)")
    parser.add_argument("--no-page", action="store_true", help="do not show the page")
    parser.add_argument("--height", type=int, default=_DEFAULT_HEIGHT, help="of the page, in pixels")
    parser.add_argument(
        "--frame-ancestors",
        action="append",
        default=[],
        metavar="URL",
        help="address of the notebook's page, if it is not that of this kernel's Jupyter server",
    )
    return parser


class Magic:
    """Runs cells under the debugger, one at a time."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        # The server of the newest cell stays, so that its page can still be used.
        self._run: FunctionRun | None = None
        atexit.register(self.close)

    def close(self) -> None:
        """Ends the server of the newest cell."""
        if self._run is not None:
            run, self._run = self._run, None
            run.close()

    def __call__(self, line: str, cell: str) -> None:
        """Implements the magic. Raises what the cell raises."""
        try:
            arguments = _make_parser().parse_args(shlex.split(line))
        except _HelpShown:
            return
        self.close()
        origins = arguments.frame_ancestors or jupyter_origins()
        self._run = FunctionRun(
            "notebook",
            FunctionOptions(
                wait=not arguments.no_wait and arguments.steps is None,
                steps=arguments.steps,
                break_on=arguments.break_on,
                on_hit=arguments.on_hit,
                limit_batches=arguments.limit_batches,
                page=not arguments.no_page,
                frame_ancestors=origins,
                announce=lambda url: _show(url, origins, arguments.height),
            ),
        )
        result = self._run.run(self._function(cell))
        self._shell.user_ns[arguments.result] = result
        self._report(result)

    def _function(self, cell: str) -> Callable[[], None]:
        """The cell as a function that runs in the user's name space and shows its last expression."""
        shell = self._shell
        text = shell.transform_cell(cell)
        # Registers the text, so that tracebacks and the debugger find the lines.
        name = shell.compile.cache(text, shell.execution_count, raw_code=cell)
        tree = ast.parse(text, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        statements = compile(tree, name, "exec")
        expression = compile(ast.Expression(last.value), name, "eval") if isinstance(last, ast.Expr) else None

        def function() -> None:
            exec(statements, shell.user_ns)
            if expression is not None:
                shell.displayhook(eval(expression, shell.user_ns))

        return function

    def _report(self, result: RunResult) -> None:
        report.log_summary(result)
        if result.status == "failed" and result.error is not None:
            raise result.error


def _show(url: str, origins: list[str], height: int) -> None:
    """Shows the page below the cell, where the browser lets the notebook do so, and a link to it."""
    if not origins:
        report.log_page(url)
        report.log("to see the page below the cell, pass the notebook's address: %%graphdbg --frame-ancestors URL")
        return
    from IPython.display import IFrame, display

    make_frame: Any = IFrame
    display(make_frame(_same_host(url, origins[0]), width="100%", height=height))


def _same_host(url: str, origin: str) -> str:
    """The page's address under the notebook's name for this machine.

    Browsers keep the storage of a frame apart if its host differs from the page around it.
    """
    host = urlsplit(origin).hostname
    return url.replace("127.0.0.1", host, 1) if host in ("localhost", "127.0.0.1") else url


def jupyter_origins() -> list[str]:
    """The origins under which a browser sees the Jupyter server that started this kernel; empty if unknown."""
    parent = os.environ.get("JPY_PARENT_PID")
    if not parent:
        return []
    try:
        from jupyter_core.paths import jupyter_runtime_dir

        file = Path(jupyter_runtime_dir()) / f"jpserver-{parent}.json"
        url = urlsplit(str(json.loads(file.read_text())["url"]))
    except (ImportError, OSError, ValueError, KeyError):
        return []
    port = f":{url.port}" if url.port else ""
    hosts = ["localhost", "127.0.0.1"] if url.hostname in ("localhost", "127.0.0.1") else [url.hostname or ""]
    return [f"{url.scheme}://{host}{port}" for host in hosts]


def load(shell: Any) -> None:
    """Adds the magic to a shell."""
    shell.register_magic_function(Magic(shell), magic_kind="cell", magic_name="graphdbg")
