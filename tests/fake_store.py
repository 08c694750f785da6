"""A small store: artefacts of a real plan, with receipts like those of the runner."""

import json
import os
import time
from pathlib import Path
from typing import Any

from stp.core import store
from stp.core.fingerprint import definitions_of
from stp.core.receipts import parse_receipt
from stp.data import zarr_rows
from stp.plan.artefacts import Artefact, Raw
from stp.plan.cells import Plan

TINY = Path(__file__).parent / "workflow" / "tiny.yaml"
DAY = 24 * 3600.0


def small_plan(folder: Path, monkeypatch: Any) -> Plan:
    """The tiny plan, with a store and raw files below a folder."""
    monkeypatch.setenv("STP_STORE_DIR", str(folder / "store"))
    monkeypatch.setenv("STP_RAW_DIR", str(folder / "raw"))
    return Plan.load(TINY)


def pick(plan: Plan, stage: str, model: str = "", dataset: str = "enso") -> Artefact:
    """Find the artefact of a stage, a model and a dataset."""
    return next(
        artefact
        for artefact in plan.artefacts.values()
        if artefact.work == f"{stage} {model}".rstrip() and artefact.dataset == dataset
    )


def finish(plan: Plan, artefact: Artefact, days_old: float = 0, **receipt: Any) -> Path:
    """Publish an artefact that contains its label, without its inputs.

    Args:
        plan: the plan.
        artefact: of the plan.
        days_old: its age in days.
        receipt: values that replace those of its receipt.
    """
    final = plan.store / artefact.folder
    temporary = store.temporary_folder(final)
    (temporary / "data").mkdir()
    (temporary / "data" / "file.txt").write_text(artefact.label)
    moment = time.time() - days_old * DAY
    content = {
        "stage": artefact.stage,
        "path": artefact.folder,
        "fingerprint": artefact.fingerprint,
        "label": artefact.label,
        "recipe": artefact.recipe,
        "inputs": {
            name: value.lock if isinstance(value, Raw) else value.folder
            for name, value in artefact.inputs.items()
        },
        "code": {
            "fingerprint": artefact.code.fingerprint,
            "modules": dict(artefact.code.modules),
            "definitions": definitions_of(artefact.code.modules, plan.source),
        },
        "provenance": {"host": "node7", "seconds": 61.0, "finished": moment},
        "extras": {},
        "attempts": [],
    }
    zarr_rows.seal_arrays(temporary)
    assert store.publish(temporary, final, parse_receipt(json.dumps({**content, **receipt})))
    grow_old(final, days_old)
    return final


def finish_all(plan: Plan, days_old: float = 0) -> None:
    """Publish every artefact of a plan, and lock its raw files."""
    for artefact in plan.artefacts.values():
        finish(plan, artefact, days_old)
        raw = artefact.inputs.get("raw")
        if isinstance(raw, Raw):
            lock_raw(plan.store / raw.lock, raw.dataset)


def lock_raw(path: Path, dataset: str, digit: str = "a") -> None:
    """Write the lock file of one synthetic raw file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files = {f"{dataset}/file.nc": {"bytes": 5, "sha256": digit * 64}}
    path.write_text(json.dumps({"dataset": dataset, "files": files}))


def grow_old(folder: Path, days: float) -> None:
    """Set back the times of a folder and of all that it contains."""
    moment = time.time() - days * DAY
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (moment, moment))


def hold(state: Path, **attempt: Any) -> None:
    """Let this process hold the lease of an artefact, as its first attempt."""
    state.mkdir(parents=True, exist_ok=True)
    host = os.uname().nodename
    (state / "lease.json").write_text(json.dumps({"host": host, "pid": os.getpid(), "token": "t"}))
    tried(state, host=host, **attempt)


def tried(state: Path, how: str | None = None, detail: str = "", **attempt: Any) -> None:
    """Append an attempt and its end, unless ``how`` is None: it still runs."""
    state.mkdir(parents=True, exist_ok=True)
    path = state / "attempts.jsonl"
    number = path.read_text().count('"start"') + 1 if path.exists() else 1
    start = {"event": "start", "attempt": number, "time": time.time(), "host": "node7", "pid": 1,
             "slurm_job": None, "memory_mb": None, "gpus": 0, **attempt}  # fmt: skip
    lines = [start]
    if how:
        lines.append({"event": "end", "attempt": number, "time": time.time(), "how": how,
                      "detail": detail, "peak_mb": 1})  # fmt: skip
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
