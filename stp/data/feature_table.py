"""Read and write network features of clips, ``features.parquet``, a row for each clip."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.parquet import read_table, report_read_errors

FEATURES = "features.parquet"


class Features(NamedTuple):
    """Network features of clips.

    Attributes:
        values: features, float64 (N, D), in the order of the samples; empty if there is a
            ``reason``.
        reason: reason why there are no features; empty if there are.
    """

    values: np.ndarray
    reason: str = ""


def write(folder: Path, clips: list[str], features: Features) -> None:
    """Write ``features.parquet``: ``sample``, ``clip`` and ``features``, a list of D values.

    Args:
        folder: folder of the file.
        clips: names of the samples.
        features: features of all clips, or the reason why there are none.
    """
    values = np.asarray(features.values, np.float64)
    named = clips[: len(values)]
    table = pa.table(
        {
            "sample": pa.array(np.arange(len(values), dtype=np.int64)),
            "clip": pa.array(named, pa.string()),
            "features": pa.FixedSizeListArray.from_arrays(
                pa.array(values.reshape(-1)), values.shape[1]
            ),
        }
    ).replace_schema_metadata({"reason": features.reason})
    pq.write_table(table, folder / FEATURES, write_page_checksum=True)


def read(folder: Path) -> Features:
    """Read ``features.parquet`` from the folder of an artefact.

    Raises:
        ArtefactError: the file is missing or damaged.
    """
    path = Path(folder) / FEATURES
    expected = "features of clips"
    with report_read_errors(path, expected):
        table = read_table(path, ["features"], expected=expected)
        column = table["features"].combine_chunks()
        values = np.asarray(column.flatten()).reshape(len(column), column.type.list_size)
        reason = (table.schema.metadata or {}).get(b"reason", b"").decode()
    return Features(values, reason)
