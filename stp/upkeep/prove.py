"""Prove that changed code computes the same: make an artefact again and compare it.

The older artefact's own inputs and recipe are used, so the code is all that can differ.
"""

import importlib
import shutil
import socket
import time
import uuid
from pathlib import Path
from typing import Any

from stp.core import store
from stp.core.errors import StpError
from stp.core.job import Job, Report, silent
from stp.plan.cells import Artefact, Plan
from stp.run.cluster import launch
from stp.run.runner import canonical_recipe, raw_roots
from stp.upkeep.differences import Comparison
from stp.upkeep.same import compare


def prove(
    plan: Plan, artefact: Artefact, older: Comparison, report: Report = silent, **runtime: Any
) -> tuple[list[str], bool]:
    """Make an artefact again with the code of now, and compare it with the older one.

    Args:
        plan: the plan that has the artefact.
        artefact: what the plan asks for now.
        older: what was made by the older code, and differs in nothing but code.
        report: progress.
        runtime: settings without influence on the result, over those of the configuration.

    Returns:
        what was compared, a line for each file; and whether all of it is the same.

    Raises:
        StpError: more than code differs, or the older artefact or its inputs are not there.
    """
    if not older.only_code:
        raise StpError(
            f"more than code differs between {artefact.folder} and {older.folder}",
            expected="the same recipe and inputs, made by another version of the code",
            remedy="`stp why` without --prove tells what differs",
        )
    inputs = {name: plan.store / given for name, given in older.receipt["inputs"].items()}
    for path in [plan.store / older.folder, *inputs.values()]:
        if not (path.is_file() if path.suffix == ".json" else store.is_complete(path)):
            raise StpError(
                f"{path} is not there as a whole",
                expected="the older artefact and all it was made from",
                remedy="choose a cell whose older artefacts are kept, or let it be made again",
            )
    scratch = plan.store / "state" / f".prove.{uuid.uuid4().hex[:8]}.partial"
    with store.lease(scratch):
        try:
            _make(plan, artefact, inputs, scratch, report, runtime)
            return _compared(plan.store / older.folder, scratch / "out")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _make(
    plan: Plan,
    artefact: Artefact,
    inputs: dict[str, Path],
    scratch: Path,
    report: Report,
    runtime: dict[str, Any],
) -> None:
    for name in ("out", "state"):
        (scratch / name).mkdir()
    core = importlib.import_module(artefact.core)
    job = Job(
        recipe=canonical_recipe(artefact),
        inputs=inputs,
        out=scratch / "out",
        state=scratch / "state",
        runtime={**plan.config.scale.runtime, **raw_roots(plan, artefact), **runtime},
        report=report,
    )
    ranks = plan.ranks(artefact)
    if ranks > 1:
        launch.run(core.__name__, job, ranks)
    else:
        core.run(job)


def _compared(old: Path, new: Path) -> tuple[list[str], bool]:
    found, same = [], True
    for name, how, difference in compare(old, new):
        same = same and difference is None
        found.append(f"{name}: {difference or f'identical {how}'}")
    return found, same


def evidence(artefact: Artefact, older: Comparison, found: list[str]) -> str:
    """Write down what was proven, for config/equivalent.yaml."""
    day = time.strftime("%Y-%m-%d")
    return (
        f"{artefact.stage} of {artefact.label} made again on {socket.gethostname()}, {day}, and "
        f"compared with {Path(older.folder).name} ({'; '.join(found)})"
    )
