"""Draw clips: contact sheets, and single panels, which movies use too."""

import textwrap
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import QuadMesh
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from stp.core.disk import atomic_path, writing
from stp.page.units import with_unit
from stp.render.pictures.maps import coastline, latitude, longitude, ticks
from stp.render.pictures.sheet import Group, Scale, Sheet

CONTEXT, HORIZON = "#5a5a5a", "#d55e00"
"""Colours of context frames and of frames to be predicted."""
DPI = 100
SHEET_WIDTH = 18.0  # inches that all columns share
LABEL = 1.7  # inches for the names of clips
LABEL_LINE = 0.125  # inches for a line of them
BAR = 0.95  # inches for a colour bar
TOP = 0.95  # inches for the title and the times
GAP = 0.05
LETTER = 0.056  # inches of a letter of six points


def scale_of(group: Group) -> Scale:
    """Choose the colour scale of a group of panels that show the same variable.

    If the group states a scale, it is used. Otherwise it is 0 to 1 for pictures, and fitted to the
    values of the panels for other fields.

    A fitted scale leaves out the outermost percent of the values at either end. It is symmetric for
    values on both sides of zero, such as anomalies.
    """
    if group.scale is not None:
        return group.scale
    if group.is_picture:
        return Scale(0.0, 1.0, "gray")
    values = np.concatenate([panel.frames.ravel() for panel in group.panels])
    values = values[np.isfinite(values)]
    if not len(values):
        return Scale(0.0, 1.0, "viridis")
    low, high = (float(v) for v in np.percentile(values, (1, 99)))
    if low == high:
        low, high = float(values.min()), float(values.max())
    if low < 0 < high and min(-low, high) > 0.2 * max(-low, high):
        end = max(-low, high)
        return Scale(-end, end, "RdBu_r")
    return Scale(low, high if high > low else low + 1, "viridis")


def step_text(sheet: Sheet, frame: int) -> str:
    """Format the lead time of a frame, such as ``+3``.

    If the time between frames is known, a second line has the lead time in a unit of time, such as
    ``+0.30 s``. The last context frame is ``0``; context frames before it have negative numbers.

    Args:
        sheet: sheet of the frame, which has the step of each frame and, if known, the seconds
            between frames.
        frame: index of the frame in the sheet, from 0; context frames come first.
    """
    step = int(sheet.steps[frame])
    sign = f"{step:+d}" if step else "0"
    return sign if sheet.seconds is None else f"{sign}\n{duration(step, sheet.seconds)}"


def duration(steps: int, seconds: float) -> str:
    """Format a lead time in a unit that suits the step: ``+0.40 s``, ``+30 min``, ``+12 h``.

    Args:
        steps: lead time in steps; zero or less for context frames.
        seconds: duration of a step, in seconds.
    """
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{steps * seconds / size:+.4g} {unit}"
    return f"{steps * seconds:+.2f} s"


def colour_of(sheet: Sheet, frame: int) -> str:
    """Colour of a frame's border: grey for the context, orange for the horizon.

    Args:
        sheet: sheet of the frame.
        frame: index of the frame in the sheet, from 0; context frames come first.
    """
    return CONTEXT if sheet.steps[frame] <= 0 else HORIZON


