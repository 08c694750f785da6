"""Find the duration of a lead time step, and label axes of lead times."""

from pathlib import Path

import numpy as np

from stp.data.prepared import Prepared
from stp.data.zarr_read import array_attributes, read_array
from stp.plan.manifest_types import StoredCell
from stp.plan.setting import setting_of

SECONDS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}


def step_of(cell: StoredCell) -> float | None:
    """Seconds between two lead times of a result, according to its test data; None if unknown."""
    return seconds_per_step(Path(cell.data), cell.key.subset, cell.key.setting)


def seconds_per_step(folder: Path, subset: str, setting: str) -> float | None:
    """Seconds between two frames of a test clip.

    They are computed from the coordinate ``time`` of the prepared data if the frames of the first
    clip are equally spaced, else from the nominal frame rate. None without either (moving digits,
    calendar months), or if the data are no longer in the store.

    Args:
        folder: folder of the prepared data.
        subset: name of the test subset.
        setting: name of the setting, which may include a frame interval.

    Raises:
        StpError: the data are damaged.
    """
    if not (folder / "frames.zarr").is_dir():
        return None
    prepared = Prepared(folder)
    interval = setting_of(setting).get("interval", 1)
    clips = prepared.clips(subset, interval=interval)
    if clips.virtual or not len(clips):
        return None
    start, stride, length = (int(clips.index[name].iloc[0]) for name in _FRAMES)
    if (folder / "frames.zarr" / "time").is_dir():
        time = folder / "frames.zarr" / "time"
        unit = SECONDS.get(str(array_attributes(time).get("units", "")).partition(" ")[0])
        moments = read_array(time)[start : start + length * stride : stride].astype(np.float64)
        steps = set(np.diff(moments).tolist())
        if unit and len(steps) == 1 and min(steps) > 0:
            return steps.pop() * unit
    fps = prepared.attrs.get("fps")
    return stride / float(fps) if fps else None


_FRAMES = ("start", "stride", "length")


def unit_of(seconds: float) -> str:
    """The largest unit of time that fits at least twice into ``seconds``."""
    return next((u for u in reversed(SECONDS) if seconds >= 2 * SECONDS[u]), "seconds")


def tick_labels(leads: list[int], step: float | None) -> tuple[str, list[str]]:
    """Unit of an axis of lead times, and labels of its ticks: steps and, below, the time.

    Args:
        leads: lead times of the ticks, in steps.
        step: duration of a step in seconds (`seconds_per_step`); None for labels without times.
    """
    if step is None:
        return "steps", [str(lead) for lead in leads]
    unit = unit_of(leads[-1] * step)
    times = [f"{lead * step / SECONDS[unit]:.3g}" for lead in leads]
    return f"steps; {unit}", [f"{lead}\n{time}" for lead, time in zip(leads, times, strict=True)]


def ticks(first: int, last: int, most: int = 6) -> list[int]:
    """Choose lead times for ticks: the first, the last, and round numbers between them."""
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        inner = [lead for lead in range(first, last + 1) if lead % step == 0]
        if len(inner) <= most:
            break
    # Labels next to the ends would overlap.
    room = (last - first) / most / 1.5
    inner = [lead for lead in inner if lead - first >= room and last - lead >= room]
    return list(dict.fromkeys([first, *inner, last]))
