"""What /proc says about processes."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

# Programs that start trainings, and do not train.
LAUNCHERS = frozenset({"torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed"})
_LIBRARY = re.compile(r"/libtorch(?:_cpu|_python)?\.so")


@dataclass(frozen=True)
class Process:
    """A process of this machine. What cannot be read is empty."""

    pid: int

    @property
    def directory(self) -> Path:
        return Path(f"/proc/{self.pid}")

    def field(self, name: str) -> str:
        """A field of /proc/PID/status, such as "State"."""
        found = re.search(rf"^{name}:\t(.*)$", self._text("status"), re.MULTILINE)
        return found[1] if found else ""

    @property
    def parent(self) -> int:
        return int(self.field("PPid") or 0)

    @property
    def user(self) -> int:
        return int(self.field("Uid").split("\t")[0] or -1)

    @property
    def name(self) -> str:
        """That of the main thread."""
        return self._text("comm").strip()

    @cached_property
    def command(self) -> list[str]:
        return self._text("cmdline").split("\0")[:-1]

    @cached_property
    def environment(self) -> dict[str, str]:
        """The environment with which it was started."""
        pairs = (entry.partition("=") for entry in self._text("environ").split("\0"))
        return {name: value for name, _, value in pairs if name}

    @cached_property
    def files(self) -> list[str]:
        """The files that it has mapped, in its own mount namespace."""
        lines = self._text("maps").splitlines()
        paths = (line.split(maxsplit=5)[5] for line in lines if line.count("/"))
        return list(dict.fromkeys(path.removesuffix(" (deleted)") for path in paths))

    @property
    def start_ticks(self) -> int:
        """When it was started, in ticks since the machine was; tells it from a later process of the same id."""
        fields = self._text("stat").rpartition(")")[2].split()
        return int(fields[19]) if len(fields) > 19 else 0

    @property
    def script(self) -> str:
        """What its interpreter runs: the name of a script or module, or "-c"."""
        words = iter(self.command[1:])
        for word in words:
            if word == "-m":
                return next(words, "")
            if word == "-c":
                return word
            if word in ("-W", "-X"):
                next(words, None)
            elif not word.startswith("-"):
                return PurePath(word).name
        return PurePath(self.command[0]).name if self.command else self.name

    @cached_property
    def torch(self) -> Path | None:
        """The directory of the PyTorch that it has loaded, in its own mount namespace."""
        library = next((file for file in self.files if _LIBRARY.search(file)), None)
        return Path(library).parents[1] if library else None

    def path_outside(self, path: Path) -> Path:
        """A path of its own mount namespace, for this process."""
        return self.directory / "root" / path.relative_to("/")

    def shares(self, namespace: str) -> bool:
        """Whether it is in the same namespace of this kind ("mnt", "net", "pid") as this process."""
        try:
            return os.readlink(f"/proc/self/ns/{namespace}") == os.readlink(self.directory / "ns" / namespace)
        except OSError:
            return True

    def _text(self, name: str) -> str:
        try:
            return (self.directory / name).read_bytes().decode(errors="surrogateescape")
        except OSError:
            return ""


def own_processes() -> Iterator[Process]:
    """The processes of this user, without this one."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if entry.stat().st_uid == os.geteuid():
                    yield Process(int(entry.name))


def children(pid: int) -> list[Process]:
    """The processes that a process has started."""
    return [each for each in own_processes() if each.parent == pid]
