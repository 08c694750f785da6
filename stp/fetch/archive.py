"""Unpack selected members of an archive; unpacking can be interrupted and resumed.

This is meant for archives without random access (.tar.gz, .tgz). Archives .tar and .zip can be
unpacked too, but readers can also use them packed (stp.prepare.members).

``<archive>.unpacked`` in the raw folder lists sizes and names of unpacked files. While all of these
files exist, the archive is not needed and may be deleted.
"""

import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from io import FileIO
from pathlib import Path, PurePosixPath
from typing import IO, Literal, NamedTuple

from stp.core.disk import safe_join, writing
from stp.core.errors import StpError
from stp.core.limits import require_unpacked, require_zip
from stp.fetch.download import finish_part, open_part, part_path

UNPACKED = ".unpacked"
_BLOCK = 1 << 20
_TELL = 1 << 20
_DAMAGED = (
    *(OSError, EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile),
    *(ValueError, LookupError, OverflowError, struct.error),  # for damaged tables of contents
    RuntimeError,  # from zipfile: encrypted, or with an unknown compression
)


class _Member(NamedTuple):
    name: str
    size: int
    is_link: bool
    open: Callable[[], IO[bytes]]


def unpack(
    archive: Path,
    root: Path,
    into: str,
    *,
    listing: Path,
    wanted: Callable[[str], bool],
    find: Callable[[str], Path | None],
    strip: int | Literal["any"] = 0,
    advance: Callable[[int], None] = lambda count: None,
) -> int:
    """Unpack the selected members of an archive, except files that exist with the right size.

    Every file is written under a temporary name and renamed.

    Args:
        archive: path of the archive.
        root: the raw folder.
        into: folder below the root that names in the archive are relative to.
        listing: path of the ``.unpacked`` file to write, with size and path of each unpacked file.
            While all of these files exist, the archive is not needed (`is_unpacked`).
        wanted: function that selects members: it gets the path of a file below the root, and
            returns whether to unpack it.
        find: function that returns the existing file for a path below the root, or None.
        strip: number of leading folders that are dropped from names in the archive, or "any": the
            smallest number for which the name is selected.
        advance: function that is called with the number of packed bytes read since the last call.

    Returns:
        number of selected members.

    Raises:
        StpError: the archive is damaged or has no selected file; a member would lie outside the
            folder, occurs twice, or is a link; a file cannot be written.
    """
    places: dict[str, int] = {}
    with open_part(listing) as lines:  # locked: of two processes, one waits
        if is_unpacked(listing, find):
            part_path(listing).unlink(missing_ok=True)
            return len(read_listing(listing) or ())
        with writing(listing):
            lines.truncate(0)
        packed, unpacked, members = archive.stat().st_size, 0, 0
        try:
            for member in _members(archive, advance):
                unpacked, members = unpacked + member.size, members + 1
                require_unpacked(archive, packed, unpacked, members)
                possible = _possible_paths(archive, member.name, into, strip)
                target = next(filter(wanted, possible), None)
                if target is None:
                    continue
                _refuse_trick(archive, member, places.get(target))
                places[target] = member.size
                if not _has_size(target, member.size, find):
                    _write(archive, member, root / target)
                with writing(listing):
                    lines.write(f"{member.size} {target}\n".encode("utf-8", "surrogateescape"))
        except _DAMAGED as error:
            raise _damage_error(archive, str(error) or type(error).__name__) from error
        if not places:
            raise StpError(
                f"{archive} holds none of the declared files",
                expected=f"names that belong below {root / into}"
                + (f", after {strip} leading folder(s)" if strip else ""),
                remedy="check whether it is the right archive",
            )
        finish_part(listing)
    return len(places)


def is_unpacked(listing: Path, find: Callable[[str], Path | None]) -> bool:
    """Whether all files that were unpacked from an archive still exist, so that it is not needed.

    Args:
        listing: the ``.unpacked`` file, with sizes and names of the unpacked files.
        find: function that returns the existing file for a path below the raw folder, or None.
    """
    listed = read_listing(listing)
    return listed is not None and all(_has_size(name, listed[name], find) for name in listed)


def read_listing(path: Path) -> dict[str, int] | None:
    """Read the ``.unpacked`` file that is written when an archive has been unpacked.

    Returns:
        sizes of the unpacked files by their paths below the raw folder; None without the file: the
        archive was never unpacked completely.
    """
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    pairs = (line.partition(" ") for line in text.split("\n") if line)
    return {name: int(size) for size, _, name in pairs}


