"""Read how a model's scores were made: receipts of all jobs, without machines and paths."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import overload

from stp.collect.query import run_query
from stp.collect.receipt_rows import rows_of_lock
from stp.collect.schema import RawFileRow
from stp.core.json_files import json_or_none
from stp.core.receipts import Json, Receipt, require_receipt

PARTS = ("data", "predictions", "scores", "perceptual")
"""Parts of a cell with a column ``<part>_folder``."""
STAGES = ("prepare", "train", "predict", "features", "score")
"""Stages, in the order of receipts."""
KEPT = ("stage", "path", "fingerprint", "label", "recipe", "inputs", "extras", "files")
PRIVATE = ("host", "user", "slurm_job", "visible_gpus")
"""Fields of a receipt about machine and user, which are left out."""

# An absolute path at the start of a word, whose folders are removed.
_PATH = r"""(^|[\s'"`(=,:])/(?:[^\s'"`/]+/)+"""


@dataclass(frozen=True)
class Lineage:
    """All artefacts behind a model's scores.

    Attributes:
        store: folder of the store.
        receipts: receipts of the artefacts, by path in the store, in the order of the stages.
        locks: contents of the lock files of raw files, by path in the store; None where a lock file
            is missing.
    """

    store: Path
    receipts: Mapping[str, Receipt]
    locks: Mapping[str, Json | None]

    def of_stage(self, stage: str) -> list[Receipt]:
        """List the receipts of the artefacts that one stage made, such as ``train``."""
        return [receipt for receipt in self.receipts.values() if receipt.stage == stage]

    def folder(self, receipt: Receipt) -> Path:
        """Folder of an artefact on this machine."""
        return self.store / receipt.path


def lineage(database: Path, model: str) -> Lineage:
    """Read the receipts of all jobs behind a model's scores, including data of training runs.

    Raises:
        StpError: there is no database, or a receipt is missing or damaged.
    """
    parts = ", ".join(f"[{part}_folder]" for part in PARTS)
    query = f"SELECT unnest(flatten([model_folders, {parts}])) AS folder FROM cells"
    _, rows = run_query(database, f"{query} WHERE model = ?", [model])
    folders = {Path(folder) for (folder,) in rows if folder}
    receipts = {folder: require_receipt(folder) for folder in sorted(folders)}
    folder, first = next(iter(receipts.items()))
    store = folder.parents[len(Path(first.path).parts) - 1]
    locks: dict[str, Json | None] = {}
    waiting = list(receipts.values())
    while waiting:
        for path in waiting.pop().inputs.values():
            if path.endswith(".json"):
                locks[path] = json_or_none(store / path)
            elif store / path not in receipts:
                waiting.append(receipts.setdefault(store / path, require_receipt(store / path)))
    ordered = sorted(
        receipts.values(), key=lambda receipt: (STAGES.index(receipt.stage), receipt.path)
    )
    return Lineage(
        store, {receipt.path: receipt for receipt in ordered}, dict(sorted(locks.items()))
    )


def public_receipt(receipt: Receipt) -> Json:
    """Remove account, machine, job and local paths from an artefact's receipt.

    Digests of single functions are left out as well: those of modules identify the code.
    """
    content = asdict(receipt)
    public = {key: content[key] for key in KEPT}
    public["code"] = {key: content["code"][key] for key in ("fingerprint", "modules")}
    public["provenance"] = {k: v for k, v in content["provenance"].items() if k not in PRIVATE}
    return {key: without_paths(value) for key, value in public.items()}


@overload
def without_paths(value: Json) -> Json: ...
@overload
def without_paths(value: object) -> object: ...
def without_paths(value: object) -> object:
    """Remove folders of this machine from all texts; the last part of a path stays."""
    if isinstance(value, str):
        return re.sub(_PATH, r"\1", value)
    if isinstance(value, Mapping):
        return {key: without_paths(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(inner) for inner in value]
    return value


def sql_without_paths(column: str) -> str:
    """Write a SQL expression that removes folders of this machine from the texts of a column.

    The last part of each path stays.

    Args:
        column: name of the column.
    """
    pattern = _PATH.replace("'", "''")
    return f"regexp_replace({column}, '{pattern}', '\\1', 'g')"


def raw_files(ancestors: Lineage) -> Iterable[RawFileRow]:
    """Yield a row for each raw file that the lock files list: name, size and checksum."""
    for path, lock in ancestors.locks.items():
        if lock and "files" in lock:
            yield from rows_of_lock(path, lock)


def environments(ancestors: Lineage) -> list[Json]:
    """List the different environments in which artefacts were made.

    Returns:
        for each environment: ``python``, ``packages``, ``system``, ``processor`` and ``device`` as
        in receipts, and ``artefacts``, the number of artefacts by stage.
    """
    alike: dict[str, Json] = {}
    for receipt in ancestors.receipts.values():
        provenance = public_receipt(receipt)["provenance"]
        where = {
            key: provenance.get(key)
            for key in ("python", "packages", "system", "processor", "device")
        }
        entry = alike.setdefault(json.dumps(where, sort_keys=True), {**where, "artefacts": {}})
        stage = receipt.stage
        entry["artefacts"][stage] = entry["artefacts"].get(stage, 0) + 1
    return list(alike.values())


def commits(ancestors: Lineage) -> list[str]:
    """List the hashes of the commits of stp that made the artefacts; "" for an unknown commit."""
    return sorted({receipt.provenance.commit or "" for receipt in ancestors.receipts.values()})
