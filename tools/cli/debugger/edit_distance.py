"""How much two names differ."""

from __future__ import annotations


def distance_within(a: str, b: str, most: int) -> int | None:
    """The number of characters to insert, remove or replace to make `a` of `b`; None if that is more than `most`."""
    if abs(len(a) - len(b)) > most:
        return None
    # What both begin and end with does not count, and names of nodes have much in common.
    begin = 0
    shorter = min(len(a), len(b))
    while begin < shorter and a[begin] == b[begin]:
        begin += 1
    a, b = a[begin:], b[begin:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None
