"""What tools are about: a job of a server, or a recorded run."""

from __future__ import annotations

from dataclasses import dataclass

from graphdbg.client import Client, GraphdbgError, Job, JobInfo

from ..client import Json, quote
from .processes import Child


@dataclass(frozen=True)
class Subject:
    """A job or a recorded run, which have the same routes for reading.

    Attributes:
        client: The server that has it.
        id: Its id there.
        is_run: Whether it is a recorded run.
        child: The process that runs it, if `run` has started it.
    """

    client: Client
    id: str
    is_run: bool = False
    child: Child | None = None

    @property
    def path(self) -> str:
        return f"/{'runs' if self.is_run else 'jobs'}/{quote(self.id)}"

    def get(self, route: str, **query: object) -> Json:
        """Asks a route below the job or run. Parameters that are None are left out."""
        return self.client.http.get(f"{self.path}{route}", **query)

    def info(self) -> JobInfo:
        """Its state."""
        return JobInfo.from_json(self.get(""))

    def job(self) -> Job:
        """The job, for one thread and to be closed.

        Raises:
            GraphdbgError: It is a recorded run.
        """
        if self.is_run:
            error = GraphdbgError(
                f"{self.id} is a recorded run, which can be read and not be controlled: hits(), history(tensor=…), "
                "rules(run=…) and diff(runs=[…]) read it"
            )
            error.code = "recorded"
            raise error
        return Job(self.client.http, self.info())
