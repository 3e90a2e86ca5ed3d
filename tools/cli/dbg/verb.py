"""Verbs of the debugger, and how they are found by their beginnings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..debugger import DebuggerError

if TYPE_CHECKING:
    from .interpreter import Interpreter

Function = Callable[["Interpreter", str], None]


@dataclass(frozen=True)
class Verb:
    """One verb.

    Attributes:
        name: Its full name.
        run: Called with the interpreter and the rest of the line.
        usage: What follows the name, as "[N]".
        summary: One line.
        help: More lines, with what a user wants to know.
        example: A line that one can type.
        group: The heading of `help`.
        repeats: An empty line repeats it: it moves or lists.
        completes: What its argument is: "node", "expression", "line", "condition", "verb", "info", "scope", "file"
            or "".
        aliases: Beginnings that mean this verb although others begin the same.
    """

    name: str
    run: Function
    usage: str
    summary: str
    help: str
    example: str
    group: str
    repeats: bool = False
    completes: str = ""
    aliases: tuple[str, ...] = ()


class Verbs:
    """The verbs by name."""

    def __init__(self, verbs: Sequence[Verb]) -> None:
        self.all = list(verbs)
        self._by_name = {verb.name: verb for verb in verbs}
        self._by_alias = {alias: verb for verb in verbs for alias in verb.aliases}

    def find(self, word: str) -> Verb:
        """The verb of a name, an alias or a beginning that only one has.

        Raises:
            DebuggerError: There is none, or there are several.
        """
        exact = self._by_name.get(word) or self._by_alias.get(word)
        if exact is not None:
            return exact
        found = [verb for verb in self.all if verb.name.startswith(word)]
        if len(found) == 1:
            return found[0]
        if found:
            raise DebuggerError(f'"{word}" may be {" or ".join(verb.name for verb in found)}')
        raise DebuggerError(f'there is no command "{word}"; "help" lists them')

    def beginning(self, word: str) -> list[Verb]:
        """The verbs that begin with a word."""
        return [verb for verb in self.all if verb.name.startswith(word)]

    def shortest(self, verb: Verb) -> str:
        """The shortest text that means a verb."""
        candidates = [*verb.aliases, *(verb.name[:length] for length in range(1, len(verb.name) + 1))]
        short = [word for word in candidates if self._means(word, verb)]
        return min(short, key=len, default=verb.name)

    def _means(self, word: str, verb: Verb) -> bool:
        try:
            return self.find(word) is verb
        except DebuggerError:
            return False
