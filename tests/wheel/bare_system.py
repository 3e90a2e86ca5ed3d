"""A Debian without anything that graphdbg is built from: minbase, Python and its venv.

Its files are made by debootstrap, once per user of the machine. Programs run in it with
chroot, in namespaces of their own: nothing that they start or mount outlives them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

_SCRIPTS = Path("/usr/share/debootstrap/scripts")
# In the namespaces: $1 is the root, $2 what becomes /trial, $3 what becomes /packages.
_ENTER = """
set -e
root=$1 work=$2 packages=$3
shift 3
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$work" "$root/trial"
mount --bind "$packages" "$root/packages"
exec chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/trial "$@"
"""


class Unavailable(Exception):
    """This machine cannot have such a system; the message explains why."""


@dataclass(frozen=True)
class BareSystem:
    root: Path

    @classmethod
    def of_release(cls, release: str) -> BareSystem:
        """Raises Unavailable."""
        if os.geteuid() != 0:
            raise Unavailable("a bare system needs root, for chroot")
        if not shutil.which("debootstrap"):
            raise Unavailable("debootstrap is not installed")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphdbg" / "systems"
        system = cls(cache / release)
        if not system.root.exists():
            cache.mkdir(parents=True, exist_ok=True)
            _bootstrap(release, system.root)
        for directory in ("trial", "packages"):
            (system.root / directory).mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as nothing:
            done = system.run(["/bin/true"], Path(nothing), Path(nothing))
        if done.returncode != 0:
            raise Unavailable(f"cannot enter a bare system: {done.stderr.strip()}")
        return system

    def run(
        self, command: list[str], work: Path, packages: Path, seconds: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command there. `work` is its /trial and home, `packages` its /packages."""
        namespaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
        enter = ["sh", "-c", _ENTER, "sh", str(self.root), str(work), str(packages)]
        return subprocess.run(
            [*namespaces, *enter, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )


def _bootstrap(release: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        root = Path(scratch) / release
        command = ["debootstrap", "--variant=minbase", "--include=python3,python3-venv", release, str(root)]
        if not (_SCRIPTS / release).exists():
            # A release that is newer than this debootstrap is made as the development version, from the default mirror.
            command += ["", "sid"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1200)
        except subprocess.TimeoutExpired:
            raise Unavailable("debootstrap did not finish within 20 minutes") from None
        if done.returncode != 0:
            lines = done.stdout.strip().splitlines()
            raise Unavailable(f"debootstrap failed: {lines[-1] if lines else done.stderr.strip()}")
        # Another process may have been faster.
        if not target.exists():
            root.rename(target)
