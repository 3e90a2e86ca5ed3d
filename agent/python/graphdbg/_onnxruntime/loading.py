"""Sessions of bare models; where there can be none, one line says why."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from .model import CannotSplit, Model


def fail(message: str, code: int = 1) -> NoReturn:
    print(f"graphdbg: {message}", file=sys.stderr, flush=True)
    sys.exit(code)


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def numpy_file(file: str | Path) -> Any:
    """What an .npy or .npz file holds; an exception says why it cannot be read."""
    import numpy as np

    try:
        return np.load(file, allow_pickle=False)
    except ValueError as error:
        if "pickle" not in str(error):
            raise
        raise ValueError("it is no NumPy file, or holds Python objects") from None


def load(file: Path, provider: str, options: Any = None, model: bytes | None = None) -> Any:
    """An InferenceSession; of `model`, where that stands for the file."""
    import onnxruntime

    options = options or onnxruntime.SessionOptions()
    # Its own words on stderr say again what the exception says.
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model or file, options, providers=[provider])
    except Exception as error:
        fail(f"{file} cannot be loaded: {_why(file) or one_line(error)}")


def _why(file: Path) -> str | None:
    """What the splitter, which names nodes, has against a model that ONNX Runtime refuses."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            Model.split(file, file.stem, Path(folder))
        except CannotSplit as error:
            return str(error)
    return None
