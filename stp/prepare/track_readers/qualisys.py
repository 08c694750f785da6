"""Qualisys exports of THÖR: one row a frame, three columns for each marker, in millimetres.

People wear helmets with several markers, ``Helmet_3 - 2 X``; a person is where the markers that are
seen are, on the mean. A marker that is not seen is 0, 0, 0.
"""

import re
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from stp.core.errors import RawFileError, StpError
from stp.tracks.tracks import Tracks

HEADER = 10
"""Lines before that of the columns' names."""
MARKER = re.compile(r"Helmet_(\d+) - \d+ ([XY])")


def read(path: Path, *, dt: float = 0.01) -> Tracks:
    """Read the people of an export, 100 frames a second.

    Args:
        path: of the file (.tsv).
        dt: seconds between two frames.

    Raises:
        StpError: the file cannot be read, or has no helmets; or it is cut off, or has another rate,
            as its first lines say.
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
        raise StpError(
            f"{path}: {len(table)} of {count:g} frames, {rate:g} a second, as its first lines say",
            expected=f"all frames, {1 / dt:g} a second, as dt says",
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
    table = _numbers(table[columns], path)
    frame = table["Frame"].to_numpy(np.float64)
    rows = []
    for person, axes in sorted(helmets.items()):
        markers = np.stack([table[axes[axis]].to_numpy(np.float64) for axis in "XY"], axis=-1)
        seen = (markers != 0).any(axis=-1) & np.isfinite(markers).all(axis=-1)
        there = seen.any(axis=1)
        total = np.where(seen[..., None], markers, 0).sum(axis=1)[there]
        mean = total / seen.sum(axis=1)[there, None] / 1000
        rows.append(np.column_stack([frame[there], np.full(there.sum(), person), mean]))
    found = np.concatenate(rows)
    found = found[np.argsort(found[:, 0], kind="stable")]
    return Tracks(found[:, 0], found[:, 1].astype(np.int64), found[:, 2:], 1, dt)


def _numbers(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Refuse words, and a last line that ends early; a marker without values was not seen."""
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
            f"line {first + HEADER + 2} ends early or holds what is no number, "
            f"and so do {int(bad.sum()) - 1} more",
            expected="a number in each column",
        )
    return numbers
