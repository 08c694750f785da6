"""Progress for people: which piece of work, how many of how many, how long still.

Every verb prints a line when it starts and when it ends, and while it works a line every few
seconds (one that rewrites itself on a terminal). The counts come from the receipts in the
store, so they are right on one machine and on a cluster alike.
"""

import json
import sys
import time
from pathlib import Path
from typing import IO, Any

from stp.core.disk import write_text
from stp.core.json_files import json_or_none
from stp.core.receipts import read_receipt
from stp.core.units import duration
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run.costs.durations import Durations
from stp.run.costs.estimate import Costs
from stp.run.results import RESULTS

PAGES = RESULTS / "plan" / "pages.json"
"""Tables, figures and reports that the current run makes, and when it began."""
OF_PAGES = ("tables", "figures", "report")
"""Folders of these, below that of a scale."""
TERMINAL_SECONDS = 0.5
LOG_SECONDS = 10.0
COUNT_SECONDS = 300.0
"""While it works, a job looks at all receipts only this often: on a cluster hundreds do."""


class Progress:
    """Prints the progress of one verb to the screen and to its log.

    Args:
        stage: what is done.
        label: to what.
        plan: counts what is finished.
        log: a file that gets every line, or None.
        artefact: what is made, where it is one: its duration is remembered for its kind.
    """

    def __init__(
        self,
        stage: str,
        label: str,
        plan: Plan,
        log: IO[str] | None,
        artefact: Artefact | None = None,
    ) -> None:
        self.stage = stage
        self.artefact = artefact
        self.label = label
        self.plan = plan
        self.log = log
        self.screen = sys.stderr
        self.begun = time.time()
        self.shown = self.begun
        self.open_line = False
        self._counted, self._counted_at = "", 0.0
        self.durations = Durations(plan.store / "state" / "durations.jsonl")

    def say(self, text: str, older: float = 0.0) -> None:
        """Print a line, with a count that may be some seconds old."""
        if self.open_line:
            self.screen.write("\r\033[K")
            self.open_line = False
        line = f"{self.count(older)} {self.stage:<8} {self.label}: {text}"
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
            line = f"\r\033[K{self.count(COUNT_SECONDS)} {self.stage:<8} {self.label}: {text}"
            self.screen.write(line)
            self.screen.flush()
            self.open_line = True
            self._write(text)
        else:
            self.say(text, COUNT_SECONDS)

    def _states(self) -> tuple[list[str], int]:
        """List the kinds of all work that waits, and count all work."""
        wanted = [a for a in self.plan.artefacts.values() if self.plan.is_wanted(a)]
        waiting = [a.work for a in wanted if not (self.plan.store / a.receipt).exists()]
        return waiting, len(wanted)

    def count(self, older: float = 0.0) -> str:
        """Say how many of all artefacts are finished.

        Args:
            older: an answer that was given fewer seconds ago is given again.
        """
        if time.time() - self._counted_at >= older:
            waiting, total = self._states()
            self._counted = f"[{total - len(waiting):>{len(str(total))}}/{total}]"
            self._counted_at = time.time()
        return self._counted

    def finish(self, adopted: bool = False) -> None:
        """Say that the work is done, and how long the rest will take."""
        seconds = time.time() - self.begun
        if adopted:
            self.say("was there already")
            return
        kind = self.artefact.work if self.artefact else self.stage
        self.durations.add(kind, self.begun, seconds, **self._speed())
        waiting, _ = self._states()
        left = self.durations.left([(kind, 1.0) for kind in waiting], run_started(self.plan))
        rest = f"; about {duration(left)} left for the rest" if waiting and left else ""
        self.say(f"done in {duration(seconds)}{rest}")

    def _speed(self) -> dict[str, float]:
        """What says how fast the work was; nothing where an earlier attempt did a part of it."""
        if self.artefact is None:
            return {}
        receipt = read_receipt(self.plan.store / self.artefact.folder)
        if receipt is None or len(receipt.attempts) > 1:
            return {}
        costs = Costs(self.plan)
        on_cpu = receipt.extras.get("device", "cpu") == "cpu"
        return {
            "work": costs.workload.of(self.artefact).amount,
            "gpus": 0 if on_cpu else self.plan.gpus(self.artefact),
            "threads": costs.processors(self.artefact),
        }


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


def note_pages(workflow: Any) -> None:
    """Note which tables, figures and reports a run makes, so that each can be counted.

    Args:
        workflow: of Snakemake, when it is about to start jobs.
    """
    outputs = {str(job.output[0]) for job in workflow.dag.needrun_jobs() if job.output}
    pages = [path for path in sorted(outputs) if _is_page(Path(path))]
    PAGES.parent.mkdir(parents=True, exist_ok=True)
    write_text(PAGES, json.dumps({"since": time.time(), "pages": pages}) + "\n")


def _is_page(path: Path) -> bool:
    parts = path.parts
    return (
        len(parts) > 3 and parts[0] == RESULTS.name and parts[2] in OF_PAGES and path.suffix != ""
    )


def count_pages(out: Path) -> str:
    """Say how many tables, figures and reports of the current run are finished.

    Args:
        out: the one that was made last.

    Returns:
        ``"[ 12/301] "``; nothing where it is none of the run's.
    """
    noted = json_or_none(PAGES)
    pages = [Path(path) for path in noted["pages"]] if isinstance(noted, dict) else []
    if out.with_suffix("") not in (path.with_suffix("") for path in pages):
        return ""
    finished, total = sum(_is_since(path, noted["since"]) for path in pages), len(pages)
    return f"[{finished:>{len(str(total))}}/{total}] "


def _is_since(path: Path, since: float) -> bool:
    try:
        return path.stat().st_mtime >= since
    except OSError:
        return False
