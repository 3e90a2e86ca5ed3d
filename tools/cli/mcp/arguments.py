"""Arguments that several tools have, with what callers read about them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

JobName = Annotated[
    str | None, Field(description="Id of a job, or of an attached recorded run. Default: the last one run or attached.")
]
RankNumber = Annotated[
    int | None, Field(description="Rank, from 0. Default: the first one; for moves: all ranks.", ge=0)
]
Step = Annotated[
    int | Literal["current", "previous"] | None,
    Field(description='Training step: a number, "current" (default) or "previous".'),
]
TensorName = Annotated[
    str, Field(description="Full name NODE:SLOT, such as forward/layer1/relu:0; without :SLOT the first output.")
]
# Not optional: the SDK would take [0,1] as JSON.
Slice = Annotated[str, Field(description="NumPy's basic indexing, such as [0,:,10:20]. Default: the first elements.")]
Limit = Annotated[int, Field(description="At most this many entries.", ge=1, le=100)]
Cursor = Annotated[str | None, Field(description="Goes on where an earlier answer ended.")]
WaitSeconds = Annotated[
    float, Field(description="How long to wait for the stop before answering that it still runs.", ge=0, le=600)
]
Directory = Annotated[str | None, Field(description="Working directory. Default: that of this server.")]

# Clients give up on a call after 60 s.
WAIT_SECONDS = 45.0
