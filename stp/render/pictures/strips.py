"""Draw strips: truth, predictions and errors of one sample, to fit the page of a paper."""

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure

from stp.page.figure_style import TEXT_WIDTH, new_figure, paper_size, save
from stp.page.units import with_unit
from stp.render.pictures import drawing
from stp.render.pictures.forecasts import Forecast, SampleForecasts, Variable
from stp.render.pictures.sheet import Group, Panel, Scale, Sheet

ERROR_COLOURS = "gist_heat_r"  # white where there is no error
PAGE = 8.4  # inches: the height that strips should keep to, without notes
FEW_FRAMES, MOST_FRAMES = 4, 10
SMALLEST, LARGEST = 0.3, 1.5  # inches: the width of a panel
MOST_BLOCKS = 6
GAP = 0.03
APART = 0.06  # between models
NAMES = 0.36  # inches on the left of a block, for the names of its rows
LETTER = 0.056  # of a name
TITLE = 14  # letters per inch
BETWEEN = 0.1  # blocks
DEGREES = 0.24  # inches, for degrees of latitude on the left of the page
HEADER = 0.22  # for the title
HEADING = 0.2  # for the name of a variable
BAR = 0.62  # for colour bars


class Plan(NamedTuple):
    """Layout of a page of strips.

    Attributes:
        blocks: number of blocks side by side for each variable, among which the models are divided.
        columns: number of frames in each block.
        width, height: size of a panel, in inches.
        per_block: number of models in each block.
    """

    blocks: int
    columns: int
    width: float
    height: float
    per_block: int


@dataclass(frozen=True)
class Row:
    """A row of frames in a strip: of the context, the truth, or a model's predictions or errors.

    Attributes:
        name: title of the model; empty for context and truth.
        kind: ``context``, ``truth``, ``prediction`` or ``error``.
        frames: frame of each column, (H, W) or (H, W, 3).
        scale: colour scale of the row.
        steps: for each column, the number of frames after the last context frame: the lead time
            or, for context frames, 0 and below.
    """

    name: str
    kind: str
    frames: list[np.ndarray]
    scale: Scale
    steps: list[int]


def scales(sample: SampleForecasts, variable: Variable) -> tuple[Scale, Scale]:
    """Choose the colour scales of values and errors of a variable.

    The scale of values spans context and truth, so that models do not influence it. The scale of
    errors ends at their 99th percentile, but at most at the range of the truth, so that a diverged
    model does not make all others look perfect.

    Args:
        sample: the sample, with the forecasts of all models.
        variable: the variable.

    Returns:
        scale of values and scale of errors.
    """
    frames = np.concatenate([sample.context, sample.truth])
    truth = [Panel("", sample.fields(frames, variable))]
    values = drawing.scale_of(Group(variable.name, "", sample.is_picture, truth))
    errors = np.concatenate([sample.errors(f, variable).ravel() for f in sample.forecasts])
    errors = errors[np.isfinite(errors)]
    high = float(np.percentile(errors, 99)) if len(errors) else 0.0
    high = min(high, values.high - values.low)
    return values, Scale(0.0, high if high > 0 else 1.0, ERROR_COLOURS, "max")


def spread(count: int, most: int) -> list[int]:
    """Select evenly spread indices of 0..count-1, including the first and the last.

    Args:
        count: number of indices to select from.
        most: maximum number of selected indices; if it is 1, the last index is selected.
    """
    if most == 1:
        return [count - 1]
    return [int(i) for i in np.unique(np.linspace(0, count - 1, min(count, most)).round())]


