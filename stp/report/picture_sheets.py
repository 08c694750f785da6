"""Encode the report's pictures as sheets: all frames of a clip in one picture, side by side.

A field is stored as levels, to which the page applies a colour map: level 0 is a missing value, and
1..255 run evenly from one limit of the colour scale to the other. Brightness and colours in [0, 1]
are stored as 0..255. Errors are computed from unclipped floats, not from pictures.
"""

from dataclasses import dataclass
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
from PIL import Image

from stp.render.pictures import sprites
from stp.render.pictures.forecasts import Forecast, SampleForecasts, Variable
from stp.render.pictures.maps import coastline
from stp.render.pictures.sheet import Scale
from stp.render.pictures.strips import scales

SIGNED = "RdBu_r"
"""Colours of signed errors: white for none, red where the forecast is too high."""


class Look(NamedTuple):
    """How pictures are encoded in the page: size and quality.

    Attributes:
        side: maximum length of the longer side of a frame, in pixels; None keeps the size.
        quality: quality of WebP, 0..100; None for lossless encoding.
    """

    side: int | None
    quality: int | None

    def __str__(self) -> str:
        kind = "lossless" if self.quality is None else f"WebP of quality {self.quality}"
        size = "full size" if self.side is None else f"at most {self.side} pixels wide or high"
        return f"{kind}, {size}"


LOOKS = (
    Look(None, None),
    Look(None, 90),
    Look(None, 80),
    Look(192, 75),
    Look(128, 75),
    Look(128, 60),
    Look(96, 50),
    Look(64, 40),
)
"""Encodings, from the best to the worst."""
GOOD = 6
"""Number of acceptable encodings: samples are left out before a worse one is used."""


def scales_of(sample: SampleForecasts, variable: Variable) -> tuple[Scale, Scale]:
    """Choose the colour scales of a sample, which are the same for the truth and all models.

    Errors of fields and grey video have a sign, and a scale around zero. Errors of colour video are
    the mean of the distances of the three colours.

    Args:
        sample: truth and forecasts of the sample.
        variable: the variable to show.

    Returns:
        the colour scale of values, and that of errors.
    """
    values, errors = scales(sample, variable)
    if len(variable.channels) == 1:
        errors = Scale(-errors.high, errors.high, SIGNED, "both")
    return values, errors


def values(
    sample: SampleForecasts, frames: np.ndarray, variable: Variable, scale: Scale, look: Look
) -> str:
    """The sheet (one picture of several frames) of the values of some frames, as a data URI.

    Args:
        sample: the sample that the frames belong to.
        frames: frames of the sample, (T, C, H, W).
        variable: the variable to show.
        scale: range of values that the colours of a map show. Not used for video, whose brightness
            or colours are shown as they are.
        look: maximum size of a frame, and quality of the compression.
    """
    fields = _resize_fields(sample.fields(frames, variable), look.side)
    if sample.is_picture:
        finite = np.nan_to_num(fields, nan=0.0, posinf=1.0, neginf=0.0)
        return _sheet(np.rint(np.clip(finite, 0, 1) * 255).astype(np.uint8), sample, look)
    return _sheet(levels(fields, scale), sample, look)


def errors(
    sample: SampleForecasts, forecast: Forecast, variable: Variable, scale: Scale, look: Look
) -> str:
    """The sheet (one picture of several frames) of a forecast's errors, as a data URI.

    Args:
        sample: the sample that the forecast belongs to.
        forecast: forecast of one model.
        variable: the variable to show.
        scale: range of errors that the colours show, in units of the variable.
        look: maximum size of a frame, and quality of the compression.
    """
    if len(variable.channels) == 1:
        channel = variable.channels[0]
        fields = forecast.frames[:, channel].astype(np.float64) - sample.truth[:, channel]
    else:
        fields = sample.errors(forecast, variable)
    return _sheet(levels(_resize_fields(fields, look.side), scale), sample, look)


