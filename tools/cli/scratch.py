"""Directories for as long as something takes."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from graphdbg._deferred_signals import uninterrupted


@contextlib.contextmanager
def scratch_directory(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A new directory that is removed at the end, also after Ctrl-C at any moment, unless it has been renamed."""
    directory = None
    try:
        # Between the two, an interruption would leave it behind.
        with uninterrupted():
            directory = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        yield directory
    finally:
        if directory is not None:
            with uninterrupted():
                shutil.rmtree(directory, ignore_errors=True)
