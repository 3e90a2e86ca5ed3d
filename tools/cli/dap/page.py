"""`graphdbg/pageAddress`, a request of our own: where a browser finds the job."""

from __future__ import annotations

from graphdbg.client.http import HttpClient, quote

from . import arguments as read
from .context import Context
from .dispatch import Handler
from .errors import RequestError
from .wire import Json


class Page:
    """Makes addresses with a one-time code.

    Attributes:
        http: The server that shows the job; None if there is none.
    """

    def __init__(self, context: Context) -> None:
        self.http: HttpClient | None = None
        self._context = context

    def handlers(self) -> dict[str, Handler]:
        return {"graphdbg/pageAddress": self._address}

    def _address(self, request: Json) -> Json:
        session = self._context.need_session()
        if self.http is None or session.kind == "bundle":
            raise RequestError("a bundle has no page; `graphdbg bundle FILE` shows what is in it")
        kind = "runs" if session.kind == "recorded" else "jobs"
        # An editor shows the page in a frame, which the server must allow.
        embed = read.flag(request.get("arguments", {}), "embed")
        made = self.http.page(f"/{kind}/{quote(session.name)}", embed=embed)
        return {"url": made["url"], "expiresAt": made["expires_at"]}
