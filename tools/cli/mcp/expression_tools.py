"""Tools that evaluate expressions and show the stack where a job stands."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from pydantic import Field

from ..debugger import Session, TensorView, attach, open_recording
from .answers import Answer
from .arguments import JobName, RankNumber
from .subjects import Subject
from .tensor_tools import MAX_NUMBERS, add_elements, first_elements
from .workspace import Workspace

_FRAMES = 25


class ExpressionTools:
    """Each method is a tool."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def evaluate(
        self,
        expression: Annotated[
            str,
            Field(
                description="out, in0 (the current node's tensors), weight (looked up in the scope, then outwards), "
                "forward/fc/addmm:0; with [0,:10], .abs_max, @-1 (step before), @120, @rank3; + - * / < and "
                "abs(…), max(…), mean(…)."
            ),
        ],
        frame: Annotated[int, Field(description="Frame in whose scope names are looked up, see frames().", ge=0)] = 0,
        rank: RankNumber = None,
        job: JobName = None,
    ) -> Answer:
        """The value of an expression over tensors where a paused job stands, such as out.abs_max or
        max(abs(in0 - in0@-1))."""
        answer = Answer()
        with _session(self._workspace.subject(job), rank) as session:
            value = session.evaluate(expression, frame)
            answer.add(f"{value.name} = {value.text}")
            if value.tensor is not None:
                _add_elements(answer, value.tensor)
        return answer

    def frames(self, rank: RankNumber = None, job: JobName = None) -> Answer:
        """The stack where a paused job stands: the node, its modules with the line in each, and the model's callers."""
        answer = Answer()
        with _session(self._workspace.subject(job), rank) as session:
            found = session.frames()
        for each in found[:_FRAMES]:
            place = f" at {each.file}:{each.line}" if each.file else ""
            function = f", in {each.function}" if each.function else ""
            library = " (library)" if each.subtle else ""
            answer.add(f"frame {each.number}: {each.kind} {each.name}{place}{function}{library}")
        answer.next("evaluate(expression=…, frame=N) looks up names in the scope of frame N")
        return answer


@contextmanager
def _session(subject: Subject, rank: int | None) -> Iterator[Session]:
    http = subject.client.http
    session = open_recording(http, subject.id) if subject.is_run else attach(http, subject.id)
    try:
        if rank is not None:
            session.select_rank(rank)
        yield session
    finally:
        session.close()


def _add_elements(answer: Answer, tensor: TensorView) -> None:
    array = tensor.read(first_elements(tensor.shape)) if tensor.shape else tensor.read()
    shown, total = add_elements(answer, array.tolist()), math.prod(tensor.shape)
    if shown < total:
        answer.more(f"{shown} of {total:,} elements; others: append a slice with at most {MAX_NUMBERS} elements")
