"""The MCP server on standard input and output."""

from __future__ import annotations

import functools
import inspect
import json
import os
import shlex
import signal
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
from graphdbg import __version__
from graphdbg.client import Client, GraphdbgError
from graphdbg.client.http import HttpClient
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations

from .answers import DEFAULT_LIMIT, Answer
from .argument_errors import CheckedTool
from .control_tools import ControlTools
from .expression_tools import ExpressionTools
from .graph_tools import GraphTools
from .guidance import FIND_CAUSE, INSTRUCTIONS
from .hints import next_step
from .hit_tools import HitTools
from .program_tools import ProgramTools
from .run_tools import RunTools
from .tensor_tools import TensorTools
from .watch_tools import WatchTools
from .workspace import Workspace

# How often a client that has asked for it hears that a tool still works.
_PROGRESS_SECONDS = 5.0
# Entries of each list of a result object, which may have thousands of hits.
_LISTED = 20
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_MOVES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
_RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)


def serve(http: HttpClient | None, limit: int | None) -> None:
    """Serves one client until it disconnects, and then ends what it has started.

    Args:
        http: The server whose jobs are meant. Default: those of all servers of this machine.
        limit: Characters of an answer at most.
    """
    workspace = Workspace(None if http is None else Client(http))

    def end(code: int) -> None:
        workspace.close()
        # Threads of tools may still wait.
        os._exit(code)

    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, lambda number, frame: end(128 + number))
    try:
        made_server(workspace, limit or DEFAULT_LIMIT).run("stdio")
    except BaseException:
        workspace.close()
        raise
    end(0)


def made_server(workspace: Workspace, limit: int) -> MCPServer[Any]:
    """A server with all tools, resources and prompts."""
    graph = GraphTools(workspace)
    server: MCPServer[Any] = MCPServer(
        "graphdbg",
        title="graphdbg, a debugger for deep-learning training",
        instructions=INSTRUCTIONS.format(limit=limit),
        version=__version__,
        log_level="WARNING",
        tools=[_tool(function, kind, limit) for function, kind in _functions(workspace, graph)],
    )
    _add_resources(server, workspace, graph, limit)
    _add_prompt(server)
    return server


def _functions(workspace: Workspace, graph: GraphTools) -> list[tuple[Callable[..., Answer], ToolAnnotations]]:
    runs = RunTools(workspace)
    control = ControlTools(workspace, runs)
    hits, tensors, expressions = HitTools(workspace), TensorTools(workspace), ExpressionTools(workspace)
    watch, programs = WatchTools(workspace), ProgramTools(workspace)
    return [
        *((each, _RUNS) for each in (runs.run, programs.check, programs.replay, control.terminate)),
        *((each, _MOVES) for each in (control.attach, control.continue_, control.step, control.next_node)),
        *((each, _MOVES) for each in (control.run_to_node, control.pause, watch.watch, watch.unwatch)),
        (control.page, _MOVES),
        *((each, _READS) for each in (runs.wait_for_stop, runs.output, control.jobs, hits.hits, hits.diagnosis)),
        *((each, _READS) for each in (graph.graph_scope, graph.search_nodes, graph.node)),
        *((each, _READS) for each in (tensors.tensor, tensors.statistics, tensors.history, tensors.compare)),
        *((each, _READS) for each in (expressions.evaluate, expressions.frames, watch.conditions, watch.watchpoints)),
        *((each, _READS) for each in (programs.runs, programs.rules, programs.diff)),
    ]


def _tool(function: Callable[..., Answer], annotations: ToolAnnotations, limit: int) -> Tool:
    made = CheckedTool.from_function(
        _in_thread(function, limit),
        # The name `continue` is a keyword.
        name=function.__name__.rstrip("_"),
        description=" ".join((inspect.getdoc(function) or "").split()),
        annotations=annotations,
        structured_output=False,
    )
    made.parameters = _without_titles(made.parameters)
    return made


