"""Records of attempts to make artefacts: start, end, reason for the end, peak memory.

An unfinished artefact has a state folder for attempts, checkpoints and a lease, the claim of the
process that makes it. ``attempts.jsonl`` in this folder gets a line when an attempt starts, and
another line when it ends. A killed attempt writes no second line; the next attempt determines the
cause and writes it. After success, the records move into the receipt.
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
"""Name of the file with the progress of a running attempt, in the state folder."""

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
"""Share of the memory limit above which a job that vanished counts as out of memory: clusters
without cgroups only report a failure."""
SNAKEMAKE_MB = 320
"""Memory in MB of the two processes of Snakemake in a Slurm job (2 x 156 MB, measured)."""

_SLURM_ENDS = {
    "OUT_OF_MEMORY": OUT_OF_MEMORY,
    "TIMEOUT": TIME_LIMIT,
    "DEADLINE": TIME_LIMIT,
}


@dataclass
class AttemptProgress:
    """The progress of a running attempt at a job.

    Attributes:
        peak_mb: peak memory so far, in MB.
        what: name of the current step in the last report.
        done: number of finished items of the step in the last report.
        total: number of all items of the step in the last report; 0 if unknown.
    """

    peak_mb: int = 0
    what: str = ""
    done: int = 0
    total: int = 0


def read(state: Path) -> list[RecordedAttempt]:
    """Read the attempts to make an artefact (folder that a job writes), oldest first.

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
    """Count the attempts to make an artefact (folder that a job writes) that ended in a given way.

    Args:
        state: the artefact's state folder.
        how: kind of end, such as "out of memory" (`OUT_OF_MEMORY`).
    """
    return sum(attempt.how == how for attempt in read(state))


def history(state: Path) -> str:
    """Describe in words how earlier attempts ended; empty if none has ended.

    Args:
        state: the artefact's state folder.
    """
    ends = [f"{attempt.how} ({attempt.detail})" for attempt in read(state) if attempt.how]
    return f", attempt {len(ends) + 1}, after: {'; '.join(ends)}" if ends else ""


def read_progress(state: Path) -> AttemptProgress | None:
    """Read the progress of a running attempt; None if unknown.

    Args:
        state: the artefact's state folder.
    """
    try:
        return AttemptProgress(**json.loads((state / PROGRESS).read_text()))
    except (OSError, ValueError, TypeError):
        return None


class Attempt:
    """This process's attempt to make an artefact (folder that a job writes).

    Creating it records the start of the attempt, and begins to watch the memory.

    Args:
        state: the artefact's state folder. The caller holds its lease, by which no other process
            makes the same artefact.
        gpus: number of GPUs that the attempt uses.
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
        """Write the progress to the state folder, for ``stp status``.

        Args:
            what: name of the current step.
            done: number of finished items of the step.
            total: number of all items of the step; 0 if unknown.
        """
        self.now.what, self.now.done, self.now.total = what, done, total

    def end(self, how: str, detail: str = "") -> None:
        """Record how the attempt ended.

        Args:
            how: kind of end, such as `DONE`.
            detail: reason why it ended so.
        """
        self._over.set()
        self._watch.join()
        _append(
            self.state, self.number, event="end", how=how, detail=detail, peak_mb=peak_memory_mb()
        )
        (self.state / PROGRESS).unlink(missing_ok=True)

    def _watch_memory(self) -> None:
        """Write the peak memory whenever it grows, since a killed job can no longer do so."""
        written, at = 0.0, 0.0
        while not self._over.wait(SAMPLE_SECONDS):
            self.now.peak_mb = peak = peak_memory_mb()
            if peak > 1.05 * written or time.monotonic() - at > WRITE_SECONDS:
                with contextlib.suppress(OSError):
                    write_text(self.state / PROGRESS, json.dumps(asdict(self.now)))
                written, at = peak, time.monotonic()


def peak_memory_mb() -> int:
    """The peak memory of this process, in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def amend(state: Path, how: str, detail: str) -> None:
    """Replace the recorded end of the last attempt to make an artefact (folder that a job writes).

    Args:
        state: the artefact's state folder.
        how: kind of end, such as `SAVED`.
        detail: reason why it ended so.
    """
    _append(state, len(read(state)), event="end", how=how, detail=detail)


def add_unbegun(state: Path, job: str | None, detail: str) -> None:
    """Record an attempt whose job ended before it could record the attempt itself.

    Args:
        state: the artefact's state folder.
        job: ID of the Slurm job; None if Slurm refused it.
        detail: reason why the job ended.
    """
    number, facts = len(read(state)) + 1, slurm.describe(job) if job else {}
    job_state = facts.get("JobState") or (slurm.state(job) if job else None)
    how = _SLURM_ENDS.get(job_state or "", FAILED)
    _append(state, number, event="start", host=facts.get("BatchHost"), slurm_job=job)
    _append(state, number, event="end", how=how, detail=detail)


def _append(state: Path, number: int, **entry: str | float | None) -> None:
    line = json.dumps({"attempt": number, "time": time.time(), **entry})
    with contextlib.suppress(OSError), (state / FILE).open("ab+") as file:
        file.seek(max(0, file.tell() - 1))
        torn = file.read(1) not in (b"", b"\n")
        file.write(b"\n" * torn + line.encode() + b"\n")


def settle_vanished(state: Path) -> None:
    """Record an end for attempts that stopped without recording one, with the probable cause.

    The processes of these attempts must have ended. The caller knows this because it holds the
    artefact's lease (the claim of the process that makes it), or because the job has ended.

    Args:
        state: the artefact's state folder.
    """
    for attempt in read(state):
        if attempt.how is not None:
            continue
        how, detail = _why_vanished(attempt, read_progress(state) or AttemptProgress())
        _append(state, attempt.attempt, event="end", how=how, detail=detail)
        (state / PROGRESS).unlink(missing_ok=True)


def _why_vanished(attempt: RecordedAttempt, now: AttemptProgress) -> tuple[str, str]:
    job, limit, peak = attempt.slurm_job, attempt.memory_mb, now.peak_mb
    job_state = slurm.state(job) if job else None
    if job_state in _SLURM_ENDS:
        return _SLURM_ENDS[job_state], f"Slurm says {job_state}"
    if limit and peak + SNAKEMAKE_MB > MEMORY_SHARE * limit:
        used = f"last seen at {peak} MB beside Snakemake's {SNAKEMAKE_MB} MB, of {limit} MB"
        return OUT_OF_MEMORY, f"{used}; Slurm says {job_state or 'nothing'}"
    if job_state in (None, "RUNNING", "PENDING", "COMPLETING", "REQUEUED"):
        return KILLED, "vanished without a word"
    return KILLED, f"Slurm says {job_state}"


@contextlib.contextmanager
def record_attempt(
    state: Path, gpus: int, why_stopped: Callable[[], str | None]
) -> Iterator[Attempt]:
    """Context manager: record an attempt and its end, including errors and signals.

    Args:
        state: the artefact's state folder; the caller holds its lease.
        gpus: number of GPUs that the attempt uses.
        why_stopped: function that returns the name of the signal that stopped the attempt; None
            without a signal.

    Yields:
        the attempt, to which the work reports its progress.
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
