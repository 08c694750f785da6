"""Why an artefact could not be made: the record that its last failed attempt leaves."""

import contextlib
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from stp.core.disk import write_text
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan

FILE = "failure.json"
"""In the state folder of the artefact; a success removes it."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What went wrong.

    Attributes:
        stage, label, folder: of the artefact; its folder is relative to the store.
        error: the message, of one line or several.
        log: path of the log; None if there was none.
        time: Unix time; None if it is not known.
    """

    stage: str = ""
    label: str = ""
    folder: str = ""
    error: str
    log: str | None = None
    time: float | None = None


def record(state: Path, artefact: Artefact, error: BaseException, log: Path | None) -> None:
    """Leave a record that tables with gaps and people can read; never hide the error itself."""
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
    """The record in a state folder; None where there is none that can be read."""
    try:
        return Failure(**json.loads((state / FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def of_plan(plan: Plan) -> dict[str, Failure]:
    """The records of all planned artefacts that are not there, by their folders."""
    found = {}
    for artefact in plan.artefacts.values():
        if (plan.store / artefact.receipt).exists():
            continue
        failure = read(plan.store / "state" / artefact.folder)
        if failure is not None:
            found[artefact.folder] = failure
    return found
