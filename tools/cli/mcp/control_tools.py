"""Tools that list and move jobs."""

from __future__ import annotations

import time
from typing import Annotated

from graphdbg.client import GraphdbgError
from pydantic import Field

from ..kept_jobs import kept_jobs
from .answers import Answer
from .arguments import WAIT_SECONDS, JobName, RankNumber, WaitSeconds
from .described import describe_job
from .run_tools import RunTools
from .workspace import Workspace

_KEPT = 5
_TERMINATE_SECONDS = 20.0


class ControlTools:
    """Each method is a tool."""

    def __init__(self, workspace: Workspace, runs: RunTools) -> None:
        self._workspace = workspace
        self._runs = runs

    def attach(
        self,
        target: Annotated[
            str, Field(description="Id of a job, directory of a recorded run, or name of a job that has ended.")
        ],
        server: Annotated[
            str | None, Field(description="Address of its server, such as http://127.0.0.1:8080.")
        ] = None,
        take_over: Annotated[bool, Field(description="Take the control from the user who has it.")] = False,
    ) -> Answer:
        """Makes a job or a recorded run the one that tools are about if they name none."""
        subject = self._workspace.attach(target, server)
        info = subject.info()
        answer = Answer()
        describe_job(answer, info, subject.is_run)
        if take_over:
            job = subject.job()
            job.take_over()
            job.close()
        if subject.is_run:
            answer.next("hits(), graph_scope(), history(tensor=…), rules(run=…), diff(runs=[…, …])")
        elif info.has_ended:
            answer.next("hits(), diagnosis(hit=…), history(tensor=…), graph_scope()")
        else:
            answer.next("hits(), wait_for_stop(), pause, watch(condition=…)")
        return answer

    def jobs(self) -> Answer:
        """Lists the jobs of all servers of this machine, attached runs, and jobs of graphdbg run that have ended."""
        answer = Answer()
        current = self._workspace.current()
        found = list(self._workspace.all())
        for subject in found:
            try:
                info = subject.info()
            except GraphdbgError:
                continue
            mark = "* " if current is not None and subject.id == current.id else "  "
            kind = "recorded run, " if subject.is_run else ""
            answer.add(
                f"{mark}{subject.id}: {kind}{info.state}, step {info.step}, {info.hit_count} hits, "
                f"{info.world_size} ranks, at {subject.client.address}"
            )
        kept = kept_jobs()
        for job in kept[:_KEPT]:
            answer.add(f"  {job.id}: ended ({job.status}) {job.ended_at}, {job.steps} steps, {job.hit_count} hits")
        if len(kept) > _KEPT:
            answer.more(f"{len(kept) - _KEPT} older jobs have ended; 'graphdbg jobs --all' lists them")
        if not found:
            answer.add("no job runs" + ("" if kept else ", and none has ended"))
            answer.next("run(command=[…]) starts a program; attach(target=…) opens a recorded run or an ended job")
        else:
            answer.next("* is the current one; attach(target=ID) changes that")
        return answer

    def page(self, job: JobName = None) -> Answer:
        """An address at which the user can look at the job in a browser. It works once and for 60 seconds."""
        subject = self._workspace.subject(job)
        answer = Answer()
        answer.add(subject.client.http.page(subject.path)["url"])
        answer.next("give it to the user at once; a new one: page()")
        return answer

    def continue_(
        self, job: JobName = None, rank: RankNumber = None, wait_seconds: WaitSeconds = WAIT_SECONDS
    ) -> Answer:
        """Continues a paused job to its next hit or its end."""
        return self._runs.move(self._workspace.subject(job), wait_seconds, lambda each: each.continue_(rank))

    def step(
        self,
        n: Annotated[int, Field(description="The number of training steps.", ge=1)] = 1,
        job: JobName = None,
        rank: RankNumber = None,
        wait_seconds: WaitSeconds = WAIT_SECONDS,
    ) -> Answer:
        """Continues for n training steps, or to a hit before."""
        return self._runs.move(self._workspace.subject(job), wait_seconds, lambda each: each.step(n, rank))

    def next_node(
        self, job: JobName = None, rank: RankNumber = None, wait_seconds: WaitSeconds = WAIT_SECONDS
    ) -> Answer:
        """Continues to the next node (op) that executes; its outputs can then be read."""
        return self._runs.move(self._workspace.subject(job), wait_seconds, lambda each: each.next_node(rank))

    def run_to_node(
        self,
        node: Annotated[str, Field(description="Full name of an op, such as forward/layer1/relu.")],
        pending: Annotated[
            bool, Field(description="Accept a node that does not exist yet, before the first step.")
        ] = False,
        job: JobName = None,
        rank: RankNumber = None,
        wait_seconds: WaitSeconds = WAIT_SECONDS,
    ) -> Answer:
        """Continues until a node has executed; its inputs and outputs can then be read."""
        return self._runs.move(
            self._workspace.subject(job), wait_seconds, lambda each: each.run_to(node, rank, pending=pending)
        )

    def pause(self, job: JobName = None, rank: RankNumber = None, wait_seconds: WaitSeconds = WAIT_SECONDS) -> Answer:
        """Stops a running job at its next op."""
        return self._runs.move(self._workspace.subject(job), wait_seconds, lambda each: each.pause(rank))

    def terminate(self, job: JobName = None) -> Answer:
        """Ends a job, as an exception in its main thread would."""
        subject = None if job is None and self._workspace.current() is None else self._workspace.subject(job)
        if subject is None:
            child = self._workspace.newest_command()
            if child is None:
                subject = self._workspace.subject(None)
            else:
                child.let_go()
                answer = Answer()
                answer.add("the program was told to end")
                return answer
        began = time.monotonic()
        answer = self._runs.move(subject, _TERMINATE_SECONDS, lambda each: each.terminate(), with_hits=False)
        if time.monotonic() - began >= _TERMINATE_SECONDS and subject.child is not None:
            subject.child.let_go()
            answer.add("it did not end by itself, so its processes are killed")
        return answer
