"""Moving pictures: the context, then the truth and the predictions of all models side by side."""

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stp.render.pictures import drawing
from stp.render.pictures import movie_files as movie
from stp.render.pictures.forecasts import SampleForecasts, Variable
from stp.render.pictures.sheet import Group, Panel, Scale, Sheet
from stp.render.pictures.strips import scales

PIXELS = 600_000
"""Of a picture, about; more would make files too large to send."""
LARGEST, SMALLEST = 2.2, 0.9  # inches: the longer side of a panel
APART = 0.4  # inches between rows, for names and degrees
WIDEST = 1.6  # the width of a picture over its height, about
NOTHING = Panel("", np.empty(0))


def write(shown: SampleForecasts, outs: Sequence[Path], errors: bool = False) -> None:
    """Draw a sample once, and write it as .gif or .mp4.

    Args:
        shown: the sample.
        outs: the files; the same pictures in each. Those of a .gif
            repeat byte by byte; of an .mp4 only the pictures that are encoded do.
        errors: whether rows of errors are drawn as well.
    """
    sheet, side = sheet_of(shown, errors)
    frames = list(movie.pictures(sheet, side=side, apart=APART))
    # Two or three pictures at the usual rate would only flicker.
    rate = movie.FRAMES_PER_SECOND if len(frames) >= 8 else 2
    for out in outs:
        movie.save(frames, out, rate)


def sheet_of(shown: SampleForecasts, errors: bool = False) -> tuple[Sheet, float]:
    """What the moving picture has: for each variable truth and models, and perhaps errors.

    While the context runs, all panels of values show it, and those of errors are empty.

    Returns:
        the sheet, a group for each row, and the inches of the longer side of a panel.
    """
    frames = np.concatenate([shown.context, shown.truth])
    whole = [Panel("truth", shown.fields(frames, v)) for v in shown.variables]
    first = Group("", "", shown.is_picture, whole)
    steps = np.arange(len(frames)) - len(shown.context) + 1
    title = textwrap.shorten(f"{shown.title}, {shown.clip}", 90)
    notes = " ".join(shown.notes)
    sheet = Sheet(title, [first], steps, shown.seconds, shown.lat, shown.lon, notes)
    rows = len(shown.variables) * (2 if errors else 1)
    side, most = arrange(drawing.aspect_of(sheet), len(shown.forecasts) + 1, rows)
    sheet.groups.clear()
    for variable in shown.variables:
        values, of_errors = scales(shown, variable)
        upper, lower = _panels(shown, variable)
        for start in range(0, len(upper), most):
            sheet.groups.append(
                Group(
                    variable.name,
                    variable.units,
                    shown.is_picture,
                    upper[start : start + most],
                    values,
                )
            )
            if errors:
                panels = lower[start : start + most]
                sheet.groups.append(_errors(variable, shown.is_picture, panels, of_errors))
    return sheet, side


def _panels(shown: SampleForecasts, variable: Variable) -> tuple[list[Panel], list[Panel]]:
    """Values of the truth and all models, and below them errors."""
    upper, lower = [], []
    for label, frames in [("truth", shown.truth), *((f.label, f.frames) for f in shown.forecasts)]:
        whole = np.concatenate([shown.context, frames])
        upper.append(Panel(label, shown.fields(whole, variable)))
    lower.append(NOTHING)
    for forecast in shown.forecasts:
        error = shown.errors(forecast, variable)
        before = np.full((len(shown.context), *error.shape[1:]), np.nan)
        lower.append(Panel(f"error of {forecast.label}", np.concatenate([before, error])))
    return upper, lower


def _errors(variable: Variable, is_picture: bool, panels: list[Panel], scale: Scale) -> Group:
    name = f"error of {variable.name}" if variable.name else "error"
    return Group(name, "0..1" if is_picture else variable.units, False, panels, scale)


def arrange(aspect: float, panels: int, rows: int) -> tuple[float, int]:
    """Choose how large panels are and how many stand beside each other.

    Args:
        aspect: width of a panel over its height.
        panels: in a row, if it had room.
        rows: one for each variable, and for errors.

    Returns:
        inches of the longer side of a panel, and the panels beside each other.
    """
    lines = min(
        range(1, panels + 1),
        key=lambda n: abs(math.log(-(-panels // n) * aspect / (rows * n) / WIDEST)),
    )
    most = -(-panels // lines)
    # A panel and the room around it, in square inches.
    area = PIXELS / drawing.DPI**2 / (most * rows * -(-panels // most))
    side = math.sqrt(area * max(aspect, 1 / aspect)) - 0.2
    return min(LARGEST, max(SMALLEST, side)), most
