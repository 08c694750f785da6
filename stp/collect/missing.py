"""Find planned cells (one model on one dataset each) without scores, and where they stopped.

Planned cells are listed in the manifests of all dimensions (results/plan). Their progress is read
from the state folders of the store, as in `stp status`. State folders are not read if every planned
cell is collected, so that the database of a finished run depends on its artefacts only.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from stp.collect.database import Gaps
from stp.collect.receipt_rows import AttemptedArtefact
from stp.collect.schema import MissingRow
from stp.core import store
from stp.core.receipts import RECEIPT, Receipt, read_receipt
from stp.plan.cell_key import CellKey
from stp.plan.manifest import ORIGIN_FIELDS, Cell, Manifest, load_manifest, title_of
from stp.run import failures
from stp.run.cluster import attempts
from stp.run.failures import Failure

STAGES = {
    "data": "prepare",
    "models": "train",
    "predictions": "predict",
    "features": "features",
    "scores": "score",
    "perceptual": "score",
}
"""Stage that makes each part of a cell, in the order of the work."""

NOT_RUN, RUNNING, NOT_USABLE, NOT_COLLECTED = "not run", "running", "not usable", "not collected"


@dataclass(frozen=True)
class Stopped:
    """The artefact (folder of one job) at which the work on a planned evaluation stopped.

    The fields are columns of `stp.collect.schema.MISSING`.

    Attributes:
        stage: stage of the missing artefact.
        how: state of the artefact: ``NOT_RUN``, ``RUNNING``, ``NOT_USABLE``, ``NOT_COLLECTED``, or
            how the last attempt ended.
        detail: reason for the state, if it is known.
        path: folder of the artefact, relative to the store.
        attempts: number of attempts so far.
        log: path of the last attempt's log, if it exists.
        ended: end of the last attempt, UTC.
    """

    stage: str
    how: str
    detail: str
    path: str
    attempts: int = 0
    log: str | None = None
    ended: datetime | None = None


def read_manifests(folder: Path, scale: str) -> list[Manifest]:
    """Read the manifests of a scale: for each table, the file that lists its evaluations.

    Args:
        folder: folder of manifests (results/plan); other files, and manifests of other scales, are
            ignored.
        scale: name of the scale.

    Returns:
        manifests in the order of their names; empty if the folder is missing.

    Raises:
        StpError: a manifest of the scale is incomplete.
    """
    manifests = []
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_bytes())
        except ValueError:
            continue
        entries = content if isinstance(content, dict) else {}
        identity = {"dimension": path.stem, "scale": scale}
        if entries.get("cells") and identity.items() <= entries.items():
            manifests.append(load_manifest(path))
    return manifests


def gaps(
    plans: Iterable[Manifest],
    collected: Iterable[Manifest],
    logs: Path,
    unusable: Mapping[CellKey, str] | None = None,
) -> Gaps:
    """Find planned cells (one model on one dataset each) that have no scores, with their states.

    Args:
        plans: manifests of all dimensions.
        collected: manifests of the collected dimensions.
        logs: folder of the logs of Snakemake's rules.
        unusable: reason why the scores of a cell cannot be used, by cell.

    Returns:
        rows, receipts and attempts for the database, in the order of the plans.
    """
    collected_keys = {cell.key for plan in collected for cell in plan.cells}
    rows = []
    finished: dict[str, Receipt] = {}
    attempted: dict[str, AttemptedArtefact] = {}
    for plan in plans:
        for cell in plan.cells:
            if cell.key in collected_keys:
                continue
            for folder, stage in _parts(cell):
                receipt = read_receipt(folder) if (folder / RECEIPT).is_file() else None
                path = _relative(plan, folder)
                if receipt is not None:
                    if receipt.fingerprint == folder.name:
                        finished[path] = receipt
                    continue
                before = attempts.read(_state(plan, folder))
                if before:
                    attempted[path] = AttemptedArtefact(path, stage, before)
            rows.append(_row(plan, cell, logs, (unusable or {}).get(cell.key)))
    return Gaps(rows, list(finished.values()), list(attempted.values()))


def _row(plan: Manifest, cell: Cell, logs: Path, unusable: str | None) -> MissingRow:
    return MissingRow(
        **vars(cell.key),
        tested=title_of(plan.names, cell.key),
        case_name=cell.key.case_name,
        **{name: getattr(cell, name) for name in ORIGIN_FIELDS},
        scale=plan.scale,
        **vars(_find_stop(plan, cell, logs, unusable)),
    )


def _parts(cell: Cell) -> list[tuple[Path, str]]:
    return [(f, stage) for part, stage in STAGES.items() for f in cell.folders([part])]


def _find_stop(plan: Manifest, cell: Cell, logs: Path, unusable: str | None) -> Stopped:
    """Find where a cell stopped: the first running or failed artefact, else the first missing."""
    scores = Path(cell.scores)
    open_ones = [
        _standing(plan, folder, stage, logs)
        for folder, stage in _parts(cell)
        if not (folder / RECEIPT).is_file()
        # The inputs of the scores may have been deleted since.
        and (stage == "score" or not (scores / RECEIPT).is_file())
    ]
    if unusable is not None and not open_ones:
        return Stopped("score", NOT_USABLE, unusable, _relative(plan, scores))
    if not open_ones:
        return Stopped("collect", NOT_COLLECTED, "", _relative(plan, scores))
    return next((stopped for stopped in open_ones if stopped.how != NOT_RUN), open_ones[0])


def _standing(plan: Manifest, folder: Path, stage: str, logs: Path) -> Stopped:
    state, path = _state(plan, folder), _relative(plan, folder)
    stopped = Stopped(stage, NOT_RUN, "", path)
    before = attempts.read(state)
    failure = failures.read(state)
    if before:
        last = before[-1]
        stopped = replace(
            stopped,
            how=last.how or attempts.KILLED,
            detail=last.detail or ("" if last.how else "vanished without a word"),
            attempts=len(before),
            ended=_time(last.ended),
        )
    elif failure:
        stopped = replace(stopped, how=attempts.FAILED, ended=_time(failure.time))
    if stopped.how == attempts.FAILED and failure and failure.error:
        stopped = replace(stopped, detail=failure.error.partition("\n")[0])
    if store.is_held(state):
        stopped = replace(stopped, how=RUNNING, detail="", ended=None)
    return replace(stopped, log=next(_logs(failure, stage, path, logs), None))


def _logs(failure: Failure | None, stage: str, path: str, logs: Path) -> Iterator[str]:
    """Yield existing logs: first the log that the failure names, then the log of the rule."""
    rule = logs / stage / f"{path.partition('/')[2]}.log"
    for log in (failure and failure.log, rule):
        if log and Path(log).is_file():
            yield str(log)


def _relative(plan: Manifest, folder: Path) -> str:
    root = Path(plan.store)
    return (folder.relative_to(root) if folder.is_relative_to(root) else folder).as_posix()


def _state(plan: Manifest, folder: Path) -> Path:
    return Path(plan.store, "state", _relative(plan, folder))


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
