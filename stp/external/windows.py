"""Export the windows of a test for external models (`stp external windows`).

A window has the context frames that a model is given and, on request, the frames to predict.
"""

import json
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stp.core import store
from stp.core.disk import writing
from stp.core.errors import FileError, StpError
from stp.core.job import Report, report_nothing
from stp.data.prepared import Clips, Prepared
from stp.data.zarr_read import (
    array_attributes,
    array_dims,
    array_names,
    read_array,
    read_decoded,
)
from stp.external.evaluation import Evaluation
from stp.external.formats import FORMATS, Coordinate, Mp4Windows, NpzWindows, Writer, ZarrWindows
from stp.external.readme import readme
from stp.inspect.counts import prepared_folder
from stp.plan.cells import Plan
from stp.predict.windows import window_checksum, windows_checksum

VERSION = 1
"""Format version of `windows.json` and `index.csv`."""
DESCRIPTION = "windows.json"
INDEX = "index.csv"
BLOCK_BYTES = 64_000_000
"""Size of the frames in memory at a time."""


def clips_of(data: Prepared, evaluation: Evaluation) -> Clips:
    """Select the clips of an evaluation, which have its context frames and frames to predict.

    Args:
        data: prepared data of the test dataset.
        evaluation: evaluation with test or training windows, which names the subset, the horizon
            and the interval of frames.

    Raises:
        StpError: the clips are missing, redrawn in each epoch, or too short.
    """
    clips = data.clips(evaluation.subset, interval=evaluation.interval)
    is_random = evaluation.subset in data.attrs.get("random_windows", {})
    if clips.virtual or is_random or not len(clips):
        raise FileError(
            data.folder,
            f"the split {evaluation.subset!r} has no fixed windows: they are drawn in each epoch",
            remedy="name another --subset",
        )
    shortest, length = int(clips.index["length"].min()), data.context + evaluation.horizon
    if shortest < length:
        raise FileError(
            data.folder,
            f"the shortest {evaluation.subset} clip has {shortest} frames",
            expected=f"{data.context} context frames and {evaluation.horizon} lead times",
            remedy="ask for a shorter horizon, or prepare longer windows (option span)",
        )
    return clips


