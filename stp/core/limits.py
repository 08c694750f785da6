"""Size limits for untrusted files, checked in their headers before they are unpacked or read.

A file of a few kilobytes can unpack to more than any disk holds. For data that really are larger,
raise a limit: ``STP_LIMITS=unpacked_gb=9000,ratio=5000``.
"""

import os
import zipfile
from dataclasses import dataclass, fields, replace
from pathlib import Path

from stp.core.errors import StpError

VARIABLE = "STP_LIMITS"
_HARMLESS = 1_000_000_000
"""Unpacked size up to which any compression ratio is accepted, bytes: arrays of zeros are valid."""


@dataclass(frozen=True)
class Limits:
    """Size limits; a file that exceeds one is refused.

    Attributes:
        members: number of files in an archive.
        unpacked_gb: size of all files of an archive, in 10^9 bytes.
        member_gb: size of a file that is read into memory, in 10^9 bytes.
        ratio: unpacked bytes per packed byte; checked only where the unpacked size exceeds 10^9
            bytes.
        pixels: number of pixels of a picture, or of one frame of a video.
        yaml_mb: size of a YAML file, in 10^6 bytes.
        yaml_nodes: number of values in a YAML file, with its aliases expanded.
        yaml_depth: number of levels of nested lists and mappings in a YAML file.
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
    """Read a text with size limits; limits that it does not name keep their defaults.

    Args:
        text: names and values of limits (`Limits`), e.g. ``unpacked_gb=9000,ratio=5000``.

    Raises:
        StpError: a name is not the name of a limit, or a value is not a positive integer.
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
    """Return the size limits of untrusted files that apply in this process.

    They are the defaults of `Limits`, changed by the environment variable STP_LIMITS, e.g.
    ``STP_LIMITS=unpacked_gb=9000,ratio=5000``.

    Raises:
        StpError: STP_LIMITS names no limit, or has a value that is not a positive integer.
    """
    return read(os.environ.get(VARIABLE, ""))


def require(what: str, size: float, name: str, unit: str = "") -> None:
    """Refuse an untrusted file, or a part of it, whose size is above a limit.

    Args:
        what: description of what is too large, with the name of its file, for the error.
        size: size, in the unit of the limit.
        name: name of the limit, e.g. ``"unpacked_gb"``, an attribute of `Limits`.
        unit: unit of size and limit, for the error; if empty, the name of the limit.

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
    """Refuse an archive, or one file of an archive, whose unpacked size exceeds the limits.

    Args:
        what: the archive, or a file in it, for the error.
        packed: packed size in bytes.
        unpacked: unpacked size in bytes, as stated by the headers.
        members: number of files in the archive; 1 for a single file.

    Raises:
        StpError: one of three numbers is above its limit: files, unpacked size, or unpacked bytes
            per packed byte.
    """
    require(f"{what}: too many files in it", members, "members", "files")
    require(f"{what}: too large unpacked", unpacked / 1e9, "unpacked_gb", "GB")
    if unpacked > _HARMLESS:
        unit = "bytes per packed byte"
        require(f"{what}: too large unpacked", unpacked / max(packed, 1), "ratio", unit)


def require_zip(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse a zip file that unpacks to too much, or has a member (file in it) without a name.

    Args:
        path: path of the zip file.
        archive: the same file, opened.

    Raises:
        StpError: the zip file or a member exceeds a limit of `require_unpacked`, or a member has no
            name.
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

    Args:
        what: the picture or video, for the error.
        width: width in pixels.
        height: height in pixels.

    Raises:
        StpError: there are more pixels than the limit ``pixels``.
    """
    require(f"{what}: {width} x {height}", width * height, "pixels")
