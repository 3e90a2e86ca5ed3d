"""The checks of `graphdbg doctor` that run in a separate process, because a broken library may crash it.

`python -m graphdbg.cli.probe agent|frameworks` prints one JSON object.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

AGENT = Path(__file__).resolve().parent.parent / "lib" / "libgraphdbg.so"


def agent() -> dict[str, Any]:
    library = ctypes.CDLL(str(AGENT))
    library.graphdbg_version.restype = ctypes.c_char_p
    library.graphdbg_accelerators.restype = ctypes.c_char_p
    return {
        "version": library.graphdbg_version().decode(),
        "accelerators": json.loads(library.graphdbg_accelerators()),
    }


def frameworks() -> dict[str, Any]:
    return {
        "torch": _torch(),
        "tensorflow": _tensorflow(),
        "onnxruntime": _version("onnxruntime", "onnxruntime-gpu"),
        "jax": _version("jax"),
        "xgboost": _version("xgboost", "xgboost-cpu"),
        "lightgbm": _version("lightgbm"),
        "mindspore": _version("mindspore"),
    }


def _torch() -> dict[str, Any] | None:
    if importlib.util.find_spec("torch") is None:
        return None
    import torch
    from graphdbg._torch.compiled_adapter import shipped_adapter

    shipped = shipped_adapter(torch)
    return {
        "version": str(torch.__version__),
        "cuda": torch.version.cuda,
        "adapter": "shipped" if shipped else "compiled on first use",
        "npu": importlib.util.find_spec("torch_npu") is not None,
    }


def _tensorflow() -> dict[str, Any] | None:
    from graphdbg._tensorflow.versions import SUPPORTED, is_supported

    version = _version("tensorflow", "tensorflow-cpu")
    if version is None:
        return None
    return {
        "version": version,
        "supported": is_supported(version),
        "versions": SUPPORTED,
        "adapter": _tensorflow_adapter(version),
    }


def _tensorflow_adapter(version: str) -> str:
    from graphdbg._build_adapter import has_compiler
    from graphdbg._tensorflow.native import shipped_adapter

    if shipped_adapter(version) is not None:
        return "adapter shipped"
    return "adapter compiled on first use" if has_compiler() else "seen by taps, since there is no compiler"


def _version(*distributions: str) -> str | None:
    """The version of the first distribution that is installed, without importing it."""
    for name in distributions:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return None


if __name__ == "__main__":
    print(json.dumps({"agent": agent, "frameworks": frameworks}[sys.argv[1]]()))
