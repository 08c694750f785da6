"""Random damage to raw files: a reader must refuse it, or not have needed what was damaged."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stp.core.errors import StpError
from stp.core.job import Job
from stp.data.prepared import Prepared

Run = Callable[[Job], dict[str, Any]]


def content(job: Job) -> tuple[np.ndarray, pd.DataFrame]:
    """All frames and the index that a reader wrote."""
    data = Prepared(job.out)
    return np.array(data.frames.read(0, len(data.frames))), data.index


def files_in(root: Path) -> list[str]:
    """The files below a folder, by their paths; first one of each folder and suffix, and so on."""
    paths = sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return [path.as_posix() for path in _in_turn(paths)]


def _in_turn(paths: Iterable[Path]) -> list[Path]:
    earlier: Counter[tuple[Path, str]] = Counter()
    ranks = {}
    for path in paths:
        kind = (path.parent, path.suffix)
        ranks[path] = earlier[kind]
        earlier[kind] += 1
    return sorted(ranks, key=lambda path: (ranks[path], path))


def damage(path: Path, rng: np.random.Generator) -> str:
    """Damage one file, of which others may be hard links.

    Returns:
        a description of the damage.
    """
    old = path.read_bytes()
    kind = rng.choice(["cut off", "emptied", "bytes flipped", "a block of zeros"])
    new = bytearray(old)
    at = int(rng.integers(0, max(len(old), 1)))
    if kind == "cut off":
        new = new[:at]
    elif kind == "emptied":
        new = bytearray()
    elif kind == "bytes flipped":
        for position in rng.integers(0, max(len(old), 1), 8):
            new[position : position + 1] = bytes([new[position] ^ int(rng.integers(1, 256))])
    else:
        new[at : at + 512] = bytes(len(new[at : at + 512]))
    path.unlink()
    path.write_bytes(bytes(new))
    return f"{path.name}: {kind} (at {at} of {len(old)})"


def check_damage(
    make_job: Callable[..., Job],
    run: Run,
    root: Path,
    *job_arguments: Any,
    trials: int = 12,
    intact: Job | None = None,
    **job_options: Any,
) -> int:
    """Damage one file at a time, in turn, half of the time before the files are locked.

    A file that was locked when it was intact must be refused, or must not matter. A file that was
    damaged before it was locked cannot always be recognised (any byte is a valid pixel), but
    nothing other than an `StpError` may be raised.

    Args:
        make_job: the fixture.
        run: the reader.
        root: intact raw files; left as they are.
        job_arguments: for `make_job`: reader, shape, options.
        trials: number of files to damage.
        intact: a finished job on the intact files; run here unless given.
        job_options: keyword arguments for `make_job`.

    Returns:
        number of damaged files that were refused.
    """
    if intact is None:
        intact = make_job(*job_arguments, root=root, **job_options)
        run(intact)
    frames, index = content(intact)
    names = files_in(root)
    refused = 0
    for trial in range(trials):
        rng = np.random.default_rng([0, trial])
        damaged = root.parent / f"damaged-{trial}"
        shutil.copytree(root, damaged, copy_function=os.link)
        how = damage(damaged / names[trial // 2 % len(names)], rng)
        locked = trial % 2 == 0
        job = make_job(
            *job_arguments, root=damaged, lock_root=root if locked else damaged, **job_options
        )
        shutil.rmtree(job.state, ignore_errors=True)
        try:
            run(job)
        except StpError as error:
            assert str(error), how
            refused += 1
        else:
            new_frames, new_index = content(job)
            if locked:
                assert np.array_equal(new_frames, frames), how
                pd.testing.assert_frame_equal(new_index, index)
        finally:
            shutil.rmtree(damaged)
    return refused
