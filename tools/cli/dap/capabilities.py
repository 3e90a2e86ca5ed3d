"""What the adapter can do, as `initialize` and the event `capabilities` say it."""

from __future__ import annotations

from collections.abc import Sequence

from ..client import Json as Condition
from ..debugger import Session
from .exceptions import filters_of
from .wire import Json

_ALWAYS = (
    "supportSuspendDebuggee",
    "supportTerminateDebuggee",
    "supportsBreakpointLocationsRequest",
    "supportsCancelRequest",
    "supportsCompletionsRequest",
    "supportsConditionalBreakpoints",
    "supportsConfigurationDoneRequest",
    "supportsDataBreakpoints",
    "supportsDelayedStackTraceLoading",
    "supportsDisassembleRequest",
    "supportsEvaluateForHovers",
    "supportsExceptionFilterOptions",
    "supportsExceptionInfoRequest",
    "supportsFunctionBreakpoints",
    "supportsGotoTargetsRequest",
    "supportsHitConditionalBreakpoints",
    "supportsInstructionBreakpoints",
    "supportsLoadedSourcesRequest",
    "supportsLogPoints",
    "supportsModulesRequest",
    "supportsReadMemoryRequest",
    "supportsRestartRequest",
    "supportsSingleThreadExecutionRequests",
    "supportsStepInTargetsRequest",
    "supportsSteppingGranularity",
    "supportsTerminateRequest",
    "supportsValueFormattingOptions",
)
# What a job cannot do if its backend does not support a command of the HTTP API.
_NEEDED = {
    "next_node": ("supportsSteppingGranularity", "supportsSingleThreadExecutionRequests"),
    "continue_to": ("supportsGotoTargetsRequest", "supportsStepInTargetsRequest"),
    "terminate": ("supportsTerminateRequest", "supportTerminateDebuggee"),
}


def capabilities(conditions: Sequence[Condition]) -> Json:
    """Those of every session.

    Args:
        conditions: The conditions of the server; they become exception filters.
    """
    return {
        **dict.fromkeys(_ALWAYS, True),
        "exceptionBreakpointFilters": filters_of(conditions),
        "completionTriggerCharacters": [".", "/", "["],
    }


def changed_capabilities(session: Session, unsupported: Sequence[str], launched: bool) -> Json:
    """What differs for one job.

    Args:
        unsupported: The commands of the HTTP API that the job does not support.
        launched: Whether the adapter has started it, and can do so again.
    """
    missing = [name for command in unsupported for name in _NEEDED.get(command, ())]
    changed: Json = dict.fromkeys(missing, False)
    if session.can_reverse:
        changed["supportsStepBack"] = True
    if not launched:
        changed["supportsRestartRequest"] = False
    return changed
