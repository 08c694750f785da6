"""Read the stored predictions of a split, and check them against the data.

Predictions may cover only a part of the samples, lead times or variables of the data:

- ``index.parquet`` lists the predicted clips; if these are not all clips of the split, the
  attribute ``complete`` of the Zarr group is false;
- the attribute ``leads`` lists the lead times of the array, from 1, and ``lead_times`` is the
  number of lead times in a complete forecast;
- the attribute ``variables`` names the channels of the array.
"""

from pathlib import Path
from typing import Any

import numpy as np

from stp.core.errors import ArtefactError, StpError
from stp.core.parquet import read_table
from stp.data.prepared import Prepared
from stp.data.zarr_rows import MappedRows, read_metadata
from stp.score.samples import ALL, Availability, FrameSamples


class Predictions(FrameSamples):
    """The stored predictions of one split.

    Args:
        folder: folder with ``predictions.zarr`` and ``index.parquet``.
        data: the prepared data.
        split: name of the predicted split.
        interval: spacing of the predicted frames, in frames of the data.

    Raises:
        StpError: a file is missing, damaged, or does not fit the data.
    """

    def __init__(self, folder: Path, data: Prepared, split: str, interval: int = 1) -> None:
        store = Path(folder) / "predictions.zarr"
        attributes = read_metadata(store, "group")["attributes"]
        if attributes.get("interval", 1) != interval:
            raise ArtefactError(
                store,
                f"predictions of every {attributes.get('interval', 1)}th frame",
                expected=f"interval {interval}, as the score recipe says",
            )
        self._frames = MappedRows(store / "predictions")
        shape = self._frames.shape
        leads, available = _availability(store, attributes, shape, data)
        expected = (len(available.channels), *data.shape[1:])
        if len(shape) not in (5, 6) or shape[-3:] != expected:
            raise StpError(
                f"{store}: predictions have shape {shape}",
                expected=f"(samples, lead times, {', '.join(map(str, expected))}), as the data, "
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
        shape = (shape[0], members, *shape[-4:])
        rows = _rows(
            Path(folder) / "index.parquet",
            clips.index["clip"].tolist(),
            shape[0],
            split,
            complete=attributes.get("complete", True),
        )
        super().__init__(clips, shape, rows=rows, leads=leads, available=available)

    def forecasts(self, start: int, stop: int, leads: slice = ALL) -> np.ndarray:
        """Read forecasts of samples start..stop-1, for the channels that the forecasts have.

        Returns:
            forecasts of M members at t lead times, float32 (n, M, t, C_available, H, W).
        """
        stored = self._frames.read(start, stop)
        predicted = stored.reshape(-1, *self.shape[1:])[:, :, leads]
        return np.ascontiguousarray(predicted, np.float32)


def _rows(path: Path, clips: list[str], samples: int, split: str, *, complete: bool) -> np.ndarray:
    """Indices of the predicted clips in the split, from ``index.parquet``.

    Args:
        path: path of ``index.parquet``.
        clips: names of the clips of the split.
        samples: number of predicted samples.
        split: name of the split.
        complete: whether predictions of all clips are required.
    """
    table = read_table(path, ["clip"], expected="the index row of each sample")
    predicted = table["clip"].to_pylist()
    again = "predict this split of this dataset again"
    if len(predicted) != samples or (complete and samples != len(clips)):
        raise StpError(
            f"{path}: {len(predicted)} rows for {samples} predicted samples",
            expected=f"{len(clips)} of both, the clips of the split {split!r}",
            remedy=again,
        )
    if not predicted:
        raise StpError(f"{path}: no samples", expected=f"clips in the split {split!r}")
    if complete:
        rows = np.arange(samples)
    else:
        number = {clip: i for i, clip in enumerate(clips)}
        rows = np.array([number.get(clip, -1) for clip in predicted])
        if (rows < 0).any() or (np.diff(rows) < 1).any():
            sample = int(np.argmax((rows < 0) | (np.diff(rows, prepend=-2) < 1)))
            raise StpError(
                f"{path}: sample {sample} is clip {predicted[sample]!r}",
                expected=f"clips of the split {split!r}, each once, in its order",
                remedy=again,
            )
    for sample, (clip, row) in enumerate(zip(predicted, rows, strict=True)):
        if clip != clips[row]:
            raise StpError(
                f"{path}: sample {sample} is clip {clip!r}",
                expected=f"{clips[row]!r}: the clips of the split {split!r}, in order",
                remedy=again,
            )
    return rows


def _availability(
    store: Path, attributes: dict[str, Any], shape: tuple[int, ...], data: Prepared
) -> tuple[int, Availability]:
    """Number of lead times of a complete forecast, and available lead times and channels."""
    names = data.attrs.get("variables") or []
    stored = attributes.get("variables") or names
    leads = attributes.get("leads") or list(range(1, shape[-4] + 1))
    horizon = attributes.get("lead_times", leads[-1])
    unknown = sorted(set(stored) - set(names))
    if unknown or len(set(stored)) < len(stored):
        raise StpError(
            f"{store}: variables are {', '.join(map(str, stored))}",
            expected=f"some of {', '.join(names)}, each once",
            remedy="name the variables as the prepared data do",
        )
    channels = (
        np.array([names.index(name) for name in stored]) if names else np.arange(data.shape[0])
    )
    if (np.diff(channels) < 1).any():
        ordered = ", ".join(name for name in names if name in stored)
        raise StpError(
            f"{store}: variables are {', '.join(stored)}",
            expected=f"the order of the data: {ordered}",
            remedy="write the channels in this order",
        )
    steps = np.array(leads, np.int64)
    if len(steps) != shape[-4] or (np.diff(steps, prepend=0) < 1).any() or steps[-1] > horizon:
        raise ArtefactError(
            store,
            f"lead times {leads} of {horizon}, and an array of {shape[-4]}",
            expected="leads: those of the array, ascending from 1, at most lead_times",
        )
    return int(horizon), Availability(steps - 1, channels)