def sample_ranges(count: int, row_bytes: int) -> Iterator[range]:
    """Divide samples into ranges that fit into memory, of at most `BLOCK_BYTES` each.

    Args:
        count: number of samples.
        row_bytes: size of one sample in bytes.
    """
    size = max(1, BLOCK_BYTES // max(1, row_bytes))
    for start in range(0, count, size):
        yield range(start, min(start + size, count))


def export(
    plan: Plan,
    evaluation: Evaluation,
    out: Path,
    *,
    kind: str = "zarr",
    with_truth: bool = False,
    report: Report = report_nothing,
) -> int:
    """Write the windows of an evaluation, their index, `windows.json` and a README.

    Files are written beside ``out`` and renamed at the end; the next export removes files of an
    export that was killed.

    Args:
        plan: plan of the scale file.
        evaluation: evaluation with test or training windows.
        out: path of a new folder.
        kind: format of the files: zarr, npz or mp4.
        with_truth: whether to export also the frames to predict.
        report: callback for the progress.

    Returns:
        number of windows.

    Raises:
        StpError: the dataset is not prepared, the format cannot hold its frames, or ``out`` exists.
    """
    data = Prepared(prepared_folder(plan, evaluation.tested_on))
    clips = clips_of(data, evaluation)
    if kind not in FORMATS:
        raise StpError(f"unknown format {kind!r}", expected=" or ".join(FORMATS))
    if kind == "mp4" and not is_video(data):
        raise StpError(
            f"{evaluation.tested_on}: MP4 cannot hold these frames of {data.shape[0]} channels "
            f"in {data.attrs.get('units')!r}",
            remedy="use --format zarr or --format npz",
        )
    if out.exists():
        raise StpError(f"{out} exists", expected="a new folder")
    unfinished = out.with_name(f".{out.name}.unfinished")
    with writing(out):
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        try:
            described = _write(plan, data, clips, evaluation, unfinished, kind, with_truth, report)
            (unfinished / "README.md").write_text(readme(described, kind), encoding="utf-8")
            unfinished.rename(out)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return len(clips)


def _rate(data: Prepared, clips: Clips) -> Fraction:
    """Frames per second of windows; 10 if the rate is unknown or differs between windows."""
    fps, strides = data.attrs.get("fps"), set(clips.index["stride"])
    is_known = bool(fps) and not clips.virtual and len(strides) == 1
    return Fraction(fps / strides.pop() if is_known else 10).limit_denominator(1001)


def _write(
    plan: Plan,
    data: Prepared,
    clips: Clips,
    evaluation: Evaluation,
    out: Path,
    kind: str,
    with_truth: bool,
    report: Report,
) -> dict[str, Any]:
    count, context, leads = len(clips), data.context, evaluation.horizon
    length = context + (leads if with_truth else 0)
    shapes = {"context": (count, context, *data.shape)}
    shapes |= {"truth": (count, leads, *data.shape)} if with_truth else {}
    units = str(data.attrs.get("units", ""))
    about = {
        "dataset": evaluation.tested_on,
        "source": data.attrs.get("source"),
        "units": units,
        "conventions": "time counts the context frames, 0 is the latest; lead counts from 1",
    }
    coordinates = coordinates_of(data, count, leads if with_truth else 0)
    writer: Writer
    if kind == "zarr":
        writer = ZarrWindows(out, shapes, coordinates, about)
    elif kind == "npz":
        writer = NpzWindows(out, shapes, coordinates, about)
    else:
        writer = Mp4Windows(out, shapes, _rate(data, clips))
    values, checksums = ChannelStatistics(data.shape[0]), []
    row_bytes = 4 * length * int(np.prod(data.shape))
    for rows in sample_ranges(count, row_bytes):
        frames = clips.read(rows, length=length)
        writer.append("context", frames[:, :context])
        if with_truth:
            writer.append("truth", frames[:, context:])
        values.add(frames[:, :context])
        checksums += [window_checksum(window) for window in frames[:, :context]]
        report("windows written", rows[-1] + 1, count)
    writer.close()
    index = index_table(data, clips, checksums)
    index.to_csv(out / INDEX, index=False)
    described = {
        "format": VERSION,
        "scale": plan.config.scale.scale,
        "dataset": evaluation.tested_on,
        "release": data.attrs.get("release"),
        "source": data.attrs.get("source"),
        "data": {
            "fingerprint": plan.data(evaluation.tested_on).fingerprint,
            "recipe": plan.recipes.prepare_digest(evaluation.tested_on),
        },
        "evaluation": evaluation._asdict(),
        "samples": count,
        "context": context,
        "horizon": leads,
        "interval": evaluation.interval,
        "shape": list(data.shape),
        "units": units,
        "variables": data.attrs.get("variables"),
        "values": values.describe(),
        "normalisation": _normalisation(plan, data, evaluation),
        "with_truth": with_truth,
        "index_sha256": windows_checksum(zip(index["clip"], index["window"], strict=True)),
    }
    (out / DESCRIPTION).write_text(json.dumps(described, indent=1) + "\n", encoding="utf-8")
    return described


class ChannelStatistics:
    """Lowest and highest value, mean and standard deviation of each channel, gathered by `add`.

    Args:
        channels: number of channels C.

    Attributes:
        count: number of values of each channel so far.
        sums: sum of these values, float64 (C,).
        squares: sum of their squares, float64 (C,).
        low, high: lowest and highest of them, float64 (C,).
    """

    def __init__(self, channels: int) -> None:
        self.count = 0
        self.sums, self.squares = np.zeros(channels), np.zeros(channels)
        self.low, self.high = np.full(channels, np.inf), np.full(channels, -np.inf)

    def add(self, frames: np.ndarray) -> None:
        """Add the values of frames to the statistics.

        Args:
            frames: frames, float (sample, frame, channel, y, x).
        """
        over = (0, 1, 3, 4)
        self.count += frames.size // frames.shape[2]
        self.sums += frames.sum(axis=over, dtype=np.float64)
        self.squares += np.square(frames, dtype=np.float64).sum(axis=over)
        self.low = np.minimum(self.low, frames.min(axis=over))
        self.high = np.maximum(self.high, frames.max(axis=over))

    def describe(self) -> dict[str, list[float]]:
        """List the statistics by name (low, high, mean, std), with a value for each channel."""
        mean = self.sums / self.count
        std = np.sqrt(np.maximum(self.squares / self.count - mean**2, 0))
        statistics = {"low": self.low, "high": self.high, "mean": mean, "std": std}
        return {key: [float(f"{v:.7g}") for v in value] for key, value in statistics.items()}


def is_video(data: Prepared) -> bool:
    """Whether frames are grey or colour pictures of brightness 0 to 1, which MP4 can hold."""
    is_bytes = data.frames.dtype == np.uint8
    return is_bytes and data.shape[0] in (1, 3) and not data.attrs.get("variables")


def index_table(data: Prepared, clips: Clips, checksums: list[str]) -> pd.DataFrame:
    """Make the table ``index.csv``, with one row for each exported sample.

    Args:
        data: prepared data of the clips.
        clips: the clips.
        checksums: checksum of the context frames of each sample.

    Returns:
        a table with these columns: ``sample``, number of the sample, from 0; ``clip`` and
        ``cluster``, names; ``start``, index of the clip's first frame in the prepared data;
        ``stride``, number of stored frames from one frame of the clip to the next; ``phase``,
        position of the first frame in a cycle, such as the calendar month, from 0; ``time``, time
        of the last context frame, only if times are known; and ``window``, the checksum.
    """
    table = clips.index[["clip", "cluster", "start", "stride", "phase"]]
    table = table.astype({"clip": str, "cluster": str})
    table.insert(0, "sample", np.arange(len(table)))
    folder = data.folder / "frames.zarr"
    if (folder / "time").is_dir():
        latest = table["start"] + (data.context - 1) * table["stride"]
        table["time"] = read_decoded(folder / "time")[latest.to_numpy()]
    table["window"] = checksums
    return table


def coordinates_of(data: Prepared, samples: int, leads: int) -> dict[str, Coordinate]:
    """List the coordinates of the axes of exported windows, such as lead times and latitudes.

    Args:
        data: prepared data of the clips.
        samples: number of samples.
        leads: number of exported frames to predict; 0 if only context frames are exported.

    Returns:
        coordinates by name. ``sample`` counts from 0, ``lead`` from 1; ``time`` is 0 for the last
        context frame and negative for earlier ones. Others, such as latitudes, are those of the
        prepared data.
    """
    numbers = {"sample": np.arange(samples), "time": np.arange(1 - data.context, 1)}
    numbers |= {"lead": np.arange(1, leads + 1)} if leads else {}
    coordinates = {name: Coordinate((name,), values, {}) for name, values in numbers.items()}
    store_folder = data.folder / "frames.zarr"
    for name in array_names(store_folder):
        dims = array_dims(store_folder / name)
        if dims and set(dims) <= {"channel", "y", "x"} and name not in coordinates:
            values = read_array(store_folder / name)
            coordinates[name] = Coordinate(dims, values, array_attributes(store_folder / name))
    return coordinates


def _normalisation(plan: Plan, data: Prepared, evaluation: Evaluation) -> Any:
    """Normalisation constants of the training data; None if they are unknown."""
    if evaluation.trained_on == evaluation.tested_on:
        return data.attrs.get("normalisation")
    folder = plan.store / plan.data(evaluation.trained_on).folder
    return Prepared(folder).attrs.get("normalisation") if store.is_complete(folder) else None
