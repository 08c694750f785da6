"""Random damage to raw files: a reader must refuse it, or not have needed what was damaged."""

import shutil
from collections.abc import Callable
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


def hurt(path: Path, rng: np.random.Generator) -> str:
    """Damage one file; says how."""
    old = path.read_bytes()
    kind = rng.choice(["cut off", "emptied", "bytes flipped", "a block of zeros"])
    new = bytearray(old)
    at = int(rng.integers(0, max(len(old), 1)))
    if kind == "cut off":
        new = new[:at]
    elif kind == "emptied":
        new = bytearray()
    elif kind == "bytes flipped":
        for place in rng.integers(0, max(len(old), 1), 8):
            new[place : place + 1] = bytes([new[place] ^ int(rng.integers(1, 256))])
    else:
        new[at : at + 512] = bytes(len(new[at : at + 512]))
    path.write_bytes(bytes(new))
    return f"{path.name}: {kind} (at {at} of {len(old)})"


def check_damage(
    make_job: Callable[..., Job],
    run: Run,
    root: Path,
    *job_arguments: Any,
    trials: int = 12,
    seed: int = 0,
    **job_options: Any,
) -> int:
    """Damage one file at a time, half of the time before the files are locked.

    Bytes that were locked when they were whole must be refused, or must not matter. Bytes that are
    damaged at first sight cannot always be told from good ones (a pixel is a pixel), but nothing
    other than our own error may come of them.

    Args:
        make_job: the fixture.
        run: the reader.
        root: intact raw files; left as they are.
        job_arguments: for `make_job`: reader, shape, options.
        job_options: likewise.

    Returns:
        how many of the damaged files were refused.
    """
    whole = make_job(*job_arguments, root=root, **job_options)
    run(whole)
    frames, index = content(whole)
    names = sorted(p.relative_to(root) for p in root.rglob("*") if p.is_file())
    refused = 0
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial])
        damaged = root.parent / f"damaged-{trial}"
        shutil.copytree(root, damaged)
        how = hurt(damaged / names[int(rng.integers(len(names)))], rng)
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
            found, its_index = content(job)
            if locked:
                assert np.array_equal(found, frames), how
                pd.testing.assert_frame_equal(its_index, index)
        finally:
            shutil.rmtree(damaged)
    return refused
