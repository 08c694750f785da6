"""Every attempt at an artefact: when it began, how it ended, and what it needed.

``attempts.jsonl`` in the artefact's state folder gets a line when an attempt starts and one when
it ends. What was killed leaves no second line; the next attempt (or whoever asks) finds out why
and adds it. After success the list moves into the receipt.
"""

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from stp.core.disk import write_text
from stp.core.job import Interrupted
from stp.core.receipts import RecordedAttempt
from stp.run.cluster import slurm

FILE = "attempts.jsonl"
PROGRESS = "now.json"
"""How a running attempt stands: its peak memory and its last report."""

OUT_OF_MEMORY = "out of memory"
TIME_LIMIT = "time limit"
REQUEUED = "requeued"
SAVED = "saved"
FAILED = "failed"
KILLED = "killed"
DONE = "done"

SAMPLE_SECONDS = 0.5
WRITE_SECONDS = 5.0
MEMORY_SHARE = 0.85
"""A job that vanished when it used this part of its memory limit was killed for it. Clusters
without cgroups report nothing but a failure."""
SNAKEMAKE_MB = 320
"""Two processes of Snakemake share the memory of a Slurm job (2 x 156 MB, measured)."""

_SLURM_ENDS = {
    "OUT_OF_MEMORY": OUT_OF_MEMORY,
    "TIMEOUT": TIME_LIMIT,
    "DEADLINE": TIME_LIMIT,
}


@dataclass
class AttemptProgress:
    """How a running attempt stands.

    Attributes:
        peak_mb: the most memory that it has held, in MB.
        what, done, total: its last report.
    """

    peak_mb: int = 0
    what: str = ""
    done: int = 0
    total: int = 0


def read(state: Path) -> list[RecordedAttempt]:
    """Read the attempts at an artefact, oldest first.

    Args:
        state: the artefact's state folder.
    """
    try:
        lines = (state / FILE).read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []
    attempts: dict[int, RecordedAttempt] = {}
    for line in lines:
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:  # torn by a crash
            continue
        number, event = entry["attempt"], entry.pop("event")
        if event == "start":
            attempts[number] = RecordedAttempt(**entry)
        elif number in attempts:
            entry["ended"] = entry.pop("time")
            attempts[number] = replace(attempts[number], **entry)
    return [attempts[number] for number in sorted(attempts)]


def count(state: Path, how: str) -> int:
    """How many attempts at an artefact ended in a certain way?"""
    return sum(attempt.how == how for attempt in read(state))


def history(state: Path) -> str:
    """Say how earlier attempts ended; nothing where there were none."""
    ends = [f"{attempt.how} ({attempt.detail})" for attempt in read(state) if attempt.how]
    return f", attempt {len(ends) + 1}, after: {'; '.join(ends)}" if ends else ""


def read_progress(state: Path) -> AttemptProgress | None:
    """How a running attempt stands; None if that is not known."""
    try:
        return AttemptProgress(**json.loads((state / PROGRESS).read_text()))
    except (OSError, ValueError, TypeError):
        return None


class Attempt:
    """The attempt that is being made.

    Args:
        state: the artefact's state folder; the caller holds its lease.
        gpus: that this attempt has.
    """

    def __init__(self, state: Path, gpus: int = 0) -> None:
        self.state = state
        settle_vanished(state)
        self.number = len(read(state)) + 1
        self.limit_mb = slurm.memory_limit_mb()
        self.now = AttemptProgress()
        self._over = threading.Event()
        _append(
            state,
            self.number,
            event="start",
            host=socket.gethostname(),
            pid=os.getpid(),
            slurm_job=slurm.job_id(),
            gpus=gpus,
            memory_mb=self.limit_mb,
        )
        self._watch = threading.Thread(target=self._watch_memory, daemon=True)
        self._watch.start()

    def report(self, what: str, done: int, total: int) -> None:
        """Remember how far the work is, for ``stp status``."""
        self.now.what, self.now.done, self.now.total = what, done, total

    def end(self, how: str, detail: str = "") -> None:
        """Record how the attempt ended."""
        self._over.set()
        self._watch.join()
        _append(
            self.state, self.number, event="end", how=how, detail=detail, peak_mb=peak_memory_mb()
        )
        (self.state / PROGRESS).unlink(missing_ok=True)

    def _watch_memory(self) -> None:
        """Write the peak down as it grows: a job that is killed for it cannot say so any more."""
        written, at = 0.0, 0.0
        while not self._over.wait(SAMPLE_SECONDS):
            self.now.peak_mb = peak = peak_memory_mb()
            if peak > 1.05 * written or time.monotonic() - at > WRITE_SECONDS:
                with contextlib.suppress(OSError):
                    write_text(self.state / PROGRESS, json.dumps(asdict(self.now)))
                written, at = peak, time.monotonic()


