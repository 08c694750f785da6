"""Progress of the stages: current work, finished artefacts, remaining time.

Every command prints a line when it starts, when it ends, and every few seconds in between (on a
terminal, it updates a single line). Finished artefacts are counted by their receipts in the store,
so the counts are also right if jobs run on other machines.
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
"""Path of the list of tables, figures and reports of the current run, with its start time."""
PAGE_FOLDERS = ("tables", "figures", "report")
"""Folders of tables, figures and reports in the results of a scale."""
TERMINAL_SECONDS = 0.5
LOG_SECONDS = 10.0
COUNT_SECONDS = 300.0
"""Minimum seconds between two counts of receipts by a working job: on a cluster, hundreds of jobs
count them."""


class Progress:
    """Prints the progress of one command to the screen and to its log.

    Args:
        stage: name of the stage or command.
        label: subject of the command, such as ``convlstm on kth, seed 0``.
        plan: plan whose artefacts are counted.
        log: open file to which every line is written; None for no file.
        artefact: the artefact that is made, and whose duration is recorded; None for other work.
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

    def say(self, text: str, max_age: float = 0.0) -> None:
        """Print a line that begins with the count of finished artefacts, such as ``[ 3/72]``.

        Args:
            text: the rest of the line.
            max_age: age in seconds up to which the last count is reused.
        """
        if self.open_line:
            self.screen.write("\r\033[K")
            self.open_line = False
        line = f"{self.count(max_age)} {self.stage:<8} {self.label}: {text}"
        print(line, file=self.screen, flush=True)
        self._write(line)

    def _write(self, line: str) -> None:
        if self.log is not None:
            print(time.strftime("%H:%M:%S"), line, file=self.log, flush=True)

    def report(self, what: str, done: int, total: int) -> None:
        """Show the progress of the work; used as the callback ``Job.report``.

        Args:
            what: description of the counted items.
            done: number of finished items.
            total: number of all items.
        """
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
        """Kinds of work of all unfinished artefacts, and number of all artefacts."""
        needed = [a for a in self.plan.artefacts.values() if self.plan.is_wanted(a)]
        waiting = [a.work for a in needed if not (self.plan.store / a.receipt).exists()]
        return waiting, len(needed)

    def count(self, max_age: float = 0.0) -> str:
        """Format the numbers of finished and of all artefacts: ``[ 3/72]``.

        Args:
            max_age: age in seconds up to which the last count is reused.
        """
        if time.time() - self._counted_at >= max_age:
            waiting, total = self._states()
            self._counted = f"[{total - len(waiting):>{len(str(total))}}/{total}]"
            self._counted_at = time.time()
        return self._counted

    def finish(self, adopted: bool = False) -> None:
        """Print that the work is done, and the estimated remaining time of the run.

        Args:
            adopted: whether the artefact already existed; if so, no duration is recorded.
        """
        seconds = time.time() - self.begun
        if adopted:
            self.say("was there already")
            return
        kind = self.artefact.work if self.artefact else self.stage
        self.durations.add(kind, self.begun, seconds, **self._speed())
        waiting, _ = self._states()
        left = self.durations.seconds_left(
            [(kind, 1.0) for kind in waiting], run_started(self.plan)
        )
        rest = f"; about {duration(left)} left for the rest" if waiting and left else ""
        self.say(f"done in {duration(seconds)}{rest}")

    def _speed(self) -> dict[str, float]:
        """Amount of work, number of GPUs and of threads, from which speeds are estimated.

        Empty if the work makes no artefact, or if an earlier attempt did a part of it.
        """
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
    """Path of the file whose modification time is the start of the current run."""
    return plan.store / "state" / "run-started"


def mark_start(plan: Plan) -> None:
    """Record that a run begins now, for estimates of its remaining time."""
    path = start_file(plan)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


def run_started(plan: Plan) -> float:
    """Unix time of the start of the current run; 0 if there was none."""
    try:
        return start_file(plan).stat().st_mtime
    except FileNotFoundError:
        return 0.0


def write_pages(workflow: Any) -> None:
    """Record the tables, figures and reports that a run will make, so that they can be counted.

    Args:
        workflow: Snakemake's workflow (`snakemake.workflow.Workflow`) after the jobs are planned.
    """
    outputs = {str(job.output[0]) for job in workflow.dag.needrun_jobs() if job.output}
    pages = [path for path in sorted(outputs) if _is_page(Path(path))]
    PAGES.parent.mkdir(parents=True, exist_ok=True)
    write_text(PAGES, json.dumps({"since": time.time(), "pages": pages}) + "\n")


def _is_page(path: Path) -> bool:
    parts = path.parts
    return (
        len(parts) > 3
        and parts[0] == RESULTS.name
        and parts[2] in PAGE_FOLDERS
        and path.suffix != ""
    )


def count_pages(out: Path) -> str:
    """Count the finished tables, figures and reports of the current run.

    Args:
        out: path of the table, figure or report that was just made.

    Returns:
        numbers of finished and of all results, ``"[ 12/301] "``; empty if `out` is not part of the
        run.
    """
    recorded = json_or_none(PAGES)
    pages = [Path(path) for path in recorded["pages"]] if isinstance(recorded, dict) else []
    if out.with_suffix("") not in (path.with_suffix("") for path in pages):
        return ""
    finished, total = sum(_is_newer(path, recorded["since"]) for path in pages), len(pages)
    return f"[{finished:>{len(str(total))}}/{total}] "


def _is_newer(path: Path, since: float) -> bool:
    try:
        return path.stat().st_mtime >= since
    except OSError:
        return False
