"""Makes PyTorch debuggable in this process, right after `import torch`."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

from .. import Terminated, _exit_report
from .._log import warn_not_debugged
from .._process import default_job_name
from . import (
    amp,
    backward,
    hooks,
    keras_on_torch,
    modules,
    older_torch,
    optimizers,
    place,
    steps,
    swap_tensors,
    torch_compile,
)

_PACKAGE = Path(__file__).resolve().parents[1]


def follow() -> None:
    """Opens the agent and installs the hooks. Never raises."""
    try:
        _follow()
    except Exception as error:
        warn_not_debugged(f"cannot follow PyTorch: {error}")


def _follow() -> None:
    import torch

    adapter = hooks.load(torch)
    if not adapter.open(str(torch.__version__), default_job_name()):
        return
    older_torch.silence_profiler_ranges()
    eager = torch_compile.ForcedEager(adapter.notify)
    loose = optimizers.LooseParameters(adapter)
    counter = steps.StepCounter(adapter.step_end)
    symbolic = keras_on_torch.install(adapter, counter)
    tree = modules.ModuleTree(adapter, _library_directories(), lambda: symbolic.active)
    own_place = place.Place(_exit_report.expect_exit)
    adapter.install(
        torch.nn.Module,
        tree.add,
        tree.give_inputs,
        Terminated,
        eager.lift,
        own_place.take,
        _library_directories(),
    )
    older_torch.call_around_each_step(optimizers.Closures(adapter).before_step, counter)
    tree.follow_registrations(loose.module_has_parameter)
    optimizers.install(loose.add)
    backward.install(adapter)
    amp.install(adapter, counter)
    swap_tensors.install(adapter)
    if hasattr(torch, "compile"):
        (torch_compile.CompiledRegions(adapter) if torch_compile.is_kept() else eager).install()
    # Before the first step nothing is followed, and a forked child may train itself.
    os.register_at_fork(after_in_child=lambda: adapter.disable() if own_place.taken else None)
    _exit_report.set_agent(adapter)


def _library_directories() -> list[str]:
    """Directories whose code is not the user's."""
    paths = sysconfig.get_paths()
    directories = {paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    directories.add(str(_PACKAGE))
    return sorted(f"{directory}{os.sep}" for directory in directories if directory)