def peak_memory_mb() -> int:
    """The most memory that this process ever held, in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def amend(state: Path, how: str, detail: str) -> None:
    """Say better how the last attempt ended."""
    _append(state, len(read(state)), event="end", how=how, detail=detail)


def add_unbegun(state: Path, job: str | None, detail: str) -> None:
    """Record an attempt whose job ended before it could do so itself.

    Args:
        state: the artefact's state folder.
        job: of Slurm; None if it was refused.
        detail: why it ended.
    """
    number, said = len(read(state)) + 1, slurm.describe(job) if job else {}
    how = _SLURM_ENDS.get(said.get("JobState") or (slurm.state(job) if job else None) or "", FAILED)
    _append(state, number, event="start", host=said.get("BatchHost"), slurm_job=job)
    _append(state, number, event="end", how=how, detail=detail)


def _append(state: Path, number: int, **entry: str | float | None) -> None:
    line = json.dumps({"attempt": number, "time": time.time(), **entry})
    with contextlib.suppress(OSError), (state / FILE).open("ab+") as file:
        file.seek(max(0, file.tell() - 1))
        torn = file.read(1) not in (b"", b"\n")
        file.write(b"\n" * torn + line.encode() + b"\n")


def settle_vanished(state: Path) -> None:
    """Find out why attempts ended that left no word, and write it down.

    Only for attempts whose process is certainly gone: the caller holds the lease, or knows that
    the job has ended.
    """
    for attempt in read(state):
        if attempt.how is not None:
            continue
        how, detail = _why_vanished(attempt, read_progress(state) or AttemptProgress())
        _append(state, attempt.attempt, event="end", how=how, detail=detail)
        (state / PROGRESS).unlink(missing_ok=True)


def _why_vanished(attempt: RecordedAttempt, now: AttemptProgress) -> tuple[str, str]:
    job, limit, peak = attempt.slurm_job, attempt.memory_mb, now.peak_mb
    said = slurm.state(job) if job else None
    if said in _SLURM_ENDS:
        return _SLURM_ENDS[said], f"Slurm says {said}"
    if limit and peak + SNAKEMAKE_MB > MEMORY_SHARE * limit:
        used = f"last seen at {peak} MB beside Snakemake's {SNAKEMAKE_MB} MB, of {limit} MB"
        return OUT_OF_MEMORY, f"{used}; Slurm says {said or 'nothing'}"
    if said in (None, "RUNNING", "PENDING", "COMPLETING", "REQUEUED"):
        return KILLED, "vanished without a word"
    return KILLED, f"Slurm says {said}"


@contextlib.contextmanager
def recorded(state: Path, gpus: int, why_stopped: Callable[[], str | None]) -> Iterator[Attempt]:
    """Record an attempt, whatever its end.

    Args:
        state: the artefact's state folder; the caller holds its lease.
        gpus: that the attempt has.
        why_stopped: names the signal that ended it, if it was one.
    """
    attempt = Attempt(state, gpus)
    try:
        yield attempt
    except Interrupted as saved:
        attempt.end(SAVED, f"{why_stopped()}: {saved}")
        raise
    except MemoryError as error:
        attempt.end(OUT_OF_MEMORY, str(error))
        raise
    except Exception as error:
        attempt.end(FAILED, f"{error}".splitlines()[0] if str(error) else type(error).__name__)
        raise
    except BaseException:
        attempt.end(KILLED, why_stopped() or "interrupted")
        raise
