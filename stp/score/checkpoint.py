"""Saved state of a scoring job, so that a killed job loses minutes, not hours.

It consists of parts. Each contains the changes since the part before, so that saving does not
become slower towards the end.
"""

import hashlib
import json
import os
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = "scored"
"""Folder of the parts in the state folder of a job."""
RECIPE = "recipe"


class Checkpoint:
    """The saved state of a scoring job, from which an interrupted job continues.

    The state is saved in parts, in a file each: the changes of the state over a range of samples.
    Read the saved `parts` first. During the work, call `save` whenever `is_due`.

    Args:
        state: folder of the files, which survives a crash.
        recipe: recipe of the job; parts that were saved with another recipe are removed.
        every_s: minimum time between two parts, seconds.

    Attributes:
        next: index of the first sample that no part covers.
    """

    def __init__(self, state: Path, recipe: Mapping[str, Any], every_s: float) -> None:
        self.folder = Path(state) / FOLDER
        self.every_s = every_s
        text = json.dumps(recipe, sort_keys=True)
        self.recipe = hashlib.sha256(text.encode()).hexdigest()
        self.next = 0
        self._saved_at = time.monotonic()

    def parts(self) -> Iterator[dict[str, np.ndarray]]:
        """Yield the saved parts in order, and set ``next`` to the first sample that no part covers.

        Reading stops at the first part that is missing, damaged or of another recipe; that part and
        all later ones are removed.
        """
        paths = sorted(self.folder.glob("*.npz"))
        for number, path in enumerate(paths):
            first, _, after = path.stem.partition("-")
            part = self._read(path) if int(first) == self.next else None
            if part is None:
                for useless in paths[number:]:
                    useless.unlink()
                return
            self.next = int(after)
            yield part

    def is_due(self) -> bool:
        """Whether it is time to save the changes of the state since the last part."""
        return time.monotonic() - self._saved_at >= self.every_s

    def save(self, after: int, part: dict[str, np.ndarray]) -> None:
        """Save a part atomically: the changes of the state since the part before.

        Args:
            after: index of the first sample that the part does not cover.
            part: arrays of the part, by name.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{self.next:012d}-{after:012d}.npz"
        beside = path.with_suffix(".part")
        try:
            with beside.open("wb") as file:
                arrays: dict[str, Any] = {RECIPE: np.array(self.recipe), **part}
                np.savez(file, **arrays)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:  # leave nothing behind on a full disk
            beside.unlink(missing_ok=True)
        self.next, self._saved_at = after, time.monotonic()

    def _read(self, path: Path) -> dict[str, np.ndarray] | None:
        try:
            with np.load(path) as archive:  # a zip file, which has checksums
                part = dict(archive)
        except (OSError, ValueError, zipfile.BadZipFile):
            return None
        return part if str(part.pop(RECIPE, "")) == self.recipe else None
