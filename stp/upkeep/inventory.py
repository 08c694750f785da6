"""List the folders of a store: artefacts, states of interrupted jobs, and leftovers.

Artefact folders are named by 16 hex digits. The names of leftovers of killed or superseded work
begin with a dot and end with the reason.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from stp.core.errors import StpError
from stp.plan.artefacts import FOLDERS

FINGERPRINT = re.compile("[0-9a-f]{16}")
LEFTOVER = re.compile(r"\.(.+)\.[0-9a-f]{8}\.(partial|damaged|garbage)")


def require(store: Path) -> None:
    """Refuse a missing store, which would otherwise seem to be empty.

    Raises:
        StpError: the folder of the store does not exist.
    """
    if not store.is_dir():
        raise StpError(
            f"{store}: no such store",
            remedy="make a table first, or set STP_STORE_DIR to the store of an earlier run",
        )


def artefacts(store: Path) -> Iterator[str]:
    """Yield all artefacts (folders that jobs write), finished or not, relative to the store."""
    for folder in _walk(store, list(FOLDERS.values())):
        if FINGERPRINT.fullmatch(folder.rpartition("/")[2]):
            yield folder


def states(store: Path) -> Iterator[str]:
    """Yield the artefacts whose jobs saved their state, to continue after an interruption.

    Yields:
        folder of the artefact, which need not exist, relative to the store.
    """
    for folder in _walk(store / "state", list(FOLDERS.values())):
        if FINGERPRINT.fullmatch(folder.rpartition("/")[2]):
            yield folder


def leftovers(store: Path) -> Iterator[tuple[str, str]]:
    """Yield each folder that was left by a killed job or set aside as damaged.

    Yields:
        the folder, and the folder of the artefact for which it was meant, relative to the store.
    """
    for folder in _walk(store, [*FOLDERS.values(), "state"]):
        parent, _, name = folder.rpartition("/")
        if match := LEFTOVER.fullmatch(name):
            yield folder, f"{parent}/{match[1]}"


def _walk(root: Path, tops: list[str]) -> Iterator[str]:
    """Yield the folders of artefacts and leftovers, without entering them."""
    waiting = tops[::-1]
    while waiting:
        folder = waiting.pop()
        try:
            names = sorted(entry.name for entry in os.scandir(root / folder) if entry.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            continue
        inner = []
        for name in names:
            if FINGERPRINT.fullmatch(name) or LEFTOVER.fullmatch(name):
                yield f"{folder}/{name}"
            else:
                inner.append(f"{folder}/{name}")
        waiting += inner[::-1]


def size_of(folder: Path) -> tuple[int, int]:
    """Count the bytes and files below a folder."""
    sizes = [path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()]
    return sum(sizes), len(sizes)


def last_change_time(folder: Path) -> float:
    """Time of the last change of a folder or of anything in it, as Unix time."""
    return max(path.lstat().st_mtime for path in [folder, *folder.rglob("*")])
