"""What to do about an error, by its code."""

from __future__ import annotations

from graphdbg.client import ApiError, GraphdbgError
from graphdbg.client.models import ENDED_STATES

_TOKEN = "graphdbg mcp takes the token of another server by --data-dir or --token-file, in the MCP settings"
_NEXT = {
    "no_server": "start the program with run(command=[…]), or name a recorded run: attach(target=DIRECTORY)",
    "unreachable": "jobs() lists what still runs; run(command=[…]) starts the program again",
    "timeout": "wait_for_stop() waits on; pause() stops the job where it is",
    "unknown_job": "jobs() lists the jobs",
    "unknown_run": "runs() lists the recorded runs",
    "unknown_node": "search_nodes(query=…) finds the full name",
    "unknown_hit": "hits() lists the hits with their numbers",
    "unknown_watchpoint": "watchpoints() lists them",
    "unknown_graph": "graph_scope() shows the main graph",
    "value_gone": "run_to_node(node) stops the job after the node executes again, and then the values are there; "
    "history(tensor) has the statistics of earlier steps. For values of many steps: run(…, record=DIR)",
    "invalid_state": "wait_for_stop() waits until the job is paused; pause() stops it now",
    "not_paused": "wait_for_stop() waits until the job is paused; pause() stops it now",
    "slice_too_large": "name a smaller slice, such as [0,:10]",
    "not_controller": "somebody else controls the job: ask the user, then attach(target=JOB, take_over=true)",
    "missing_token": _TOKEN,
    "invalid_token": _TOKEN,
    "role_too_low": "the token of this session does not allow it: ask the user to do it on the page",
    "not_allowed_by_job": "the job's GRAPHDBG_ALLOW forbids it; reading may still be possible: hits(), statistics(…)",
    "command_refused": "wait_for_stop() says where the job stands",
}


def next_step(error: GraphdbgError) -> str | None:
    """What the caller of a tool can do about an error, if anything is known."""
    found = _NEXT.get(error.code)
    if error.code == "invalid_state" and str(error).endswith(tuple(ENDED_STATES)):
        return "run(command=[…]) starts the program again; hits() and history(tensor=…) still answer"
    if found is None and isinstance(error, ApiError) and error.field:
        return f"correct the argument {error.field}"
    return found


def without_list(message: str) -> str:
    """The message about an unknown condition without the list of all conditions, for which there is a tool."""
    return message.partition("; known conditions")[0] + (
        "; conditions() lists them" if "; known cond" in message else ""
    )
