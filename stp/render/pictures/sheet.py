"""The contents of a drawing of clips."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np


class Scale(NamedTuple):
    """A colour scale.

    Attributes:
        low: value of the first colour.
        high: value of the last colour.
        colours: name of a colour map.
        beyond: sides of the scale on which values may lie outside.
    """

    low: float
    high: float
    colours: str
    beyond: Literal["both", "max"] = "both"


@dataclass(frozen=True)
class Panel:
    """One variable of one clip; a panel without frames is empty.

    Attributes:
        label: name of the clip, with its time if it has one.
        frames: frames of the clip, (T, H, W) in the dataset's units, or (T, H, W, 3) for colours in
            0..1.
    """

    label: str
    frames: np.ndarray


@dataclass(frozen=True)
class Group:
    """Panels that share a scale.

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
    """All contents of a drawing.

    Attributes:
        title: dataset, source and split.
        groups: rows of the drawing.
        steps: step of each frame, counted from the last one of the context (0); (T,).
        seconds: seconds from frame to frame; None if frames have no fixed step.
        lat, lon: latitudes along y and longitudes along x, in degrees; None if it is no map.
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
