"""Fetches a job's graph and the files of its ops, and keeps the newest."""

from __future__ import annotations

import threading

from graphdbg.client.errors import ApiError
from graphdbg.client.http import HttpClient

from .graph_index import GraphIndex


class GraphSource:
    """The graph of one job or run. Thread-safe."""

    def __init__(self, http: HttpClient, path: str, query: dict[str, object] | None = None) -> None:
        """
        Args:
            http: The server.
            path: That of the job or run below the API.
            query: What each request has, such as the step of a recorded run.
        """
        self._http = http
        self._path = f"{path}/graph"
        self._query = query or {}
        self._lock = threading.Lock()
        self._index: GraphIndex | None = None
        self._has_grown = True
        self._texts: dict[str, str | None] = {}

    def has_grown(self) -> None:
        """The graph has new nodes: the next use fetches it again."""
        self._has_grown = True

    def index(self) -> GraphIndex:
        """The newest version; an empty one while there is no graph."""
        with self._lock:
            if self._index is None or self._has_grown:
                # First, so that what is added during the request is not missed.
                self._has_grown = False
                self._index = self._fetch()
            return self._index

    def _fetch(self) -> GraphIndex:
        try:
            return GraphIndex(self._http.download(f"{self._path}/index", **self._query))
        except ApiError as error:
            if error.status != 404:
                raise
            return GraphIndex.empty()

    def source_text(self, file: str) -> str | None:
        """A file of the user's code, by its full name or the end of it; None if it is not known."""
        if file not in self._texts:
            text = self._fetch_text(file)
            if text is None:
                # Before the first step the job has sent none.
                return None
            self._texts[file] = text
        return self._texts[file]

    def _fetch_text(self, file: str) -> str | None:
        from .graph_index import is_file

        names = [file, *(each for each in self.index().files() if each != file and is_file(each, file))]
        for name in names:
            try:
                return str(self._http.get(f"{self._path}/source", file=name)["text"])
            except ApiError as error:
                if error.status != 404:
                    raise
        return None
