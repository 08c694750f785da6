"""Progress for people: which piece of work, how many of how many, how long still.

Every verb prints a line when it starts and when it ends, and while it works a line every few
seconds (one that rewrites itself on a terminal). The counts come from the receipts in the
store, so they are right on one machine and on a cluster alike.
"""

import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from stp.cells import Plan

TERMINAL_SECONDS = 0.5
LOG_SECONDS = 10.0


def duration(seconds: float) -> str:
    """Format seconds as people say them: ``42 s``, ``3:07 min``, ``5:20 h``."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02d} min"
    return f"{seconds // 3600}:{seconds % 3600 // 60:02d} h"


class Durations:
    """What earlier work took, appended by every verb, to estimate what is left.

    Args:
        path: a file of lines of JSON; small appended lines do not mix.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, kind: str, started: float, seconds: float) -> None:
        """Record one finished piece of work; its kind is a stage, and a model if it has one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"kind": kind, "started": started, "seconds": seconds})
        with self.path.open("a") as file:
            file.write(line + "\n")

    def left(self, waiting: Iterable[str], since: float) -> float | None:
        """Estimate the seconds until all waiting work is done.

        Each kind counts with its mean so far, or that of its stage, or that of all; what runs
        at the same time is judged by how much work was done per second since the run began.

        Args:
            waiting: the kinds of all work that waits.
            since: when the run began.

        Returns:
            None while nothing is known.
        """
        try:
            lines = self.path.read_text().splitlines()
        except FileNotFoundError:
            return None
        rows = []
        for line in lines:
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                continue
        here = [row for row in rows if row["started"] >= since]
        if not here:
            return None
        took: dict[str, list[float]] = {}
        for row in rows:
            for name in (row["kind"], row["kind"].partition(" ")[0], ""):
                took.setdefault(name, []).append(row["seconds"])
        means = {name: sum(seconds) / len(seconds) for name, seconds in took.items()}

        def expected(kind: str) -> float:
            return means.get(kind) or means.get(kind.partition(" ")[0]) or means[""]

        worked = sum(row["seconds"] for row in here)
        parallel = max(1.0, worked / max(time.time() - since, 1e-3))
        return sum(expected(kind) for kind in waiting) / parallel


class Progress:
    """Prints the progress of one verb to the screen and to its log.

    Args:
        stage: what is done.
        label: to what.
        plan: counts what is finished.
        log: a file that gets every line, or None.
        kind: what its duration is remembered for; the stage unless given.
    """

    def __init__(
        self, stage: str, label: str, plan: Plan, log: IO[str] | None, kind: str = ""
    ) -> None:
        self.stage = stage
        self.kind = kind or stage
        self.label = label
        self.plan = plan
        self.log = log
        self.screen = sys.stderr
        self.begun = time.time()
        self.shown = self.begun
        self.open_line = False
        self.durations = Durations(plan.store / "state" / "durations.jsonl")

    def say(self, text: str) -> None:
        """Print a line."""
        if self.open_line:
            self.screen.write("\r\033[K")
            self.open_line = False
        line = f"{self.count()} {self.stage:<8} {self.label}: {text}"
        print(line, file=self.screen, flush=True)
        self._write(line)

    def _write(self, line: str) -> None:
        if self.log is not None:
            print(time.strftime("%H:%M:%S"), line, file=self.log, flush=True)

    def report(self, what: str, done: int, total: int) -> None:
        """Show how far the work is; the callback of a job."""
        now = time.time()
        terminal = self.screen.isatty()
        if now - self.shown < (TERMINAL_SECONDS if terminal else LOG_SECONDS):
            return
        self.shown = now
        text = what
        if total and 0 < done <= total:
            left = (now - self.begun) / done * (total - done)
            text = f"{what}, {100 * done // total} %, {duration(left)} left"
        if terminal:
            line = f"\r\033[K{self.count()} {self.stage:<8} {self.label}: {text}"
            self.screen.write(line)
            self.screen.flush()
            self.open_line = True
            self._write(text)
        else:
            self.say(text)

    def _states(self) -> tuple[list[str], int]:
        """List the kinds of all work that waits, and count all work."""
        waiting = [
            artefact.kind
            for artefact in self.plan.artefacts.values()
            if not (self.plan.store / artefact.receipt).exists()
        ]
        return waiting, len(self.plan.artefacts)

    def count(self) -> str:
        """Say how many of all artefacts are finished."""
        waiting, total = self._states()
        width = len(str(total))
        return f"[{total - len(waiting):>{width}}/{total}]"

    def finish(self, adopted: bool = False) -> None:
        """Say that the work is done, and how long the rest will take."""
        seconds = time.time() - self.begun
        if adopted:
            self.say("was there already")
            return
        self.durations.add(self.kind, self.begun, seconds)
        waiting, _ = self._states()
        left = self.durations.left(waiting, run_started(self.plan))
        rest = f"; about {duration(left)} left for the rest" if waiting and left else ""
        self.say(f"done in {duration(seconds)}{rest}")


def start_file(plan: Plan) -> Path:
    """The file whose time says when the current run began."""
    return plan.store / "state" / "run-started"


def mark_start(plan: Plan) -> None:
    """Note that a run begins now."""
    path = start_file(plan)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def run_started(plan: Plan) -> float:
    """When did the current run begin?"""
    try:
        return start_file(plan).stat().st_mtime
    except FileNotFoundError:
        return 0.0


def status(plan: Plan) -> dict[str, Any]:
    """Count finished and planned artefacts by stage."""
    counts: dict[str, list[int]] = {}
    for artefact in plan.artefacts.values():
        entry = counts.setdefault(artefact.stage, [0, 0])
        entry[0] += (plan.store / artefact.receipt).exists()
        entry[1] += 1
    return counts
