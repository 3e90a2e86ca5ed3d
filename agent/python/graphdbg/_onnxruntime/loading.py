"""Loads models and arrays for `graphdbg run -- model.onnx`; errors are one line each."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from .._log import log
from .model import CannotSplit, Model


def fail(message: str, code: int = 1) -> NoReturn:
    log(message)
    sys.exit(code)


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def numpy_file(file: str | Path) -> Any:
    """The content of an .npy or .npz file. Raises an exception that gives the reason if it cannot be read."""
    import numpy as np

    try:
        return np.load(file, allow_pickle=False)
    except ValueError as error:
        if "pickle" not in str(error):
            raise
        raise ValueError("it is not a NumPy file, or it contains Python objects") from None


def load(file: Path, provider: str, options: Any = None, model: bytes | None = None) -> Any:
    """Returns an InferenceSession of the file, or of `model`, which then replaces the file's content."""
    import onnxruntime

    options = options or onnxruntime.SessionOptions()
    # ONNX Runtime's log on stderr would only repeat the exception.
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model or file, options, providers=[provider])
    except Exception as error:
        fail(f"cannot load {file}: {_splitter_error(file) or one_line(error)}")


def _splitter_error(file: Path) -> str | None:
    """The splitter's error about a model that ONNX Runtime refuses. It names nodes, as ONNX Runtime may not."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            Model.split(file, file.stem, Path(folder))
        except CannotSplit as error:
            return str(error)
    return None
