"""Read TrajNet++ ndjson: one JSON object per line, ``{"track": {"f", "p", "x", "y"}}``.

Other lines (scenes, maps) and predictions, which are tracks with a ``prediction_number``, are
ignored.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from stp.core.errors import RawFileError
from stp.tracks.tracks import Tracks


def read(path: Path, *, step: int, dt: float) -> Tracks:
    """Read the detections of a file, in the order of its lines.

    Args:
        path: path of the file.
        step: number of frames between two annotations.
        dt: seconds between two annotations.

    Raises:
        StpError: the file is missing, or a line is not JSON or lacks a finite number.
    """
    frames, people, positions = [], [], []
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if not line.strip():
                    continue
                try:
                    track = json.loads(line).get("track")
                    if track is None or "prediction_number" in track:
                        continue
                    frames.append(_to_finite(track["f"]))
                    people.append(_to_whole(track["p"]))
                    positions.append((_to_finite(track["x"]), _to_finite(track["y"])))
                except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
                    raise RawFileError(
                        path,
                        f"line {number} cannot be read ({error!r})",
                        expected='{"track": {"f": frame, "p": person, "x": metres, "y": metres}}',
                    ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise RawFileError(
            path, f"cannot be read ({error})", expected="a TrajNet++ ndjson file"
        ) from None
    return Tracks(
        np.array(frames), np.array(people, np.int64), np.array(positions).reshape(-1, 2), step, dt
    )


def positions_per_second(path: Path) -> float | None:
    """The rate that all scenes of a file state (``fps``); None if it is missing or differs."""
    rates = set()
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            if '"scene"' in line:
                try:
                    rates.add(float(json.loads(line)["scene"]["fps"]))
                except (ValueError, KeyError, TypeError):
                    return None
    value = rates.pop() if len(rates) == 1 else 0.0
    return value if math.isfinite(value) and value > 0 else None


def _to_finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value} is not finite")
    return number


def _to_whole(value: Any) -> int:
    if not _to_finite(value).is_integer() or abs(number := int(value)) >= 2**53:
        raise ValueError(f"{value} is not a whole number")
    return number
