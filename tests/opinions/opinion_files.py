"""A small database with known answers: raw files, and how they are prepared."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pyarrow.parquet as pq

from stp.core.job import Job
from stp.opinions import prepared
from stp.prepare import opinions

RECIPE = {
    "dataset": "pvqa",
    "source": "synthetic",
    "release": "synthetic",
    "kind": "opinions",
    "context": 4,
    "horizon": 16,
    "options": {"folder": "pvqa", "splits": 20},
}
SMALL = {
    "folder": "pvqa",
    "videos": 60,
    "sizes": 1,
    "raters": 40,
    "random": 3,
    "splits": 4,
    "seed": 1,
}


def locked(raw: Path) -> Path:
    """A lock of all files below a folder."""
    files = {
        str(path.relative_to(raw)): {
            "bytes": path.stat().st_size,
            "sha256": sha256(path.read_bytes()).hexdigest(),
        }
        for path in sorted(raw.rglob("*.*"))
        if path.is_file()
    }
    lock = raw.parent / f"{raw.name}.lock.json"
    lock.write_text(json.dumps({"files": files}))
    return lock


def prepare(raw: Path, out: Path, **options: object) -> dict[str, object]:
    """Run the reader on a raw folder."""
    out.mkdir()
    recipe = {**RECIPE, "options": {**RECIPE["options"], **options}}
    runtime = {"raw_roots": [str(raw)]}
    return dict(opinions.run(Job(recipe, {"raw": locked(raw)}, out, out, runtime)))


def some(data: Path, out: Path, chosen: Sequence[int]) -> Path:
    """Prepared data of some of the videos, without ratings and splits."""
    out.mkdir()
    (out / prepared.VIDEOS).symlink_to(data / prepared.VIDEOS)
    table = prepared.open_database(data, 4).table.take(list(chosen))
    pq.write_table(table, out / prepared.OPINIONS, write_page_checksum=True)
    return out
