"""Checksums of weights files, and their comparison with the declared checksums."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stp.core.errors import StpError

_BLOCK = 1 << 20
KEYS = ("sha256", "git_blob_sha1")
"""Names of the checksums that identify a file. ``git_blob_sha1`` is what ``git hash-object``
prints; it is for files that are published nowhere but in git repositories."""


def identify(path: Path) -> dict[str, Any]:
    """Compute the size and the checksums of a file.

    Returns:
        ``bytes`` (the size) and the hexadecimal checksums ``sha256`` and ``git_blob_sha1``.

    Raises:
        StpError: the file cannot be read.
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
            remedy="`stp list weights` lists the weights on this machine",
        ) from error
    return {"bytes": size, "sha256": sha256.hexdigest(), "git_blob_sha1": blob.hexdigest()}


def require(path: Path, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse a file that differs from its declaration.

    Args:
        path: path of the file.
        declared: declared values by key: ``sha256``, ``git_blob_sha1`` (the checksum that
            ``git hash-object`` prints) or both, and optionally ``bytes``, the size.

    Returns:
        size and checksums of the file, as returned by `identify`.

    Raises:
        StpError: the file cannot be read, differs from a declared value, or has no declared
            checksum.
    """
    actual = identify(path)
    expected = {key: declared[key] for key in ("bytes", *KEYS) if declared.get(key) is not None}
    if not set(expected) & set(KEYS):
        raise StpError(
            f"no checksum of {path} is declared",
            expected=f"{' or '.join(KEYS)} in config/weights.yaml",
            remedy=f"declare it: sha256 is {actual['sha256']}",
        )
    for key, value in expected.items():
        if actual[key] != value:
            raise StpError(
                f"the weights {path} are not the declared ones: {key} is {actual[key]}",
                expected=f"{key} {value}",
                remedy="remove the file and get it again (`stp list weights --fetch`), or declare "
                "this file under a new name in config/weights.yaml",
            )
    return actual
