"""Convert tracks, scenarios and errors to Parquet tables.

A row of errors is one person in one scenario at one step, so that SQL can compute errors up to any
horizon, and means over people or scenarios.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.core.parquet import read_table, report_read_errors
from stp.options.protocols import PROTOCOLS
from stp.tracks.scenarios import Scenarios
from stp.tracks.tracks import Tracks, labels

ABOUT = b"stp.tracks"
PREDICTIONS, SCENARIOS, RUNTIME = "predictions.parquet", "scenarios.parquet", "runtime.parquet"
CUT = ("split", "context", "lead_times", "observe", "people")
"""Keys of the recipe that define the scenarios, which predictions keep as metadata."""

ERRORS = pa.schema(
    [
        ("scenario", pa.int64()),
        ("start_frame", pa.int64()),
        ("episode", pa.int64()),
        ("person", pa.int64()),
        ("person_name", pa.dictionary(pa.int32(), pa.string())),
        ("lead", pa.int64()),
        ("lead_seconds", pa.float64()),
        ("sample", pa.int64()),
        ("error", pa.float64()),
    ]
)
"""Scenarios, episodes and samples count from 0, leads from 1; errors are metres."""


def write_tracks(path: Path, tracks: Tracks, about: dict[str, Any] | None = None) -> None:
    """Write detections to a Parquet file, a row for each, in the order of ``tracks``.

    The columns are ``frame``, ``person`` (a number), ``person_name`` (the identifier in the raw
    data), and ``x`` and ``y`` in metres.

    Args:
        path: path of the file.
        tracks: detections.
        about: metadata of the file, such as source, release and checksums, to which ``step`` and
            ``dt`` of the tracks are added; None for these two only.
    """
    table = pa.table(
        {
            "frame": tracks.frame,
            "person": tracks.person,
            "person_name": person_names(tracks.person, tracks.names),
            "x": tracks.position[:, 0],
            "y": tracks.position[:, 1],
        }
    )
    described = {**(about or {}), "step": tracks.step, "dt": tracks.dt}
    table = table.replace_schema_metadata({ABOUT: json.dumps(described, sort_keys=True)})
    pq.write_table(table, path, compression="zstd", write_page_checksum=True)


def read_tracks(path: Path) -> tuple[Tracks, dict[str, Any]]:
    """Read detections and metadata from a file of `write_tracks`.

    Raises:
        StpError: the file is missing or damaged.
    """
    expected = "tracks: frame, person, person_name, x and y, with step and dt"
    with report_read_errors(path, expected):
        table = read_table(path, expected=expected)
        about = json.loads((table.schema.metadata or {})[ABOUT])
        x, y = (table[name].to_numpy() for name in ("x", "y"))
        frame, person = table["frame"].to_numpy(), table["person"].to_numpy()
        position = np.column_stack([x, y])
        names = _names_by_number(person, table["person_name"])
        tracks = Tracks(frame, person, position, about["step"], about["dt"], names)
    return tracks, about


def person_names(person: np.ndarray, names: Mapping[int, str]) -> pa.DictionaryArray:
    """Make a dictionary-encoded column with the identifiers of people.

    Args:
        person: number of the person of each row.
        names: identifiers by number; a number without an entry is itself the identifier.
    """
    people, rows = np.unique(person, return_inverse=True)
    texts = pa.array(labels(people, names), pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(rows, pa.int32()), texts)


def _names_by_number(person: np.ndarray, column: pa.ChunkedArray) -> dict[int, str]:
    """Identifiers in a column, by number; empty if all identifiers equal the numbers."""
    people, first = np.unique(person, return_index=True)
    names = dict(zip(people.tolist(), column.take(first).to_pylist(), strict=True))
    return {} if all(str(number) == name for number, name in names.items()) else names


def scenario_table(scenarios: Scenarios, step: int, protocol: str, fewest: int) -> pa.Table:
    """Make a table of the people in each scenario, with the scenario's frames and protocol.

    Args:
        scenarios: the scenarios.
        step: number of frames between two positions.
        protocol: protocol of the scenarios.
        fewest: minimum number of people in a scenario.

    Returns:
        a row for each scenario and person: identifiers, first frame of the observation
        (``start_frame``), of the future (``cut_frame``) and after it (``end_frame``), whether the
        person is scored (``evaluated``), and the protocol in words (``rule``).
    """
    scene, place = np.nonzero(scenarios.present)
    start = scenarios.start[scene]
    observed, future = scenarios.observed.shape[2], scenarios.future.shape[2]
    rule = f"{protocol}: all people seen are there throughout, {fewest} at least"
    if PROTOCOLS[protocol].may_come_and_go:
        rule = f"{protocol}: at least {fewest} people are there throughout"
    return pa.table(
        {
            "scenario": scene,
            "episode": scenarios.episode[scene],
            "person": scenarios.person[scene, place],
            "person_name": person_names(scenarios.person[scene, place], scenarios.names),
            "start_frame": start,
            "cut_frame": start + observed * step,
            "end_frame": start + (observed + future) * step,
            "evaluated": scenarios.has_future[scene, place],
            "rule": pa.array([rule] * len(scene), pa.string()),
        }
    )


def error_table(
    scenarios: Scenarios, errors: np.ndarray, cell: Mapping[str, Any] | None = None
) -> pa.Table:
    """Convert displacement errors to a table.

    Args:
        scenarios: the predicted scenarios.
        errors: displacement errors of N people in S scenarios at T steps, (S, N, T), or (K, S, N,
            T) for K samples, metres.
        cell: names and values of additional first columns, which are the same in all rows, such
            as the model.

    Returns:
        a table with a row for each scenario, person, lead time and sample, in this order. After
        the columns of ``cell`` it has those of `ERRORS`: keys of the row, lead time in steps and
        in seconds, and the error in metres.
    """
    each = errors if errors.ndim == 4 else errors[None]
    ordered = np.moveaxis(each, 0, -1)  # (S, N, T, K): people of a scenario lie together
    scene, place, lead, sample = np.nonzero(np.isfinite(ordered))
    columns = {
        "scenario": scene,
        "start_frame": scenarios.start[scene],
        "episode": scenarios.episode[scene],
        "person": scenarios.person[scene, place],
        "person_name": person_names(scenarios.person[scene, place], scenarios.names),
        "lead": lead + 1,
        "lead_seconds": (lead + 1) * scenarios.dt,
        "sample": sample,
        "error": ordered[scene, place, lead, sample],
    }
    rows = pa.table(columns, ERRORS)
    for number, (name, value) in enumerate((cell or {}).items()):
        rows = rows.add_column(number, name, _constant_column(value, len(rows)))
    return rows


def _constant_column(value: Any, rows: int) -> pa.Array:
    """Make a column with the same text or number in each row."""
    if not isinstance(value, str):
        return pa.repeat(pa.scalar(value, pa.int64()), rows)
    return pa.DictionaryArray.from_arrays(np.zeros(rows, np.int8), [value])
