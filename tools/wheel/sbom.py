"""Writes what the wheel consists of (SPDX 2.3) and the licences of what is in it.

They go into the wheel's .dist-info: sboms/graphdbg.spdx.json (PEP 770), licenses/.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

from components import ROOT, Component, native_components, page_components

Json = dict[str, Any]
_OURS = "SPDXRef-Package-graphdbg"


def _identifier(name: str) -> str:
    return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def _package(identifier: str, component: Component) -> Json:
    return {
        "SPDXID": identifier,
        "name": component.name,
        "versionInfo": component.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": component.license,
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": component.url,
            }
        ],
    }


def _relation(component: Component) -> Json:
    kind = "CONTAINS" if component.contained_in else "DEPENDS_ON"
    files = sorted(component.contained_in or component.loaded_by)
    verb = "contained in" if component.contained_in else "loaded by"
    return {
        "spdxElementId": _OURS,
        "relatedSpdxElement": _identifier(component.name),
        "relationshipType": kind,
        "comment": f"{verb} {', '.join(files)}",
    }


def document(version: str, components: list[Component]) -> Json:
    ours = Component("graphdbg", version, "Apache-2.0", f"pkg:pypi/graphdbg@{version}")
    content = json.dumps([[c.name, c.version] for c in components])
    # Reproducible builds set the time.
    seconds = float(os.environ.get("SOURCE_DATE_EPOCH", datetime.datetime.now().timestamp()))
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"graphdbg-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/graphdbg-{version}-{hashlib.sha256(content.encode()).hexdigest()}",
        "creationInfo": {
            "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: graphdbg-make-wheel"],
        },
        "packages": [_package(_OURS, ours), *(_package(_identifier(c.name), c) for c in components)],
        "relationships": [
            {
                "spdxElementId": "SPDXRef-DOCUMENT",
                "relatedSpdxElement": _OURS,
                "relationshipType": "DESCRIBES",
            },
            *map(_relation, components),
        ],
    }


def write_sbom(package: Path, information: Path, version: str) -> None:
    """For the wheel's files in `package`, into its .dist-info."""
    components = [*native_components(package), *page_components()]
    sboms = information / "sboms"
    # auditwheel has put its own list there.
    sboms.mkdir(exist_ok=True)
    (sboms / "graphdbg.spdx.json").write_text(json.dumps(document(version, components), indent=1) + "\n")
    licenses = information / "licenses"
    licenses.mkdir()
    shutil.copy(ROOT / "LICENSE", licenses)
    for component in components:
        if not component.contained_in:
            continue
        if not component.license_files:
            raise SystemExit(f"no licence text of {component.name}, which the wheel contains")
        for text in component.license_files:
            shutil.copy(text, licenses / f"{component.name.replace('/', '-')}.{text.name}")
