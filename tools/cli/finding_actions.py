"""Webhooks and commands for what rules find and watchpoints hit."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor, wait

from . import report
from .actions import Actions
from .client import Json

_WEBHOOK_SECONDS = 5.0
_WEBHOOK_TRIES = 3
_RETRY_SECONDS = 0.5
_COMMAND_SECONDS = 60.0
# The time for what is still to be done when the job has ended.
_END_SECONDS = 20.0


class FindingActions:
    """Performs actions one after the other in the background, so that no job waits for them."""

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, "graphdbg-actions")
        self._pending: list[Future[None]] = []

    def perform(self, actions: Actions, finding: Json) -> None:
        """Sends a finding, or a hit, to the webhooks and commands of its rule or watchpoint. Failures are logged."""
        body = json.dumps(finding).encode()
        for address in actions.webhooks:
            self._pending.append(self._worker.submit(_post, address, body))
        for command in actions.commands:
            self._pending.append(self._worker.submit(_run, command, body))

    def close(self) -> None:
        """Waits for what was begun, up to a limit."""
        late = wait(self._pending, timeout=_END_SECONDS).not_done
        if late:
            report.log(f"{len(late)} webhooks or commands were not done in time")
        self._worker.shutdown(wait=False, cancel_futures=True)


def _post(address: str, body: bytes) -> None:
    request = urllib.request.Request(address, data=body, headers={"Content-Type": "application/json"})
    for left in reversed(range(_WEBHOOK_TRIES)):
        try:
            with urllib.request.urlopen(request, timeout=_WEBHOOK_SECONDS):
                return
        except (OSError, ValueError) as error:
            # The address may contain a secret behind its host.
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            if not left:
                report.log(f"webhook at {request.host}: {reason}; nothing was delivered")
        time.sleep(_RETRY_SECONDS)


def _run(command: tuple[str, ...], body: bytes) -> None:
    try:
        ended = subprocess.run(
            command, input=body, stdout=subprocess.DEVNULL, timeout=_COMMAND_SECONDS, start_new_session=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        report.log(f"command of an action: {error}")
        return
    if ended.returncode:
        report.log(f"command of an action: {command[0]} ended with exit code {ended.returncode}")
