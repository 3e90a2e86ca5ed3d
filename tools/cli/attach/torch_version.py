"""The version of the PyTorch that a process has loaded, from its files."""

from __future__ import annotations

import re

from .processes import Process

_VERSION = re.compile(r"^__version__\s*(?::[^=]*)?=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)


def torch_version(process: Process) -> str:
    """Such as "2.13.0+cpu"; empty if it is unknown."""
    if process.torch is None:
        return ""
    try:
        text = process.path_outside(process.torch / "version.py").read_text()
    except OSError:
        return ""
    found = _VERSION.search(text)
    return found[1] if found else ""


def minor(version: str) -> str:
    """ "2.13" of "2.13.0+cpu"."""
    return ".".join(version.partition("+")[0].split(".")[:2])
