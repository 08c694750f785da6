"""Read Qualisys exports of THÖR: one row per frame, three columns per marker, in millimetres.

People wear helmets with several markers, ``Helmet_3 - 2 X``; the position of a person is the mean
of the visible markers. A hidden marker has the position 0, 0, 0.
"""

import re
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from stp.core.errors import RawFileError, StpError
from stp.tracks.tracks import Tracks

HEADER = 10
"""Number of lines before the line with the names of columns."""
MARKER = re.compile(r"Helmet_(\d+) - \d+ ([XY])")


def read(path: Path, *, dt: float = 0.01) -> Tracks:
    """Read the positions of people, who wear helmets with markers, from an export of Qualisys.

    Each helmet is one person, with the number of the helmet. The position of a person is the mean
    of the helmet's visible markers.

    Args:
        path: path of the export (.tsv).
        dt: seconds between two frames.

    Raises:
        StpError: the file cannot be read, has no columns of helmets such as ``Helmet_3 - 2 X``, or
            has text in place of numbers; or its header states more frames than it has, or another
            rate than ``dt``.
    """
    try:
        table = pd.read_csv(path, sep="\t", header=HEADER)
        with path.open(encoding="utf-8", errors="replace") as file:
            about = dict(line.split("\t")[:2] for line in islice(file, HEADER) if "\t" in line)
        stated = {key: float(about[key]) for key in ("NO_OF_FRAMES", "FREQUENCY") if key in about}
    except (OSError, ValueError) as error:
        raise RawFileError(
            path, f"cannot be read ({error})", expected="an export of Qualisys Track Manager (.tsv)"
        ) from None
    count, rate = stated.get("NO_OF_FRAMES", 0), stated.get("FREQUENCY", 1 / dt)
    if len(table) < count or abs(rate * dt - 1) > 1e-3:
        raise RawFileError(
            path,
            f"{len(table)} of {count:g} frames, {rate:g} per second, as its first lines state",
            expected=f"all frames, {1 / dt:g} per second, as dt states",
            remedy="fetch the file again if it is cut off; else correct dt",
        )
    helmets: dict[int, dict[str, list[str]]] = {}
    for name in table.columns:
        matched = MARKER.fullmatch(str(name).strip())
        if matched:
            axes = helmets.setdefault(int(matched[1]), {"X": [], "Y": []})
            axes[matched[2]].append(name)
    uneven = any(len(axes["X"]) != len(axes["Y"]) for axes in helmets.values())
    if not helmets or uneven or "Frame" not in table.columns:
        raise StpError(
            f"{path}: no columns Frame and Helmet_N - M X",
            expected=f"their names in line {HEADER + 1}",
            remedy="export the markers of helmets with their names",
        )
    columns = [
        "Frame",
        *(name for axes in helmets.values() for axis in "XY" for name in axes[axis]),
    ]
    table = _to_numbers(table[columns], path)
    frame = table["Frame"].to_numpy(np.float64)
    rows = []
    for person, axes in sorted(helmets.items()):
        markers = np.stack([table[axes[axis]].to_numpy(np.float64) for axis in "XY"], axis=-1)
        is_visible = (markers != 0).any(axis=-1) & np.isfinite(markers).all(axis=-1)
        any_visible = is_visible.any(axis=1)
        total = np.where(is_visible[..., None], markers, 0).sum(axis=1)[any_visible]
        mean = total / is_visible.sum(axis=1)[any_visible, None] / 1000
        people = np.full(any_visible.sum(), person)
        rows.append(np.column_stack([frame[any_visible], people, mean]))
    detections = np.concatenate(rows)
    detections = detections[np.argsort(detections[:, 0], kind="stable")]
    return Tracks(detections[:, 0], detections[:, 1].astype(np.int64), detections[:, 2:], 1, dt)


def _to_numbers(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Convert to numbers; refuse text, and an incomplete last line. Markers without values are
    hidden.
    """
    numbers = table.apply(pd.to_numeric, errors="coerce")
    blank = numbers.isna()
    bad = (blank & table.notna()).any(axis=1) | blank["Frame"]
    early = blank.any(axis=1)
    if len(early) > 1 and early.iloc[-1] and not early.iloc[:-1].any():
        bad.iloc[-1] = True
    if bad.any():
        first = int(np.argmax(bad.to_numpy()))
        raise RawFileError(
            path,
            f"line {first + HEADER + 2} and {int(bad.sum()) - 1} more end early or are not numbers",
            expected="a number in each column; empty for a hidden marker",
        )
    return numbers
