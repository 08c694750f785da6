"""How the cells of a plan stand: done, running, failed, begun or missing.

One look at the receipt of every artefact, and a second one at the state of those that have none:
fast enough to ask often, also on a network disk.
"""

import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from stp.core import store
from stp.core.receipts import RecordedAttempt, read_receipt
from stp.plan.artefacts import Artefact, CellArtefacts
from stp.plan.cells import Plan
from stp.run import failures
from stp.run.cluster import attempts
from stp.run.failures import Failure
from stp.run.runner import state_folder

DONE, RUNNING, FAILED, PARTLY, MISSING = "done", "running", "failed", "partly", "missing"
BADLY = (attempts.FAILED, attempts.KILLED, attempts.OUT_OF_MEMORY, attempts.TIME_LIMIT)


@dataclass(frozen=True)
class Standing:
    """How one artefact stands.

    Attributes:
        state: done, running, failed, partly (begun, and going on later) or missing.
        percent: of a running step, where it is known.
        where: host and Slurm job of a running step.
        failure: what the runner recorded.
        attempts: all attempts that did not end in success.
    """

    state: str
    percent: int | None = None
    where: str = ""
    failure: Failure | None = None
    attempts: list[RecordedAttempt] = field(default_factory=list)


def artefact_states(plan: Plan) -> dict[str, Standing]:
    """Look at all artefacts of a plan.

    Returns:
        how each stands, by its folder.
    """
    root = str(plan.store)
    standing = {}
    for folder, artefact in plan.artefacts.items():
        if os.path.exists(f"{root}/{artefact.receipt}"):  # noqa: PTH110 (thousands of them)
            standing[folder] = Standing(DONE)
        else:
            standing[folder] = _look_at_state(plan, artefact)
    return standing


def _look_at_state(plan: Plan, artefact: Artefact) -> Standing:
    state = state_folder(plan, artefact.folder)
    try:
        names = {path.name for path in state.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return Standing(MISSING)
    tried = attempts.read(state)
    if "lease.json" in names and store.is_held(state):
        return Standing(RUNNING, _percent(attempts.running(state)), _where(tried), attempts=tried)
    if failures.FILE in names:
        failure = failures.read(state)
        if failure is None:
            failure = Failure(error=f"{state / failures.FILE} cannot be read")
        return Standing(FAILED, failure=failure, attempts=tried)
    return Standing(PARTLY if tried or "training.pt" in names else MISSING, attempts=tried)


def _percent(now: attempts.Now | None) -> int | None:
    if now is None or not now.total:
        return None
    return min(100, int(100 * now.done / now.total))


def _where(tried: list[RecordedAttempt]) -> str:
    if not tried:
        return ""
    job = f", Slurm job {tried[-1].slurm_job}" if tried[-1].slurm_job else ""
    return f"on {tried[-1].host}{job}"


def of_cell(made: CellArtefacts, standing: dict[str, Standing]) -> Standing:
    """How a cell stands: what is being done for it, or what stopped it.

    Data belong to many cells: that they are there, or being prepared, does not begin a cell; but
    where they failed, all cells of the dataset did.
    """
    own = [standing[a.folder] for a in made.artefacts if a is not made.data]
    scores = [standing[a.folder] for a in made.artefacts if a.stage.startswith("score")]
    if all(step.state == DONE for step in scores):
        return scores[-1]
    for state in (RUNNING, FAILED):
        for step in own if state == RUNNING else [standing[made.data.folder], *own]:
            if step.state == state:
                return step
    begun = any(step.state in (DONE, PARTLY) for step in own)
    return Standing(PARTLY if begun else MISSING)


def ended_badly(
    plan: Plan, standing: dict[str, Standing], since: float
) -> list[tuple[Artefact, RecordedAttempt]]:
    """List the attempts that ended badly, the latest first.

    Args:
        plan: the plan.
        standing: of all its artefacts.
        since: receipts of artefacts that were finished earlier are not opened.
    """
    found = []
    for folder, artefact in plan.artefacts.items():
        tried: Iterable[RecordedAttempt] = standing[folder].attempts
        if standing[folder].state == DONE:
            tried = _attempts_before_success(plan, artefact, since)
        found += [(artefact, attempt) for attempt in tried if attempt.how in BADLY]
    return sorted(found, key=lambda entry: -(entry[1].ended or 0))


def _attempts_before_success(plan: Plan, artefact: Artefact, since: float) -> list[RecordedAttempt]:
    path = plan.store / artefact.receipt
    try:
        if path.stat().st_mtime < since:
            return []
    except OSError:
        return []
    receipt = read_receipt(path.parent)
    return receipt.attempts if receipt else []


def describe(plan: Plan, standing: dict[str, Standing], since: float) -> dict[str, object]:
    """Everything that ``stp status`` shows, for machines."""
    return {
        "scale": plan.config.scale.scale,
        "store": str(plan.store),
        "time": time.time(),
        "artefacts": [
            {
                "folder": folder,
                "stage": artefact.stage,
                "label": artefact.label,
                "state": standing[folder].state,
                "percent": standing[folder].percent,
                "where": standing[folder].where,
                "failure": failure and asdict(failure),
            }
            for folder, artefact in plan.artefacts.items()
            for failure in [standing[folder].failure]
        ],
        "cells": [
            {**made.cell.__dict__, "state": of_cell(made, standing).state} for made in plan.cells
        ],
        "ended_badly": [
            {"folder": artefact.folder, **asdict(attempt)}
            for artefact, attempt in ended_badly(plan, standing, since)
        ],
    }
