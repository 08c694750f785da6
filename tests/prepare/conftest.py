"""A job for a reader, made from a folder of small raw files."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stp.core.job import Job
from stp.plan.checked_config import in_order


def write_lock(path: Path, root: Path, names: list[str]) -> Path:
    """Lock the files below `root`, as the fetch stage would."""
    contents = {name: (root / name).read_bytes() for name in sorted(names)}
    files = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in contents.items()
    }
    path.write_text(json.dumps({"dataset": "d", "release": "r", "source": "s", "files": files}))
    return path


@pytest.fixture
def make_job(tmp_path: Path) -> Callable[..., Job]:
    """make_job(reader, shape, options, context=2, horizon=1, root=..., names=None) -> Job.

    `names` are the raw files in the lock file; by default all below `root` (tmp_path / "raw").
    `lock_root` has the bytes that were locked, if they are not those of `root`. What else is named
    goes into the job's runtime.
    """

    def make(
        reader: str,
        shape: list[int],
        options: dict[str, Any],
        *,
        context: int = 2,
        horizon: int = 1,
        root: Path | None = None,
        names: list[str] | None = None,
        lock_root: Path | None = None,
        units: str = "1",
        **runtime: Any,
    ) -> Job:
        root = root or tmp_path / "raw"
        lock_root = lock_root or root
        if names is None:
            files = (p for p in lock_root.rglob("*") if p.is_file())
            names = [p.relative_to(lock_root).as_posix() for p in files]
        recipe = {
            **{"dataset": reader, "reader": reader, "release": "tiny", "source": "synthetic"},
            **{
                "shape": shape,
                "context": context,
                "horizon": horizon,
                "options": in_order(options),
            },
            "units": units,
        }
        out = tmp_path / f"out-{len(list(tmp_path.glob('out-*')))}"
        out.mkdir()
        lock = write_lock(tmp_path / "lock.json", lock_root, names)
        settings = {"raw_roots": [str(root)], **runtime}
        return Job(recipe, {"raw": lock}, out, tmp_path / "state", settings)

    return make
