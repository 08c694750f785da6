"""What the receipt of a finished artefact says of the files of its Zarr stores.

Jobs get inputs that the runner has checked; whoever opens a store without a job is protected here.
`stp.core.receipts` is no part of the code of a core, so that an edit of it makes nothing anew.
"""

import hashlib
import json
from pathlib import Path

from stp.core.errors import StpError

RECEIPTS = ("artefact.json", ".sealed.json")
"""The receipt, and its sealed copy."""


def check_recorded(path: Path) -> None:
    """Check files in a Zarr store against the receipt of its artefact, if that is finished.

    Args:
        path: a file or folder, ``<artefact>/<name>.zarr/...``.

    Raises:
        StpError: the artefact is finished, and a file is missing or other than in its receipt.
    """
    store = next((parent for parent in path.parents if parent.suffix == ".zarr"), None)
    if store is None:
        return
    recorded = _recorded(store.parent)
    name = path.relative_to(store.parent).as_posix()
    for file in [file for file in recorded if file == name or file.startswith(f"{name}/")]:
        found = store.parent / file
        content = found.read_bytes() if found.is_file() else None
        if content is None or hashlib.sha256(content).hexdigest() != recorded[file]:
            raise StpError(
                f"{found}: {'missing' if content is None else 'damaged'}",
                expected=f"SHA-256 {recorded[file]}, as in the receipt",
                remedy=f"delete the artefact and run again: rm -r {store.parent}",
            )


def _recorded(artefact: Path) -> dict[str, str]:
    """SHA-256 of the files of an artefact; none if it has no readable receipt."""
    for name in RECEIPTS:
        try:
            files = json.loads((artefact / name).read_bytes())["files"]
            return {str(file): str(entry["sha256"]) for file, entry in files.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return {}
