"""The compiled adapter: finds or makes the libraries that fit this Python and this PyTorch."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from ._compile import CannotCompile, Library, compiled

_PACKAGE = Path(__file__).resolve().parent
_AGENT = _PACKAGE / "lib" / "libgraphdbg.so"
_ADAPTER = "libgraphdbg_torch.so"


def load(torch: Any) -> ModuleType:
    """The extension module _hooks with the adapter for `torch` behind it.

    Raises CannotCompile where there is none and none can be made.
    """
    hooks = _hooks()
    shipped = _shipped(torch)
    if shipped is not None:
        try:
            hooks.load(str(_AGENT), str(shipped))
            return hooks
        except ImportError:
            # The version fits, but not the way it was built.
            pass
    try:
        hooks.load(str(_AGENT), str(compiled(_adapter(torch))))
    except ImportError as error:
        raise CannotCompile(f"the compiled one does not load: {error}") from error
    return hooks


def _shipped(torch: Any) -> Path | None:
    # PyTorch's C++ interfaces change with each minor version.
    minor = ".".join(str(torch.__version__).split("+")[0].split(".")[:2])
    file = _PACKAGE / "lib" / f"torch-{minor}" / _ADAPTER
    wanted = file.exists() and torch.compiled_with_cxx11_abi() and os.environ.get("GRAPHDBG_ADAPTER") != "compile"
    return file if wanted else None


def _adapter(torch: Any) -> Library:
    root = Path(torch.__file__).resolve().parent
    include = root / "include"
    if not (include / "ATen" / "record_function.h").exists():
        raise CannotCompile(f"this PyTorch has no C++ headers in {include}")
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
        together=True,
    )


def _hooks() -> ModuleType:
    try:
        from . import _hooks as shipped

        return shipped
    except ImportError:
        return _load_extension(compiled(_extension()))


def _extension() -> Library:
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").exists():
        raise CannotCompile(f"this Python has no C headers in {include}")
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
        raise CannotCompile(f"the compiled one does not load: {error}") from error
    sys.modules[spec.name] = module
    return module
