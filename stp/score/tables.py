"""The three Parquet files of a score artefact."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.options.score import CELL_KEYS
from stp.score.aggregate import Row

_CELL = [(key, pa.int64() if key == "seed" else pa.string()) for key in CELL_KEYS]

SCORES = pa.schema(
    [
        *_CELL,
        ("metric", pa.string()),
        ("convention", pa.string()),
        ("variable", pa.string()),
        ("level", pa.float64()),
        ("lead", pa.int64()),
        ("threshold", pa.float64()),
        ("statistic", pa.string()),
        ("value", pa.float64()),
        ("n", pa.int64()),
        ("reason", pa.string()),
    ]
)
"""``scores.parquet``: a row per convention, lead time (NULL: all) and statistic ("mean",
"ci95_low", "ci95_high"; of people "sd", over samples). ``n`` counts samples, for intervals
clusters. A NULL value has a reason."""

SAMPLES = pa.schema(
    [
        *_CELL,
        ("sample", pa.int64()),
        ("clip", pa.string()),
        ("cluster", pa.string()),
        ("variable", pa.string()),
    ]
)
"""``sample_scores.parquet``: these and, for each convention, a list over lead times in a column of
its name (``<convention>.<component>`` where there are several components)."""

CLUSTERS = pa.schema(
    [
        ("convention", pa.string()),
        ("cluster", pa.string()),
        ("n", pa.int64()),
        ("components", pa.int64()),
        ("sums", pa.list_(pa.float64())),
    ]
)
"""``cluster_sums.parquet``: sums over the samples of a cluster, K rows of T' lead times one after
the other. Sums of the same cluster may be added; ``finish(sum / n)`` gives every value."""


def write_scores(path: Path, cell: dict[str, Any], rows: dict[str, list[Row]]) -> None:
    """Write ``scores.parquet`` from the rows of each convention."""
    records = [
        {
            **cell,
            "metric": convention.split(".")[0],
            "convention": convention,
            **row._asdict(),
        }
        for convention, its_rows in rows.items()
        for row in its_rows
    ]
    pq.write_table(pa.Table.from_pylist(records, SCORES), path, write_page_checksum=True)


def write_samples(
    path: Path,
    cell: dict[str, Any],
    variable: str | None,
    clips: list[str],
    clusters: list[str],
    columns: dict[str, np.ndarray],
) -> None:
    """Write ``sample_scores.parquet``; ``columns`` are float64 (N, T') each."""
    n = len(clips)
    about: dict[str, Any] = {**cell, "variable": variable}
    filled: dict[str, Any] = {"sample": range(n), "clip": clips, "cluster": clusters}
    arrays = [
        pa.array(filled[field.name], field.type)
        if field.name in filled
        else pa.repeat(pa.scalar(about[field.name], field.type), n)
        for field in SAMPLES
    ]
    lists = [_lists(values) for values in columns.values()]
    pq.write_table(
        pa.Table.from_arrays(arrays + lists, [*SAMPLES.names, *columns]),
        path,
        write_page_checksum=True,
    )


def write_clusters(
    path: Path, names: list[str], counts: np.ndarray, sums: dict[str, np.ndarray]
) -> None:
    """Write ``cluster_sums.parquet``; ``sums`` are float64 (clusters, K, T') each."""
    tables = [
        pa.Table.from_arrays(
            [
                pa.repeat(pa.scalar(convention, pa.string()), len(names)),
                pa.array(names, pa.string()),
                pa.array(counts, pa.int64()),
                pa.repeat(pa.scalar(values.shape[1], pa.int64()), len(names)),
                _lists(values.reshape(len(names), -1)),
            ],
            schema=CLUSTERS,
        )
        for convention, values in sums.items()
    ]
    pq.write_table(
        pa.concat_tables([CLUSTERS.empty_table(), *tables]), path, write_page_checksum=True
    )


def _lists(values: np.ndarray) -> pa.ListArray:
    """float64 (rows, T) to a column of lists."""
    offsets = np.arange(len(values) + 1, dtype=np.int32) * np.int32(values.shape[1])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.reshape(-1)))
