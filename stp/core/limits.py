"""Size limits for untrusted files, checked in their headers before they are unpacked or read.

A file of a few kilobytes can unpack to more than any disk has. For data that really are larger, a
limit is raised: ``STP_LIMITS=unpacked_gb=9000,ratio=5000``.
"""

import os
import zipfile
from dataclasses import dataclass, fields, replace
from pathlib import Path

from stp.core.errors import StpError

VARIABLE = "STP_LIMITS"
_HARMLESS = 1_000_000_000
"""Unpacked bytes up to which any ratio is accepted: arrays of zeros are valid, too."""


@dataclass(frozen=True)
class Limits:
    """Size limits; what exceeds them is refused.

    Attributes:
        members: files in an archive.
        unpacked_gb: size of all files of an archive, in 10^9 bytes.
        member_gb: size of a file that is read into memory, in 10^9 bytes.
        ratio: unpacked bytes per packed byte, of archives or files of them above 10^9 bytes.
        pixels: number of pixels of a picture, or of one frame of a video.
        yaml_mb: size of a YAML file, in 10^6 bytes.
        yaml_nodes: values in a YAML file after its aliases are replaced.
        yaml_depth: nested lists and mappings, in a YAML file with aliases or many levels.
    """

    members: int = 10_000_000
    unpacked_gb: int = 4_000
    member_gb: int = 8
    ratio: int = 200
    pixels: int = 1 << 25
    yaml_mb: int = 10
    yaml_nodes: int = 1_000_000
    yaml_depth: int = 100


def read(text: str) -> Limits:
    """Read limits such as ``unpacked_gb=9000,ratio=5000``; the others keep their defaults.

    Raises:
        StpError: there is no such limit, or it is no positive number.
    """
    values = {}
    for pair in filter(None, text.replace(" ", "").split(",")):
        name, _, value = pair.partition("=")
        names = [field.name for field in fields(Limits)]
        if name not in names or not value.isdecimal() or not int(value):
            raise StpError(
                f"{VARIABLE} has {pair!r}",
                expected=f"<name>=<whole number>; names are {', '.join(names)}",
            )
        values[name] = int(value)
    return replace(Limits(), **values)


def limits() -> Limits:
    """The limits of this process."""
    return read(os.environ.get(VARIABLE, ""))


def require(what: str, size: float, name: str, unit: str = "") -> None:
    """Refuse a size above a limit.

    Args:
        what: exceeds it, naming the file, for the error.
        size: size, in the unit of the limit.
        name: name of the limit.
        unit: unit of both, for the error.

    Raises:
        StpError: the size is above the limit.
    """
    most = getattr(limits(), name)
    if size > most:
        raise StpError(
            f"{what}: {size:,.0f} {unit or name}",
            expected=f"at most {most:,} {unit or name}",
            remedy=f"do not use it; if it is right, raise the limit: {VARIABLE}={name}={size:.0f}",
        )


def require_unpacked(what: object, packed: int, unpacked: int, members: int = 1) -> None:
    """Refuse an archive, or one file of it, that unpacks to too much.

    Args:
        what: the archive, or a file in it, for the error.
        packed: its size in bytes.
        unpacked: its unpacked size in bytes, as its headers state it.
        members: number of its files.

    Raises:
        StpError: the number of files, the size or the ratio is above its limit.
    """
    require(f"{what}: too many files in it", members, "members", "files")
    require(f"{what}: too large unpacked", unpacked / 1e9, "unpacked_gb", "GB")
    if unpacked > _HARMLESS:
        unit = "bytes per packed byte"
        require(f"{what}: too large unpacked", unpacked / max(packed, 1), "ratio", unit)


def require_zip(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse a zip file that, or a member of which, unpacks to too much, or with a nameless member.

    Raises:
        StpError: see `require_unpacked`; or the list of members is damaged.
    """
    infos = archive.infolist()
    if not all(info.filename for info in infos):
        raise StpError(
            f"{path}: a member has no name",
            expected="an undamaged zip file",
            remedy="get the file again",
        )
    total = sum(info.file_size for info in infos)
    require_unpacked(path, path.stat().st_size, total, len(infos))
    for info in infos:
        require_unpacked(f"{path}: {info.filename}", info.compress_size, info.file_size)


def require_pixels(what: object, width: int, height: int) -> None:
    """Refuse a picture, or frames of a video, with too many pixels.

    Raises:
        StpError: there are too many.
    """
    require(f"{what}: {width} x {height}", width * height, "pixels")
