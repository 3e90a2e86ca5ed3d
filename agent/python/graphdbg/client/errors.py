"""The errors of graphdbg. All of them are GraphdbgError, and each has a stable `code` for programs."""

from __future__ import annotations

from typing import Any

# Exit codes of commands that an error ends.
USAGE = 2
UNAVAILABLE = 3


class GraphdbgError(Exception):
    """An error with a message for the user.

    Attributes:
        code: A stable word for programs, such as "unknown_job".
        exit_code: The exit code of a command that this error ends.
    """

    code = "error"

    def __init__(self, message: str, exit_code: int = UNAVAILABLE) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class NoServerError(GraphdbgError):
    """No graphdbg server runs on this machine."""

    code = "no_server"


class UnreachableError(GraphdbgError):
    """The server at an address does not answer, or has gone away."""

    code = "unreachable"


class WaitTimeoutError(GraphdbgError, TimeoutError):
    """The event that a caller waited for did not happen in time."""

    code = "timeout"


class CommandRefusedError(GraphdbgError):
    """A job did not execute a command that the server had accepted."""

    code = "command_refused"


class ApiError(GraphdbgError):
    """An error that the server returned as a problem document (RFC 9457).

    Attributes:
        status: The HTTP status.
        field: The invalid part of the request; "" if it is not one part.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or f"HTTP {status}"))
        self.status = status
        self.code = str(problem.get("code", ""))
        self.field = str(problem.get("field") or "")


class AccessDeniedError(ApiError):
    """The token is missing or invalid, or its role is too low (401, 403)."""


class NotFoundError(ApiError):
    """There is no such job, node, tensor or watchpoint (404)."""


class ConflictError(ApiError):
    """The request does not fit the state of the job (409)."""


class InvalidRequestError(ApiError):
    """An argument is invalid; `field` names it (400, 413, 416, 422)."""


class ValueGoneError(ApiError):
    """The value of a tensor no longer exists, because the job has moved on (code `value_gone`)."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequestError,
    401: AccessDeniedError,
    403: AccessDeniedError,
    404: NotFoundError,
    409: ConflictError,
    413: InvalidRequestError,
    416: InvalidRequestError,
    422: InvalidRequestError,
}


def api_error(status: int, problem: dict[str, Any]) -> ApiError:
    """Makes the most specific error for a response."""
    if problem.get("code") == "value_gone":
        return ValueGoneError(status, problem)
    return _BY_STATUS.get(status, ApiError)(status, problem)
