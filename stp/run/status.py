"""States of the artefacts and cells of a plan: done, running, failed, partly done or missing.

An artefact is the folder of results of one job. A cell is one model on one dataset in one setting.
States are determined from receipts and, for artefacts without a receipt, state folders. This is
fast enough to be repeated often, even on a network disk.
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
BAD_ENDS = (attempts.FAILED, attempts.KILLED, attempts.OUT_OF_MEMORY, attempts.TIME_LIMIT)


@dataclass(frozen=True)
class ArtefactState:
    """The state of an artefact (folder that a job writes).

    Attributes:
        state: done, running, failed, partly (begun, can be resumed) or missing.
        percent: progress of a running artefact in percent; None if unknown.
        where: description of host and Slurm job of a running artefact; else empty.
        failure: recorded failure of a failed artefact; else None.
        attempts: all attempts at an unfinished artefact, oldest first; else empty.
    """

    state: str
    percent: int | None = None
    where: str = ""
    failure: Failure | None = None
    attempts: list[RecordedAttempt] = field(default_factory=list)


def artefact_states(plan: Plan) -> dict[str, ArtefactState]:
    """Determine the states of all artefacts (folders that jobs write) of a plan, by folder."""
    root = str(plan.store)
    states = {}
    for folder, artefact in plan.artefacts.items():
        if os.path.exists(f"{root}/{artefact.receipt}"):  # noqa: PTH110 (thousands of them)
            states[folder] = ArtefactState(DONE)
        else:
            states[folder] = _unfinished_state(plan, artefact)
    return states


def _unfinished_state(plan: Plan, artefact: Artefact) -> ArtefactState:
    state = state_folder(plan, artefact.folder)
    try:
        names = {path.name for path in state.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return ArtefactState(MISSING)
    tried = attempts.read(state)
    if "lease.json" in names and store.is_held(state):
        return ArtefactState(
            RUNNING, _percent(attempts.read_progress(state)), _describe_host(tried), attempts=tried
        )
    if failures.FILE in names:
        failure = failures.read(state)
        if failure is None:
            failure = Failure(error=f"{state / failures.FILE} cannot be read")
        return ArtefactState(FAILED, failure=failure, attempts=tried)
    return ArtefactState(PARTLY if tried or "training.pt" in names else MISSING, attempts=tried)


def _percent(now: attempts.AttemptProgress | None) -> int | None:
    if now is None or not now.total:
        return None
    return min(100, int(100 * now.done / now.total))


def _describe_host(tried: list[RecordedAttempt]) -> str:
    if not tried:
        return ""
    job = f", Slurm job {tried[-1].slurm_job}" if tried[-1].slurm_job else ""
    return f"on {tried[-1].host}{job}"


def cell_state(made: CellArtefacts, states: dict[str, ArtefactState]) -> ArtefactState:
    """Determine the state of a cell (one model on one dataset in one setting) from its artefacts.

    A cell is done if its scores are. Otherwise, it is running or failed if one of its artefacts is.

    Prepared data belong to many cells: while they are being prepared, a cell does not count as
    running, but it has failed if the preparation has failed.

    Args:
        made: the cell and its artefacts.
        states: states of all artefacts, by folder.
    """
    states_of_cell = [states[a.folder] for a in made.artefacts if a is not made.data]
    scores = [states[a.folder] for a in made.artefacts if a.stage.startswith("score")]
    if all(step.state == DONE for step in scores):
        return scores[-1]
    for state in (RUNNING, FAILED):
        for step in (
            states_of_cell if state == RUNNING else [states[made.data.folder], *states_of_cell]
        ):
            if step.state == state:
                return step
    begun = any(step.state in (DONE, PARTLY) for step in states_of_cell)
    return ArtefactState(PARTLY if begun else MISSING)


def bad_attempts(
    plan: Plan, states: dict[str, ArtefactState], since: float
) -> list[tuple[Artefact, RecordedAttempt]]:
    """List the failed and killed attempts to make artefacts, the latest first.

    Args:
        plan: the plan.
        states: states of all artefacts of the plan, by folder.
        since: Unix time, such as the start of the current run; 0 for all attempts. It is compared
            with the time at which an artefact was finished. Attempts at artefacts that were
            finished earlier are left out. Attempts at unfinished artefacts are always listed,
            however old they are.

    Returns:
        pairs of an artefact and a failed attempt at it.
    """
    entries = []
    for folder, artefact in plan.artefacts.items():
        tried: Iterable[RecordedAttempt] = states[folder].attempts
        if states[folder].state == DONE:
            tried = _attempts_before_success(plan, artefact, since)
        entries += [(artefact, attempt) for attempt in tried if attempt.how in BAD_ENDS]
    return sorted(entries, key=lambda entry: -(entry[1].ended or 0))


def _attempts_before_success(plan: Plan, artefact: Artefact, since: float) -> list[RecordedAttempt]:
    path = plan.store / artefact.receipt
    try:
        if path.stat().st_mtime < since:
            return []
    except OSError:
        return []
    receipt = read_receipt(path.parent)
    return receipt.attempts if receipt else []


def describe(plan: Plan, states: dict[str, ArtefactState], since: float) -> dict[str, object]:
    """Make the content of ``stp status --format json``: the states of all artefacts and cells.

    Args:
        plan: the plan.
        states: states of all artefacts of the plan, by folder.
        since: start of the current run in Unix time. Failed attempts at artefacts that were
            finished earlier are left out. 0 to list all failed attempts.

    Returns:
        ``scale``, the name of the scale; ``store``, a path; ``time``, now in Unix time;
        ``artefacts``, a dict for each, with state, progress and failure; ``cells``, for each, its
        key and state; ``ended_badly``, the attempts of `bad_attempts`, the latest first.
    """
    return {
        "scale": plan.config.scale.scale,
        "store": str(plan.store),
        "time": time.time(),
        "artefacts": [
            {
                "folder": folder,
                "stage": artefact.stage,
                "label": artefact.label,
                "state": states[folder].state,
                "percent": states[folder].percent,
                "where": states[folder].where,
                "failure": failure and asdict(failure),
            }
            for folder, artefact in plan.artefacts.items()
            for failure in [states[folder].failure]
        ],
        "cells": [
            {**made.cell.__dict__, "state": cell_state(made, states).state} for made in plan.cells
        ],
        "ended_badly": [
            {"folder": artefact.folder, **asdict(attempt)}
            for artefact, attempt in bad_attempts(plan, states, since)
        ],
    }
