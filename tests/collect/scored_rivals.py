"""Forecasts of the same clips by models that are rivals, and cells of their scores."""

from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter
from small_store import bare_cell
from toy_scored import CELL, Scored, write_scored

from stp.plan.manifest_types import Cell

CLUSTERS = 11
CLIPS = 24


def forecasts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scored]:
    """Forecasts of the same clips, one a little noisier, one of other seeds, one on other clips."""
    rng = np.random.default_rng(5)
    clips = rng.integers(0, 256, (CLIPS, 5, 1, 12, 12), dtype=np.uint8)
    clusters = [f"video{n % CLUSTERS}" for n in range(CLIPS)]
    made = {}
    for name, noise in {"good": 0.10, "noisy": 0.105, "far": 0.3, "elsewhere": 0.2}.items():
        error = rng.normal(0, noise, (CLIPS, 3, 1, 12, 12))
        names = [f"{name}{one}" for one in clusters] if name == "elsewhere" else clusters
        predicted = (clips[:, 2:] / 255 + error).astype(np.float32)
        root = tmp_path_factory.mktemp(name)
        made[name] = write_scored(root, clips, predicted, clusters=names)
    return made


NUMBERS = count()


def cell_of(**more: Any) -> Cell:
    """A cell of a manifest."""
    return TypeAdapter(Cell).validate_python(bare_cell(CELL, **more))


def scored(rival: Scored, *conventions: str) -> Cell:
    """Score, and return the cell of a manifest."""
    return cell_of(scores=str(rival.run(*conventions, out=f"out{next(NUMBERS)}")))


def value_of(cell: Cell, convention: str, threshold: float | None = None) -> float:
    rows = pq.read_table(Path(cell.scores) / "scores.parquet").to_pylist()
    (row,) = [
        row
        for row in rows
        if (row["convention"], row["lead"], row["statistic"], row["threshold"])
        == (convention, None, "mean", threshold)
    ]
    return float(row["value"])
