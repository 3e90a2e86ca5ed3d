"""Loads graphdbg into interpreters that it is not installed in.

`graphdbg run` puts this directory on PYTHONPATH. Python imports only one
sitecustomize module, so this one also runs the one that it hides.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_hidden_sitecustomize() -> None:
    path = [entry for entry in sys.path if os.path.abspath(entry) != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _load_graphdbg() -> None:
    package = os.path.dirname(_HERE)
    if "graphdbg" not in sys.modules:
        # Loaded by path: the parent directory may contain packages of another
        # environment and must not be added to the search path.
        spec = importlib.util.spec_from_file_location(
            "graphdbg", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
        )
        if spec is None or spec.loader is None:
            return
        module = importlib.util.module_from_spec(spec)
        sys.modules["graphdbg"] = module
        spec.loader.exec_module(module)
    import graphdbg._autoload  # noqa: F401


_SWITCHES = ("GRAPHDBG_ENABLE", "ENABLE_MS_DEBUGGER", "GRAPHDBG_RECORD", "GRAPHDBG_BLACK_BOX")

if any(os.environ.get(name) for name in _SWITCHES):
    try:
        _load_graphdbg()
    except Exception as error:
        print(f"graphdbg: cannot start the debugger: {error}; the program continues without debugging", file=sys.stderr)
_run_hidden_sitecustomize()
