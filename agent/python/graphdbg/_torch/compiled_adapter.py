"""Finds or builds the compiled adapter for this Python and this PyTorch."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import _c_api
from .._build_adapter import CannotBuild, Library, build, built

_PACKAGE = Path(__file__).resolve().parents[1]
_AGENT = _c_api.LIBRARY
_ADAPTER = "libgraphdbg_torch.so"


def load(torch: Any, may_build: bool = True) -> ModuleType:
    """Returns the extension module _hooks, with the adapter for `torch` loaded.

    Raises CannotBuild if the package contains no adapter and none can be, or may be, built.
    """
    make = build if may_build else built
    hooks = _hooks(make)
    shipped = shipped_adapter(torch)
    if shipped is not None:
        try:
            hooks.load(str(_AGENT), str(shipped))
            return hooks
        except ImportError:
            # PyTorch has the right version but was built with other options.
            pass
    try:
        hooks.load(str(_AGENT), str(make(_adapter(torch))))
    except ImportError as error:
        raise CannotBuild(f"the compiled adapter does not load: {error}") from error
    return hooks


def shipped_adapter(torch: Any) -> Path | None:
    """The adapter in the package for this version of PyTorch, if there is one."""
    # PyTorch's C++ interfaces change with each minor version.
    minor = ".".join(str(torch.__version__).split("+")[0].split(".")[:2])
    file = _PACKAGE / "lib" / f"torch-{minor}" / _ADAPTER
    usable = file.exists() and torch.compiled_with_cxx11_abi() and os.environ.get("GRAPHDBG_ADAPTER") != "compile"
    return file if usable else None


def _adapter(torch: Any) -> Library:
    root = Path(torch.__file__).resolve().parent
    include = root / "include"
    if not (include / "ATen" / "record_function.h").exists():
        raise CannotBuild(f"this PyTorch has no C++ headers in {include}")
    abi = int(torch.compiled_with_cxx11_abi())
    flags = ["-std=c++20", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", f"-DGRAPHDBG_TORCH_BUILD={torch.version.git_version}"]
    for directory in (include, include / "torch" / "csrc" / "api" / "include"):
        flags += ["-isystem", str(directory)]
    exports = _PACKAGE / "native" / "agent" / "adapters" / "pytorch" / "libgraphdbg_torch.lds"
    links = [f"-Wl,--version-script={exports}", "-Wl,-z,nodelete", f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"]
    return Library(
        purpose=f"PyTorch {torch.__version__}",
        key=f"{torch.__version__}-{'cxx11' if abi else 'pre-cxx11'}",
        file_name=_ADAPTER,
        sources="agent/adapters/pytorch",
        flags=flags,
        links=[*links, str(_AGENT)],
        unity_build=True,
    )


def _hooks(make: Callable[[Library], Path]) -> ModuleType:
    loaded = sys.modules.get(f"{__package__}._hooks")
    if loaded is not None:
        return loaded
    try:
        from . import _hooks as shipped

        return shipped
    except ImportError:
        return _load_extension(make(_extension()))


def _extension() -> Library:
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").exists():
        raise CannotBuild(f"this Python has no C headers in {include}")
    suffix = str(sysconfig.get_config_var("EXT_SUFFIX"))
    return Library(
        purpose=f"Python {sys.version_info.major}.{sys.version_info.minor}",
        key=str(sysconfig.get_config_var("SOABI")),
        file_name=f"_hooks{suffix}",
        sources="agent/adapters/pytorch/hooks",
        flags=["-std=c++17", "-isystem", str(include)],
        links=[],
    )


def _load_extension(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{__package__}._hooks", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        raise CannotBuild(f"the compiled adapter does not load: {error}") from error
    sys.modules[spec.name] = module
    return module
