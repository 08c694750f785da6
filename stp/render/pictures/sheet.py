"""What a drawing of prepared data is made from."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np


class Scale(NamedTuple):
    """How values become colours.

    Attributes:
        low: the value of the first colour.
        high: that of the last one.
        colours: name of a colour map.
        beyond: where there may be values outside.
    """

    low: float
    high: float
    colours: str
    beyond: Literal["both", "max"] = "both"


@dataclass(frozen=True)
class Panel:
    """One clip, or one variable of it; without frames it leaves its place empty.

    Attributes:
        label: name of the clip, and its time where it has one.
        frames: (T, H, W) in the dataset's units, or (T, H, W, 3) for colours in 0..1.
    """

    label: str
    frames: np.ndarray


@dataclass(frozen=True)
class Group:
    """Panels that share a scale.

    Attributes:
        name: of the variable; empty for video.
        units: of its values.
        is_picture: whether values are brightness, 0..1.
        panels: one for each clip.
        scale: of its colours; None for one that suits its panels.
    """

    name: str
    units: str
    is_picture: bool
    panels: list[Panel]
    scale: Scale | None = None


@dataclass(frozen=True)
class Sheet:
    """Everything that a drawing needs.

    Attributes:
        title: dataset, source, split.
        groups: rows of the drawing.
        steps: of each frame, counted from the last one of the context (0); (T,).
        seconds: between two frames, or None if frames have no such thing.
        lat: latitudes along y in degrees, or None where it is no map.
        lon: longitudes along x in degrees, likewise.
        note: small print below it.
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
