"""Packages that reading runs needs, imported when they are used; a missing one is an error that names the extra."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from graphdbg._deferred_signals import uninterrupted
from graphdbg.client.errors import GraphdbgError


class MissingPackageError(GraphdbgError, ImportError):
    """A package of the extra `analysis` is not installed."""

    code = "missing_package"


def load(name: str, purpose: str) -> Any:
    """Imports a module of the extra `analysis`.

    Raises:
        MissingPackageError: It is not installed, or something that it needs is not.
    """
    package = name.partition(".")[0]
    try:
        if package not in sys.modules:
            # Packages make errors of imports of a Ctrl-C meanwhile, or lose it.
            with uninterrupted():
                module = importlib.import_module(package)
                if package == "pyarrow":
                    # Makes it import pandas, which it otherwise does when it first converts something.
                    module.array([0])
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs the package {package}: pip install 'graphdbg[analysis]' ({error})"
        ) from None
