"""What runs at the start of every Python process that is to be debugged.

Imported by graphdbg.pth, or by the sitecustomize in _inject where graphdbg is
not installed. Does nothing but wait for `import torch` or `import onnxruntime`, and never fails: an
error here must not keep anybody's program from starting.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import PurePath

# Programs that start other programs: those are debugged, these are not.
_LAUNCHERS = frozenset({"torchrun", "torch.distributed.run", "torch.distributed.launch", "pip"})

_installed = False


def enabled() -> bool:
    """Whether the environment asks for this process to be debugged."""
    value = os.environ.get("GRAPHDBG_ENABLE") or os.environ.get("ENABLE_MS_DEBUGGER") or ""
    return value.strip().lower() in ("1", "true")


def _program() -> Iterator[str]:
    """The script, module or code that this interpreter was started with."""
    words = iter(sys.orig_argv[1:])
    for word in words:
        if word in ("-m", "-c"):
            yield from words
        elif word in ("-W", "-X"):
            next(words, None)
        elif not word.startswith("-"):
            yield word
            yield from words


def is_bystander() -> bool:
    """Whether this process only serves another one.

    Such are the children that multiprocessing spawns (loading of data), its
    own servants, and launchers.
    """
    program = next(_program(), "")
    if "--multiprocessing-fork" in sys.orig_argv or program.startswith("from multiprocessing."):
        return True
    return PurePath(program).name in _LAUNCHERS or "torch/_inductor/" in program


def warn(message: str) -> None:
    print(f"graphdbg: {message}; the program goes on undebugged", file=sys.stderr, flush=True)


def install() -> None:
    """Arranges for what is to happen at `import torch` and at the end. Once."""
    global _installed
    if _installed or not enabled() or is_bystander():
        return
    _installed = True
    from . import _ending, _import_hook

    _ending.install()
    # A process has one agent: the first of the two that is used has it.
    wanted = os.environ.get("GRAPHDBG_FRAMEWORK") or "torch onnxruntime"
    if "torch" in wanted:
        _import_hook.after_import("torch", _follow_torch)
    if "onnxruntime" in wanted:
        _import_hook.after_import("onnxruntime", _follow_onnxruntime)


def _follow_torch() -> None:
    from . import _torch

    _torch.follow()


def _follow_onnxruntime() -> None:
    from ._onnxruntime import follow

    follow.follow()


try:
    install()
except Exception as error:
    warn(f"cannot start: {error}")
