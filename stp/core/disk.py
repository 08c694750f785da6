"""Atomic writes of files, and readable errors for full or read-only disks."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from uuid import uuid4

from stp.core.errors import StpError

OTHERS = " (STP_STORE_DIR for the store, STP_RAW_DIR for raw files)"
_REMEDIES = {
    errno.ENOSPC: f"free some space or choose a larger disk{OTHERS}",
    errno.EDQUOT: "your quota is used up: free some space or choose another disk",
    errno.EROFS: f"the disk is read-only: choose another one{OTHERS}",
    errno.EACCES: f"you may not write there: choose a folder of yours{OTHERS}",
    errno.EPERM: f"you may not write there: choose a folder of yours{OTHERS}",
}


def safe_join(root: Path, name: str, where: object, *, links: bool = True) -> Path:
    """Join an untrusted relative path to a folder; refuse a path that leads out of the folder.

    Args:
        root: the folder.
        name: path relative to the folder, with ``/`` between its parts.
        where: source of the name, such as an archive, for the error.
        links: whether the path may contain symbolic links, as in a folder of raw files.

    Returns:
        the joined path, which need not exist.

    Raises:
        StpError: the name is absolute, empty, leads out of the folder or has control characters; or
            the path contains a symbolic link although ``links`` is False.
    """
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or not name.isprintable():
        raise StpError(
            f"{where}: the name {name!r} leads out of its folder",
            expected="names of files below it, without '..' and control characters",
            remedy="do not use the file by other means; get it from its publisher",
        )
    path = root.joinpath(*parts)
    if not links and path.resolve() != root.resolve().joinpath(*parts):
        raise StpError(
            f"{where}: {name} is a link, or in a folder that is one",
            expected="files and folders only",
            remedy="get it again from its source",
        )
    return path


def is_hidden(name: str) -> bool:
    """Whether any part of a relative path begins with a dot: .DS_Store, .thumbnails/0.png.

    False for all files of a Zarr store, although its metadata files (.zarray) begin with a dot.
    """
    parts = PurePosixPath(name).parts
    stop = next((n for n, part in enumerate(parts) if part.endswith(".zarr")), len(parts))
    return any(part.startswith(".") for part in parts[:stop])


def walk(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Walk a folder tree like `os.walk`, following links; each folder is visited once.

    Yields:
        path of a folder, names of its subfolders, and names of its files. Clear the list of
        subfolders to skip them.
    """
    visited: set[str] = set()  # links may go in circles
    for parent, inner, names in os.walk(folder, followlinks=True):
        resolved = os.path.realpath(parent)
        if resolved in visited:
            inner.clear()
            continue
        visited.add(resolved)
        yield Path(parent), inner, names


def files_below(folder: Path) -> Iterator[Path]:
    """Paths of all files below a folder, at any depth; links to folders are followed."""
    return (parent / name for parent, _, names in walk(folder) for name in names)


def require_regular(path: Path) -> Path:
    """Refuse named pipes, sockets and devices, since reading one may never end.

    Returns:
        ``path``, which need not exist.

    Raises:
        StpError: the path is that of a named pipe, a socket or a device.
    """
    if path.is_file() or path.is_dir() or not path.exists():
        return path
    kind = "a named pipe" if path.is_fifo() else "a socket" if path.is_socket() else "a device"
    raise StpError(
        f"{path} is {kind}",
        expected="a regular file",
        remedy="write its content to a file, or remove it from the folder",
    )


def require_regular_tree(folder: Path) -> None:
    """Refuse a folder, such as a Zarr store, that contains pipes, sockets or devices.

    Links to folders are not followed.

    Raises:
        StpError: a file below the folder is a pipe, a socket or a device.
    """
    folders = [str(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not entry.is_file():
                    require_regular(Path(entry.path))


def is_read_only(error: OSError) -> bool:
    """Whether the system refused because permission is lacking or the disk is read-only."""
    return error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)


def disk_error(error: OSError, what: str) -> StpError:
    """Convert an error of the operating system to an `StpError` with a remedy.

    Args:
        error: the error of the system.
        what: description of the failure, such as ``cannot write FILE``.
    """
    where = f" ({error.filename})" if error.filename else ""
    return StpError(
        f"{what}: {error.strerror or error}{where}",
        expected="a writable folder with enough free space",
        remedy=_REMEDIES.get(error.errno or 0, "repair the disk") + ", and run again",
    )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Context manager: report a full or read-only disk, or lacking permission, as an `StpError`.

    Args:
        path: file that the block writes, named in the error.

    Raises:
        StpError: the disk refused to write ``path``.
    """
    try:
        yield
    except OSError as error:
        raise disk_error(error, f"cannot write {path}") from error
    except RuntimeError as error:
        if "HDF error" not in str(error):
            raise
        # The NetCDF library does not pass on the error of the system.
        raise StpError(
            f"cannot write {path}: {error}",
            expected="a writable folder with enough free space",
            remedy="check whether the disk is full or read-only, and run again",
        ) from error


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Context manager: yield a temporary path beside ``path``, and finally rename it to ``path``.

    If the block fails, the temporary file is removed and ``path`` is untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex[:12]}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically: readers see the old file or the new one, never a part."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_text_if_changed(path: Path, text: str) -> bool:
    """Write a file only if its text differs, so that an unchanged file keeps its modification time.

    Returns:
        whether the file was written.
    """
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    write_text(path, text)
    return True


def write_text_once(path: Path, text: str) -> bool:
    """Write a new file atomically; an existing file is never replaced.

    Returns:
        whether the file was written; False if it exists already.

    Raises:
        StpError: the file cannot be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{uuid4().hex[:12]}.tmp")
        try:
            temporary.write_text(text, encoding="utf-8")
            try:
                # Unlike a rename, a hard link fails where the name is taken.
                path.hardlink_to(temporary)
            except FileExistsError:
                return False
            except OSError:  # a file system without hard links
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    return True
