"""The components of the wheel's programs and their dependencies, from the build machine itself."""

from __future__ import annotations

import functools
import json
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from portable import bundled_libraries

ROOT = Path(__file__).resolve().parents[2]

# Libraries that are compiled into our programs, as archives or as headers: Debian's
# packages, by the file in the package. What a program loads is read from the program,
# and what a portable wheel brings is in its graphdbg.libs.
CONTAINED = {
    "lib/graphdbg-server": ("libboost1.*-dev|libboost-dev", "nlohmann-json3-dev", "libcli11-dev"),
    "lib/graphdbg-onnx": ("nlohmann-json3-dev",),
    "lib/graphdbg-inject": ("nlohmann-json3-dev",),
    "lib/libgraphdbg.so": (
        "libgrpc++-dev",
        "libgrpc-dev",
        "libprotobuf-dev",
        "libabsl-dev",
        "libc-ares-dev",
        "libssl-dev",
        "libhwy-dev",
        "libre2-dev",
        "nlohmann-json3-dev",
        "zlib1g-dev",
    ),
}

# By Debian's source packages, without the version that some of them end in.
LICENSES = {
    "abseil": "Apache-2.0",
    "boost": "BSL-1.0",
    "c-ares": "MIT",
    "cli11": "BSD-3-Clause",
    "gcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "glibc": "LGPL-2.1-or-later",
    "grpc": "Apache-2.0",
    "highway": "Apache-2.0",
    "nlohmann-json": "MIT",
    "onnx": "Apache-2.0",
    "openssl": "Apache-2.0",
    "protobuf": "BSD-3-Clause",
    "re2": "BSD-3-Clause",
    "sqlite": "blessing",
    "zlib": "Zlib",
}

# The adapters' frameworks, which their users bring.
FRAMEWORKS = ("libtorch", "libc10", "libcuda", "libtensorflow")
# Packages of the page that have declarations for the compiler and no code.
TYPES_ONLY = ("@types/", "csstype")


@dataclass
class Component:
    name: str
    version: str
    license: str
    # A package URL, https://github.com/package-url.
    url: str
    # Files of the wheel that contain it, and those that load it at run time.
    contained_in: set[str] = field(default_factory=set)
    loaded_by: set[str] = field(default_factory=set)
    license_files: list[Path] = field(default_factory=list)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def debian_component(pattern: str) -> Component:
    """An installed package; of `a|b` the first that there is."""
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${db:Status-Status}\n"
    for each in pattern.split("|"):
        found = subprocess.run(["dpkg-query", "-W", "-f", form, each], capture_output=True, text=True)
        for line in found.stdout.splitlines():
            name, version, architecture, source, status = line.split("\t")
            if status != "installed":
                continue
            license_name = LICENSES.get(source) or LICENSES.get(re.sub(r"-?[0-9.]+$", "", source), "NOASSERTION")
            url = f"pkg:deb/debian/{name}@{version}?arch={architecture}".replace("+", "%2B")
            text = Path("/usr/share/doc") / name / "copyright"
            return Component(name, version, license_name, url, license_files=[text] if text.exists() else [])
    raise SystemExit(f"the package {pattern} is not installed")


@functools.cache
def _known_libraries() -> dict[str, str]:
    """Paths of the system's libraries, by their names."""
    known: dict[str, str] = {}
    # If there are several architectures, this machine's own is listed first.
    for name, path in re.findall(r"^\t(\S+) .* => (\S+)$", _output("/sbin/ldconfig", "-p"), re.MULTILINE):
        known.setdefault(name, path)
    return known


def loaded_libraries(program: Path) -> list[Path]:
    """The system's libraries that a program names."""
    names = re.findall(r"\(NEEDED\).*\[(.+)\]", _output("readelf", "-d", str(program)))
    known = _known_libraries()
    return [Path(known[name]) for name in names if name in known and not name.startswith(FRAMEWORKS)]


def original(name: str) -> Path:
    """The library of the system that a portable wheel has a copy of; `name` is its file's."""
    for directory in sorted({Path(path).parent for path in _known_libraries().values()}):
        if (directory / name).exists():
            return directory / name
    raise SystemExit(f"no library {name}, of which the wheel has a copy")


def owner(library: Path) -> str:
    """The Debian package of a library. Directories may be links: /lib is /usr/lib."""
    for path in (library, library.resolve(), Path("/usr") / library.relative_to("/")):
        found = subprocess.run(["dpkg-query", "-S", str(path)], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise SystemExit(f"no package owns {library}")


def native_components(package: Path) -> list[Component]:
    found: dict[str, Component] = {}

    def component(pattern: str) -> Component:
        made = debian_component(pattern)
        return found.setdefault(made.name, made)

    for file, patterns in CONTAINED.items():
        if not (package / file).exists():
            continue
        for pattern in patterns:
            component(pattern).contained_in.add(file)
    for copy, name in bundled_libraries(package.parent).items():
        component(owner(original(name))).contained_in.add(str(copy.relative_to(package.parent)))
    for program in sorted(path for path in (package / "lib").rglob("*") if path.is_file()):
        for library in loaded_libraries(program):
            component(owner(library)).loaded_by.add(str(program.relative_to(package)))
    return list(found.values())


def page_components() -> list[Component]:
    """The npm packages of the page, which the server contains. Development tools are not part of it."""
    lock = json.loads((ROOT / "webui" / "package-lock.json").read_text())
    found = []
    for path, entry in sorted(lock["packages"].items()):
        if "version" not in entry or not path.startswith("node_modules/"):
            continue  # This project itself, or a link to one of its folders.
        if entry.get("dev") or entry.get("optional") or entry.get("peer"):
            continue
        name = path.rpartition("node_modules/")[2]
        if name.startswith(TYPES_ONLY):
            continue
        url = f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}"
        texts = sorted((ROOT / "webui" / path).glob("LICEN[CS]E*"))
        component = Component(name, entry["version"], entry.get("license", "NOASSERTION"), url, license_files=texts)
        component.contained_in.add("lib/graphdbg-server")
        found.append(component)
    return found
