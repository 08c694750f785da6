"""Read and write prepared opinions: videos of several sizes, scores, ratings, and splits.

- ``videos.zarr``: for each size two arrays, ``predicted_<H>x<W>`` and ``true_<H>x<W>``, uint8
  (videos of this size, frame, y, x, channel); true futures are zero where unknown;
- ``opinions.parquet``: a row for each video;
- ``ratings.parquet``: a row for each rating, where ratings are known;
- ``splits.parquet``: a row for each video of each split of each family.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from stp.core.errors import FileError
from stp.core.parquet import read_table
from stp.data.zarr_rows import MappedRows

VIDEOS, OPINIONS, RATINGS = "videos.zarr", "opinions.parquet", "ratings.parquet"
SPLITS = "splits.parquet"
FAMILIES = {
    "published": "TrainTestSplit.csv is missing",
    "random": "there are no videos",
    "source": "there are no videos",
    "generator": "the model that made each video is not known",
}
"""Families of splits, each with the reason for tables where it has no splits."""

OPINION_COLUMNS = pa.schema(
    [
        ("video", pa.string()),
        ("dataset", pa.string()),
        ("mos", pa.float64()),
        ("ratings", pa.int64()),
        ("tags", pa.string()),
        ("family", pa.string()),
        ("generator", pa.string()),
        ("strength", pa.float64()),
        ("height", pa.int64()),
        ("width", pa.int64()),
        ("row", pa.int64()),
        ("has_truth", pa.bool_()),
    ]
)
"""``opinions.parquet``. ``mos``: opinion score from 0 to 100. ``tags``: visible damage, words
separated by spaces; ``family``: stochastic or deterministic; ``strength``: strength of the damage,
for generated videos. These three, ``generator`` and ``ratings`` are NULL if unknown. ``row``: index
in the arrays of the video's size."""

RATING_COLUMNS = pa.schema(
    [
        ("rater", pa.string()),
        ("session", pa.string()),
        ("video", pa.string()),
        ("rating", pa.float64()),
        ("is_rejected", pa.bool_()),
    ]
)
"""``ratings.parquet``. ``is_rejected``: whether the rater was rejected."""

SPLIT_COLUMNS = pa.schema(
    [
        ("family", pa.string()),
        ("split", pa.int64()),
        ("video", pa.string()),
        ("is_test", pa.bool_()),
    ]
)
"""``splits.parquet``; ``split`` counts from 1."""


@dataclass(frozen=True)
class Video:
    """The frames of one video, as predicted and, if known, as they really were.

    Attributes:
        predicted: context and predicted frames, uint8 (T, H, W, 3).
        truth: context and true future, of the same shape; None if unknown.
    """

    predicted: np.ndarray
    truth: np.ndarray | None


@dataclass(frozen=True)
class Database:
    """Prepared videos, with the mean opinion scores that raters gave them; see `open_database`.

    Attributes:
        folder: folder of the prepared data.
        table: a row for each video with its mean opinion score, size and, where known, origin; the
            columns are `OPINION_COLUMNS`.
        context: number of observed frames of each video.
    """

    folder: Path
    table: pa.Table
    context: int

    def __len__(self) -> int:
        return len(self.table)

    @property
    def names(self) -> list[str]:
        """Names of the videos."""
        return [str(name) for name in self.table["video"].to_pylist()]

    @property
    def mos(self) -> np.ndarray:
        """Mean opinion scores, 0 to 100, of all videos, float64 (number of videos,)."""
        return np.asarray(self.table["mos"].to_numpy(), np.float64)

    def videos(self) -> Iterator[Video]:
        """Yield all videos in the order of the table; only one is in memory at a time.

        Raises:
            StpError: the arrays are damaged.
        """
        columns = ("height", "width", "row", "has_truth")
        arrays: dict[str, MappedRows] = {}
        for height, width, row, has_truth in zip(
            *(self.table[name].to_pylist() for name in columns), strict=True
        ):
            films = []
            for kind in ("predicted", "true") if has_truth else ("predicted",):
                name = f"{kind}_{height}x{width}"
                if name not in arrays:
                    arrays[name] = MappedRows(self.folder / VIDEOS / name)
                films.append(np.array(arrays[name].read(row, row + 1)[0]))
            yield Video(films[0], films[1] if has_truth else None)

    def splits(self, family: str) -> tuple[np.ndarray, np.ndarray]:
        """Read all splits of the videos into training and test videos, of one family.

        Args:
            family: a way to split the videos, a key of `FAMILIES`, such as ``random``.

        Returns:
            numbers of the S splits, from 1, int64 (S,); and whether each of V videos is a test
            video in each split, bool (S, V). S may be 0.

        Raises:
            StpError: the family is unknown.
        """
        path = self.folder / SPLITS
        table = read_table(path, SPLIT_COLUMNS)
        if family not in FAMILIES:
            expected = f"one of {', '.join(FAMILIES)}"
            raise FileError(path, f"no splits {family!r}", expected=expected)
        chosen = table.filter(pc.field("family") == family)
        numbers = chosen["split"].to_numpy()
        number_of = {name: number for number, name in enumerate(self.names)}
        order, rows = np.unique(numbers, return_inverse=True)
        is_test = np.zeros((len(order), len(self)), bool)
        columns = [number_of[name] for name in chosen["video"].to_pylist()]
        is_test[rows, columns] = chosen["is_test"].to_numpy(zero_copy_only=False)
        return order, is_test


def write(path: Path, schema: pa.Schema, rows: list[dict[str, object]]) -> None:
    """Write one of the tables of prepared opinions, such as ``opinions.parquet``.

    Args:
        path: path of the file.
        schema: columns of the table, such as `OPINION_COLUMNS`.
        rows: rows of the table, with values by column.
    """
    pq.write_table(pa.Table.from_pylist(rows, schema), path, write_page_checksum=True)


def open_database(folder: Path, context: int) -> Database:
    """Open prepared videos with opinions; videos are read later, one by one.

    Args:
        folder: folder of the prepared data.
        context: number of observed frames of each video.

    Raises:
        StpError: the table of opinions is missing or damaged.
    """
    return Database(Path(folder), read_table(Path(folder) / OPINIONS, OPINION_COLUMNS), context)
