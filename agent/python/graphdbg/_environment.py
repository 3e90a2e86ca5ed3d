"""Describes this process for bundles: versions and settings, and nothing that may be secret."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from typing import Any

# Others may hold passwords and tokens.
_VARIABLES = re.compile(r"CUDA_VISIBLE_DEVICES|OMP_NUM_THREADS|MKL_NUM_THREADS|(PYTORCH|CUBLAS|NCCL)_[A-Z0-9_]+")
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|CREDENTIAL|KEY", re.IGNORECASE)
_GIT_SECONDS = 2.0


def describe() -> str:
    """A JSON object with the versions and settings on which results may depend."""
    return json.dumps(
        {
            "python": platform.python_version(),
            "system": platform.platform(),
            "processor": platform.machine(),
            "torch": _torch(),
            "packages": _packages(),
            "variables": _variables(),
            "git": _git(),
        }
    )


def _torch() -> dict[str, Any] | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    described = {
        "version": str(torch.__version__),
        "cuda": torch.version.cuda,
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
    }
    # Asking for the name would start CUDA in a process that does not use it.
    if torch.cuda.is_initialized():
        described["gpu"] = torch.cuda.get_device_name()
        described["cudnn"] = torch.backends.cudnn.version()
    return described


def _packages() -> dict[str, str]:
    """Names and versions of the packages from which modules are loaded."""
    of_modules = importlib.metadata.packages_distributions()
    loaded = {name.partition(".")[0] for name in list(sys.modules)}
    names = sorted({package for module in loaded for package in of_modules.get(module, ())})
    return {name: importlib.metadata.version(name) for name in names}


def _variables() -> dict[str, str]:
    names = [name for name in sorted(os.environ) if _VARIABLES.fullmatch(name) and not _SECRET.search(name)]
    return {name: os.environ[name] for name in names}


def _git() -> dict[str, Any] | None:
    """The commit of the working directory, and whether files differ from it."""
    try:
        commit, changes = (
            subprocess.run(
                ["git", *command], capture_output=True, text=True, check=True, timeout=_GIT_SECONDS
            ).stdout.strip()
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "dirty": bool(changes)}
