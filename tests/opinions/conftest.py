"""A small database with known answers, prepared once."""

import json
from hashlib import sha256
from pathlib import Path

import pytest

from stp.core.job import Job, silent
from stp.fetch.generators import pvqa as generator
from stp.prepare import pvqa

RECIPE = {
    "dataset": "pvqa",
    "source": "synthetic",
    "release": "synthetic",
    "kind": "opinions",
    "context": 4,
    "horizon": 16,
    "options": {"splits": 20},
}
SMALL = {"videos": 60, "sizes": 1, "raters": 40, "random": 3, "splits": 4, "seed": 1}


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
    return dict(pvqa.run(Job(recipe, {"raw": locked(raw)}, out, out, runtime)))


@pytest.fixture(scope="session")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw files of 60 videos of 64 x 64 pixels, by 40 raters of whom 3 answer at random."""
    folder = tmp_path_factory.mktemp("opinions") / "raw"
    folder.mkdir()
    generator.generate(folder, SMALL, silent)
    return folder


@pytest.fixture(scope="session")
def data(raw: Path) -> Path:
    """The same, prepared from the ratings."""
    out = raw.parent / "data"
    receipt = prepare(raw, out, mos="ratings")
    (out / "extras.json").write_text(json.dumps(receipt))
    return out
