"""Tracks, scenarios and errors as Parquet tables.

A row of errors is one person in one scenario at one step: any horizon, and means over people or
over scenarios, are SQL.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stp.disk import beside
from stp.errors import StpError
from stp.motion.scenarios import Protocol, Scenarios
from stp.motion.tracks import Tracks

ABOUT = b"stp.tracks"


def write_tracks(path: Path, tracks: Tracks, about: dict[str, Any] | None = None) -> None:
    """Write detections: frame, person, x and y in metres, in their order.

    Args:
        path: of the file.
        tracks: what to write.
        about: what else there is to say of them: source, release, checksums.
    """
    table = pa.table(
        {
            "frame": tracks.frame,
            "person": tracks.person,
            "x": tracks.position[:, 0],
            "y": tracks.position[:, 1],
        }
    )
    described = {**(about or {}), "step": tracks.step, "dt": tracks.dt}
    table = table.replace_schema_metadata({ABOUT: json.dumps(described, sort_keys=True)})
    with beside(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_tracks(path: Path) -> tuple[Tracks, dict[str, Any]]:
    """Read what `write_tracks` has written, and what it says of them.

    Raises:
        StpError: the file is missing or damaged.
    """
    try:
        table = pq.read_table(path)
        about = json.loads((table.schema.metadata or {})[ABOUT])
        x, y = (table[name].to_numpy() for name in ("x", "y"))
        frame, person = table["frame"].to_numpy(), table["person"].to_numpy()
        tracks = Tracks(frame, person, np.column_stack([x, y]), about["step"], about["dt"])
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise StpError(
            f"{path}: cannot be read ({error})",
            expected="tracks: frame, person, x and y, with step and dt",
            remedy="prepare the dataset again",
        ) from None
    return tracks, about


def scenario_table(scenarios: Scenarios, step: int, protocol: Protocol, fewest: int) -> pa.Table:
    """Who is in each scenario, from when to when, and by which rule.

    Args:
        scenarios: what was cut.
        step: frames between two positions.
        protocol: of cutting.
        fewest: people that a scenario had to have.

    Returns:
        a row for each scenario and person.
    """
    scene, place = np.nonzero(scenarios.present)
    start = scenarios.start[scene]
    observed, future = scenarios.observed.shape[2], scenarios.future.shape[2]
    rule = f"{protocol}: all people seen are there throughout, {fewest} at least"
    return pa.table(
        {
            "scenario": scene,
            "episode": scenarios.episode[scene],
            "person": scenarios.person[scene, place],
            "start_frame": start,
            "cut_frame": start + observed * step,
            "end_frame": start + (observed + future) * step,
            "rule": pa.array([rule] * len(scene), pa.string()),
        }
    )


def error_table(scenarios: Scenarios, errors: np.ndarray) -> pa.Table:
    """Errors as rows.

    Args:
        scenarios: that were predicted.
        errors: (K, S, N, T) or (S, N, T), metres.

    Returns:
        scenario, episode, person, lead (steps from 1), sample (from 0), error in metres.
    """
    each = errors if errors.ndim == 4 else errors[None]
    sample, scene, place, lead = np.nonzero(np.isfinite(each))
    return pa.table(
        {
            "scenario": scene,
            "episode": scenarios.episode[scene],
            "person": scenarios.person[scene, place],
            "lead": lead + 1,
            "sample": sample,
            "error": each[sample, scene, place, lead],
        }
    )
