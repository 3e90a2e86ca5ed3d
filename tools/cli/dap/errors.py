"""Errors that become the answer to a request."""

from __future__ import annotations

import sys
import traceback

from graphdbg.client.errors import ConflictError, GraphdbgError, ValueGoneError

from ..terminal import visible
from .wire import Json

NOT_ATTACHED = "not attached to a job yet"
EARLIER_STOP = "this value belongs to an earlier stop"
CANCELLED = "cancelled"
_VALUE_GONE = 'its value was not kept; "catch" keeps it at the next step'


class RequestError(Exception):
    """A request that cannot be answered, with a sentence for the user.

    Attributes:
        show: Whether the client shows it even where nobody has asked, as for a command that is refused.
    """

    def __init__(self, message: str, *, show: bool = False) -> None:
        super().__init__(message)
        self.show = show


def error_body(error: Exception) -> Json:
    """The body of the answer: `Message` of the protocol."""
    return {"error": {"id": _number(error), "format": _escaped(sentence(error)), "showUser": _shown(error)}}


def sentence(error: Exception) -> str:
    """What the user reads. Never a traceback."""
    if isinstance(error, ValueGoneError):
        return _VALUE_GONE
    if isinstance(error, (RequestError, GraphdbgError)):
        return visible(error)
    return f"graphdbg failed to answer this request ({type(error).__name__}); its log is on stderr"


def report_defect(error: Exception) -> None:
    """Logs what is a defect of the adapter, rather than something that the user can change."""
    if not isinstance(error, (RequestError, GraphdbgError)):
        traceback.print_exception(error, file=sys.stderr)


def _shown(error: Exception) -> bool:
    return isinstance(error, ConflictError) or (isinstance(error, RequestError) and error.show)


def _number(error: Exception) -> int:
    """A stable number for each kind of error."""
    return 1 if isinstance(error, RequestError) else 2 if isinstance(error, GraphdbgError) else 3


def _escaped(text: str) -> str:
    """Clients replace {name} in a format by variables."""
    return text.replace("{", "(").replace("}", ")")
