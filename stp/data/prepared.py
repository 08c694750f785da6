"""Read prepared data of frames as clips of a split, such as the test clips."""

import copy
import importlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stp.core.errors import ArtefactError, StpError
from stp.core.parquet import read_table
from stp.data.random_stream import uniform
from stp.data.zarr_rows import MappedRows, read_metadata

SPLITS = ("train", "val", "test")
COLUMNS = ("split", "clip", "start", "stride", "length", "cluster", "phase")


class Prepared:
    """A dataset of frames that ``stp prepare`` has written.

    Args:
        folder: folder with ``frames.zarr`` and ``index.parquet``.

    Attributes:
        attrs: attributes of the Zarr group, by name: source, units, normalisation, number of phases
            (``phases``; see `Clips`), ...
        shape: (C, H, W) of one frame.
        context: number of context frames.
        horizon: number of lead times to predict.
        channels: indices of the channels on disk, int64 (C,); see `only`.

    Raises:
        StpError: a file is missing, damaged or inconsistent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        store = self.folder / "frames.zarr"
        self.attrs: dict[str, Any] = read_metadata(store, "group")["attributes"]
        try:
            self.shape: tuple[int, int, int] = tuple(self.attrs["shape"])
            self.context: int = self.attrs["context"]
            self.horizon: int = self.attrs["horizon"]
        except KeyError as error:
            raise ArtefactError(
                store, f"attribute {error} is missing", expected="shape, context and horizon"
            ) from error
        self.channels = np.arange(self.shape[0])
        self.frames = MappedRows(store / "frames")
        if self.frames.shape[1:] != self.shape:
            raise ArtefactError(
                store,
                f"frames have shape {self.frames.shape[1:]}",
                expected=f"{self.shape}, as the attributes say",
            )
        self.index = self._read_index()

    def clips(self, split: str, subset: str = "all", interval: int = 1) -> "Clips":
        """The clips of a split ("train", "val", "test") or of a subset that the index names.

        Args:
            split: name of the split.
            subset: "all", or the name of a subset, which the index calls ``<subset>-<split>``.
            interval: spacing of the frames that are read: 1 for all frames of a clip, as in
                training, 2 for every second one.

        Raises:
            StpError: the split does not exist; or the interval is above 1, and the clips of the
                split are not fixed: they are random windows of videos, or are rendered on demand
                as in Moving-MNIST (`Clips`).
        """
        split = split if subset == "all" else f"{subset}-{split}"
        splits = list(dict.fromkeys([*SPLITS, *self.index["split"]]))
        if split not in splits:
            expected = ", ".join(splits)
            raise StpError(f"{self.folder}: there is no split {split!r}", expected=expected)
        return Clips(self, split, interval)

    def only(self, channels: np.ndarray) -> "Prepared":
        """Return a copy restricted to some channels.

        ``frames`` still has all channels; clips have the selected ones.

        Args:
            channels: indices of the channels, from 0, (C,).
        """
        part = copy.copy(self)
        part.channels = self.channels[channels]
        part.shape = (len(channels), *self.shape[1:])
        part.attrs = dict(self.attrs)
        if names := self.attrs.get("variables"):
            part.attrs["variables"] = [names[c] for c in channels]
        if normalisation := self.attrs.get("normalisation"):
            part.attrs["normalisation"] = {
                key: [value[c] for c in channels]
                if isinstance(value, list) and len(value) == self.shape[0]
                else value
                for key, value in normalisation.items()
            }
        return part

    def select_channels(self, patterns: Sequence[str]) -> "Prepared":
        """Return a copy restricted to the channels whose names match one of the patterns.

        Args:
            patterns: shell patterns of names; empty for all channels.

        Raises:
            StpError: no channel matches one of the patterns.
        """
        if not patterns:
            return self
        names = list(self.attrs.get("variables") or [])
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise StpError(
                    f"{self.folder}: no channel matches {pattern!r}",
                    expected=f"patterns of {', '.join(names) or 'none: channels have no names'}",
                    remedy="correct `channels` of the variant",
                )
        matching = [any(fnmatchcase(name, pattern) for pattern in patterns) for name in names]
        return self.only(np.flatnonzero(matching))

    def _read_index(self) -> pd.DataFrame:
        path = self.folder / "index.parquet"
        index = read_table(path, expected="a row for each clip").to_pandas()
        missing = [name for name in COLUMNS if name not in index.columns]
        if missing:
            raise ArtefactError(
                path, f"no column {', '.join(missing)}", expected=f"columns {', '.join(COLUMNS)}"
            )
        last = index["start"] + (index["length"] - 1) * index["stride"]
        beyond = index[(index["start"] < 0) | (index["stride"] < 1) | (last >= len(self.frames))]
        if len(beyond):
            raise ArtefactError(
                path,
                f"clip {beyond['clip'].iloc[0]!r} (and {len(beyond) - 1} more) lies outside the "
                "frames",
                expected=f"frames 0..{len(self.frames) - 1}",
            )
        return index


class Clips:
    """The clips of one split.

    A row of the index usually is one clip. There are two other kinds of splits, whose clips differ
    from epoch to epoch. Splits in the attribute ``random_windows`` (``{split: seed}``) have one row
    per video; a clip is a random window of it. Splits in the attribute ``virtual`` have no rows;
    their clips are rendered when they are read, as in Moving-MNIST.

    Args:
        prepared: the dataset.
        split: name of the split in the index.
        interval: spacing of the frames that are read: 1 for all frames of a clip, 2 for every
            second one.

    Attributes:
        index: a row for each clip (or video), numbered from 0; empty if clips are rendered on
            demand. The columns are `COLUMNS`: ``split``; ``clip``, a name; ``start``, index of the
            first frame in the store; ``stride``, number of stored frames from one frame that is
            read to the next; ``length``, number of frames with this stride; ``cluster``; and
            ``phase``, position of the first frame in a cycle, such as the calendar month, from 0.
        virtual: whether clips are rendered on demand, such as synthetic ones, and not stored.

    Raises:
        StpError: the interval is above 1, and clips are random windows or rendered on demand.
    """

    def __init__(self, prepared: Prepared, split: str, interval: int = 1) -> None:
        self.prepared = prepared
        self.split = split
        rows = prepared.index[prepared.index["split"] == split]
        self.index: pd.DataFrame = rows.reset_index(drop=True)
        options = prepared.attrs.get("virtual", {}).get(split)
        self.virtual = options is not None
        self._window_seed: int | None = prepared.attrs.get("random_windows", {}).get(split)
        if interval > 1:
            if self.virtual or self._window_seed is not None:
                raise StpError(
                    f"{prepared.folder}: clips of the split {split!r} are drawn, and cannot be "
                    f"read at every {interval}th frame",
                    expected="a split with fixed clips",
                    remedy="name another subset in the scale file",
                )
            self.index["stride"] *= interval
            self.index["length"] = (self.index["length"] - 1) // interval + 1
        self._starts = self.index["start"].to_numpy(np.int64)
        self._strides = self.index["stride"].to_numpy(np.int64)
        self._lengths = self.index["length"].to_numpy(np.int64)
        # value = stored * scale + offset; dividing by 1 / scale rounds v / 255 correctly.
        self._divisor = np.float32(1.0 / prepared.attrs.get("stored_scale", 1.0))
        self._offset = np.float32(prepared.attrs.get("stored_offset", 0.0))
        if options is not None:
            self._options = dict(options)
            self._count = int(self._options.pop("clips_per_epoch"))
            self._renderer = str(self._options.pop("renderer"))
            array = str(self._options.pop("array"))
            self._source = MappedRows(prepared.folder / "frames.zarr" / array)

    def __len__(self) -> int:
        return self._count if self.virtual else len(self.index)

    def read(
        self,
        rows: Sequence[int] | np.ndarray,
        *,
        length: int | None = None,
        frames: Sequence[int] | np.ndarray | None = None,
        epoch: int = 0,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Read the frames of clips by the indices of the clips.

        Args:
            rows: indices of B clips, 0..len-1, in any order.
            length: number of frames of a clip; by default context + horizon.
            frames: indices of the frames of a clip to read, from 0, ascending: the same for all
                clips, (T,), or for each clip, (B, T); by default all of them.
            epoch: epoch, from 0. It matters for splits whose clips are rendered on demand, or are
                random windows of videos: each epoch has other ones.
            out: array to read into; a new one by default.

        Returns:
            clips, float32 (B, T, C, H, W) in the dataset's units.

        Raises:
            IndexError: an index is out of range.
            StpError: a clip has fewer frames than ``length``.
        """
        n_frames = self.prepared.context + self.prepared.horizon if length is None else length
        numbers = self._check_rows(rows)
        if self.virtual:
            render = importlib.import_module(f"stp.data.{self._renderer}").render
            source = self._source.read(0, len(self._source))
            drawn = render(source, numbers, epoch=epoch, length=n_frames, **self._options)
            if frames is not None:
                drawn = drawn[np.arange(len(numbers))[:, None], np.asarray(frames, np.int64)]
            return self._in_units(drawn, np.empty(drawn.shape, np.float32) if out is None else out)
        if len(numbers) and n_frames > (shortest := int(self._lengths[numbers].min())):
            raise StpError(
                f"clips of {n_frames} frames were asked for, but the split {self.split!r} has some"
                f" with {shortest}",
                expected=f"at most {shortest} frames",
                remedy="shorten the horizon, or prepare longer windows (option span)",
            )
        read = np.arange(n_frames) if frames is None else np.asarray(frames, np.int64)
        each = np.broadcast_to(read, (len(numbers), read.shape[-1]))
        clips = np.empty((*each.shape, *self.prepared.shape), np.float32) if out is None else out
        strides = self._strides[numbers]
        starts = self._starts[numbers] + strides * self._window_offsets(numbers, n_frames, epoch)
        for clip, chosen, start, stride in zip(clips, each, starts, strides, strict=True):
            done = 0
            for run in np.split(chosen, np.flatnonzero(np.diff(chosen) != 1) + 1):
                first, last = start + run[0] * stride, start + run[-1] * stride
                stored = self.prepared.frames.read(int(first), int(last) + 1)[::stride]
                if len(self.prepared.channels) < stored.shape[1]:
                    stored = stored[:, self.prepared.channels]
                self._in_units(stored, clip[done : done + len(run)])
                done += len(run)
        return clips

    def phases(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Phase of the first frame of each clip, int64 (B,): 0..phases-1, e.g. calendar month.

        Args:
            rows: indices of B clips, 0..len-1, in any order.

        Raises:
            IndexError: an index is out of range.
        """
        numbers = self._check_rows(rows)
        if self.virtual:
            return np.zeros(len(numbers), np.int64)
        return self.index["phase"].to_numpy(np.int64)[numbers]

    def _window_offsets(self, numbers: np.ndarray, n_frames: int, epoch: int) -> np.ndarray | int:
        """Number of frames before the random window of each row."""
        if self._window_seed is None:
            return 0
        drawn = uniform(numbers, 1, seed=self._window_seed, epoch=epoch)[:, 0]
        return (drawn * (self._lengths[numbers] - n_frames + 1)).astype(np.int64)

    def _check_rows(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        numbers = np.asarray(rows, np.int64).reshape(-1)
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(self)):
            raise IndexError(f"clip {numbers.min()}..{numbers.max()} of {len(self)} {self.split}")
        return numbers

    def _in_units(self, stored: np.ndarray, out: np.ndarray) -> np.ndarray:
        np.divide(stored, self._divisor, out=out, dtype=np.float32, casting="unsafe")
        if self._offset:
            out += self._offset
        return out
