"""Movies of a sample: the context, then truth and predictions of all models side by side."""

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
"""Approximate size of a picture; more would make files too large to send."""
LARGEST, SMALLEST = 2.2, 0.9  # inches: the longer side of a panel
APART = 0.4  # inches between rows, for names and degrees
WIDEST = 1.6  # the width of a picture over its height, about
NOTHING = Panel("", np.empty(0))


def write(sample: SampleForecasts, outs: Sequence[Path], errors: bool = False) -> None:
    """Draw a movie of a sample, and write it as .gif or .mp4.

    Args:
        sample: sample with the forecasts of all models.
        outs: paths of the files, .gif or .mp4, which all show the same. Equal pictures give
            identical .gif files; .mp4 files may differ.
        errors: whether rows of errors are drawn too.
    """
    sheet, side = sheet_of(sample, errors)
    frames = list(movie.pictures(sheet, side=side, apart=APART))
    # Two or three pictures at the usual rate would only flicker.
    rate = movie.FRAMES_PER_SECOND if len(frames) >= 8 else 2
    for out in outs:
        movie.save(frames, out, rate)


def sheet_of(sample: SampleForecasts, errors: bool = False) -> tuple[Sheet, float]:
    """Make the content of a movie: truth and models for each variable, optionally with errors.

    Each row of values may be followed by a row with the errors of the same models, where the place
    below the truth is empty. While the context frames are shown, all panels of values show them,
    and panels of errors are empty.

    Args:
        sample: sample with the forecasts of all models.
        errors: whether there are rows of errors.

    Returns:
        the sheet, whose groups of panels are the rows of the movie; and the longer side of a panel
        in inches.
    """
    frames = np.concatenate([sample.context, sample.truth])
    truth_panels = [Panel("truth", sample.fields(frames, v)) for v in sample.variables]
    first = Group("", "", sample.is_picture, truth_panels)
    steps = np.arange(len(frames)) - len(sample.context) + 1
    title = textwrap.shorten(f"{sample.title}, {sample.clip}", 90)
    notes = " ".join(sample.notes)
    sheet = Sheet(title, [first], steps, sample.seconds, sample.lat, sample.lon, notes)
    rows = len(sample.variables) * (2 if errors else 1)
    side, most = arrange(drawing.aspect_of(sheet), len(sample.forecasts) + 1, rows)
    sheet.groups.clear()
    for variable in sample.variables:
        values, of_errors = scales(sample, variable)
        upper, lower = _panels(sample, variable)
        for start in range(0, len(upper), most):
            sheet.groups.append(
                Group(
                    variable.name,
                    variable.units,
                    sample.is_picture,
                    upper[start : start + most],
                    values,
                )
            )
            if errors:
                panels = lower[start : start + most]
                sheet.groups.append(_errors(variable, sample.is_picture, panels, of_errors))
    return sheet, side


def _panels(sample: SampleForecasts, variable: Variable) -> tuple[list[Panel], list[Panel]]:
    upper, lower = [], []
    for label, frames in [
        ("truth", sample.truth),
        *((f.label, f.frames) for f in sample.forecasts),
    ]:
        with_context = np.concatenate([sample.context, frames])
        upper.append(Panel(label, sample.fields(with_context, variable)))
    lower.append(NOTHING)
    for forecast in sample.forecasts:
        error = sample.errors(forecast, variable)
        before = np.full((len(sample.context), *error.shape[1:]), np.nan)
        lower.append(Panel(f"error of {forecast.label}", np.concatenate([before, error])))
    return upper, lower


def _errors(variable: Variable, is_picture: bool, panels: list[Panel], scale: Scale) -> Group:
    name = f"error of {variable.name}" if variable.name else "error"
    return Group(name, "0..1" if is_picture else variable.units, False, panels, scale)


def arrange(aspect: float, panels: int, rows: int) -> tuple[float, int]:
    """Choose the size of panels and the number of panels in a row.

    Args:
        aspect: width of a panel divided by its height.
        panels: number of panels of a variable: one for the truth, and one for each model.
        rows: number of variables, or twice that number if errors are drawn.

    Returns:
        longer side of a panel in inches, and number of panels in a row.
    """
    lines = min(
        range(1, panels + 1),
        key=lambda n: abs(math.log(-(-panels // n) * aspect / (rows * n) / WIDEST)),
    )
    most = -(-panels // lines)
    # Area of a panel with its margins, in square inches.
    area = PIXELS / drawing.DPI**2 / (most * rows * -(-panels // most))
    side = math.sqrt(area * max(aspect, 1 / aspect)) - 0.2
    return min(LARGEST, max(SMALLEST, side)), most
