"""Source files: those of this machine, and those that only the job has."""

from __future__ import annotations

from pathlib import Path

from ..terminal import visible
from . import arguments as read
from .context import Context
from .dispatch import Handler
from .errors import RequestError
from .wire import Json

# The graph of a captured hit, which has no job.
_CAPTURED = "main"


class Sources:
    """Numbers files that are not on this machine, so that the client can ask for their text."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._numbers: dict[str, int] = {}

    def handlers(self) -> dict[str, Handler]:
        return {
            "source": self._source,
            "loadedSources": self._loaded_sources,
            "modules": self._modules,
            "breakpointLocations": self._breakpoint_locations,
        }

    def to_client(self, file: str, *, subtle: bool = False) -> Json:
        """A file as the client's `Source`, with a number if the client cannot read it."""
        source = self._context.client.source_to(file, subtle=subtle)
        if Path(file).is_file():
            return source
        return source | {"sourceReference": self._numbers.setdefault(file, len(self._numbers) + 1)}

    def file_of(self, source: object) -> str:
        """The file of a client's `Source`."""
        return self._context.client.source_from(source)

    def _source(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        number = arguments.get("sourceReference")
        file = next((file for file, known in self._numbers.items() if known == number), None)
        if file is None:
            file = self.file_of(arguments.get("source"))
        text = self._context.need_session().source_text(file)
        if text is None:
            raise RequestError(f"the job has not sent the text of {visible(file)}")
        return {"content": text, **({"mimeType": "text/x-python"} if file.endswith(".py") else {})}

    def _loaded_sources(self, request: Json) -> Json:
        return {"sources": [self.to_client(file) for file in self._context.need_session().graph_index().files()]}

    def _modules(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        first = read.number(arguments, "startModule", 0)
        count = read.number(arguments, "moduleCount", 0)
        graphs = self.graphs()
        return {"modules": graphs[first : first + count if count else None], "totalModules": len(graphs)}

    def graphs(self) -> list[Json]:
        """The graphs of the job as modules of the protocol."""
        session = self._context.need_session()
        names = [_CAPTURED] if session.kind == "bundle" else session.job.graphs()
        return [{"id": name, "name": f"graph {visible(name)}", "isUserCode": True} for name in names]

    def _breakpoint_locations(self, request: Json) -> Json:
        arguments = request.get("arguments", {})
        client = self._context.client
        first = client.line_from(arguments.get("line"))
        last = client.line_from(arguments.get("endLine", arguments.get("line")))
        session = self._context.session
        # Before the job has its graph any line may have ops.
        lines = session.graph_index().lines_of(self.file_of(arguments.get("source"))) if session else {}
        return {"breakpoints": [{"line": client.line_to(line)} for line in sorted(lines) if first <= line <= last]}
