"""Known checksums of files, so that a job reads only files that have changed since.

A file counts as unchanged if its path, size, inode, modification time and change time (which no
tool can set back) are the same as at the last reading. Damage by a disk changes none of these; only
`stp fetch --check`, which reads all files, detects it.
"""

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

RECENT_NS = 2_000_000_000
"""Age below which a file is not recorded: another write might leave the same times, which many file
systems count in steps."""


class KnownChecksums:
    """Checksums (SHA-256) of files when they were last read, kept in a text file.

    The text file has one line per checksum. Any process may add lines at any time; incomplete
    lines, left by a crash, are ignored. The text file may be deleted at any time.

    Args:
        path: path of the text file, which is read at the first lookup.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, str] | None = None

    @classmethod
    def of(cls, lock: Path) -> "KnownChecksums":
        """Open the known checksums of a release's raw files, stored next to its lock file.

        Args:
            lock: path of the lock file.
        """
        return cls(lock.with_suffix(".known"))

    def get(self, file: Path, seen: os.stat_result) -> str | None:
        """Look up the checksum of a file, without reading the file.

        Args:
            file: path of the file.
            seen: current status of the file, from ``os.stat``, by which changes are noticed.

        Returns:
            SHA-256, hexadecimal; None if no checksum was recorded, or if the file has changed since
            it was recorded.
        """
        if self._known is None:
            self._known = self._read()
        return self._known.get(_state(file, seen))

    def add(self, file: Path, seen: os.stat_result, sha256: str) -> None:
        """Record the checksum of a file, unless the file is changing.

        Nothing is recorded if the status has changed since ``seen``, or if the file was written
        less than 2 seconds ago.

        Args:
            file: path of the file.
            seen: status of the file before it was read, from ``os.stat``.
            sha256: checksum, hexadecimal.
        """
        with suppress(OSError):  # the file is gone, or the store is read-only
            now = file.stat()
            if _state(file, now) != _state(file, seen):
                return
            if time.time_ns() - now.st_mtime_ns < RECENT_NS:
                return
            if self._known is not None:
                self._known[_state(file, now)] = sha256
            line = f"{sha256} {_state(file, now)}"
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as lines:
                lines.write(f"{_check(line)} {line}\n".encode("utf-8", "surrogateescape"))

    def forget(self) -> None:
        """Delete all checksums, after one of them turned out to be wrong."""
        self._known = None
        with suppress(OSError):
            self.path.unlink()

    def _read(self) -> dict[str, str]:
        known = {}
        with (
            suppress(OSError),
            self.path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines,
        ):
            for text in lines:
                check, _, line = text.rstrip("\n").partition(" ")
                if check == _check(line):
                    sha256, _, state = line.partition(" ")
                    known[state] = sha256
        return known


def _state(file: Path, seen: os.stat_result) -> str:
    return f"{seen.st_size} {seen.st_mtime_ns} {seen.st_ctime_ns} {seen.st_ino} {file}"


def _check(line: str) -> str:
    return hashlib.sha256(line.encode("utf-8", "surrogateescape")).hexdigest()[:8]
