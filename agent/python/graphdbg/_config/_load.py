"""Loads a configuration file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _document, _environment, _sagemaker, _validate
from ._problem import Problem
from ._rule_needs import with_needs
from ._schema import schema

# The keys that the agent reads from GRAPHDBG_RECORD_SETTINGS, as JSON.
_FOR_AGENT = ("record", "save", "reductions", "collections", "watchpoints")
# Nodes whose infinities are intentional, separated by commas.
INTENTIONAL_INFINITIES = "GRAPHDBG_INTENTIONAL_INFINITIES"
# Linux has no longer variables than 128 KiB.
_MAX_SETTINGS_BYTES = 120_000


class ConfigurationError(Exception):
    """The file cannot be read, or has errors.

    Attributes:
        file: The name of the file, as the user wrote it.
        problems: At least one error.
    """

    def __init__(self, file: str, problems: list[Problem]) -> None:
        super().__init__("\n".join(problem.describe(file) for problem in problems))
        self.file = file
        self.problems = problems


@dataclass(frozen=True)
class Watchpoint:
    """A watchpoint of the file.

    Attributes:
        condition: In the form of `--break-on`, or `{id, params}` of the HTTP API.
        fields: The other fields of the HTTP API: nodes, pause and so on.
        line: Where it is in the file.
        key: Its path in the file, such as `watchpoints[0]`.
    """

    condition: str | dict[str, Any]
    fields: dict[str, Any]
    line: int
    key: str


@dataclass(frozen=True)
class Configuration:
    """A valid configuration file.

    Attributes:
        file: The name of the file, as the user wrote it.
        values: Everything it contains, in graphdbg's own form.
        watchpoints: The watchpoints.
        is_sagemaker: Whether it is a hook configuration of SageMaker Debugger.
        without_effect: Keys that have no counterpart in graphdbg.
        translation_notes: What the user should know about other keys.
    """

    file: str
    values: dict[str, Any]
    watchpoints: list[Watchpoint] = field(default_factory=list)
    is_sagemaker: bool = False
    without_effect: list[str] = field(default_factory=list)
    translation_notes: list[str] = field(default_factory=list)

    def variables(self, outer: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
        """The variables that the file sets in an environment, and a note for each unset one it refers to."""
        entries = self.values.get("environment", {}).get("environment_variables", [])
        variables, unset = _environment.expand(entries, outer)
        budget = self.values.get("tensor_budget")
        if budget is not None and not (variables | dict(outer)).get("GRAPHDBG_TENSOR_BUDGET"):
            variables["GRAPHDBG_TENSOR_BUDGET"] = str(budget)
        intentional = self.values.get("intentional_infinities")
        if intentional and not (variables | dict(outer)).get(INTENTIONAL_INFINITIES):
            variables[INTENTIONAL_INFINITIES] = ",".join(intentional)
        captures = _capture_variables(self.values.get("capture") or {})
        variables |= {name: text for name, text in captures.items() if not (variables | dict(outer)).get(name)}
        notes = [f"{self.file}: ${name} is not set and was expanded to nothing" for name in dict.fromkeys(unset)]
        settings = self._settings()
        if len(settings) > _MAX_SETTINGS_BYTES:
            notes.append(
                f"{self.file}: what is recorded is described in {len(settings)} bytes, of at most "
                f"{_MAX_SETTINGS_BYTES}: the defaults are recorded"
            )
        elif settings:
            variables["GRAPHDBG_RECORD_SETTINGS"] = settings
        return variables, notes

    def _settings(self) -> str:
        """The part of the file that the agent needs, as JSON; "" if there is none."""
        settings = {key: self.values[key] for key in _FOR_AGENT if key in self.values}
        if self.values.get("rules"):
            settings["collections"] = with_needs(self.values)
        if "watchpoints" in settings:
            settings["watchpoints"] = [_for_agent(each) for each in settings["watchpoints"]]
        return json.dumps(_finite(settings)) if settings else ""

    def notes(self) -> list[str]:
        """One line for each kind of settings that are valid but not acted on."""
        keys = []
        if self.values.get("step_on", "optimizer") != "optimizer":
            keys.append(f"step_on: {self.values['step_on']}")
        notes = []
        if keys:
            notes.append(f"{self.file}: read but not acted on by this version: {', '.join(keys)}")
        if self.without_effect:
            notes.append(f"{self.file}: has no counterpart in graphdbg: {', '.join(self.without_effect)}")
        return notes + [f"{self.file}: {each}" for each in self.translation_notes]


def _capture_variables(capture: Mapping[str, Any]) -> dict[str, str]:
    """The variables that tell the agent how to write bundles."""
    texts = {name: str(int(value)) if isinstance(value, bool) else str(value) for name, value in capture.items()}
    return {f"GRAPHDBG_CAPTURE_{name.upper()}": text for name, text in texts.items()}


def _for_agent(watchpoint: Any) -> Any:
    """A watchpoint with the only action of agents. Addresses of others are not for the job's environment."""
    if not isinstance(watchpoint, Mapping):
        return watchpoint
    fields = {key: value for key, value in watchpoint.items() if key != "actions"}
    return fields | ({"actions": ["capture"]} if "capture" in (watchpoint.get("actions") or ()) else {})


def _finite(value: Any) -> Any:
    """The value without infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def load(file: str | Path) -> Configuration:
    """Reads and validates a file.

    Args:
        file: A YAML or JSON file, or a hook configuration of SageMaker Debugger.

    Raises:
        ConfigurationError: The file cannot be read, or has errors.
    """
    name = str(file)
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(name, [Problem(0, "", f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError:
        raise ConfigurationError(name, [Problem(0, "", "cannot be read: not UTF-8 text")]) from None
    is_json = name.endswith(".json") or text.lstrip().startswith("{")
    try:
        root = _document.parse(text, is_json)
    except _document.DocumentError as error:
        raise ConfigurationError(name, [error.problem]) from None
    if root is None:
        return Configuration(name, {})
    if _sagemaker.is_hook_configuration(root):
        translation = _sagemaker.Translation(root)
        _refuse(name, translation.problems)
        return Configuration(name, translation.values, [], True, translation.without_effect, translation.notes)
    _refuse(name, _validate.check(root, schema()))
    return Configuration(name, _document.value(root), _watchpoints(root))


def _refuse(name: str, problems: list[Problem]) -> None:
    if problems:
        raise ConfigurationError(name, problems)


def _watchpoints(root: Any) -> list[Watchpoint]:
    nodes: list[Any] = next((node.value for key, node in root.value if key.value == "watchpoints"), [])
    return [_watchpoint(node, f"watchpoints[{index}]") for index, node in enumerate(nodes)]


def _watchpoint(node: Any, key: str) -> Watchpoint:
    content = _document.value(node)
    fields = {} if isinstance(content, str) else content
    condition = content if isinstance(content, str) else fields.pop("condition")
    return Watchpoint(condition, fields, _document.line(node), key)
