"""Receipts: what ends every artefact folder, and how files are checked against it.

A finished folder holds the declared receipt ``artefact.json``, with size and checksum of every
file, and a sealed copy of it: Snakemake may delete what a rule declares.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from stp.core.errors import StpError

RECEIPT = "artefact.json"
SEALED = ".sealed.json"

Json = dict[str, Any]


def checksum(path: Path) -> str:
    """Compute the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def again(folder: Path) -> str:
    """Tell how to have an artefact made again.

    The whole folder has to go: it holds a sealed copy of the receipt, which would be put back.
    """
    return f"delete the folder and run again, it is made anew: rm -r {folder}"


def read_receipt(folder: Path) -> Json | None:
    """Read the receipt of a folder, or its sealed copy; None where neither is readable."""
    for name in (RECEIPT, SEALED):
        try:
            receipt = json.loads((folder / name).read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
            continue
        if isinstance(receipt, dict):
            return receipt
    return None


def is_altered(folder: Path) -> bool:
    """Does the declared receipt of a folder say something else than its sealed copy?"""
    try:
        declared, sealed = ((folder / name).read_bytes() for name in (RECEIPT, SEALED))
        # One that is torn says nothing: its sealed copy is read instead.
        return declared != sealed and json.loads(declared) != json.loads(sealed)
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return False


def refuse_altered(folder: Path) -> None:
    """Refuse a receipt that somebody changed since the artefact was finished.

    Raises:
        StpError: it differs from its sealed copy.
    """
    if is_altered(folder):
        raise StpError(
            f"{folder / RECEIPT}: altered since the artefact was finished",
            expected=f"what its sealed copy says, {folder / SEALED}",
            remedy=again(folder),
        )


def require_receipt(folder: Path) -> Json:
    """Read the declared receipt of an artefact folder ``.../<fingerprint>``.

    Raises:
        StpError: the receipt is missing, damaged, that of another artefact, or was altered since
            the artefact was finished.
    """
    path = folder / RECEIPT
    try:
        receipt: Json = json.loads(path.read_text(encoding="utf-8"))
        fingerprint = receipt["fingerprint"]
    except FileNotFoundError:
        raise StpError(
            f"{path}: missing",
            expected="the receipt that ends a finished artefact",
            remedy="run again: the artefact was never finished, or its receipt was deleted",
        ) from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StpError(
            f"{path}: damaged ({type(error).__name__}: {error})",
            expected="a JSON receipt with a fingerprint",
            remedy=again(folder),
        ) from None
    if fingerprint != folder.name:
        raise StpError(
            f"{path}: receipt of another artefact, {fingerprint}",
            expected=f"fingerprint {folder.name}, the name of the folder",
            remedy=again(folder),
        )
    refuse_altered(folder)
    return receipt


def check_file(folder: Path, receipt: Json, name: str) -> Path:
    """Check one file of an artefact against the receipt, by size and SHA-256.

    Returns:
        the file.

    Raises:
        StpError: the file is missing, unknown to the receipt, or has other bytes.
    """
    path = folder / name
    recorded = receipt.get("files", {}).get(name)
    if recorded is None:
        raise StpError(
            f"{folder / RECEIPT}: does not list {name}",
            expected=f"size and checksum of {name} under 'files'",
            remedy=again(folder),
        )
    if not path.is_file():
        raise StpError(
            f"{path}: missing",
            expected=f"a file of {recorded['bytes']} bytes, as in the receipt",
            remedy=again(folder),
        )
    size = path.stat().st_size
    if size != recorded["bytes"]:
        raise StpError(
            f"{path}: damaged, {size} bytes",
            expected=f"{recorded['bytes']} bytes, as in the receipt",
            remedy=again(folder),
        )
    found = checksum(path)
    if found != recorded["sha256"]:
        raise StpError(
            f"{path}: damaged, SHA-256 {found}",
            expected=f"{recorded['sha256']}, as in the receipt",
            remedy=again(folder),
        )
    return path
