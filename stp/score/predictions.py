"""Forecasts of a split beside what happened; those on disk are checked against the data first."""

from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
import pandas as pd

from stp.core.errors import StpError
from stp.data.prepared import Clips, Prepared
from stp.data.zarr_rows import REMEDY, MappedRows, read_metadata


class Samples(ABC):
    """The samples of one split: forecasts, and what was observed.

    Args:
        clips: of the split.
        shape: of all forecasts, (N, M, T, C, H, W).

    Attributes:
        index: the split's rows, in the order of the samples.
        shape: of all forecasts.
        members: forecasts of each sample, 1 unless the model draws several.
        leads: number of lead times T.
        context: number of context frames.
    """

    def __init__(self, clips: Clips, shape: tuple[int, ...]) -> None:
        self._clips = clips
        self.index = clips.index
        self.shape = shape
        self.members, self.leads = shape[1:3]
        self.context: int = clips.prepared.context

    @abstractmethod
    def forecasts(self, start: int, stop: int) -> np.ndarray:
        """Forecasts of samples start..stop-1, float32 (n, M, T, C, H, W)."""

    def read(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Frames of samples start..stop-1.

        Returns:
            Predicted, float32 (n, M, T, C, H, W), and observed, float32 (n, T, C, H, W).
        """
        length = self.context + self.leads
        observed = self._clips.read(range(start, stop), length=length)[:, self.context :]
        return self.forecasts(start, stop), observed

    def read_context(self, start: int, stop: int) -> np.ndarray:
        """Context frames of samples start..stop-1, float32 (n, context, C, H, W)."""
        return self._clips.read(range(start, stop), length=self.context)

    def frames(self) -> np.ndarray:
        """Number of each observed frame in the prepared frames, int64 (N, T)."""
        starts, strides = (self.index[key].to_numpy(np.int64) for key in ("start", "stride"))
        steps = self.context + np.arange(self.leads)
        return np.asarray(starts[:, None] + steps * strides[:, None])


class Predictions(Samples):
    """The predictions of one split, on disk.

    Args:
        folder: holds ``predictions.zarr`` and ``index.parquet``.
        data: the prepared data.
        split: the split that was predicted.
        interval: every which frame of its clips counts.

    Raises:
        StpError: something is missing, damaged, or does not fit the data.
    """

    def __init__(self, folder: Path, data: Prepared, split: str, interval: int = 1) -> None:
        store = Path(folder) / "predictions.zarr"
        attributes = read_metadata(store, "group")["attributes"]
        if attributes.get("interval", 1) != interval:
            raise StpError(
                f"{store}: predictions of every {attributes.get('interval', 1)}th frame",
                expected=f"interval {interval}, as the score recipe says",
                remedy="predict this cell again",
            )
        self._frames = MappedRows(store / "predictions")
        shape = self._frames.shape
        if len(shape) not in (5, 6) or shape[-3:] != data.shape:
            raise StpError(
                f"{store}: predictions have shape {shape}",
                expected=f"(samples, lead times, {', '.join(map(str, data.shape))}), as the data, "
                "or (samples, members, lead times, ...)",
                remedy="predict with a model that was trained on frames of this shape",
            )
        if attributes.get("units") != data.attrs.get("units"):
            raise StpError(
                f"{store}: units are {attributes.get('units')!r}",
                expected=f"{data.attrs.get('units')!r}, the units of {data.folder}",
                remedy="write predictions in the units of the dataset",
            )
        members = shape[1] if len(shape) == 6 else 1
        clips = data.clips(split, interval=interval)
        super().__init__(clips, (shape[0], members, *shape[-4:]))
        self._check_index(Path(folder) / "index.parquet", split)

    def forecasts(self, start: int, stop: int) -> np.ndarray:
        """Forecasts of samples start..stop-1, float32 (n, M, T, C, H, W)."""
        predicted = np.asarray(self._frames.read(start, stop), np.float32)
        return predicted.reshape(-1, *self.shape[1:])

    def _check_index(self, path: Path, split: str) -> None:
        try:
            found = pd.read_parquet(path, columns=["clip"], page_checksum_verification=True)[
                "clip"
            ].tolist()
        except (OSError, ValueError, KeyError) as error:
            raise StpError(
                f"{path}: {'missing' if isinstance(error, FileNotFoundError) else error}",
                expected="a Parquet table with the index row of each sample",
                remedy=REMEDY,
            ) from error
        wanted = self.index["clip"].tolist()
        if not len(found) == self.shape[0] == len(wanted):
            raise StpError(
                f"{path}: {len(found)} rows for {self.shape[0]} predicted samples",
                expected=f"{len(wanted)} of both, the clips of the split {split!r}",
                remedy="predict this split of this dataset again",
            )
        for sample, (clip, right) in enumerate(zip(found, wanted, strict=True)):
            if clip != right:
                raise StpError(
                    f"{path}: sample {sample} is clip {clip!r}",
                    expected=f"{right!r}: the clips of the split {split!r}, in order",
                    remedy="predict this split of this dataset again",
                )
        if not wanted:
            raise StpError(f"{path}: no samples", expected=f"clips in the split {split!r}")
