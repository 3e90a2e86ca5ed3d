"""HTTP requests to a server, which the Python client and the command line share."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import UnreachableError, api_error

Json = dict[str, Any]

_TIMEOUT_SECONDS = 40.0


class HttpClient:
    """Calls routes below /api/v1 of one server. Thread-safe.

    Attributes:
        address: The server's address without a slash at the end, such as http://127.0.0.1:8080.
        token: The token that is sent with every request, if any.
    """

    def __init__(self, address: str, token: str | None) -> None:
        self.address = address.rstrip("/")
        self.token = token
        # The server usually runs on this machine, so proxies of the environment are ignored.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    @classmethod
    def from_data_dir(cls, address: str, data_dir: Path) -> HttpClient:
        """A client with the token that the server has stored in its data directory."""
        try:
            token = (data_dir / "token").read_text().strip()
        except OSError:
            token = None
        return cls(address, token)

    def get(self, path: str, **query: object) -> Json:
        return self._call("GET", _with_query(path, query), None)

    def download(self, path: str, **query: object) -> bytes:
        """Returns the body of a response that is a file."""
        return self.fetch(path, None, None, **query)[0]

    def fetch(
        self, path: str, accept: str | None = None, byte_range: str | None = None, **query: object
    ) -> tuple[bytes, Mapping[str, str]]:
        """Returns the body and the headers of a response.

        Args:
            path: The route.
            accept: The type that is asked for.
            byte_range: Which bytes of the body, such as "0-15". Default: all.
            query: The route's parameters; those that are None are left out.
        """
        headers = {"Accept": accept, "Range": f"bytes={byte_range}" if byte_range else None}
        return self._send("GET", _with_query(path, query), None, headers)

    def post(self, path: str, body: Json) -> Json:
        return self._call("POST", path, body)

    def patch(self, path: str, body: Json) -> Json:
        return self._call("PATCH", path, body)

    def put(self, path: str, body: Json) -> Json:
        return self._call("PUT", path, body)

    def delete(self, path: str) -> Json:
        return self._call("DELETE", path, None)

    def page(self, path: str = "/", holder: Json | None = None, embed: bool = False) -> Json:
        """A new address of the page: `url` and `expires_at`.

        Args:
            path: A place on the page, such as /jobs/train.
            holder: The `name` and `role` of the person who will open the page. Default: those of this client.
            embed: Views of VS Code may show the page in a frame.
        """
        login = self.post("/login/codes", (holder or {}) | ({"embed": True} if embed else {}))
        place = "" if path == "/" else f"{path}?"
        page = f"{self.address}{login.get('path', '/')}"
        return {"url": f"{page}#{place}code={login['code']}", "expires_at": login["expires_at"]}

    def advice(self, hit: Json) -> Json:
        """Likely causes of a hit, and what to look at next: lists of sentences."""
        path = f"/conditions/{quote(hit['condition'])}/advice"
        return self.get(path, op_type=hit["op_type"], dtype=hit["dtype"])

    def diagnosis(self, job: str, hit: int) -> Json:
        """The likely cause of a hit; without title if no rule explains it."""
        return self.get(f"/jobs/{quote(job)}/hits/{hit}/diagnosis")

    def incidents(self, job: str) -> list[Json]:
        """The hits of a job by their causes, each with its diagnosis; the first 1,000."""
        incidents: list[Json] = self.get(f"/jobs/{quote(job)}/incidents", limit=1000)["incidents"]
        return incidents

    def hits(self, job: str) -> list[Json]:
        """All hits of a job, in execution order."""
        hits: list[Json] = []
        cursor: str | None = None
        while True:
            page = self.get(f"/jobs/{quote(job)}/hits", limit=1000, cursor=cursor)
            hits += page["hits"]
            cursor = page.get("next_cursor")
            if not cursor:
                return hits

    def _call(self, method: str, path: str, body: Json | None) -> Json:
        text, _ = self._send(method, path, body)
        return json.loads(text) if text else {}

    def _send(
        self, method: str, path: str, body: Json | None, headers: Mapping[str, str | None] | None = None
    ) -> tuple[bytes, Mapping[str, str]]:
        request = urllib.request.Request(f"{self.address}/api/v1{path}", method=method)
        request.add_header("User-Agent", "graphdbg")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        for name, value in (headers or {}).items():
            if value is not None:
                request.add_header(name, value)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                content: bytes = response.read()
                answered: Mapping[str, str] = response.headers
        except urllib.error.HTTPError as error:
            raise api_error(error.code, _problem(error.read())) from None
        except (urllib.error.URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise UnreachableError(f"no graphdbg server at {self.address}: {reason}") from None
        return content, answered


def _with_query(path: str, query: dict[str, object]) -> str:
    text = urllib.parse.urlencode({k: v for k, v in query.items() if v is not None})
    return f"{path}?{text}" if text else path


def quote(name: str) -> str:
    """A name as one segment of a path."""
    return urllib.parse.quote(name, safe="")


def _problem(text: bytes) -> Json:
    try:
        problem = json.loads(text)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}