def _without_titles(schema: Any) -> Any:
    """A schema without what says nothing: titles repeat the names."""
    if isinstance(schema, list):
        return [_without_titles(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _without_titles(each) for key, each in schema.items() if key != "title" or not isinstance(each, str)}


def _in_thread(function: Callable[..., Answer], limit: int) -> Callable[..., Any]:
    """A function as the SDK takes it: it works in a thread, and returns a text."""

    @functools.wraps(function)
    async def tool(ctx: Context, **arguments: Any) -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(_report_progress, ctx)
            try:
                answer = await anyio.to_thread.run_sync(
                    functools.partial(_called, function, arguments, limit), abandon_on_cancel=True
                )
            finally:
                group.cancel_scope.cancel()
        if isinstance(answer, GraphdbgError):
            raise ToolError(_described(answer, limit))
        return answer

    signature = inspect.signature(function, eval_str=True)
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    tool.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), context], return_annotation=str
    )
    tool.__annotations__ = {"ctx": Context, "return": str}
    del tool.__wrapped__
    return tool


def _called(function: Callable[..., Answer], arguments: dict[str, Any], limit: int) -> str | GraphdbgError:
    # An error is returned, because a group of tasks would wrap it.
    try:
        return function(**arguments).text(limit)
    except GraphdbgError as error:
        return error
    except OSError as error:
        return GraphdbgError(str(error))


async def _report_progress(ctx: Context) -> None:
    seconds = 0.0
    while True:
        await anyio.sleep(_PROGRESS_SECONDS)
        seconds += _PROGRESS_SECONDS
        await ctx.report_progress(seconds, None, f"waiting since {seconds:.0f} s")


def _described(error: GraphdbgError, limit: int) -> str:
    """An error and what to do about it."""
    answer = Answer()
    answer.add_all(str(error).split("\n"))
    advice = next_step(error)
    if advice is not None:
        answer.next(advice)
    return answer.text(limit)


def _add_resources(server: MCPServer[Any], workspace: Workspace, graph: GraphTools, limit: int) -> None:
    def read(function: Callable[[], str]) -> str:
        try:
            return function()
        except GraphdbgError as error:
            raise ResourceError(_described(error, limit)) from None

    @server.resource("graphdbg://jobs/{job}/scopes/{+scope}", mime_type="text/plain")
    def scope(job: str, scope: str) -> str:
        """What a scope of a job's graph contains, such as graphdbg://jobs/train/scopes/forward/layer1."""
        return read(lambda: graph.scope(workspace.subject(job), scope).text(limit))

    @server.resource("graphdbg://jobs/{job}/scopes", mime_type="text/plain")
    def scopes(job: str) -> str:
        """What the top of a job's graph contains."""
        return read(lambda: graph.scope(workspace.subject(job), "").text(limit))

    @server.resource("graphdbg://jobs/{job}/result", mime_type="application/json")
    def result(job: str) -> str:
        """The result object of a program that run has started, once it has ended; the first 20 entries of each list."""
        return read(lambda: _result_text(workspace, job))


def _result_text(workspace: Workspace, job: str) -> str:
    child = workspace.subject(job).child
    found = child.result() if child is not None else None
    if found is None:
        raise GraphdbgError(f"{job} has no result object yet: there is one when a program that run has started ends")
    long = {name: each for name, each in found.items() if isinstance(each, list) and len(each) > _LISTED}
    left_out = {name: len(each) - _LISTED for name, each in long.items()}
    return json.dumps(found | {name: each[:_LISTED] for name, each in long.items()} | {"left_out": left_out})


def _add_prompt(server: MCPServer[Any]) -> None:
    @server.prompt(title="Find out why training breaks")
    def find_out_why_training_breaks(command: str) -> str:
        """Finds the source line and the cause of a training that breaks or does not learn.

        Args:
            command: The command that starts the training, such as: python train.py
        """
        return FIND_CAUSE.format(command=command, arguments=json.dumps(shlex.split(command)))
