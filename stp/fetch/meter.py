"""Progress of several files at once in one line: files, bytes, speed, time left.

An example is "download 3 of 8 files, 1.2 GB of 3.1 GB, 54.0 MB/s, 35 s left".
"""

import threading
import time
from collections.abc import Callable, Mapping

from stp.core.job import Report
from stp.core.units import duration, size_text

EVERY_S = 0.2


class TransferMeter:
    """Reports the total progress of files that several threads download, read or unpack.

    Data that existed before do not count for the speed. Files of unknown size are assumed to have
    the mean size of files of known size.

    Args:
        title: name of the work, e.g. "download" or "verify kth".
        sizes: size in bytes by name of the file; None if unknown.
        report: callback that is called as ``report(line, 0, 0)``. The line is the progress as text,
            e.g. "download 3 of 8 files, 1.2 GB of 3.1 GB, 54.0 MB/s, 35 s left". The zeros are
            unused.
        clock: function that returns the time in seconds.
    """

    def __init__(
        self,
        title: str,
        sizes: Mapping[str, int | None],
        report: Report,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title, self.report, self.clock = title, report, clock
        self.begun = clock()
        self._told = float("-inf")
        self._sizes = dict(sizes)
        self._known = [size for size in sizes.values() if size is not None]
        self._bytes, self._of_known = len(self._known), sum(self._known)
        self._at: dict[str, int] = {}
        self._done = self._before = self._finished = self._failed = 0
        self._lock = threading.Lock()

    def at(self, name: str, have: int, total: int | None = None) -> None:
        """Set how many bytes of a file exist now.

        Bytes that exist in the first call for a file do not count for the speed.

        Args:
            name: name of the file.
            have: number of bytes that exist.
            total: size of the file, bytes; None if unknown. A size that is known from the start
                or from an earlier call is kept in any case.
        """
        with self._lock:
            if total is not None and self._sizes.get(name) is None:
                self._sizes[name] = total
                self._bytes, self._of_known = self._bytes + 1, self._of_known + total
            if name not in self._at:
                self._before += have
            elif have < self._at[name]:  # the file was started again
                self._before = max(0, self._before - (self._at[name] - have))
            self._done += have - self._at.get(name, 0)
            self._at[name] = have
            self._tell()

    def advance(self, count: int) -> None:
        """Add bytes to the total of all files, without saying to which file they belong."""
        with self._lock:
            self._done += count
            self._tell()

    def finish(self, *, failed: bool = False) -> None:
        """Count a file as finished or failed."""
        with self._lock:
            self._finished += not failed
            self._failed += failed
            self._told = float("-inf")
            self._tell()

    def _tell(self) -> None:
        now = self.clock()
        if now - self._told < EVERY_S:
            return
        self._told = now
        files = len(self._sizes)
        mean = self._of_known / self._bytes if self._bytes else 0
        total = max(self._of_known + mean * (files - self._bytes), self._done)
        done, seconds = self._done - self._before, now - self.begun
        parts = [f"{self.title} {self._finished} of {files} files" if files > 1 else self.title]
        parts.append(f"{size_text(self._done)} of {size_text(total)}")
        if done > 0 and seconds > 0:
            parts.append(f"{size_text(done / seconds)}/s")
            parts.append(f"{duration(seconds / done * (total - self._done))} left")
        if self._failed:
            parts.append(f"{self._failed} failed")
        self.report(", ".join(parts), 0, 0)
