"""Prove that changed code computes the same: make an artefact again and compare it.

The older artefact's own inputs and recipe are used, so the code is all that can differ.
"""

import shutil
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stp.core import store
from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.core.job import Job, Report, silent
from stp.core.provenance import describe_machine
from stp.core.receipts import checksum
from stp.data import zarr_rows
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run.runner import canonical_recipe, raw_roots, run_core, weight_files
from stp.upkeep.differences import Comparison
from stp.upkeep.same import compare


@dataclass(frozen=True)
class Compared:
    """A file of an artefact, or a Zarr store of it, beside the same made again.

    Attributes:
        name: of it.
        how: by bytes or by values.
        difference: the first that was found, or None.
        old: digest of the older one.
        new: digest of the one that was made again.
    """

    name: str
    how: str
    difference: str | None
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.name}: {self.difference or f'identical {self.how}'}"


def prove(
    plan: Plan, artefact: Artefact, older: Comparison, report: Report = silent, **runtime: Any
) -> list["Compared"]:
    """Make an artefact again with the code of now, and compare it with the older one.

    Args:
        plan: the plan that has the artefact.
        artefact: what the plan asks for now.
        older: what was made by the older code, and differs in nothing but code.
        report: progress.
        runtime: settings without influence on the result, over those of the configuration.

    Returns:
        what was compared: each file, and each Zarr store as a whole.

    Raises:
        StpError: more than code differs, or the older artefact or its inputs are not there.
    """
    if not older.only_code:
        raise StpError(
            f"more than code differs between {artefact.folder} and {older.folder}",
            expected="the same recipe and inputs, made by another version of the code",
            remedy="`stp why` without --prove tells what differs",
        )
    inputs = {name: plan.store / given for name, given in older.receipt.inputs.items()}
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
            zarr_rows.seal_arrays(scratch / "out")  # as the older one was
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
    job = Job(
        recipe=canonical_recipe(artefact),
        inputs=inputs,
        out=scratch / "out",
        state=scratch / "state",
        runtime={
            **plan.config.scale.runtime,
            **raw_roots(plan, artefact),
            **weight_files(plan, artefact),
            **runtime,
        },
        report=report,
    )
    run_core(plan, artefact, job)


def _compared(old: Path, new: Path) -> list[Compared]:
    return [
        Compared(name, how, difference, _digest(old / name), _digest(new / name))
        for name, how, difference in compare(old, new)
    ]


def _digest(path: Path) -> str:
    """The SHA-256 of a file, or over those of all files of a folder; empty where there is none."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        return digest({str(file.relative_to(path)): checksum(file) for file in files})
    return checksum(path) if path.is_file() else ""


def evidence(artefact: Artefact, older: Comparison, found: list[Compared]) -> dict[str, Any]:
    """Write down what was proven, for config/equivalent.yaml, but for the seal."""
    machine = describe_machine()
    return {
        "sample": f"{artefact.stage} of {artefact.label}",
        "older": older.folder,
        "commit": machine.commit,
        "host": machine.host,
        "packages": {name: machine.packages[name] for name in ("torch", "numpy")},
        "date": time.strftime("%Y-%m-%d"),
        "files": {one.name: {"how": one.how, "old": one.old, "new": one.new} for one in found},
    }
