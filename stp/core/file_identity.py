"""Checksums of files of weights, compared with the declared ones."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stp.core.errors import StpError

_BLOCK = 1 << 20
KEYS = ("sha256", "git_blob_sha1")
"""Checksums that identify a file. The second one is that of ``git hash-object``, for files that
are published in git repositories only."""


def identify(path: Path) -> dict[str, Any]:
    """Size and checksums of a file.

    Returns:
        ``bytes``, ``sha256`` and ``git_blob_sha1``.

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
            remedy="`stp list weights` lists the weights on this machine",
        ) from error
    return {"bytes": size, "sha256": sha256.hexdigest(), "git_blob_sha1": blob.hexdigest()}


def require(path: Path, declared: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse a file that differs from its declaration.

    Args:
        path: path of the file.
        declared: ``bytes``, and checksums of ``KEYS``, at least one.

    Returns:
        as `identify`.

    Raises:
        StpError: it cannot be read, differs, or no checksum is declared.
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
