"""Check the files of a Zarr store by the checksums in the receipt of the artefact that contains it.

A receipt is a file in the folder of an artefact, with the checksums of all other files. The runner
checks the inputs of jobs; this module checks stores that are opened without a job. It is separate
from `stp.core.receipts`, so that changes of receipts do not make artefacts outdated: the stages
import this module, and an artefact is outdated if code that its stage imports was changed.
"""

import hashlib
import json
from pathlib import Path

from stp.core.errors import ArtefactError

RECEIPTS = ("artefact.json", ".sealed.json")
"""The receipt, and its sealed copy."""


def check_recorded(path: Path) -> None:
    """Check files in a Zarr store against the checksums in the receipt of its artefact.

    Files of a folder without a receipt are not checked.

    Args:
        path: a file or folder, ``<artefact>/<name>.zarr/...``.

    Raises:
        StpError: a file is missing or has another checksum than in the receipt.
    """
    store = next((parent for parent in path.parents if parent.suffix == ".zarr"), None)
    if store is None:
        return
    recorded = _read_checksums(store.parent)
    name = path.relative_to(store.parent).as_posix()
    for file in [file for file in recorded if file == name or file.startswith(f"{name}/")]:
        listed = store.parent / file
        content = listed.read_bytes() if listed.is_file() else None
        if content is None or hashlib.sha256(content).hexdigest() != recorded[file]:
            raise ArtefactError(
                listed,
                "missing" if content is None else "damaged",
                expected=f"SHA-256 {recorded[file]}, as in the receipt",
            )


def _read_checksums(artefact: Path) -> dict[str, str]:
    """SHA-256 of the files of an artefact; none if it has no readable receipt."""
    for name in RECEIPTS:
        try:
            files = json.loads((artefact / name).read_bytes())["files"]
            return {str(file): str(entry["sha256"]) for file, entry in files.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return {}