def _has_size(name: str, size: int, find: Callable[[str], Path | None]) -> bool:
    path = find(name)
    return path is not None and path.stat().st_size == size


def _possible_paths(archive: Path, name: str, into: str, strip: int | Literal["any"]) -> list[str]:
    """Possible paths of a member below the raw folder; empty if its whole name is stripped."""
    parts = safe_join(Path(), name, archive).parts
    strips = range(len(parts)) if strip == "any" else [strip]
    rests = [parts[count:] for count in strips]
    return ["/".join([*PurePosixPath(into).parts, *rest]) for rest in rests if rest]


def _refuse_trick(archive: Path, member: _Member, before: int | None) -> None:
    if member.is_link or before is not None:
        problem = "is a link" if member.is_link else "occurs twice"
        raise StpError(
            f"{archive}: {member.name} {problem}",
            expected="each wanted file once, as a file",
            remedy="get the archive from its publisher",
        )


def _write(archive: Path, member: _Member, target: Path) -> None:
    part = part_path(target)
    written = 0
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        file = part.open("wb", buffering=0)
    with file, member.open() as content:
        while block := content.read(_BLOCK):
            written += len(block)
            with writing(part):
                while block:
                    block = block[file.write(block) :]
    if written != member.size:
        raise _damage_error(archive, f"{member.name} has {written} bytes instead of {member.size}")
    with writing(target):
        part.replace(target)


def _damage_error(archive: Path, why: str) -> StpError:
    return StpError(
        f"{archive}: damaged archive ({why})",
        remedy="remove it and fetch it again; unpacked files stay",
    )


def _members(path: Path, advance: Callable[[int], None]) -> Iterator[_Member]:
    """All files and links of an archive; each must be read before the next one is taken."""
    try:
        raw = path.open("rb", buffering=0)
    except OSError as error:
        raise StpError(
            f"cannot read {path}: {error.strerror or error}",
            remedy="correct its permissions",
        ) from error
    with raw:
        if path.suffix == ".zip":
            yield from _of_zip(path, raw, advance)
        else:
            yield from _of_tar(raw, path.suffix != ".tar", advance)


def _of_zip(path: Path, raw: FileIO, advance: Callable[[int], None]) -> Iterator[_Member]:
    with zipfile.ZipFile(raw) as archive:
        require_zip(path, archive)
        for info in archive.infolist():
            if not info.is_dir():
                is_link = stat.S_ISLNK(info.external_attr >> 16)

                def content(info: zipfile.ZipInfo = info) -> IO[bytes]:
                    return archive.open(info)

                yield _Member(info.filename, info.file_size, is_link, content)
            advance(info.compress_size)


def _of_tar(raw: FileIO, packed: bool, advance: Callable[[int], None]) -> Iterator[_Member]:
    with _Tail(raw, packed, advance) as stream:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            while (info := archive.next()) is not None:
                archive.members.clear()  # type: ignore[attr-defined] # it would keep them all
                if info.isfile() or info.issym() or info.islnk():

                    def content(info: tarfile.TarInfo = info) -> IO[bytes]:
                        opened = archive.extractfile(info)
                        assert opened is not None
                        return opened

                    yield _Member(info.name, info.size, not info.isfile(), content)
            # Python does not notice that an archive is truncated, or damaged at this place.
            if stream.at(archive.offset, tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
                raise tarfile.ReadError("it has no end of an archive")
            rest = stream.at(archive.offset, _BLOCK)
        while rest:  # the checksum of a compressed archive is at its end
            if b"ustar" in rest:
                raise tarfile.ReadError("another archive follows: unpack it with --ignore-zeros")
            rest = stream.read(_BLOCK)


class _Tail(io.RawIOBase):
    """Stream of the unpacked data of an archive, whose last blocks can be read again."""

    def __init__(self, raw: FileIO, packed: bool, advance: Callable[[int], None]) -> None:
        super().__init__()
        self._raw, self._advance, self._told = raw, advance, 0
        self._file: gzip.GzipFile | FileIO = gzip.GzipFile(fileobj=raw) if packed else raw
        self._last: Sequence[bytes] = ()
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self._position += len(block)
        self._last = (*self._last[-1:], block)
        if (here := self._raw.tell()) - self._told >= _TELL:
            self._advance(here - self._told)
            self._told = here
        return block

    def at(self, position: int, size: int) -> bytes:
        """Data at a position within the last blocks; empty if the position is before them."""
        last = b"".join(self._last)
        start = position - (self._position - len(last))
        return last[start : start + size] if start >= 0 else b""