def contact_sheet(sheet: Sheet, out: Path) -> None:
    """Draw clips as rows of frames, and write the picture as PNG.

    Args:
        sheet: clips to draw.
        out: path of the PNG file.
    """
    frames = _columns(sheet.frames)
    rows = [(group, panel) for group in sheet.groups for panel in group.panels]
    several = len(sheet.groups) > 1
    labels = [
        [*([group.name] if several else []), *_wrap_label(panel.label)] for group, panel in rows
    ]
    is_map = sheet.lat is not None
    has_bar = not sheet.groups[0].is_picture
    aspect = aspect_of(sheet)
    width = min(max(SHEET_WIDTH / len(frames), 0.7), 4.0)
    height = width / aspect
    # Labels may be higher than flat frames.
    pitch = max(height, LABEL_LINE * max(map(len, labels))) + GAP
    bottom = 0.45 if is_map else 0.15
    left = LABEL + (0.45 if is_map else 0)
    size = (
        left + len(frames) * (width + GAP) + (BAR if has_bar else 0.1),
        TOP + len(rows) * pitch + bottom,
    )
    figure = new_figure(*size)

    def add_axes(x: float, y: float, w: float, h: float) -> Axes:
        return figure.add_axes((x / size[0], y / size[1], w / size[0], h / size[1]))

    scales = {id(group): scale_of(group) for group in sheet.groups}
    for row, (group, panel) in enumerate(rows):
        y = size[1] - TOP - row * pitch - (pitch - GAP + height) / 2
        for column, frame in enumerate(frames):
            axes = add_axes(left + column * (width + GAP), y, width, height)
            draw(axes, sheet, panel.frames[frame], scales[id(group)])
            frame_of(axes, colour_of(sheet, frame))
            degrees(axes, sheet, on_left=column == 0, below=row == len(rows) - 1, width=width)
            if row == 0:
                colour = colour_of(sheet, frame)
                axes.set_title(step_text(sheet, frame), fontsize=7, color=colour, pad=3)
        label_position = (0.08 / size[0], (y + height / 2) / size[1])
        figure.text(
            *label_position, "\n".join(labels[row]), fontsize=7, va="center", parse_math=False
        )
    if has_bar:
        done = 0
        for group in sheet.groups:
            high = len(group.panels) * pitch - GAP
            y = size[1] - TOP - done * pitch - high
            bar = add_axes(left + len(frames) * (width + GAP) + 0.08, y, 0.13, high)
            colour_bar(figure, bar, group, scales[id(group)])
            done += len(group.panels)
    _headings(figure, sheet, frames, left, width, size)
    with writing(out), atomic_path(out) as temporary:
        # Without the program's name, equal data give equal files.
        figure.savefig(temporary, format="png", dpi=DPI, metadata={"Software": None})