def levels(fields: np.ndarray, scale: Scale) -> np.ndarray:
    """Convert values to levels, to which the page applies a colour map.

    Args:
        fields: values of any shape.
        scale: colour scale, from `scale.low` (level 1) to `scale.high` (level 255). Finite values
            beyond these limits get the level of the nearer limit.

    Returns:
        levels, uint8, of the same shape; 0 for NaN and infinity.
    """
    part = (fields.astype(np.float64) - scale.low) / (scale.high - scale.low)
    is_finite = np.isfinite(part)
    level = 1 + np.rint(np.clip(np.where(is_finite, part, 0.0), 0, 1) * 254)
    return np.where(is_finite, level, 0).astype(np.uint8)


def colours(name: str) -> str:
    """The colours of a colour map for levels 1..255, as six hexadecimal digits each.

    Args:
        name: name of a matplotlib colour map.
    """
    table = mpl.colormaps[name](np.linspace(0, 1, 255))[:, :3]
    return bytes(np.rint(table * 255).astype(np.uint8).ravel()).hex()


def size_of(height: int, width: int, look: Look) -> tuple[int, int]:
    """Height and width of a frame as stored, in pixels.

    Args:
        height, width: size of a frame of the data, in pixels.
        look: maximum length of the longer side of a frame, and quality of the compression.
    """
    longer = max(height, width)
    if look.side is None or longer <= look.side:
        return height, width
    part = look.side / longer
    return max(1, round(height * part)), max(1, round(width * part))


def _resize_fields(fields: np.ndarray, side: int | None) -> np.ndarray:
    """Fields (T, H, W) or (T, H, W, 3) reduced to a longest side, by means over areas."""
    height, width = size_of(fields.shape[1], fields.shape[2], Look(side, None))
    if (height, width) == fields.shape[1:3]:
        return fields
    flat = np.moveaxis(fields[..., None] if fields.ndim == 3 else fields, -1, 1)
    resized = np.array(
        [
            [
                Image.fromarray(one.astype(np.float32)).resize(
                    (width, height), Image.Resampling.BOX
                )
                for one in frame
            ]
            for frame in flat
        ]
    )
    return np.moveaxis(resized, 1, -1) if fields.ndim == 4 else resized[:, 0]


def _sheet(frames: np.ndarray, sample: SampleForecasts, look: Look) -> str:
    """Lay out and encode frames, uint8 (T, H, W) or (T, H, W, 3); maps with north at the top."""
    if is_upside_down(sample):
        frames = frames[:, ::-1]
    if frames.ndim == 3:
        frames = np.repeat(frames[..., None], 3, axis=-1)
    return sprites.webp(frames, look.quality)


def is_upside_down(sample: SampleForecasts) -> bool:
    """Whether the first row of a sample's grid is the southernmost one."""
    return sample.lat is not None and len(sample.lat) > 1 and bool(sample.lat[0] < sample.lat[-1])


@dataclass(frozen=True)
class Coast:
    """The coastline that is drawn over a map.

    Attributes:
        path: data of an SVG path; the unit is a cell of the grid.
        box: width and height of the grid, in cells.
    """

    path: str
    box: list[int]


def coast(sample: SampleForecasts) -> Coast | None:
    """The coastline for a sample on a map; None for other data."""
    if sample.lat is None or sample.lon is None or min(len(sample.lat), len(sample.lon)) < 2:
        return None
    lon, lat = coastline(float(sample.lon.min()) - 1.0)
    x = _axis_position(lon, sample.lon)
    y = _axis_position(lat, sample.lat)
    if is_upside_down(sample):
        y = len(sample.lat) - y
    parts, down = [], False
    for across, up in zip(x, y, strict=True):
        if not (np.isfinite(across) and np.isfinite(up)):
            down = False
            continue
        parts.append(f"{'L' if down else 'M'}{across:.1f} {up:.1f}")
        down = True
    return Coast("".join(parts), [len(sample.lon), len(sample.lat)])


def _axis_position(degrees: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Position of degrees along an axis, in cells from its start; NaN far outside."""
    # A cell more at each end, so that lines leave the map at its edge.
    first, last = 2 * grid[0] - grid[1], 2 * grid[-1] - grid[-2]
    degrees_of_cells = np.concatenate([[first], grid, [last]])
    at = np.arange(len(degrees_of_cells)) - 0.5
    if degrees_of_cells[0] > degrees_of_cells[-1]:
        degrees_of_cells, at = degrees_of_cells[::-1], at[::-1]
    return np.asarray(np.interp(degrees, degrees_of_cells, at, left=np.nan, right=np.nan))
