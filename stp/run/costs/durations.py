"""Log of job durations, for estimates of the remaining time and of this machine's speed."""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

MEASURED_SECONDS = 60.0
"""Minimum duration of work for a measurement of speed, seconds: shorter work mostly consists of its
start."""

Json = dict[str, Any]


class Durations:
    """Log of the finished jobs of a store.

    Args:
        path: file of JSON lines, to which all processes append.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, kind: str, started: float, seconds: float, **speed: float) -> None:
        """Record a finished job.

        Args:
            kind: key of the kind of job: stage, and model if there is one.
            started: Unix time of the start.
            seconds: duration in seconds.
            speed: ``work`` (amount of work in the unit of the kind, see `rates`), ``gpus`` and
                ``threads``, if the job was done in one attempt; else nothing.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"kind": kind, "started": started, "seconds": seconds, **speed})
        with self.path.open("a") as file:
            file.write(line + "\n")

    def rows(self) -> list[Json]:
        """Read the log, in the order in which it was written; lines that are damaged are skipped.

        Returns:
            a dict for each finished job: the keys ``kind``, ``started`` and ``seconds``, and
            perhaps ``work``, ``gpus`` and ``threads``, as passed to `add`.
        """
        try:
            lines = self.path.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return []
        rows = []
        for line in lines:
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(row, dict) and {"kind", "started", "seconds"} <= set(row):
                rows.append(row)
        return rows

    def rates(self) -> dict[tuple[str, int, int], tuple[float, int]]:
        """Compute the work done per second, by kind of job and numbers of GPUs and CPU threads.

        The unit of work is fixed for each kind: 10^9 multiply-adds for jobs with a network, 10^6
        predicted values times conventions for scores, and MB for other jobs
        (`stp.run.costs.estimate.Rates`). Only jobs longer than a minute count.

        Returns:
            for each (kind, GPUs, threads): the median rate, in units of work per second, and the
            number of jobs behind it.
        """
        by_kind: dict[tuple[str, int, int], list[float]] = {}
        for row in self.rows():
            if row["seconds"] > MEASURED_SECONDS and row.get("work"):
                key = row["kind"], row.get("gpus", 0), row.get("threads", 1)
                by_kind.setdefault(key, []).append(row["work"] / row["seconds"])
        return {key: (median(rates), len(rates)) for key, rates in by_kind.items()}

    def seconds_left(self, waiting: Iterable[tuple[str, float]], since: float) -> float | None:
        """Estimate the time in seconds until all unfinished jobs are done.

        Each kind of job is assumed to take its mean duration so far, or that of its stage.
        Parallelism is estimated from the work done per second since the run began.

        Args:
            waiting: kind and remaining share, 0 to 1, of each unfinished job.
            since: Unix time of the start of the run.

        Returns:
            seconds; None if no job of this run, or of an unfinished stage, is finished.
        """
        rows = self.rows()
        rows_of_run = [row for row in rows if row["started"] >= since]
        if not rows_of_run:
            return None
        took: dict[str, list[float]] = {}
        for row in rows:
            for name in {row["kind"], _stage(row["kind"])}:
                took.setdefault(name, []).append(row["seconds"])
        means = {name: sum(seconds) / len(seconds) for name, seconds in took.items()}
        left = 0.0
        for kind, part in waiting:
            mean = means.get(kind, means.get(_stage(kind)))
            if mean is None:
                return None
            left += part * mean
        worked = sum(row["seconds"] for row in rows_of_run)
        parallel = max(1.0, worked / max(time.time() - since, 1e-3))
        return left / parallel


def _stage(kind: str) -> str:
    return kind.partition(" ")[0]
