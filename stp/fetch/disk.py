"""Writing to disk: whatever the operating system refuses becomes one readable error."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stp.errors import StpError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` raised inside (disk full, no permission, ...) into a ``StpError``.

    Raises:
        StpError: naming ``path`` and what the system said.
    """
    try:
        yield
    except OSError as error:
        raise StpError(
            f"cannot write {path}: {error.strerror or error}",
            expected="a writable folder with enough free space",
            remedy="free some space, correct the permissions, or choose another raw folder",
        ) from error


def write_text_once(path: Path, text: str) -> bool:
    """Write a new text file in one step; a file that is already there is never replaced.

    Returns:
        False if somebody else's file was there first.

    Raises:
        StpError: the file cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_text(text, encoding="utf-8")
            try:
                # unlike a rename, a hard link fails where the name is taken
                path.hardlink_to(beside)
            except FileExistsError:
                return False
            except OSError:  # a file system without hard links
                beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    return True
