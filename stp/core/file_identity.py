"""Which bytes a file of weights has: a checksum that is declared has to be theirs."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stp.core.errors import StpError

_BLOCK = 1 << 20
KEYS = ("sha256", "git_blob_sha1")
"""Checksums that identify bytes. The second is what ``git hash-object FILE`` prints, for files that
are published in git repositories only."""


def identify(path: Path) -> dict[str, Any]:
    """Read a file once.

    Returns:
        its ``bytes``, ``sha256`` and ``git_blob_sha1``.

    Raises:
        StpError: it cannot be read.
    """
    try:
        size = path.stat().st_size
        sha256 = hashlib.sha256()
        blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                sha256.update(block)
                blob.update(block)
    except OSError as error:
        raise StpError(
            f"cannot read the weights {path}: {error.strerror or error}",
            expected="a readable file",
            remedy="`stp list weights` tells which weights are there",
        ) from error
    return {"bytes": size, "sha256": sha256.hexdigest(), "git_blob_sha1": blob.hexdigest()}


def require(path: Path, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Read a file and refuse bytes that are not the declared ones.

    Args:
        declared: may have ``bytes`` and the checksums of ``KEYS``, at least one of these.

    Returns:
        as `identify`.

    Raises:
        StpError: it cannot be read, its bytes are others, or nothing says what they have to be.
    """
    found = identify(path)
    wanted = {key: declared[key] for key in ("bytes", *KEYS) if declared.get(key) is not None}
    if not set(wanted) & set(KEYS):
        raise StpError(
            f"nothing says which bytes {path} has to have",
            expected=f"{' or '.join(KEYS)} in config/weights.yaml",
            remedy=f"declare it: sha256 is {found['sha256']}",
        )
    for key, value in wanted.items():
        if found[key] != value:
            raise StpError(
                f"the weights {path} are not the declared ones: {key} is {found[key]}",
                expected=f"{key} {value}",
                remedy="remove the file and get it again (`stp list weights --fetch`); another "
                "file is declared under a name of its own in config/weights.yaml",
            )
    return found
