"""Jobs for readers, made from a folder of small raw files."""

import hashlib
import json
from pathlib import Path
from typing import Any

from stp.core.job import Job
from stp.plan.checked_config import in_order


def write_lock(path: Path, root: Path, names: list[str]) -> Path:
    """Lock the files below `root`, as the fetch stage would."""
    contents = {name: (root / name).read_bytes() for name in names}
    files = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in contents.items()
    }
    path.write_text(json.dumps({"dataset": "d", "release": "r", "source": "s", "files": files}))
    return path


def job_in(
    folder: Path,
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
    """Make a job of the stage that prepares data.

    Args:
        folder: of the lock file, the state and the outputs of all jobs made in it.
        reader: its name in the recipe.
        shape: channels, height and width of a frame.
        options: of the reader.
        context: frames.
        horizon: frames.
        root: folder of the raw files; ``raw`` in `folder` by default.
        names: raw files in the lock file; by default all below `lock_root`.
        lock_root: folder of the files that are locked, if it is not `root`.
        units: of the dataset.
        runtime: further settings of the job.
    """
    root = root or folder / "raw"
    lock_root = lock_root or root
    if names is None:
        files = sorted(p for p in lock_root.rglob("*") if p.is_file())
        names = [p.relative_to(lock_root).as_posix() for p in files]
    recipe = {
        **{"dataset": reader, "reader": reader, "release": "tiny", "source": "synthetic"},
        **{"shape": shape, "context": context, "horizon": horizon},
        **{"options": in_order(options), "units": units},
    }
    out = folder / f"out-{len(list(folder.glob('out-*')))}"
    out.mkdir()
    lock = write_lock(folder / "lock.json", lock_root, names)
    settings = {"raw_roots": [str(root)], **runtime}
    return Job(recipe, {"raw": lock}, out, folder / "state", settings)
