"""A store as a lab has it that put the official bytes where they belong, without the bytes."""

import json
from collections.abc import Iterable
from pathlib import Path

from stp.core.lock import Checksum, header_of, lock_text
from stp.plan import data_origin
from stp.plan.cells import Plan
from stp.plan.manifest_types import Cell
from stp.plan.manifests import manifest


def write_official(plan: Plan, datasets: Iterable[str]) -> None:
    """Lock what is declared, and prepare as many clips as the complete release gives."""
    for name in datasets:
        raw, counts = plan.raw(name), plan.config.datasets[name].counts
        found, entries = {}, [file.model_dump() for file in raw.declared.files]
        for entry in entries:
            pattern = entry["path"].replace("**/*", "*")
            for number in range(entry["min_files"] if entry["many"] else 1):
                path = pattern.replace("*", str(number))
                found[path] = Checksum(entry["bytes"] or 1, entry["sha256"] or "0" * 64)
        write(plan.store / raw.lock, lock_text(
            header_of(name, raw.release, raw.declared.source), found, entries
        ))  # fmt: skip
        clips = {split: getattr(counts, split) for split in ("train", "val", "test")}
        data = plan.data(name)
        extras = {"clips": {split: n for split, n in clips.items() if n}}
        receipt = {"fingerprint": data.fingerprint, "extras": extras}
        write(plan.store / data.receipt, json.dumps(receipt))


def judged(plan: Plan, dimension: str) -> tuple[Cell, ...]:
    """The cells of a dimension, with what is known of their bytes."""
    return data_origin.cells_with_evidence(manifest(plan, dimension))


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
