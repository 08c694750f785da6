"""A plan at a small scale, and prepared data that are written by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from stp.core import store
from stp.core.receipts import Receipt
from stp.data.zarr_write import create_array, create_group
from stp.plan.cells import Plan
from stp.prepare.output import write_coordinate

COLUMNS = ["split", "clip", "start", "stride", "length", "cluster", "phase"]
ROWS = [
    ("train", "a", 0, 1, 4, "v1", 0),
    ("train", "b", 4, 1, 4, "v1", 0),
    ("val", "c", 8, 1, 4, "v2", 0),
    ("test", "d", 12, 1, 4, "v3", 0),
    ("test", "e", 16, 1, 4, "v4", 0),
    ("strict", "e", 16, 1, 4, "v4", 0),
]


@pytest.fixture
def make_plan(tmp_path: Path, monkeypatch: Any) -> Callable[..., Plan]:
    """make_plan(**scale) -> Plan, with a store and raw files below tmp_path."""
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path / "raw"))
    monkeypatch.delenv("STP_RAW_MIRROR", raising=False)
    return lambda **scale: Plan.load({"scale": "small", "dimensions": {}, **scale})


@pytest.fixture
def write_prepared() -> Callable[..., Path]:
    """write_prepared(folder, rows=ROWS, frames=..., coordinates=..., **attrs) -> folder."""

    def write(
        folder: Path,
        rows: Any = ROWS,
        frames: np.ndarray | None = None,
        coordinates: Any = (),
        **attrs: Any,
    ) -> Path:
        if frames is None:
            frames = np.arange(20 * 6 * 8, dtype=np.uint8).reshape(20, 1, 6, 8)
        shape = list(frames.shape[1:])
        given = {"shape": shape, "context": 2, "horizon": 2, "source": "synthetic", **attrs}
        group = create_group(folder / "frames.zarr", given)
        dims = ("frame", "channel", "y", "x")
        array = create_array(group, "frames", frames.shape, frames.dtype, dims, (4, *shape))
        array[:] = frames
        for name, dim, values, more in coordinates:
            write_coordinate(group, name, dim, values, **more)
        pd.DataFrame(rows, columns=COLUMNS).to_parquet(folder / "index.parquet")
        return folder

    return write


@pytest.fixture
def publish(write_prepared: Callable[..., Path]) -> Callable[..., Path]:
    """publish(plan, dataset, **as for write_prepared) -> its finished folder in the store."""

    def finish(plan: Plan, name: str, **given: Any) -> Path:
        artefact = plan.data(name)
        final = plan.store / artefact.folder
        temporary = store.temporary_folder(final)
        write_prepared(temporary, **given)
        store.publish(temporary, final, Receipt(fingerprint=artefact.fingerprint))
        return final

    return finish
