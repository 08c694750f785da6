"""The receipts behind a model's scores, as they may be handed on: without machines and paths."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import overload

from stp.collect.query import answer
from stp.collect.schema import RawFileRow
from stp.core.json_files import json_or_none
from stp.core.receipts import Json, Receipt, require_receipt

PARTS = ("data", "predictions", "scores", "perceptual")
"""What a cell has one of at most, as its columns ``<part>_folder`` name it."""
STAGES = ("prepare", "train", "predict", "features", "score")
"""In this order."""
KEPT = ("stage", "path", "fingerprint", "label", "recipe", "inputs", "extras", "files")
PRIVATE = ("host", "user", "slurm_job", "visible_gpus")
"""What a receipt tells of the machine and the person, and nobody else needs."""

# A path of some machine, at the start of a word: its folders are nobody's business.
_PATH = r"""(^|[\s'"`(=,:])/(?:[^\s'"`/]+/)+"""


@dataclass(frozen=True)
class Lineage:
    """All artefacts behind a model's scores.

    Attributes:
        store: the folder of the store.
        receipts: by their path in the store, in the order of the stages.
        locks: of raw files, by their path in the store; None if a lock is not there any more.
    """

    store: Path
    receipts: Mapping[str, Receipt]
    locks: Mapping[str, Json | None]

    def of_stage(self, stage: str) -> list[Receipt]:
        """The receipts of one stage."""
        return [receipt for receipt in self.receipts.values() if receipt.stage == stage]

    def folder(self, receipt: Receipt) -> Path:
        """Where an artefact lies on this machine."""
        return self.store / receipt.path


def lineage(database: Path, model: str) -> Lineage:
    """Read the receipts of all that a model's scores are made from, data of trainings included.

    Raises:
        StpError: there is no database, or a receipt is missing or damaged.
    """
    parts = ", ".join(f"[{part}_folder]" for part in PARTS)
    behind = f"SELECT unnest(flatten([model_folders, {parts}])) AS folder FROM cells"
    _, found = answer(database, f"{behind} WHERE model = ?", [model])
    folders = {Path(folder) for (folder,) in found if folder}
    receipts = {folder: require_receipt(folder) for folder in sorted(folders)}
    folder, first = next(iter(receipts.items()))
    store = folder.parents[len(Path(first.path).parts) - 1]
    locks: dict[str, Json | None] = {}
    waiting = list(receipts.values())
    while waiting:
        for path in waiting.pop().inputs.values():
            if path.endswith(".json"):
                locks[path] = _lock(store / path)
            elif store / path not in receipts:
                waiting.append(receipts.setdefault(store / path, require_receipt(store / path)))
    order = {stage: number for number, stage in enumerate(STAGES)}
    ordered = sorted(
        receipts.values(), key=lambda one: (order.get(one.stage, len(order)), one.path)
    )
    return Lineage(store, {one.path: one for one in ordered}, dict(sorted(locks.items())))


def _lock(path: Path) -> Json | None:
    found: Json | None = json_or_none(path)
    return found


def shared(receipt: Receipt) -> Json:
    """The part of a receipt that is handed on: no account, machine, job or path of this machine.

    The digests of single functions are left out, too: those of modules say what the code was.
    """
    told = asdict(receipt)
    found = {key: told[key] for key in KEPT}
    found["code"] = {key: told["code"][key] for key in ("fingerprint", "modules")}
    found["provenance"] = {k: v for k, v in told["provenance"].items() if k not in PRIVATE}
    return {key: without_paths(value) for key, value in found.items()}


@overload
def without_paths(value: Json) -> Json: ...
@overload
def without_paths(value: object) -> object: ...
def without_paths(value: object) -> object:
    """Take the folders of this machine out of all texts; the last part of a path stays."""
    if isinstance(value, str):
        return re.sub(_PATH, r"\1", value)
    if isinstance(value, Mapping):
        return {key: without_paths(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(inner) for inner in value]
    return value


def sql_without_paths(column: str) -> str:
    """The same in SQL."""
    pattern = _PATH.replace("'", "''")
    return f"regexp_replace({column}, '{pattern}', '\\1', 'g')"


def raw_files(found: Lineage) -> Iterable[RawFileRow]:
    """All raw files that the locks name."""
    for path, lock in found.locks.items():
        told = lock or {}
        for name, file in sorted(told.get("files", {}).items()):
            yield RawFileRow(
                lock=path,
                dataset=told.get("dataset"),
                release=told.get("release"),
                source=told.get("source"),
                file=name,
                bytes=file.get("bytes"),
                sha256=file.get("sha256"),
            )


def environments(found: Lineage) -> list[Json]:
    """The distinct environments in which artefacts were made, and how many of which stage."""
    alike: dict[str, Json] = {}
    for receipt in found.receipts.values():
        made = shared(receipt)["provenance"]
        where = {
            key: made.get(key) for key in ("python", "packages", "system", "processor", "device")
        }
        entry = alike.setdefault(json.dumps(where, sort_keys=True), {**where, "artefacts": {}})
        stage = receipt.stage
        entry["artefacts"][stage] = entry["artefacts"].get(stage, 0) + 1
    return list(alike.values())


def commits(found: Lineage) -> list[str]:
    """The commits of the checkouts that made the artefacts; '' where none is known."""
    known = {one.provenance.commit or "" for one in found.receipts.values()}
    return sorted(known)
