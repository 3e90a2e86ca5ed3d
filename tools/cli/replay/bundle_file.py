"""Reads bundles, of which every byte may be hostile."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

FORMAT = 1
MANIFEST = "manifest.json"
# Members with values of the job's tensors.
VALUES = ("leaves.safetensors", "expected.safetensors")

_REQUIRED = ("tape.json", "repro.py", "graph.json", "environment.json", *VALUES)
# Of bundles with all ops of a step.
_OF_STEPS = ("random.safetensors", "training.json")
_OF_BOUNDARIES = ("leaf", "op", "node")
_SOURCE = re.compile(r"sources/[0-9]{1,3}_[A-Za-z0-9._]{1,255}")
_MAX_MEMBERS = 64
_MAX_TEXT_BYTES = 64 << 20
_PIECE_BYTES = 1 << 20
# Of the header before each member, to which its name and extra field are added.
_LOCAL_HEADER_BYTES = 30


class BadBundle(Exception):
    """The file is no bundle, or is damaged."""


class BundleFile:
    """A bundle, whose structure has been checked. The digest of a member is checked when it is read.

    Raises:
        BadBundle: The file is no bundle.
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO = path.open("rb")
        try:
            self._zip = zipfile.ZipFile(self._file)
            self._members = _checked_members(self._zip, path.stat().st_size)
            self.manifest: dict[str, Any] = self._read_manifest()
        except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, RecursionError) as error:
            self._file.close()
            raise BadBundle(f"{path} is not a bundle: {error}") from None
        except BadBundle as error:
            self._file.close()
            raise BadBundle(f"{path} is not a bundle: {error}") from None

    def __enter__(self) -> BundleFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    @property
    def members(self) -> dict[str, int]:
        """The sizes of all members, by name."""
        return {name: info.file_size for name, info in self._members.items()}

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a member. Raises BadBundle, in the end, if they are not those that the manifest names."""
        digest = hashlib.sha256()
        try:
            with self._zip.open(self._members[name]) as member:
                while piece := member.read(_PIECE_BYTES):
                    digest.update(piece)
                    yield piece
        except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
            raise BadBundle(f"{self.path}: {name} is damaged: {error}") from None
        if name != MANIFEST and digest.hexdigest() != self.manifest["members"][name]["sha256"]:
            raise BadBundle(f"{self.path}: {name} is not what the manifest says (SHA-256)")

    def read(self, name: str) -> bytes:
        return b"".join(self.pieces(name))

    def json(self, name: str) -> Any:
        """The content of a text member. Raises BadBundle if it is no JSON."""
        if self._members[name].file_size > _MAX_TEXT_BYTES:
            raise BadBundle(f"{self.path}: {name} has more than {_MAX_TEXT_BYTES >> 20} MiB")
        try:
            return json.loads(self.read(name))
        except (ValueError, RecursionError) as error:
            raise BadBundle(f"{self.path}: {name} is not JSON: {error}") from None

    def _read_manifest(self) -> dict[str, Any]:
        if self._members[MANIFEST].file_size > _MAX_TEXT_BYTES:
            raise BadBundle("its manifest is too large")
        manifest = json.loads(self._zip.read(MANIFEST))
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise BadBundle(f"its format is not {FORMAT}")
        listed = manifest.get("members")
        if not isinstance(listed, dict) or set(listed) != set(self._members) - {MANIFEST}:
            raise BadBundle("the manifest does not list the members that it has")
        for name, entry in listed.items():
            if not isinstance(entry, dict) or not isinstance(entry.get("sha256"), str):
                raise BadBundle(f"the manifest has no digest of {name}")
            if entry.get("bytes") != self._members[name].file_size:
                raise BadBundle(f"{name} has another size than the manifest says")
        if not isinstance(manifest.get("hit"), dict) or not isinstance(manifest.get("node"), str):
            raise BadBundle("the manifest names no hit")
        for boundary in manifest.get("boundaries") or ():
            if not isinstance(boundary, dict) or not all(isinstance(boundary.get(key), str) for key in _OF_BOUNDARIES):
                raise BadBundle("the manifest describes a boundary wrongly")
        return manifest


def _checked_members(archive: zipfile.ZipFile, file_bytes: int) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    infos = archive.infolist()
    if len(infos) > _MAX_MEMBERS:
        raise BadBundle(f"it has more than {_MAX_MEMBERS} members")
    end = 0
    for info in sorted(infos, key=lambda each: each.header_offset):
        name = info.filename
        if name in members:
            raise BadBundle(f"it has the member {name} twice")
        if name not in (*_REQUIRED, *_OF_STEPS, MANIFEST) and not _SOURCE.fullmatch(name):
            raise BadBundle(f"it has a member with the name {name!r}")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise BadBundle(f"{name} is compressed or encrypted")
        if info.file_size != info.compress_size or info.header_offset < end:
            raise BadBundle(f"{name} has a wrong size or place")
        end = info.header_offset + _LOCAL_HEADER_BYTES + len(name) + info.file_size
        if end > file_bytes:
            raise BadBundle(f"{name} ends behind the end of the file")
        members[name] = info
    missing = [name for name in (*_REQUIRED, MANIFEST) if name not in members]
    if missing:
        raise BadBundle(f"it lacks {', '.join(missing)}")
    return members
