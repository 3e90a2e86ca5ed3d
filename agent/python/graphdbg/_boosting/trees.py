"""The trees of a round."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .arrays import Array

LEAF = -1


@dataclass(frozen=True)
class Tree:
    """A tree as columns, one row a node; the root is row 0.

    `left` and `right` are the rows of a split's children, LEAF for leaves. `feature`
    is the number of a split's feature. `threshold` is that of a split, and `value` that
    of a leaf, of shape (nodes,) or, if leaves are vectors, (nodes, targets). Splits have
    a `gain`, all nodes a `cover`: the sum of hessians or the number of rows.
    """

    left: Array
    right: Array
    feature: Array
    threshold: Array
    gain: Array
    cover: Array
    value: Array

    @functools.cached_property
    def is_split(self) -> Array:
        return self.left != LEAF

    def depth(self) -> int:
        """That of the deepest node; the root's is 0."""
        left, right = self.left.tolist(), self.right.tolist()
        depth, level = 0, [0] if left else []
        while level := [child for row in level if left[row] != LEAF for child in (left[row], right[row])]:
            depth += 1
        return depth


class Importance:
    """How much the model has used each feature up to a round."""

    def __init__(self, weight: Array, gain: Array) -> None:
        """Begins with the number of splits and the total gain of each feature."""
        self.weight = np.array(weight, np.float64)
        self.gain = np.array(gain, np.float64)

    def add(self, trees: Sequence[Tree]) -> None:
        for tree in trees:
            splits = tree.is_split
            features = tree.feature[splits]
            self.weight += np.bincount(features, minlength=len(self.weight))
            self.gain += np.bincount(features, weights=tree.gain[splits], minlength=len(self.gain))


def joined(trees: Sequence[Tree]) -> list[Array]:
    """The leaf values, thresholds, gains and covers of all trees, each as one array."""
    if len(trees) == 1:
        [tree] = trees
        return [tree.value[~tree.is_split], tree.threshold[tree.is_split], tree.gain[tree.is_split], tree.cover]
    columns = (
        [tree.value[~tree.is_split] for tree in trees],
        [tree.threshold[tree.is_split] for tree in trees],
        [tree.gain[tree.is_split] for tree in trees],
        [tree.cover for tree in trees],
    )
    return [np.ascontiguousarray(np.concatenate(column)) for column in columns]


def node_name(tree: Tree, row: int, features: Sequence[str]) -> str:
    """The name of a node in its tree: `split_ROW_FEATURE` or `leaf_ROW`."""
    if tree.left[row] == LEAF:
        return f"leaf_{row}"
    feature = re.sub(r"[/\x00-\x1f]", "_", features[tree.feature[row]])
    return f"split_{row}_{feature}"
