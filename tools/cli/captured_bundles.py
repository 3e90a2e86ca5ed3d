"""Finds the bundles that a job has written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .client import Json

# The agent's default.
_DEFAULT = "bundles"


class CapturedBundles:
    """The bundles of a job that is about to start."""

    def __init__(self, option: str | Path | None, environment: Mapping[str, str]) -> None:
        """
        Args:
            option: The directory that the user has asked for, if any.
            environment: The job's environment, which may name one as well.
        """
        # The job may change its working directory.
        self._directory = Path(option or environment.get("GRAPHDBG_CAPTURE_TO") or _DEFAULT).absolute()
        self._before = self._all()

    def variables(self) -> dict[str, str]:
        """The variables that the job's environment needs."""
        return {"GRAPHDBG_CAPTURE_TO": str(self._directory)}

    def files(self) -> list[str]:
        """The paths of the bundles that were written since."""
        return [str(path) for path in sorted(self._all() - self._before)]

    def _all(self) -> set[Path]:
        return set(self._directory.glob("*.graphdbg")) if self._directory.is_dir() else set()


def with_capture(watchpoint: Json) -> Json:
    """The watchpoint, of whose hits bundles are written."""
    actions = watchpoint.get("actions") or []
    return {**watchpoint, "actions": [*actions, *(["capture"] if "capture" not in actions else [])]}