def _columns(n_frames: int, most: int = 20) -> list[int]:
    """Indices of the frames to draw: all, or every second, third, ... including the last."""
    step = -(-n_frames // most)
    return list(range((n_frames - 1) % step, n_frames, step))


def _headings(
    figure: Figure,
    sheet: Sheet,
    frames: list[int],
    left: float,
    width: float,
    size: tuple[float, float],
) -> None:
    step_text_of_frames = (
        "" if len(frames) == sheet.frames else f"; every {frames[1] - frames[0]} frames"
    )
    title = textwrap.fill(sheet.title + step_text_of_frames, max(40, int(size[0] * 9)))
    title_position = (0.08 / size[0], 1 - 0.08 / size[1])
    figure.text(*title_position, title, fontsize=10, va="top", weight="bold", parse_math=False)
    y = 1 - (TOP - 0.36) / size[1]
    for name, colour in (("context", CONTEXT), ("horizon", HORIZON)):
        columns = [i for i, frame in enumerate(frames) if colour_of(sheet, frame) == colour]
        if columns:
            first = (left + columns[0] * (width + GAP)) / size[0]
            last = (left + columns[-1] * (width + GAP) + width) / size[0]
            figure.add_artist(Line2D((first, last), (y, y), color=colour, linewidth=2))
            figure.text(first, y + 0.04 / size[1], name, fontsize=8, color=colour, va="bottom")


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure, with a size in inches, that needs no display."""
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def draw(axes: Axes, sheet: Sheet, image: np.ndarray, scale: Scale) -> AxesImage | QuadMesh:
    """Draw one frame into a panel, on a map if the grid has coordinates.

    Args:
        axes: the panel.
        sheet: sheet of the frame, with the coordinates of the grid.
        image: the frame, (H, W), or (H, W, 3) for colours in 0..1.
        scale: colour scale; ignored for colours.

    Returns:
        the image object in the panel; `redraw` can replace its frame.
    """
    colours: dict[str, Any] = {"cmap": scale.colours, "vmin": scale.low, "vmax": scale.high}
    if sheet.lat is None or sheet.lon is None:
        return axes.imshow(image, interpolation="nearest", aspect="auto", **colours)
    image_drawn = axes.pcolormesh(sheet.lon, sheet.lat, image, shading="nearest", **colours)
    bounds = axes.axis()
    coast = coastline(float(sheet.lon.min()) - 1.0)
    axes.plot(*coast, color="black", linewidth=0.5)
    axes.axis(bounds)
    return image_drawn


def redraw(image_drawn: AxesImage | QuadMesh, image: np.ndarray) -> None:
    """Replace the frame of an image that `draw` made."""
    if isinstance(image_drawn, QuadMesh):
        image_drawn.set_array(image)
    else:
        image_drawn.set_data(image)


def frame_of(axes: Axes, colour: str) -> None:
    """Give the border of a panel a colour, that of context or horizon (`colour_of`)."""
    for spine in axes.spines.values():
        spine.set(color=colour, linewidth=1.2)


def degrees(axes: Axes, sheet: Sheet, *, on_left: bool, below: bool, width: float) -> None:
    """Label the axes of a map with degrees; remove the ticks of a picture.

    Args:
        axes: the panel.
        sheet: sheet of the panel, with the coordinates of the grid if it is a map.
        on_left: whether latitudes are written; if not, their ticks have no labels.
        below: whether longitudes are written; if not, their ticks have no labels.
        width: width of the panel, in inches, which limits the number of longitudes.
    """
    axes.tick_params(labelsize=6, length=2, width=0.5)
    axes.set_xticks([])
    axes.set_yticks([])
    if sheet.lat is None or sheet.lon is None:
        return
    west, east, south, north = axes.axis()
    across = ticks(west, east, max(2, int(width / 0.45)))
    up = ticks(min(south, north), max(south, north), 4)
    axes.set_xticks(across, [longitude(x) for x in across] if below else [""] * len(across))
    axes.set_yticks(up, [latitude(y) for y in up] if on_left else [""] * len(up))
    axes.grid(color="black", alpha=0.2, linewidth=0.4)


def colour_bar(
    figure: Figure,
    axes: Axes,
    group: Group,
    scale: Scale,
    *,
    lying: bool = False,
    size: float = 7,
) -> None:
    """Draw the colour bar of a group, with its name and units.

    Args:
        figure: the figure.
        axes: axes for the bar.
        group: group of panels with the name and units.
        scale: colour scale.
        lying: whether the bar is horizontal.
        size: size of the letters, in points.
    """
    mappable = ScalarMappable(Normalize(scale.low, scale.high), scale.colours)
    orientation: Literal["horizontal", "vertical"] = "horizontal" if lying else "vertical"
    bar = figure.colorbar(mappable, cax=axes, extend=scale.beyond, orientation=orientation)
    bar.ax.tick_params(labelsize=size)
    bar.set_label(with_unit(group.name, group.units), fontsize=size, parse_math=False)


def fit_ticks(axes: Axes, scale: Scale, width: float) -> None:
    """Reduce the numbers below a horizontal colour bar to as many as fit, or to the two ends.

    Args:
        axes: axes of the bar; its numbers have a size of six points.
        scale: colour scale of the bar.
        width: width of the bar, in inches.
    """
    ends = [f"{end:.3g}" if abs(end) < 1000 else f"{end:.0f}" for end in (scale.low, scale.high)]
    most = int(width / (LETTER * (max(map(len, ends)) + 2)))
    if most >= 3:
        axes.xaxis.set_major_locator(MaxNLocator(min(most, 6)))
        return
    axes.set_xticks([scale.low, scale.high], ends)
    longest = LETTER * (len(ends[0]) + len(ends[1]) + 1)
    axes.tick_params(labelsize=6 * min(1.0, width / longest))
    first, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")


def aspect_of(sheet: Sheet) -> float:
    """Width of a frame divided by its height; on maps, degrees are as wide as high."""
    if sheet.lat is not None and sheet.lon is not None and min(len(sheet.lat), len(sheet.lon)) > 1:
        return float(np.ptp(sheet.lon) / max(np.ptp(sheet.lat), 1e-9))
    height, width = sheet.groups[0].panels[0].frames.shape[1:3]
    return float(width / height)


def _wrap_label(label: str) -> list[str]:
    return [part for line in label.splitlines() for part in textwrap.wrap(line, 26)]