def plan(
    models: int, variables: int, leads: int, aspect: float, *, over: float, is_map: bool
) -> Plan:
    """Choose the layout of a page with the largest pictures.

    Args:
        models: number of models; each has a row of predictions and a row of errors.
        variables: number of variables; each has blocks of its own.
        leads: number of lead times.
        aspect: width of a frame divided by its height.
        over: height that step labels, names and colour bars need, in inches.
        is_map: whether frames are maps, which need space for degrees on the left.
    """
    best_plan: tuple[tuple[bool, bool, bool, float], Plan] | None = None
    for blocks in range(1, max(1, min(models, MOST_BLOCKS // variables)) + 1):
        per_block = -(-models // blocks)
        for columns in range(min(leads, 2), min(leads, MOST_FRAMES) + 1):
            room = TEXT_WIDTH - 0.1 - (DEGREES if is_map else 0)
            room -= variables * blocks * (NAMES + BETWEEN) + GAP
            across = room / (variables * blocks * columns) - GAP
            up = (PAGE - _height(per_block, 0, over)) / (2 + 2 * per_block)
            width = min(across, LARGEST, max(up * aspect, SMALLEST))
            if width <= 0:
                continue
            division = Plan(blocks, columns, width, width / aspect, per_block)
            height = _height(per_block, division.height, over)
            fits = height <= PAGE + 1e-6
            # The area of all pictures; if no page has room for them, the shortest page, but not
            # with pictures that are too small to be recognised.
            merit = columns * width * division.height if fits else -height
            rank = (width >= SMALLEST, fits, columns >= min(leads, FEW_FRAMES), merit)
            if best_plan is None or rank > best_plan[0]:
                best_plan = (rank, division)
    assert best_plan is not None, "a page has room for something"
    return best_plan[1]


def _height(per_block: int, panel: float, over: float) -> float:
    return over + (2 + 2 * per_block) * (panel + GAP) + per_block * APART


def _over(timed: bool) -> float:
    """Space above a row for step labels and, if timed, times of its frames, in inches."""
    return 0.26 if timed else 0.15


def write(sample: SampleForecasts, out: Path) -> None:
    """Draw a sample as strips, and write the picture as PNG and as SVG.

    Equal predictions give identical files.

    Args:
        sample: the sample, with the forecasts of all models.
        out: path of the PNG file; the SVG file is written next to it, with the same stem.
    """
    with paper_size():
        figure = draw(sample)
        save(figure, out, "")


def draw(sample: SampleForecasts) -> Figure:
    """Draw a sample as strips: blocks of rows, with a column for each drawn frame.

    Every panel (a frame) gets the matplotlib label ``<variable>|<model>|<kind>|<step>``, e.g.
    ``t2m|ConvLSTM|error|4``. The variable is empty for video, and the model is empty for context
    and truth. The kind is ``context``, ``truth``, ``prediction`` or ``error``. The step is the
    number of frames after the last context frame: the lead time or, for context frames, 0 and
    below.

    Args:
        sample: the sample, with the forecasts of all models.
    """
    sheet = _sheet(sample)
    aspect = drawing.aspect_of(sheet)
    timed = sample.seconds is not None
    is_map = sample.lat is not None
    title = textwrap.wrap(f"{sample.title}, {sample.clip}", int((TEXT_WIDTH - 0.15) * TITLE))
    name_height = HEADING if sample.variables[0].name else 0.0
    top = HEADER + 0.13 * (len(title) - 1)
    other_height = top + name_height + 2 * _over(timed) + BAR
    division = plan(
        len(sample.forecasts),
        len(sample.variables),
        len(sample.truth),
        aspect,
        over=other_height,
        is_map=is_map,
    )
    block = NAMES + division.columns * (division.width + GAP) + BETWEEN
    blocks = division.blocks * len(sample.variables)
    left = 0.05 + (DEGREES if is_map else 0)
    width = max(left + blocks * block, 0.75 * TEXT_WIDTH, 0.15 + max(map(len, title)) / TITLE)
    notes = textwrap.wrap(" ".join([*sample.notes, _about_colours(sample)]), int(width * 21))
    body = _height(division.per_block, division.height, other_height)
    height = body + 0.1 * len(notes) + 0.08
    figure = new_figure(width, height)
    figure.set_layout_engine("none")
    page = _Page(figure, sheet, division, timed, width, height)
    page.text(0.05, 0.05, "\n".join(title), size=8, weight="bold")
    for number, variable in enumerate(sample.variables):
        values, errors = scales(sample, variable)
        x = left + number * division.blocks * block
        if variable.name:
            heading = with_unit(variable.name, variable.units)
            page.text(x + NAMES, top + 0.04, heading, size=7.5, weight="bold")
        for part in range(division.blocks):
            first = part * division.per_block
            models = sample.forecasts[first : first + division.per_block]
            if models:
                rows = _rows(sample, variable, models, division.columns, values, errors)
                page.block(x + part * block, top + name_height, variable.name, rows)
        page.bars(
            x + NAMES,
            body - BAR,
            division.blocks * block - NAMES - BETWEEN,
            Group(variable.name, variable.units, sample.is_picture, []),
            values,
            errors,
        )
    page.text(0.05, body + 0.02, "\n".join(notes), size=6, color="#555555", linespacing=1.15)
    return figure


def _about_colours(sample: SampleForecasts) -> str:
    errors = "Errors are |prediction − truth|"
    if sample.is_picture:
        errors += " of unclipped values"
        colours = len(sample.variables[0].channels) > 1
        errors += ", the mean over red, green and blue" if colours else ""
        return f"{errors}; predictions are drawn within 0..1."
    return (
        "Colours of values have the limits of context and truth, without the outermost percent. "
        f"{errors}."
    )


def _sheet(sample: SampleForecasts) -> Sheet:
    frames = np.concatenate([sample.context, sample.truth])
    groups = [
        Group(v.name, v.units, sample.is_picture, [Panel("", sample.fields(frames, v))])
        for v in sample.variables
    ]
    steps = np.arange(len(frames)) - len(sample.context) + 1
    return Sheet(sample.title, groups, steps, sample.seconds, sample.lat, sample.lon)


def _rows(
    sample: SampleForecasts,
    variable: Variable,
    models: list[Forecast],
    columns: int,
    values: Scale,
    errors: Scale,
) -> list[Row]:
    before = spread(len(sample.context), columns)
    ahead = spread(len(sample.truth), columns)
    steps = [i + 1 for i in ahead]
    context, truth = (sample.fields(f, variable) for f in (sample.context, sample.truth))
    rows = [
        Row(
            "",
            "context",
            [context[i] for i in before],
            values,
            [i + 1 - len(context) for i in before],
        ),
        Row("", "truth", [truth[i] for i in ahead], values, steps),
    ]
    for model in models:
        predicted = sample.fields(model.frames, variable)
        error = sample.errors(model, variable)
        rows.append(Row(model.label, "prediction", [predicted[i] for i in ahead], values, steps))
        rows.append(Row(model.label, "error", [error[i] for i in ahead], errors, steps))
    return rows


class _Page:
    """A figure with positions in inches from the left and from the top."""

    def __init__(
        self, figure: Figure, sheet: Sheet, division: Plan, timed: bool, width: float, height: float
    ) -> None:
        self.figure, self.sheet, self.division, self.timed = figure, sheet, division, timed
        self.width, self.height = width, height

    def axes(self, x: float, y: float, width: float, height: float) -> Axes:
        bottom = self.height - y - height
        box = (x / self.width, bottom / self.height, width / self.width, height / self.height)
        return self.figure.add_axes(box)

    def text(self, x: float, y: float, text: str, size: float, **more: object) -> None:
        position = (x / self.width, 1 - y / self.height)
        options = {"va": "top", **more}
        self.figure.text(*position, text, fontsize=size, parse_math=False, **options)  # type: ignore[arg-type]

    def block(self, x: float, y: float, variable: str, rows: list[Row]) -> None:
        """Draw a block: rows below each other, with names on the left."""
        width, height = self.division.width, self.division.height
        for number, row in enumerate(rows):
            if row.kind in ("context", "truth"):
                self._steps(x, y, row)
                y += _over(self.timed)
            for column, frame in enumerate(row.frames):
                left = x + NAMES + column * (width + GAP)
                axes = self.axes(left, y, width, height)
                axes.set_label(f"{variable}|{row.name}|{row.kind}|{row.steps[column]}")
                image = drawing.draw(axes, self.sheet, frame, row.scale)
                if isinstance(image, QuadMesh):  # as vectors a map would take megabytes
                    for artist in (*axes.collections, *axes.lines):
                        artist.set_rasterized(True)
                    for coast in axes.lines:
                        coast.set_linewidth(min(0.5, 0.35 * width))
                colour = drawing.CONTEXT if row.kind == "context" else drawing.HORIZON
                drawing.frame_of(axes, colour if row.kind in ("context", "truth") else "black")
                for spine in axes.spines.values():
                    spine.set(visible=True, linewidth=0.8 if not row.name else 0.4)
                drawing.degrees(
                    axes,
                    self.sheet,
                    on_left=column == 0 and row.kind in ("context", "truth") and x < 0.5,
                    below=number == len(rows) - 1,
                    width=width,
                )
                axes.tick_params(labelsize=5, length=1.5, pad=1)
            y += self._name(x, y, row)

    def _name(self, x: float, y: float, row: Row) -> float:
        """Write the name of a row; return the distance to the next row, in inches."""
        height = self.division.height
        shift = DEGREES if x < 0.5 and self.sheet.lat is not None else 0.0
        inner = {"ha": "right", "va": "center", "rotation": 90, "color": "#555555"}
        outer = {**inner, "color": "black", "ha": "center"}
        x -= shift if row.kind in ("context", "truth") else 0
        if row.kind in ("context", "truth"):
            self.text(x + NAMES - 0.05, y + height / 2, row.kind, size=6.5, **inner)
            return height + GAP
        kind = "pred." if row.kind == "prediction" and height < 0.45 else row.kind
        self.text(x + NAMES - 0.03, y + height / 2, kind, size=5, **inner)
        if row.kind == "prediction":
            room = (2 * height + GAP) / LETTER  # letters of a line
            lines = textwrap.wrap(row.name, max(1, int(room)), break_long_words=False)
            size = 6.5 * min(1.0, room / max(map(len, lines)))
            self.text(x + 0.12, y + height + GAP / 2, "\n".join(lines), size=size, **outer)
            return height + GAP
        return height + GAP + APART

    def _steps(self, x: float, y: float, row: Row) -> None:
        width, seconds = self.division.width, self.sheet.seconds
        colour = drawing.CONTEXT if row.kind == "context" else drawing.HORIZON
        texts = []
        for step in row.steps:
            time = f"\n{drawing.duration(step, seconds)}" if seconds is not None and step else ""
            texts.append((f"{step:+d}" if step else "0") + time)
        longest = max(len(line) for text in texts for line in text.splitlines())
        size = 6 * min(1.0, (width + GAP) / (longest * LETTER))
        below = y + _over(self.timed) - 0.02
        for column, text in enumerate(texts):
            centre = x + NAMES + column * (width + GAP) + width / 2
            self.text(
                centre, below, text, size, ha="center", va="bottom", color=colour, linespacing=1.0
            )

    def bars(
        self, x: float, y: float, width: float, group: Group, values: Scale, errors: Scale
    ) -> None:
        """Draw the colour bars of errors and, unless values are brightness, of values."""
        half = min(1.6, (width - 0.25) / 2)
        y += 0.14
        # Units are in the heading of the variable too.
        has_room = len(with_unit(group.name, group.units)) * 0.05 < half + 0.15
        lefts = [x] if group.is_picture else [x, x + half + 0.25]
        scales_of_bars = [errors] if group.is_picture else [values, errors]
        if not group.is_picture:
            bar = self.axes(lefts[0], y, half, 0.07)
            drawing.colour_bar(self.figure, bar, group, values, lying=True, size=6)
            if not has_room:
                bar.set_xlabel(group.name)
        bar = self.axes(lefts[-1], y, half, 0.07)
        units = "brightness, 0..1" if group.is_picture else group.units
        error = Group("error", units, False, [])
        drawing.colour_bar(self.figure, bar, error, errors, lying=True, size=6)
        if not has_room:
            bar.set_xlabel("error")
        for axes, scale in zip(self.figure.axes[-len(lefts) :], scales_of_bars, strict=True):
            drawing.fit_ticks(axes, scale, half)
