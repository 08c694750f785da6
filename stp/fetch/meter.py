"""How far several files at once are, in one line: files, bytes, speed, time left."""

import threading
import time
from collections.abc import Callable, Mapping

from stp.core.job import Report
from stp.core.units import duration, size_text

EVERY_S = 0.2


class TransferMeter:
    """Adds up files that are downloaded, read or unpacked, by any number of threads.

    Bytes that were there before do not count for the speed. Files whose size is not known yet are
    taken to be as large as the others are on average.

    Args:
        what: is done: "download", "verify kth".
        sizes: bytes of each file, None where not known.
        report: gets the whole line as its text, and no numbers, since the time left is in it.
    """

    def __init__(
        self,
        what: str,
        sizes: Mapping[str, int | None],
        report: Report,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.what, self.report, self.clock = what, report, clock
        self.begun = clock()
        self._told = float("-inf")
        self._sizes = dict(sizes)
        self._known = [size for size in sizes.values() if size is not None]
        self._bytes, self._of_known = len(self._known), sum(self._known)
        self._at: dict[str, int] = {}
        self._done = self._before = self._finished = self._failed = 0
        self._lock = threading.Lock()

    def at(self, name: str, have: int, total: int | None = None) -> None:
        """A file has so many of so many bytes; what it has at first was there before."""
        with self._lock:
            if total is not None and self._sizes.get(name) is None:
                self._sizes[name] = total
                self._bytes, self._of_known = self._bytes + 1, self._of_known + total
            if name not in self._at:
                self._before += have
            elif have < self._at[name]:  # it started again
                self._before = max(0, self._before - (self._at[name] - have))
            self._done += have - self._at.get(name, 0)
            self._at[name] = have
            self._tell()

    def advance(self, count: int) -> None:
        """So many more bytes are done, of whatever file."""
        with self._lock:
            self._done += count
            self._tell()

    def finish(self, *, failed: bool = False) -> None:
        """One more file is finished, or given up."""
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
        parts = [f"{self.what} {self._finished} of {files} files" if files > 1 else self.what]
        parts.append(f"{size_text(self._done)} of {size_text(total)}")
        if done > 0 and seconds > 0:
            parts.append(f"{size_text(done / seconds)}/s")
            parts.append(f"{duration(seconds / done * (total - self._done))} left")
        if self._failed:
            parts.append(f"{self._failed} failed")
        self.report(", ".join(parts), 0, 0)
