"""The frameworks that this process can be debugged in, and how each is followed."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Framework:
    """An adapter in Python: `follow()` of its module runs right after the framework's import."""

    module: str
    adapter: str
    # Whether processes of multiprocessing use it for training, too. Those that only run
    # inference prepare data for others.
    in_children: bool = True

    def follow(self) -> None:
        """Starts the adapter, which never raises."""
        importlib.import_module(f"{__package__}.{self.adapter}.follow").follow()


FRAMEWORKS = (
    Framework("torch", "_torch"),
    Framework("tensorflow", "_tensorflow"),
    Framework("onnxruntime", "_onnxruntime", in_children=False),
    Framework("xgboost", "_boosting.xgboost"),
    Framework("lightgbm", "_boosting.lightgbm"),
    Framework("jax", "_jax"),
)


# As users know them.
_TITLES = {
    "torch": "PyTorch",
    "onnxruntime": "ONNX Runtime",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
}


def titles() -> str:
    """The names of all frameworks, as in "PyTorch, JAX or XGBoost"."""
    names = [_TITLES.get(framework.module, framework.module) for framework in FRAMEWORKS]
    return f"{', '.join(names[:-1])} or {names[-1]}"


def followed() -> Iterator[Framework]:
    """Those that GRAPHDBG_FRAMEWORK names, by default all. A process has one agent: the one used first gets it."""
    names = (os.environ.get("GRAPHDBG_FRAMEWORK") or " ".join(each.module for each in FRAMEWORKS)).split()
    is_child = "--multiprocessing-fork" in sys.orig_argv
    for framework in FRAMEWORKS:
        if framework.module in names and (framework.in_children or not is_child):
            yield framework


def others_loaded(module: str) -> list[str]:
    """The other frameworks that this process has imported and that may be followed."""
    return [each.module for each in followed() if each.module != module and each.module in sys.modules]
