"""Download of one file over HTTP: resumed where it broke off, tried again when a server stumbles.

A file grows as ``<name>.part`` beside its place. Beside that, ``<name>.part.version`` keeps the
server's own name for the version being downloaded (ETag or Last-Modified): it is sent back with a
resumed request (``If-Range``, RFC 9110 section 13.1.5), so that halves of two versions of a file
are never joined.
"""

import fcntl
import http.client
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from stp.disk import writing
from stp.errors import StpError
from stp.job import Report

ATTEMPTS = 5
"""Tries in a row without a single new byte before a download is given up."""
BACKOFF_S = 1.0
"""Seconds before the second try; doubled for every further one."""
TIMEOUT_S = 60.0
_BLOCK = 1 << 20
_PASSING = {408, 425, 429, 500, 502, 503, 504}


class _PassingError(Exception):
    """A fault that another try may mend."""


@contextmanager
def open_part(target: Path) -> Iterator[FileIO]:
    """The unfinished file of ``target``, locked against other processes that want the same file.

    Raises:
        StpError: it cannot be written.
    """
    part = part_path(target)
    with writing(part):
        part.parent.mkdir(parents=True, exist_ok=True)
        file = part.open("ab", buffering=0)  # nothing left to flush, and to fail, on closing
    with file:
        with suppress(OSError):  # a file system without locks: then without
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def part_path(target: Path) -> Path:
    """Where ``target`` grows while it is downloaded."""
    return target.with_name(target.name + ".part")


def discard_part(target: Path) -> None:
    """Forget what was downloaded of ``target`` so far."""
    part_path(target).unlink(missing_ok=True)
    _version_path(target).unlink(missing_ok=True)


def finish_part(target: Path) -> None:
    """Give the finished download its name.

    Raises:
        StpError: it cannot be renamed.
    """
    with writing(target):
        part_path(target).replace(target)
        _version_path(target).unlink(missing_ok=True)


def download(
    url: str, target: Path, file: FileIO, *, size: int | None, checked: bool, report: Report
) -> None:
    """Append to the unfinished ``file`` of ``target`` until it holds all bytes of ``url``.

    Args:
        file: from ``open_part(target)``.
        size: the declared number of bytes, if known.
        checked: the result will be compared with a declared checksum, so resuming is safe even
            where the server does not name the version of its file.

    Raises:
        StpError: the server refuses, offers another size, or keeps failing; the disk is full.
    """
    failures, most = 0, -1
    while True:
        try:
            return _attempt(url, target, file, size, checked, report)
        except _PassingError as problem:
            have = _length(file)
            failures = 1 if have > most else failures + 1
            most = max(most, have)
            if failures >= ATTEMPTS:
                raise StpError(
                    f"{url} could not be downloaded: {problem}",
                    expected=f"new bytes within {ATTEMPTS} tries",
                    remedy=f"run the same command again later (it goes on after {have} bytes), "
                    f"or put the file at {target} by hand",
                ) from problem
            time.sleep(BACKOFF_S * 2 ** (failures - 1))


def _attempt(
    url: str, target: Path, file: FileIO, size: int | None, checked: bool, report: Report
) -> None:
    have, version = _length(file), _version(target)
    if size is not None and have == size:
        return  # complete; the last run ended between the last byte and the rename
    if have and (not (version or checked) or (size is not None and have > size)):
        have = _restart(target, file)
    headers = {"User-Agent": "stp", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        if version:
            headers["If-Range"] = version
    try:
        response = urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=TIMEOUT_S
        )
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and have:  # nothing lies beyond what is there: complete, or too long
            if _content_range(error.headers.get("Content-Range"))[1] == have:
                return
            _restart(target, file)
            raise _PassingError("the server's file is shorter than what was there") from error
        if error.code in _PASSING:
            raise _PassingError(f"the server answered {error.code} {error.reason}") from error
        raise StpError(
            f"{url} could not be downloaded: the server answered {error.code} {error.reason}",
            expected="the file",
            remedy=f"get the file elsewhere and put it at {target}",
        ) from error
    except (OSError, http.client.HTTPException) as error:
        raise _PassingError(str(getattr(error, "reason", "") or error)) from error

    with response:
        length = response.headers.get("Content-Length")
        total = int(length) if length else None
        if have and response.status == 206:
            start, total = _content_range(response.headers.get("Content-Range"))
            if start != have:
                _restart(target, file)
                raise _PassingError("the server resumed at another byte than asked for")
        elif have:  # the whole file: the server cannot resume, or has another version now
            have = _restart(target, file)
        if size is not None and total is not None and total != size:
            raise StpError(
                f"{url} offers {total} bytes",
                expected=f"{size} bytes, as declared for {target.name}",
                remedy="look for the declared version of the file and put it at "
                f"{target}, or declare a new release",
            )
        _keep_version(target, response.headers.get("ETag"), response.headers.get("Last-Modified"))
        while block := _read(response):
            have += len(block)
            with writing(part_path(target)):
                while block:
                    block = block[file.write(block) :]
            report(f"download {target.name}", have, total or size or 0)
        if total is not None and have < total:
            raise _PassingError(f"the connection ended after {have} of {total} bytes")


def _read(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(_BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise _PassingError(f"the connection broke ({error})") from error


def _length(file: FileIO) -> int:
    return os.fstat(file.fileno()).st_size


def _restart(target: Path, file: FileIO) -> int:
    with writing(part_path(target)):
        file.truncate(0)
        _version_path(target).unlink(missing_ok=True)
    return 0


def _content_range(header: str | None) -> tuple[int | None, int | None]:
    """(first byte, total) of a ``Content-Range`` header; None for what it does not say."""
    match = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", (header or "").strip())
    if not match:
        return None, None
    start, total = match.groups()
    return (int(start) if start else None), (int(total) if total != "*" else None)


def _version_path(target: Path) -> Path:
    return target.with_name(target.name + ".part.version")


def _version(target: Path) -> str:
    path = _version_path(target)
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _keep_version(target: Path, etag: str | None, modified: str | None) -> None:
    # a weak ETag (W/"...") allows different bytes and must not be used to join parts
    strong = etag if etag and not etag.startswith("W/") else modified
    with writing(part_path(target)):
        _version_path(target).write_text(strong or "", encoding="utf-8")
