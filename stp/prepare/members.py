"""Find and read raw files, including files inside zip and tar archives, which stay packed.

Archives without random access (.tar.gz, .tgz) are unpacked when they are fetched.
"""

import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from stp.core.errors import RawFileError
from stp.core.limits import require, require_zip
from stp.data.raw_files import RawFiles

DAMAGE = (
    *(OSError, EOFError, KeyError, IndexError, ValueError, OverflowError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error, tarfile.TarError),
)
"""Exceptions of Python for damaged archives."""


class Member(NamedTuple):
    """A raw file, or a file in an archive.

    Attributes:
        file: name of the raw file, or of the archive that contains the file.
        inside: name in the archive; None for a raw file.
        offset: offset of the content in a tar archive, bytes.
        bytes: size of the file, bytes.
    """

    file: str
    inside: str | None = None
    offset: int = 0
    bytes: int = 0

    def __str__(self) -> str:
        return self.file if self.inside is None else f"{self.file}: {self.inside}"


def find(raw: RawFiles, pattern: str) -> dict[tuple[str, ...], Member]:
    r"""Find all files with a path that ends with a pattern.

    Args:
        raw: the raw files of a release.
        pattern: regular expression with groups, matched against the end of the path of a file, or
            of its name in an archive: ``r"(train|val)/(\w+)/(\w+)\.png"``.

    Returns:
        members by the texts of the groups, sorted. If several members have the same texts, the
        first is kept, in the order of the names of raw files, files before archives.

    Raises:
        StpError: an archive is damaged.
    """
    expression = re.compile(r"(?:.*/)?" + pattern)
    members: dict[tuple[str, ...], Member] = {}
    for name in sorted(raw.names, key=lambda name: (_is_archive(name), name)):
        for member in _members(raw, name):
            if match := expression.fullmatch(member.inside or member.file):
                members.setdefault(match.groups(), member)
    return dict(sorted(members.items()))


def read(raw: RawFiles, member: Member) -> bytes:
    """Read the content of one file, packed in an archive or not.

    Raises:
        StpError: the member is missing or damaged.
    """
    path = raw.find(member.file)
    try:
        label = f"{path}: {member.inside or 'it'} is large"
        require(label, member.bytes / 1e9, "member_gb", "GB")
        if member.inside is None:
            return path.read_bytes()
        if member.file.endswith(".zip"):
            return _zip(path).read(member.inside)
        if member.offset + member.bytes > path.stat().st_size:
            raise tarfile.ReadError("cut off")
        with path.open("rb") as file:
            file.seek(member.offset)
            content = file.read(member.bytes)
        if len(content) != member.bytes:
            raise tarfile.ReadError("cut off")
        return content
    except DAMAGE as error:
        problem = f"{member.inside or 'it'} cannot be read ({error})"
        raise RawFileError(path, problem) from error


def member_location(raw: RawFiles, member: Member) -> str:
    """Text that locates a member, for errors: the path of its file, and its name in the archive."""
    path = str(raw.find(member.file))
    return path if member.inside is None else f"{path}: {member.inside}"


def _is_archive(name: str) -> bool:
    return name.endswith((".zip", ".tar"))


def _members(raw: RawFiles, name: str) -> Iterator[Member]:
    if not _is_archive(name):
        yield Member(name, bytes=raw.size(name))
        return
    path = raw.find(name)
    try:
        if name.endswith(".zip"):
            for info in _zip(path).infolist():
                if not info.is_dir():
                    yield Member(name, info.filename, 0, info.file_size)
        else:
            with tarfile.open(path, "r:") as archive:
                end = 0
                for entry in archive:
                    if entry.issparse():  # its content is not contiguous
                        raise tarfile.ReadError(f"{entry.name} was packed without its zeros")
                    blocks = -(-entry.size // tarfile.BLOCKSIZE)
                    end = entry.offset_data + blocks * tarfile.BLOCKSIZE
                    if entry.isfile():
                        yield Member(name, entry.name, entry.offset_data, entry.size)
            _require_end(path, end)
    except DAMAGE as error:
        raise RawFileError(path, f"damaged archive ({error})") from error


def _require_end(path: Path, position: int) -> None:
    """Refuse a tar archive that was cut off, which Python does not notice."""
    with path.open("rb") as file:
        file.seek(position)
        if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("the end of the archive is missing")
        if b"ustar" in file.read(1 << 20):
            raise tarfile.ReadError("another archive follows: unpack it with --ignore-zeros")


@lru_cache(maxsize=4)  # reading the list of a large archive again and again would take seconds
def _zip(path: Path) -> zipfile.ZipFile:
    archive = zipfile.ZipFile(path)
    require_zip(path, archive)
    return archive
