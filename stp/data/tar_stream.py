"""Folders of a .tar.gz, which may be split into parts, read one after the other.

The stream is read once from its beginning, and the files of a folder, such as a Zarr group, are
returned together. Folders may have any order, but the files of a folder are contiguous, as `tar`
writes them. A stream that ends early is an error.
"""

import gzip
import io
import shutil
import tarfile
import zlib
from collections.abc import Callable, Generator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from stp.core import limits
from stp.core.disk import safe_join
from stp.core.errors import StpError

_BLOCK = 1 << 20
_ZEROS = 1024
"""Minimum number of zero bytes at the end of a tar archive."""


class Folder(NamedTuple):
    """A folder in a tar archive that is read as a stream.

    Attributes:
        name: name of the folder, such as "era5_full_1.5deg_20220101.zarr".
        files: content of each file, by its path within the folder; empty if the files are on disk.
        aside: folder on disk with the files, which is removed when the next folder is read; None
            if they are in memory.
    """

    name: str
    files: dict[str, bytes]
    aside: Path | None = None


class _Joined(io.RawIOBase):
    """Several files, read one after the other as if they were one."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._waiting = list(paths)
        self._file: io.BufferedReader | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._file is None:
                if not self._waiting:
                    return 0
                self._file = self._waiting.pop(0).open("rb")
            count = self._file.readinto(buffer)
            if count:
                return count
            self._file.close()
            self._file = None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


class _Unpacked(gzip.GzipFile):
    """The decompressed tar archive; keeps the last bytes that were read."""

    last = b""

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.last = (self.last + data)[-_ZEROS:]
        return data


def folders(
    parts: Sequence[Path],
    wanted: Callable[[str], bool],
    *,
    suffix: str,
    aside: Path | None = None,
) -> Generator[Folder, None, None]:
    """Yield the selected folders of a stream, in the order of the stream.

    Args:
        parts: parts of one .tar.gz, in order.
        wanted: function that returns whether the folder with a name is selected.
        suffix: suffix of the names of folders, such as ``.zarr``; other files are ignored.
        aside: folder for the files of one folder of the stream at a time; None to keep them in
            memory.

    Raises:
        StpError: the stream is damaged or ends early, a file is too large or its path leaves the
            folder, or a folder occurs twice.
    """
    done: set[str] = set()
    current: Folder | None = None
    where = f"{parts[0]} ({len(parts)} parts)"
    try:
        with (
            io.BufferedReader(_Joined(parts), _BLOCK) as joined,
            _Unpacked(fileobj=joined, mode="rb") as unpacked,
            tarfile.open(fileobj=unpacked, mode="r|", bufsize=_BLOCK) as tar,
        ):
            for member in tar:
                split = _split(member.name, suffix)
                if not member.isfile() or split is None:
                    continue
                name, key = split
                if current is not None and current.name != name:
                    yield current
                    _remove(current)
                    current = None
                if not wanted(name):
                    continue
                if current is None:
                    if name in done:
                        raise StpError(
                            f"{where}: {name} occurs twice, or its files are not contiguous",
                            expected="each folder once, as tar packs it",
                            remedy="fetch the official parts again",
                        )
                    done.add(name)
                    current = Folder(name, {}, None if aside is None else aside / name)
                _read_member(current, key, member, tar, where)
            if current is not None:
                yield current
            while unpacked.read(_BLOCK):
                pass
            if unpacked.last.strip(b"\0") or len(unpacked.last) < _ZEROS:
                raise EOFError("no end of the archive")
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise StpError(
            f"{where}: this archive is damaged or ends early ({error})",
            expected="all parts of one .tar.gz, in the order of their names",
            remedy="see whether a part is missing; compare their checksums, and fetch them again",
        ) from error
    finally:
        if current is not None:
            _remove(current)


def _split(path: str, suffix: str) -> tuple[str, str] | None:
    """Name of the folder of a file of the stream, and path within; None if there is none."""
    pieces = PurePosixPath(path).parts
    for i, piece in enumerate(pieces[:-1]):
        if piece.endswith(suffix):
            return piece, "/".join(pieces[i + 1 :])
    return None


def _read_member(
    folder: Folder, key: str, member: tarfile.TarInfo, tar: tarfile.TarFile, where: str
) -> None:
    limits.require(f"{where}: {member.name}", member.size / 1e9, "member_gb", "GB")
    file = tar.extractfile(member)
    assert file is not None
    if folder.aside is None:
        folder.files[key] = file.read()
        return
    target = safe_join(folder.aside, key, where)
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as out:
        shutil.copyfileobj(file, out, _BLOCK)


def _remove(folder: Folder) -> None:
    if folder.aside is not None:
        shutil.rmtree(folder.aside, ignore_errors=True)
