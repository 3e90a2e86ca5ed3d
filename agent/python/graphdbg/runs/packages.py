"""Packages that reading runs needs, imported when they are used; a missing one is an error that names the extra."""

from __future__ import annotations

import importlib
from typing import Any

from graphdbg.client.errors import GraphdbgError


class MissingPackageError(GraphdbgError, ImportError):
    """A package of the extra `analysis` is not installed."""

    code = "missing_package"


def load(name: str, purpose: str) -> Any:
    """Imports a module of the extra `analysis`.

    Raises:
        MissingPackageError: It is not installed, or something that it needs is not.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingPackageError(
            f"{purpose} needs the package {package}: pip install 'graphdbg[analysis]' ({error})"
        ) from None
