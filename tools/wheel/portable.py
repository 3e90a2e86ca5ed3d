"""Makes a wheel run on other machines than those with this distribution's libraries.

auditwheel copies the libraries that the programs load into graphdbg.libs, changes the
programs to load them from there, and refuses if something is newer than what its
policy allows. The policy's own libraries (libc, libstdc++, zlib) stay the machine's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

# Supported by Ubuntu 22.04, Debian 12 and later: one of our libraries needs GLIBC_2.35.
POLICY = "manylinux_2_35_x86_64"

# In the process already when an adapter is loaded.
LOADED_BEFORE = ("libtorch*.so*", "libc10*.so*", "libtensorflow_*.so*", "libgraphdbg.so", "libgraphdbg_torch.so")

# The suffix that auditwheel adds to a library's name, so that no other copy is taken for it.
_MARK = re.compile(r"-[0-9a-f]{8}(?=\.so)")


def _run(*command: str) -> None:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(command, env=os.environ | {"PATH": programs}, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def forget_build_directories(package: Path) -> None:
    """Adapters find the others in their own directory, and look in none of the build's."""
    for library in (package / "lib").glob("torch-*/*.so"):
        _run("patchelf", "--set-rpath", "$ORIGIN", str(library))


def repair(wheel: Path, directory: Path) -> Path:
    """Writes the portable wheel into `directory`, and returns its file."""
    exclude = [option for pattern in LOADED_BEFORE for option in ("--exclude", pattern)]
    options = ["--plat", POLICY, "--only-plat", "--wheel-dir", str(directory), *exclude]
    _run(sys.executable, "-m", "auditwheel", "repair", *options, str(wheel))
    (repaired,) = directory.glob("*.whl")
    return repaired


def bundled_libraries(directory: Path) -> dict[Path, str]:
    """The libraries that the unpacked wheel brings, with the names of their originals."""
    return {file: _MARK.sub("", file.name) for file in sorted(directory.glob("graphdbg.libs/*"))}
