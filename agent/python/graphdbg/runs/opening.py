"""Opens a recorded run, alone or with those that it resumes."""

from __future__ import annotations

import os

from .chain import ChainedRun, chain_of
from .files import open_files
from .run import Run


def open_run(path: str | os.PathLike[str], chain: bool = False) -> Run:
    """Opens a recorded run, which may still be running.

    Args:
        path: The run's directory, or a URL that pyarrow or fsspec can read, such as s3://bucket/runs/abc.
            At a URL, what `graphdbg pack --to` put there is read.
        chain: Whether the runs that it resumes, and those that resume it, are read with it as one: a job that was
            started again from a checkpoint. Steps continue behind the last one that the run before recorded.

    Raises:
        RunNotFoundError: There is no run.
        MindSporeDumpError: The directory is a dump of MindSpore.
        MissingPackageError: The URL needs a package that is not installed.
    """
    if not chain:
        return Run(open_files(path))
    return ChainedRun([Run(open_files(each)) for each in chain_of(os.fspath(path))])
