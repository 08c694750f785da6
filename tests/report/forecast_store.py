"""A results store whose data and predictions are there: patterns to compare pictures with."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from small_store import SmallStore, table_column, write_receipt

from stp.collect.refresh import build_database, collect_dimension
from stp.data.zarr_write import create_array, create_group
from stp.prepare.output import write_coordinate

CONTEXT, LEADS, SAMPLES = 2, 3, 5
LENGTH = CONTEXT + LEADS
ERRORS = (3.0, 1.0, 2.0, 5.0, 4.0)
"""Of the samples: number 0 is the median one, 3 the hardest, 1 the easiest."""
LAT, LON = (
    np.array([-30.0, -10.0, 10.0, 30.0]),
    np.array([150.0, 170.0, 190.0, 210.0, 230.0, 250.0]),
)


class ForecastStore(SmallStore):
    """Grey video (moving_mnist), colour video (bridge) and a map (enso), of five samples each."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        rng = np.random.default_rng(3)
        self.frames = {
            "moving_mnist": rng.integers(0, 256, (SAMPLES * LENGTH, 1, 6, 8), np.uint8),
            "bridge": rng.integers(0, 256, (SAMPLES * LENGTH, 3, 6, 8), np.uint8),
            "enso": rng.normal(20, 4, (SAMPLES * LENGTH, 1, 4, 6)).astype(np.float32),
        }
        self.manifest["tables"]["short_term"]["columns"]["bridge"] = [
            table_column("SSIM", "ssim.range2")
        ]
        self.manifest["names"]["datasets"]["bridge"] = "BridgeData"
        self.predicted: dict[tuple[str, str], np.ndarray] = {}
        self.rng = rng

    def truth(self, dataset: str, sample: int) -> np.ndarray:
        """All frames of a sample in its units, (context + leads, C, H, W)."""
        frames = self.frames[dataset][sample * LENGTH :][:LENGTH]
        return frames / np.float32(255) if frames.dtype == np.uint8 else frames

    def forecast(
        self, model: str, dataset: str, *, kept: bool = True, streamed: bool = False, **more: Any
    ) -> dict[str, Any]:
        """Add a model and its forecasts, noise around the truth."""
        convention = "rmse.per_frame" if dataset == "enso" else "ssim.range2"
        cell = self.add(
            model, dataset, {convention: {"mean": 0.5}}, setting=f"horizon-{LEADS}", **more
        )
        truth = np.stack([self.truth(dataset, s)[CONTEXT:] for s in range(SAMPLES)])
        width = 3.0 if dataset == "enso" else 0.3
        predicted = (truth + self.rng.normal(0, width, truth.shape)).astype(np.float32)
        self.predicted[model, dataset] = predicted
        self._scores(cell, convention)
        if streamed:
            Path(cell["predictions"], "artefact.json").unlink()
            cell["predictions"], cell["kept"] = None, SAMPLES
        if kept:
            self.keep(Path(cell["scores" if streamed else "predictions"]), predicted)
        return cell

    def _data(self, dataset: str, folder: Path) -> None:
        if (folder / "frames.zarr").exists():
            return
        frames = self.frames[dataset]
        shape = list(frames.shape[1:])
        attrs: dict[str, Any] = {"shape": shape, "context": CONTEXT, "horizon": LEADS}
        attrs |= {"source": "synthetic", "units": "1"}
        if frames.dtype == np.uint8:
            attrs |= {"stored_scale": 1 / 255, "fps": 25}
        else:
            attrs |= {"variables": ["sst"], "units": "degC"}
        group = create_group(folder / "frames.zarr", attrs)
        dims = ("frame", "channel", "y", "x")
        create_array(group, "frames", frames.shape, frames.dtype, dims, (5, *shape))[:] = frames
        if dataset == "enso":
            write_coordinate(group, "lat", "y", LAT, units="degrees_north")
            write_coordinate(group, "lon", "x", LON, units="degrees_east")
        self.index.to_parquet(folder / "index.parquet")

    @property
    def index(self) -> pd.DataFrame:
        return pd.DataFrame(
            [("test", f"clip-{i}", i * LENGTH, 1, LENGTH, "v", 0) for i in range(SAMPLES)],
            columns=["split", "clip", "start", "stride", "length", "cluster", "phase"],
        )

    def _scores(self, cell: dict[str, Any], convention: str) -> None:
        folder = Path(cell["scores"])
        path = folder / "sample_scores.parquet"
        schema = pq.read_schema(path)
        column = pa.list_(pa.float64())
        if "mse.pixel_mean" not in schema.names:
            schema = schema.append(pa.field("mse.pixel_mean", column))
        rows = [
            {
                **cell["key"],
                "sample": sample,
                "clip": f"clip-{sample}",
                "cluster": "v",
                convention: [0.5 + sample, 0.6 + sample, 0.7 + sample],
                "mse.pixel_mean": [error - 1, error, error + 1],
            }
            for sample, error in enumerate(ERRORS)
        ]
        pq.write_table(pa.Table.from_pylist(rows, schema), path)
        write_receipt(folder, "score")

    def keep(
        self, folder: Path, predicted: np.ndarray, samples: tuple[int, ...] = tuple(range(SAMPLES))
    ) -> None:
        """Write predictions, of some samples only."""
        rows = list(samples)
        group = create_group(folder / "predictions.zarr", {"interval": 1})
        dims = ("sample", "lead", "channel", "y", "x")
        shape = (len(rows), *predicted.shape[1:])
        array = create_array(group, "predictions", shape, np.float32, dims, (1, *shape[1:]))
        array[:] = predicted[rows]
        numbers = create_array(group, "sample", (len(rows),), np.int64, ("sample",), (len(rows),))
        numbers[:] = np.array(rows)
        self.index.iloc[rows].to_parquet(folder / "index.parquet", index=False)

    def database(self) -> Path:
        """Build the results store, unless it is there."""
        database = self.folder / "results" / "results.duckdb"
        if database.exists():
            return database
        for cell in self.cells:
            self._data(cell["key"]["tested_on"], Path(cell["data"]))
        collected = database.parent / "collected"
        collect_dimension(self.write(), collected / "short_term.parquet")
        build_database(collected, database)
        return database


def filled(folder: Path) -> ForecastStore:
    """Two models of each dataset; the predictions of one of them are not kept on the map."""
    store = ForecastStore(folder)
    for dataset in ("moving_mnist", "bridge", "enso"):
        store.forecast("persistence", dataset)
        store.forecast("convlstm", dataset, seed=0, kept=dataset != "enso")
    return store
