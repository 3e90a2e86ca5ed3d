"""Copies of bundles without the values of tensors."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path

from .bundle_file import MANIFEST, VALUES, BundleFile

# A safetensors file without tensors.
_EMPTY = (8).to_bytes(8, "little") + b"{}      "


def strip_values(bundle: BundleFile) -> Path:
    """Writes a copy without values beside a bundle and returns its path. The manifest keeps their sizes and digests.

    Raises:
        BadBundle: The bundle is damaged.
        OSError: The copy exists, or cannot be written.
    """
    path = bundle.path.with_name(f"{bundle.path.stem}.stripped.graphdbg")
    members = bundle.manifest["members"]
    manifest = {
        **bundle.manifest,
        "stripped": {name: members[name] for name in VALUES},
        "members": {
            **members,
            **{name: {"bytes": len(_EMPTY), "sha256": hashlib.sha256(_EMPTY).hexdigest()} for name in VALUES},
        },
    }
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w") as copy:
            for name in bundle.members:
                if name != MANIFEST:
                    copy.writestr(name, _EMPTY if name in VALUES else bundle.read(name))
            copy.writestr(MANIFEST, json.dumps(manifest))
    except BaseException:
        path.unlink()
        raise
    return path
