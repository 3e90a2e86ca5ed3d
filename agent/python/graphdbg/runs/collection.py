"""Collections: which tensors each of them selected, as collections.jsonl of each rank lists them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .errors import Damage
from .rank import Rank

_MAX_BYTES = 1 << 30


@dataclass(frozen=True)
class Collection:
    """A set of tensors that was recorded with the same options.

    Attributes:
        name: Its name, such as "losses".
        tensors: Names of the tensors that it selected on any rank, in order of their nodes.
        level: "off", "light", "statistics" or "tensors"; "" if the configuration does not name one.
        config: Its part of the configuration.
    """

    name: str
    tensors: tuple[str, ...]
    level: str
    config: dict[str, Any]


def read_collections(ranks: list[Rank]) -> dict[str, Collection]:
    """The collections of all ranks, in the order of the configuration."""
    ranks = [part for rank in ranks for part in rank.parts]
    configured = {name: entry for rank in ranks for name, entry in _configured(rank).items()}
    selected: dict[str, dict[str, None]] = {name: {} for name in configured}
    for rank in ranks:
        for name, keys in _selected(rank).items():
            names = (f"{rank.nodes.name(node)}:{slot}" for node, slot in sorted(keys))
            selected.setdefault(name, {}).update(dict.fromkeys(names))
    return {
        name: Collection(name, tuple(tensors), str(configured.get(name, {}).get("level", "")), configured.get(name, {}))
        for name, tensors in selected.items()
    }


def _configured(rank: Rank) -> dict[str, dict[str, Any]]:
    entries = rank.config.get("collections")
    named = [each for each in entries if isinstance(each, dict) and "name" in each] if isinstance(entries, list) else []
    return {str(each["name"]): each for each in named}


def _selected(rank: Rank) -> dict[str, set[tuple[int, int]]]:
    path = f"{rank.name}/collections.jsonl"
    size = rank.files.size(path)
    if size is None:
        return {}
    if size > _MAX_BYTES:
        raise Damage(f"{rank.files.name}/{path}", _MAX_BYTES, f"{size} bytes, more than {_MAX_BYTES}").error()
    found: dict[str, set[tuple[int, int]]] = {}
    # A line without its end was being written.
    *lines, _ = rank.files.read(path).split(b"\n")
    for line in lines:
        try:
            entry = json.loads(line)
            keys = {(int(node), int(slot)) for node, slot in entry["tensors"]}
            found.setdefault(str(entry["collection"]), set()).update(keys)
        except (ValueError, KeyError, TypeError):
            continue
    return found
