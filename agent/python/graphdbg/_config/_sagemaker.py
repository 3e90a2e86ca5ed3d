"""Translates hook configurations of SageMaker Debugger.

Their values may all be texts, and lists are comma lists. See `CollectionConfiguration`
and `DebuggerHookConfig` in the SageMaker SDK.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import _document
from ._problem import Problem
from ._validate import nearest

_TOP = ("S3OutputPath", "S3Path", "LocalPath", "HookParameters", "CollectionConfigurations")
_STEPS = {"save_interval": "every", "start_step": "start", "end_step": "end", "save_steps": "steps"}
_MODES = ("train", "eval", "predict", "global")
_STEP_KEYS = (*_STEPS, *(f"{mode}.{key}" for mode in _MODES for key in _STEPS))
_SHARED = (*_STEP_KEYS, "include_regex", "reductions", "save_raw_tensor", "save_shape")
_HOOK = (*_SHARED, "save_all", "include_workers", "export_tensorboard", "tensorboard_dir")
_COLLECTION = (*_SHARED, "save_histogram")
# Settings that have no counterpart.
_WITHOUT_EFFECT = {"save_shape", "save_histogram", "include_workers", "export_tensorboard", "tensorboard_dir"}
_REDUCTIONS = ("min", "max", "mean", "std", "variance", "sum", "prod")
_REDUCTION_WORDS = (
    *(f"{prefix}{word}" for prefix in ("", "abs_") for word in _REDUCTIONS),
    *(f"{prefix}{norm}_norm" for prefix in ("", "abs_") for norm in ("l1", "l2")),
)
# The original's, where no save_interval is given.
_SAVE_INTERVAL = 500
# Where jobs are recorded whose hook names nothing but object storage.
_LOCAL_DIRECTORY = "runs"
_RENAMED = {"optimizer_variables": "optimizer_state"}


def is_hook_configuration(node: Any) -> bool:
    """Whether a document has keys of a hook configuration."""
    return _document.kind(node) == "object" and any(key.value in _TOP for key, _ in node.value)


class Translation:
    """A hook configuration as a configuration of graphdbg.

    Attributes:
        values: The configuration.
        problems: The errors.
        without_effect: Keys that are valid and have no counterpart.
        notes: What the user should know about other keys.
    """

    def __init__(self, node: Any) -> None:
        self.values: dict[str, Any] = {}
        self.problems: list[Problem] = []
        self.without_effect: list[str] = []
        self.notes: list[str] = []
        self._translate(node)

    def _translate(self, node: Any) -> None:
        top = dict(self._items(node, "", _TOP))
        for key in ("LocalPath", "S3OutputPath", "S3Path"):
            if key in top:
                self.values["record"] = {"to": self._directory(key, str(top[key].value))}
                break
        collections = self._hook(top.get("HookParameters"))
        if "CollectionConfigurations" in top:
            collections += self._collections(top["CollectionConfigurations"])
        if collections:
            self.values["collections"] = collections

    def _directory(self, key: str, path: str) -> str:
        """A directory of this machine: recordings are copied to object storage afterwards."""
        if "://" not in path:
            return path
        self.notes.append(
            f"{key}: recorded to {_LOCAL_DIRECTORY} on this machine; "
            f"`graphdbg pack RUN --to {path.rstrip('/')}/RUN` copies a run there"
        )
        return _LOCAL_DIRECTORY

    def _hook(self, node: Any) -> list[dict[str, Any]]:
        parameters = {} if node is None else dict(self._items(node, "HookParameters", _HOOK))
        save = {"every": _SAVE_INTERVAL} | self._save(parameters, "HookParameters")
        self.values["save"] = save | {"steps": sorted({1, *save.get("steps", [])})}
        level = self._level(parameters, "HookParameters")
        if "record" in self.values or level != "tensors":
            self.values.setdefault("record", {})["level"] = level
        collections: list[dict[str, Any]] = []
        if "save_all" in parameters and self._boolean(parameters["save_all"], "HookParameters.save_all"):
            collections.append({"name": "all"})
        if "include_regex" in parameters:
            collections.append({"name": "default", "include": _words(parameters["include_regex"])})
        return collections

    def _collections(self, node: Any) -> Iterator[dict[str, Any]]:
        if _document.kind(node) != "array":
            self._report(node, "CollectionConfigurations", "expected a list")
            return
        for index, item in enumerate(node.value):
            key = f"CollectionConfigurations[{index}]"
            fields = dict(self._items(item, key, ("CollectionName", "CollectionParameters")))
            if "CollectionName" not in fields:
                self._report(item, key, "the key 'CollectionName' is missing")
                continue
            name = str(fields["CollectionName"].value)
            collection: dict[str, Any] = {"name": _RENAMED.get(name, name)}
            if "CollectionParameters" in fields:
                path = f"{key}.CollectionParameters"
                parameters = dict(self._items(fields["CollectionParameters"], path, _COLLECTION))
                if "include_regex" in parameters:
                    collection["include"] = _words(parameters["include_regex"])
                if save := self._save(parameters, path):
                    collection["save"] = save
                if "reductions" in parameters or "save_raw_tensor" in parameters:
                    collection["level"] = self._level(parameters, path)
            yield collection

    def _items(self, node: Any, key: str, known: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        if _document.kind(node) != "object":
            self._report(node, key, "expected a mapping")
            return
        for name_node, child in node.value:
            name = name_node.value
            path = f"{key}.{name}" if key else str(name)
            if name not in known:
                self._report(name_node, path, f"unknown key{nearest(str(name), list(known))}")
                continue
            if name in _WITHOUT_EFFECT:
                self.without_effect.append(path)
            yield name, child

    def _save(self, parameters: dict[str, Any], key: str) -> dict[str, Any]:
        save: dict[str, Any] = {}
        for name, node in parameters.items():
            mode, _, field = name.rpartition(".")
            if field not in _STEPS:
                continue
            path = f"{key}.{name}"
            if field == "save_steps":
                # The original counts steps from 0, which is a multiple of everything, so the first is saved.
                value: Any = sorted({1, *(self._integer(node, word, path) for word in _words(node))})
            else:
                value = self._integer(node, node.value, path)
            # Steps of the mode GLOBAL are those of all modes.
            place = save if mode in ("", "global") else save.setdefault(mode, {})
            place[_STEPS[field]] = value
        return save

    def _level(self, parameters: dict[str, Any], key: str) -> str:
        """Whole tensors, unless only reductions are asked for."""
        if "reductions" in parameters:
            for word in _words(parameters["reductions"]):
                if word not in _REDUCTION_WORDS:
                    hint = nearest(word, list(_REDUCTION_WORDS))
                    self._report(parameters["reductions"], f"{key}.reductions", f"unknown reduction '{word}'{hint}")
        raw = parameters.get("save_raw_tensor")
        if raw is not None and self._boolean(raw, f"{key}.save_raw_tensor"):
            return "tensors"
        return "statistics" if "reductions" in parameters else "tensors"

    def _integer(self, node: Any, text: Any, key: str) -> int:
        try:
            number = int(text)
        except (TypeError, ValueError):
            number = -1
        least = 1 if key.endswith("save_interval") else 0
        if number < least:
            self._report(node, key, f"expected an integer of at least {least}, not '{text}'")
            return least
        return number

    def _boolean(self, node: Any, key: str) -> bool:
        text = str(node.value).lower()
        if text not in ("true", "false"):
            self._report(node, key, f"expected true or false, not '{node.value}'")
        return text == "true"

    def _report(self, node: Any, key: str, message: str) -> None:
        self.problems.append(Problem(_document.line(node), key, message))


def _words(node: Any) -> list[str]:
    """The elements of a comma list, or of a list."""
    if _document.kind(node) == "array":
        return [str(child.value) for child in node.value]
    return [word.strip() for word in str(node.value).split(",") if word.strip()]
