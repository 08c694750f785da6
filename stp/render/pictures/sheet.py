"""Data structures for the content of a drawing of clips."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np


class Scale(NamedTuple):
    """A colour scale for values of fields.

    Attributes:
        low: value of the first colour.
        high: value of the last colour.
        colours: name of the matplotlib colour map.
        beyond: sides on which values may exceed the scale, as matplotlib's ``extend``.
    """

    low: float
    high: float
    colours: str
    beyond: Literal["both", "max"] = "both"


@dataclass(frozen=True)
class Panel:
    """One variable of one clip; a panel without frames is drawn empty.

    Attributes:
        label: name of the clip, and its time if known.
        frames: frames of the clip, (T, H, W) in the dataset's units, or (T, H, W, 3) for colours in
            0..1.
    """

    label: str
    frames: np.ndarray


@dataclass(frozen=True)
class Group:
    """Panels of one variable that share a colour scale.

    Attributes:
        name: name of the variable; empty for video.
        units: units of the values.
        is_picture: whether values are brightness, 0..1.
        panels: panels, one for each clip.
        scale: colour scale; None for a scale that fits the values of the panels.
    """

    name: str
    units: str
    is_picture: bool
    panels: list[Panel]
    scale: Scale | None = None


@dataclass(frozen=True)
class Sheet:
    """Content of a sheet: a drawing of clips whose frames are in rows.

    Attributes:
        title: dataset, source and split.
        groups: rows of the drawing.
        steps: step of each frame, counted from the last context frame (0), (T,).
        seconds: seconds between frames; None if frames have no fixed step.
        lat, lon: latitudes along y and longitudes along x, in degrees; None if the frames are not
            maps.
        note: small print below the drawing.
    """

    title: str
    groups: list[Group]
    steps: np.ndarray
    seconds: float | None
    lat: np.ndarray | None
    lon: np.ndarray | None
    note: str = ""

    @property
    def frames(self) -> int:
        return len(self.steps)
