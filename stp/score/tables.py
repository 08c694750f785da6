"""Read and write the three Parquet files of scores: values, single samples, sums over clusters."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.parquet import read_schema, read_table
from stp.options.score import CELL_KEYS, CellValues
from stp.score.aggregate import Row
from stp.score.blocks import Blocks

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
"""``scores.parquet``: a row per convention, lead time (NULL: all) and statistic: "mean", "ci95_low"
and "ci95_high"; for people also "sd", over samples; for opinions "median" and "sd", over splits.
``n`` counts samples; in rows of intervals, it counts clusters. A NULL value has a reason.
"""

SAMPLES = pa.schema(
    [
        *_CELL,
        ("sample", pa.int64()),
        ("clip", pa.string()),
        ("cluster", pa.string()),
        ("variable", pa.string()),
    ]
)
"""``sample_scores.parquet``: these columns and, per convention, a list over lead times. There is a
row per sample and variable: first the rows of all channels together (``variable`` is NULL, or the
name of the only channel), then those of each variable, whose name includes its level. A convention
is NULL in the rows of variables for which it has no values, so that the number of columns does not
depend on the numbers of variables and lead times. A convention with several numbers per sample,
such as hits and misses at each threshold, has a column ``<convention>.<component>`` for each.
"""

BySample = Mapping[str | None, np.ndarray]
"""Values of N samples by variable (for all variables together None, or the name of the only
variable), float64 (N, T') each, at the last T' lead times of a forecast. A row of the file has the
T' values of a sample as a list; masked values are NULL."""

CLUSTERS = pa.schema(
    [
        ("convention", pa.string()),
        ("cluster", pa.string()),
        ("n", pa.int64()),
        ("components", pa.int64()),
        ("sums", pa.list_(pa.float64())),
        ("start", pa.int64()),
        ("length", pa.int64()),
        ("step", pa.int64()),
        ("lacks", pa.string()),
    ]
)
"""``cluster_sums.parquet``: sums over the samples of a cluster, as a flat list of K components,
each with the last T' lead times; NULL where the forecasts lack a lead time or variable. Sums of the
same cluster may be added; ``finish(sum / n)`` gives every value. Clusters that are blocks of time
(see `stp.score.blocks`), including those without samples, have their first frame, their length and
the number of frames between lead times. ``lacks`` says which variables are missing from a
convention that pools variables.
"""


def write_scores(path: Path, cell: CellValues, rows: Mapping[str, Sequence[Row]]) -> None:
    """Write ``scores.parquet``: values and the ends of their intervals, a row each.

    Args:
        path: the file.
        cell: model, dataset, setting and seed of the scores, written to each row.
        rows: rows of each convention, by its name.
    """
    named = [
        (convention.split(".")[0], convention, *row)
        for convention, of_convention in rows.items()
        for row in of_convention
    ]
    names = ("metric", "convention", *Row._fields)
    columns = {name: [row[i] for row in named] for i, name in enumerate(names)}
    arrays = [
        pa.repeat(pa.scalar(cell.get(field.name), field.type), len(named))
        if field.name in CELL_KEYS
        else pa.array(columns[field.name], field.type)
        for field in SCORES
    ]
    pq.write_table(pa.Table.from_arrays(arrays, schema=SCORES), path, write_page_checksum=True)


def write_samples(
    path: Path,
    cell: CellValues,
    variable: str | None,
    clips: Sequence[str],
    clusters: Sequence[str],
    columns: Mapping[str, BySample],
) -> None:
    """Write ``sample_scores.parquet``: a row for each sample, and a column of values per name.

    Rows of all variables together come first, then rows of each variable.

    Args:
        path: the file.
        cell: model, dataset, setting and seed of the scores, written to each row.
        variable: value of the column ``variable`` in the rows of all variables together: None
            (written as NULL) or, if the data have only one variable, its name.
        clips: name of the clip of each of the N samples.
        clusters: name of the cluster of each of the N samples.
        columns: dict of dicts of arrays: for each column, by its name, the values of each variable,
            by its name (``variable`` for all variables together). An array is float64 (N, T'), and
            its row of T' values, at the last T' lead times of a forecast, becomes one list in the
            file. T' depends on the convention: it is smaller than the number of lead times if the
            first ones have no value. Masked values are written as NULL.
    """
    n = len(clips)
    named = dict.fromkeys(name for column in columns.values() for name in column)
    variables = list(dict.fromkeys([variable, *named]))
    blocks = []
    for name in variables:
        about: CellValues = {**cell, "variable": name}
        filled: dict[str, Sequence[object]] = {
            "sample": range(n),
            "clip": clips,
            "cluster": clusters,
        }
        arrays = [
            pa.array(filled[field.name], field.type)
            if field.name in filled
            else pa.repeat(pa.scalar(about[field.name], field.type), n)
            for field in SAMPLES
        ]
        lists = [
            _lists(column[name]) if name in column else pa.nulls(n, _LISTS)
            for column in columns.values()
        ]
        blocks.append(pa.Table.from_arrays(arrays + lists, [*SAMPLES.names, *columns]))
    pq.write_table(pa.concat_tables(blocks), path, write_page_checksum=True)


def read_samples(
    folder: Path, column: str, variable: str | None = None
) -> tuple[list[str], list[list[float] | None]] | None:
    """Read one column of ``sample_scores.parquet``.

    Args:
        folder: folder of the score artefact.
        column: name of the column.
        variable: name of the variable; None for all channels together.

    Returns:
        names of the clips, in the order of the samples; and for each sample, its values as a list
            over lead times, or None without values. None if the file has no such values.

    Raises:
        ArtefactError: the file is missing or damaged.
    """
    path = Path(folder) / "sample_scores.parquet"
    expected = "the scores of each test sample"
    if column not in read_schema(path, expected=expected).names:
        return None
    table = read_table(path, ["clip", "variable", column], expected=expected)
    of_each = table["variable"].to_pylist()
    named = of_each[0] if variable is None and of_each else variable
    chosen = table.filter(pa.array([name == named for name in of_each], pa.bool_()))
    values = chosen[column]
    if values.null_count == len(values):
        return None
    return chosen["clip"].to_pylist(), values.to_pylist()


def write_clusters(
    path: Path,
    names: Sequence[str],
    counts: np.ndarray,
    sums: Mapping[str, np.ndarray],
    *,
    blocks: Blocks | None = None,
    defined: Mapping[str, np.ndarray] | None = None,
    lacks: Mapping[str, str] | None = None,
) -> None:
    """Write ``cluster_sums.parquet``: sums of statistics over the samples of each cluster.

    Args:
        path: the file.
        names: names of the G clusters.
        counts: number of samples of each cluster, (G,).
        sums: sums of the K statistics of each convention over the samples of each cluster, by name
            of the convention, float64 (G, K, T'). They belong to the last T' lead times of a
            forecast. T' is less than the number of lead times if the first ones have no statistics:
            a moving average over three lead times begins at the third.
        blocks: the clusters as blocks of time, if they are such blocks.
        defined: by convention, whether its sums are defined, bool (K, T'); undefined sums are
            written as NULL. By default, all are defined.
        lacks: by convention, a text that names the variables that its sums lack because the
            forecasts do not have them.
    """
    places = [
        pa.nulls(len(names), pa.int64()) if values is None else pa.array(values, pa.int64())
        for values in (
            (None, None, None)
            if blocks is None
            else (blocks.start, blocks.length, np.full(len(names), blocks.step))
        )
    ]

    def masked(convention: str, values: np.ndarray) -> np.ndarray:
        if defined is None:
            return values
        return np.ma.masked_array(values, np.broadcast_to(~defined[convention], values.shape))

    tables = [
        pa.Table.from_arrays(
            [
                pa.repeat(pa.scalar(convention, pa.string()), len(names)),
                pa.array(names, pa.string()),
                pa.array(counts, pa.int64()),
                pa.repeat(pa.scalar(values.shape[1], pa.int64()), len(names)),
                _lists(masked(convention, values).reshape(len(names), -1)),
                *places,
                pa.repeat(pa.scalar((lacks or {}).get(convention), pa.string()), len(names)),
            ],
            schema=CLUSTERS,
        )
        for convention, values in sums.items()
    ]
    pq.write_table(
        pa.concat_tables([CLUSTERS.empty_table(), *tables]), path, write_page_checksum=True
    )


_LISTS = pa.list_(pa.float64())


def _lists(values: np.ndarray) -> pa.ListArray:
    """Convert float64 (rows, T) to a column of lists; NULL where masked."""
    offsets = np.arange(len(values) + 1, dtype=np.int32) * np.int32(values.shape[1])
    flat = pa.array(np.ma.getdata(values).reshape(-1), mask=np.ma.getmaskarray(values).reshape(-1))
    return pa.ListArray.from_arrays(pa.array(offsets), flat)
