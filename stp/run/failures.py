"""Records of failures: the error of the last attempt to make an artefact."""

import contextlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from stp.core.disk import write_text
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan

FILE = "failure.json"
"""Name of the record in the state folder of the artefact; a success removes the file."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A failed attempt to run a job, with its error.

    Attributes:
        stage: stage of the artefact.
        label: readable name of the artefact.
        folder: folder of the artefact, relative to the store.
        error: message of the error, with one or several lines.
        log: path of the log; None without a log.
        time: Unix time of the failure; None if unknown.
    """

    stage: str = ""
    label: str = ""
    folder: str = ""
    error: str
    log: str | None = None
    time: float | None = None


def record(state: Path, artefact: Artefact, error: BaseException, log: Path | None) -> None:
    """Record a failure in a file, which tables with gaps show.

    If the file cannot be written, nothing is recorded.

    Args:
        state: state folder of the artefact.
        artefact: artefact that the attempt failed to make.
        error: error that ended the attempt.
        log: path of the log; None without a log.
    """
    failure = Failure(
        stage=artefact.stage,
        label=artefact.label,
        folder=artefact.folder,
        error=str(error) or type(error).__name__,
        log=str(log) if log else None,
        time=time.time(),
    )
    with contextlib.suppress(OSError):
        write_text(state / FILE, json.dumps(asdict(failure), indent=1))


def read(state: Path) -> Failure | None:
    """Read the record of a failure in a state folder; None if it is missing or damaged."""
    try:
        return Failure(**json.loads((state / FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def of_plan(plan: Plan) -> dict[str, Failure]:
    """Read the failures of a plan's unfinished artefacts.

    Returns:
        the failure of each unfinished artefact that has a readable record of one, by the folder of
        the artefact, relative to the store.
    """
    records = {}
    for artefact in plan.artefacts.values():
        if (plan.store / artefact.receipt).exists():
            continue
        failure = read(plan.store / "state" / artefact.folder)
        if failure is not None:
            records[artefact.folder] = failure
    return records
