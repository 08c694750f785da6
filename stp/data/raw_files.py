"""Raw files in one of several folders, whose checksums are compared with a lock file before use."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stp.core.disk import safe_join
from stp.core.errors import StpError
from stp.data.known_checksums import KnownChecksums


class RawFiles:
    """The raw files of one release (version) of a dataset.

    Args:
        lock: lock file with size and SHA-256 of every file.
        roots: folders with the same layout, in order of preference (raw_dir, then raw_mirror).

    Attributes:
        names: relative paths in the lock file, sorted.

    Raises:
        StpError: the lock file is missing or damaged.
    """

    def __init__(self, lock: Path, roots: Sequence[Path]) -> None:
        self.lock = Path(lock)
        self.roots = [Path(root) for root in roots]
        try:
            self._entries: dict[str, dict[str, Any]] = json.loads(
                self.lock.read_text(encoding="utf-8")
            )["files"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise StpError(
                f"{self.lock}: the lock file of the raw files cannot be read ({error})",
                expected='a JSON object with "files": {name: {"bytes": n, "sha256": hex}}',
                remedy="remove it and run `stp fetch` again",
            ) from error
        self.names = sorted(self._entries)
        for name in self.names:
            if not name.startswith("/"):  # weights may lie anywhere
                safe_join(Path(), name, self.lock)
        self._verified: dict[str, Path] = {}
        self._known = KnownChecksums.of(self.lock)

    def checksums(self) -> dict[str, str]:
        """SHA-256 of every file in the lock file, by name."""
        return {name: self._entries[name]["sha256"] for name in self.names}

    def size(self, name: str) -> int:
        """Size of a file in the lock file, bytes."""
        return int(self._entries[name]["bytes"])

    def find(self, name: str) -> Path:
        """Path of a file, in the first folder that has it.

        At the first call, size and SHA-256 are compared with the lock file; the file is read only
        if it has changed since the last reading (stp.data.known_checksums).

        Raises:
            StpError: the file is in no folder, is not in the lock file, or differs from it.
        """
        if name in self._verified:
            return self._verified[name]
        if name not in self._entries:
            raise StpError(
                f"{name}: not one of the {len(self.names)} raw files in {self.lock}",
                expected="a raw file that this release of the dataset lists",
                remedy="add it to the release in config/datasets, or choose another release",
            )
        path = next((root / name for root in self.roots if (root / name).is_file()), None)
        if path is None:
            raise StpError(
                f"{name}: this raw file is missing",
                expected="the file below one of " + ", ".join(str(root) for root in self.roots),
                remedy="run `stp fetch`, or set the folder of raw files",
            )
        self._verify(name, path)
        self._verified[name] = path
        return path

    def _verify(self, name: str, path: Path) -> None:
        entry = self._entries[name]
        try:
            seen = path.stat()
            if seen.st_size != entry["bytes"]:
                self._refuse(path, f"{seen.st_size} bytes", f"{entry['bytes']} bytes")
            if self._known.get(path, seen) == entry["sha256"]:
                return
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise StpError(
                f"{path}: this raw file cannot be read: {error.strerror or error}",
                expected="a readable file",
                remedy="correct its permissions, or see whether its disk is there",
            ) from error
        if sha256 != entry["sha256"]:
            self._refuse(path, f"SHA-256 {sha256}", f"SHA-256 {entry['sha256']}")
        self._known.add(path, seen, sha256)

    def _refuse(self, path: Path, actual: str, expected: str) -> None:
        raise StpError(
            f"{path}: this raw file differs from the lock file: {actual}",
            expected=f"{expected} ({self.lock})",
            remedy="restore the original file; if the change is intended, `stp fetch` locks files "
            "of your own again as long as nothing was prepared from them; otherwise declare a new "
            "release: another name in `release` and `releases` of the dataset",
        )


class UnlockedFiles(RawFiles):
    """Raw files without a lock file, below one folder; their checksums are not checked."""

    def __init__(self, root: Path, names: Sequence[str]) -> None:
        self.root, self.names = root, sorted(names)

    def find(self, name: str) -> Path:
        """Path of a file, which is neither checked nor searched for in other folders."""
        return self.root / name
