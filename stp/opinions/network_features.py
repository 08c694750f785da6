"""Read and write network features of videos, ``seen.parquet``.

The file has a row for each video, and a column for each kind of features (a part).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.errors import ArtefactError, StpError
from stp.core.parquet import read_table, report_read_errors

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
"""Kinds of features, which are columns of the file, with descriptions. Maps are feature maps of the
network; (released) and (written) distinguish the paper's code from its text. ``mse``, ``cosine``
and ``lpips`` need the true future, and ``entropy`` a classifier; they are NaN without these. For a
network of clips, all except ``ssa`` are NaN."""


@dataclass(frozen=True)
class NetworkFeatures:
    """Features that a network computed from V videos, of several kinds.

    Attributes:
        parts: features by kind (key of `PARTS`), such as ``lpips``, float32 (V, D) each, where D
            depends on kind and network. A kind is also called a part of the features.
        names: the kinds that a measure of quality uses, in its order.
    """

    parts: dict[str, np.ndarray]
    names: Sequence[str]


def write(folder: Path, videos: Sequence[str], parts: dict[str, np.ndarray]) -> None:
    """Write the features that a network computed of each video, to the file ``seen.parquet``.

    Args:
        folder: folder of the results of one network.
        videos: names of the videos, in the order of the rows.
        parts: features by kind (key of `PARTS`), such as ``lpips``, (number of videos, number of
            features) each.
    """
    columns = {
        name: pa.FixedSizeListArray.from_arrays(
            pa.array(np.ascontiguousarray(values, np.float32).reshape(-1)), values.shape[1]
        )
        for name, values in parts.items()
    }
    table = pa.table({"video": pa.array(list(videos), pa.string()), **columns})
    pq.write_table(table, folder / SEEN, write_page_checksum=True)


def read(folder: Path, videos: Sequence[str], names: Sequence[str]) -> NetworkFeatures:
    """Read some kinds of features that a network computed of each video, from ``seen.parquet``.

    Args:
        folder: folder of the results of one network.
        videos: names of the videos that the rows should have, in order.
        names: kinds of features to read, at least one: keys of `PARTS`, such as ``mse``.

    Returns:
        the features of these kinds, with a row for each video.

    Raises:
        StpError: a kind is unknown, none is given, the file is damaged, or has other videos.
    """
    path = Path(folder) / SEEN
    unknown = [name for name in names if name not in PARTS]
    if unknown or not names:
        raise StpError(
            f"predict.parts is {list(names)}",
            expected=f"some of {', '.join(PARTS)}",
            remedy="correct the parts of the measure in its configuration",
        )
    expected = "network features of all videos"
    with report_read_errors(path, expected):
        table = read_table(path, ["video", *names], expected=expected)
        parts = {}
        for name in names:
            column = table[name].combine_chunks()
            parts[name] = np.asarray(column.flatten()).reshape(len(column), column.type.list_size)
        rows = table["video"].to_pylist()
    if rows != list(videos):
        raise ArtefactError(
            path,
            f"has {len(rows)} other videos",
            expected=f"the {len(videos)} videos of the prepared data, in their order",
        )
    return NetworkFeatures(parts, names)
