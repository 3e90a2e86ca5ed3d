"""A client for the server's HTTP interface."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from .errors import CliError

Json = dict[str, Any]

DEFAULT_SERVER = "http://127.0.0.1:8080"
_TIMEOUT_SECONDS = 40.0


def default_data_dir() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "graphdbg"


class ApiError(CliError):
    """An error that the server returned as a problem document."""

    def __init__(self, status: int, problem: Json) -> None:
        self.status = status
        self.code = str(problem.get("code", ""))
        super().__init__(str(problem.get("detail") or problem.get("title") or f"HTTP {status}"))


class Client:
    """Calls routes below /api/v1 of one server. It is not thread-safe."""

    def __init__(self, address: str, token: str | None) -> None:
        self.address = address.rstrip("/")
        self._token = token
        # The server usually runs on this machine, so proxies of the environment are ignored.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    @classmethod
    def from_data_dir(cls, address: str, data_dir: Path) -> Client:
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
        return self._send("GET", _with_query(path, query), None)

    def post(self, path: str, body: Json) -> Json:
        return self._call("POST", path, body)

    def delete(self, path: str) -> Json:
        return self._call("DELETE", path, None)

    def page(self, path: str = "/", holder: Json | None = None) -> Json:
        """A new address of the page: `url` and `expires_at`.

        Args:
            path: A place on the page, such as /jobs/train.
            holder: The `name` and `role` of the person who will open the page. Default: those of this client.
        """
        login = self.post("/login/codes", holder or {})
        place = "" if path == "/" else f"{path}?"
        return {"url": f"{self.address}/#{place}code={login['code']}", "expires_at": login["expires_at"]}

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
        text = self._send(method, path, body)
        return json.loads(text) if text else {}

    def _send(self, method: str, path: str, body: Json | None) -> bytes:
        request = urllib.request.Request(f"{self.address}/api/v1{path}", method=method)
        request.add_header("User-Agent", "graphdbg")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                content: bytes = response.read()
        except urllib.error.HTTPError as error:
            raise ApiError(error.code, _problem(error.read())) from None
        except (urllib.error.URLError, OSError) as error:
            reason = getattr(error, "reason", error)
            raise CliError(f"no graphdbg server at {self.address}: {reason}") from None
        return content


def _with_query(path: str, query: dict[str, object]) -> str:
    text = urllib.parse.urlencode({k: v for k, v in query.items() if v is not None})
    return f"{path}?{text}" if text else path


def quote(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def _problem(text: bytes) -> Json:
    try:
        problem = json.loads(text)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}
