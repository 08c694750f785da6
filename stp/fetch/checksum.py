"""Compute checksums of raw files, several files at a time."""

import gzip
import hashlib
import os
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
from stp.core.lock import Checksum
from stp.data.known_checksums import KnownChecksums

THREADS = min(4, os.cpu_count() or 1)
"""Number of files that are read at a time; hashing releases Python's global lock."""
_BLOCK = 1 << 20
_AHEAD = 64


def checksum(path: Path, advance: Callable[[int], None] = lambda count: None) -> Checksum:
    """Compute size and SHA-256 of a file.

    Args:
        path: path of the file.
        advance: function that is called with the number of bytes of every block, for progress.

    Raises:
        StpError: the file cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
                advance(len(block))
    except OSError as error:
        raise StpError(
            f"cannot read {path}: {error.strerror or error}",
            remedy="correct its permissions, or remove it so that it is fetched again",
        ) from error
    return Checksum(size, digest.hexdigest())


def md5_uncompressed(path: Path) -> str:
    """MD5 (hexadecimal) of the decompressed content of a gzip file.

    The header of a gzip file contains a time, so files with equal content can differ; some
    publishers therefore state only the MD5 of the content.

    Raises:
        StpError: the file is cut short or damaged.
    """
    digest = hashlib.md5(usedforsecurity=False)
    try:
        with gzip.open(path) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problem = "is cut short" if isinstance(error, EOFError) else f"is damaged ({error})"
        raise StpError(
            f"{path} {problem}",
            remedy="remove it and fetch it again",
        ) from error
    return digest.hexdigest()


def require_declared(
    path: Path, actual: Checksum, declared: Mapping[str, Any], *, url: str = ""
) -> None:
    """Refuse a file that differs from its declaration, or a gzip file that cannot be decompressed.

    Args:
        path: path of the file.
        actual: size and checksum of the file.
        declared: declaration of the file, with any of ``bytes``, ``sha256`` and
            ``md5_uncompressed``.
        url: address, if the file has just been downloaded.

    Raises:
        StpError: the file differs from its declaration.
    """
    said = f"the bytes of {path}" + (f" from {url}" if url else "")
    remedy = "remove the file so that it is fetched again, or restore it from its publisher"
    if url:
        remedy = "try again later, or look for another source of the declared version"
    for key, value in (("bytes", actual.bytes), ("sha256", actual.sha256)):
        if declared.get(key) not in (None, value):
            raise StpError(
                f"{said} are not the expected ones: {key} is {value}",
                expected=f"{key} {declared[key]}",
                remedy=remedy,
            )
    name = path.name.removesuffix(".part")
    is_archive = name.endswith(".tar.gz")  # checked when it is unpacked
    if (name.endswith(".gz") and not is_archive) or declared.get("md5_uncompressed"):
        content = md5_uncompressed(path)
        if declared.get("md5_uncompressed") not in (None, content):
            raise StpError(
                f"{said} are not the expected ones: the MD5 of its decompressed content is "
                f"{content}",
                expected=f"MD5 {declared['md5_uncompressed']}",
                remedy=remedy,
            )


def verify_checksum(
    path: Path,
    declared: Mapping[str, Any],
    remembered: KnownChecksums | None = None,
    advance: Callable[[int], None] = lambda count: None,
) -> Checksum:
    """Compute the checksum of a file, and compare it with its declaration.

    Args:
        path: path of the file.
        declared: declaration of the file, with any of ``bytes``, ``sha256`` and
            ``md5_uncompressed`` (of the content of a gzip file).
        remembered: record of the checksums of files when they were last read. If the file has not
            changed since, its recorded checksum is used, without reading it. None to read the file.
        advance: function that is called with numbers of bytes that were read or skipped.

    Returns:
        size and SHA-256 of the file.

    Raises:
        StpError: the file is not as declared, or cannot be read.
    """
    status = None
    with suppress(OSError):  # reported when it is read
        status = path.stat()
    if remembered and status and not declared.get("md5_uncompressed"):  # not recorded
        sha256 = remembered.get(path, status)
        if sha256:
            advance(status.st_size)
            actual = Checksum(status.st_size, sha256)
            require_declared(path, actual, {k: declared.get(k) for k in ("bytes", "sha256")})
            return actual
    actual = checksum(path, advance)
    require_declared(path, actual, declared)
    if remembered and status:
        remembered.add(path, status, actual.sha256)
    return actual


def in_threads(
    work: Callable[[Any, Callable[[int], None]], Checksum],
    items: Iterable[Any],
    advance: Callable[[int], None],
) -> Iterator[tuple[Any, Checksum | StpError]]:
    """Compute the checksums of several files at a time, in threads.

    Args:
        work: ``work(item, advance)`` reads the file of one item, and returns its checksum.
        items: any objects that `work` knows how to find the file of, such as names.
        advance: function that all threads call with the number of bytes of every block.

    Yields:
        each item with its checksum, or with its error, in the order of the items.
    """
    stopped = threading.Event()

    def unless_stopped(count: int) -> None:
        if stopped.is_set():
            raise InterruptedError("stopped")
        advance(count)

    waiting = iter(items)
    with ThreadPoolExecutor(THREADS) as pool:
        running: deque[tuple[Any, Future[Checksum]]] = deque()

        def start(count: int) -> None:
            for item in islice(waiting, count):
                running.append((item, pool.submit(work, item, unless_stopped)))

        try:
            start(_AHEAD)
            while running:
                item, future = running.popleft()
                try:
                    result: Checksum | StpError = future.result()
                except StpError as problem:
                    result = problem
                yield item, result
                start(1)
        finally:
            stopped.set()
            pool.shutdown(cancel_futures=True)
