"""What a network has seen of videos: a table with a row for each, a column for each part."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.errors import ArtefactError, StpError
from stp.core.parquet import read_table, reading

SEEN = "seen.parquet"
PARTS = {
    "ssa": "spatial means of the maps of all frames",
    "mcs": "similarities with the last observed frame, of all frames (released)",
    "mcs_written": "the same of the predicted frames (written)",
    "rfd": "spatial means of the maps of differences, all channels rescaled together (released)",
    "rfd_written": "the same, each channel rescaled alone (written)",
    "mse": "mean squared difference of the maps of predicted and true frames",
    "cosine": "cosine similarity of the maps of predicted and true frames",
    "lpips": "LPIPS of predicted and true frames",
    "entropy": "entropy of the classes of predicted frames, nats (mean)",
}
"""Columns; ``mse``, ``cosine`` and ``lpips`` need the true future, ``entropy`` a classifier, and
are NaN without. Of a network that looks at clips all but the first are NaN."""


@dataclass(frozen=True)
class Seen:
    """What a network has seen.

    Attributes:
        parts: float32 (V, D) each.
        wanted: the names of those that a measure is made from.
    """

    parts: dict[str, np.ndarray]
    wanted: Sequence[str]


def write(folder: Path, videos: Sequence[str], parts: dict[str, np.ndarray]) -> None:
    """Write ``seen.parquet``.

    Args:
        folder: for the file.
        videos: names, in the order of the rows.
        parts: (V, D) each.
    """
    columns = {
        name: pa.FixedSizeListArray.from_arrays(
            pa.array(np.ascontiguousarray(values, np.float32).reshape(-1)), values.shape[1]
        )
        for name, values in parts.items()
    }
    table = pa.table({"video": pa.array(list(videos), pa.string()), **columns})
    pq.write_table(table, folder / SEEN, write_page_checksum=True)


def read(folder: Path, videos: Sequence[str], wanted: Sequence[str]) -> Seen:
    """Read some parts of ``seen.parquet``.

    Args:
        folder: of the artefact.
        videos: whose rows there have to be.
        wanted: names of `PARTS`.

    Raises:
        StpError: a part is not known, the file is damaged, or of other videos.
    """
    path = Path(folder) / SEEN
    unknown = [name for name in wanted if name not in PARTS]
    if unknown or not wanted:
        raise StpError(
            f"predict.parts is {list(wanted)}",
            expected=f"some of {', '.join(PARTS)}",
            remedy="correct the parts of the measure in its configuration",
        )
    expected = "what a network has seen of all videos"
    with reading(path, expected):
        table = read_table(path, ["video", *wanted], expected=expected)
        parts = {}
        for name in wanted:
            column = table[name].combine_chunks()
            parts[name] = np.asarray(column.flatten()).reshape(len(column), column.type.list_size)
        known = table["video"].to_pylist()
    if known != list(videos):
        raise ArtefactError(
            path,
            f"of {len(known)} other videos",
            expected=f"the {len(videos)} videos of the prepared data, in their order",
        )
    return Seen(parts, wanted)
