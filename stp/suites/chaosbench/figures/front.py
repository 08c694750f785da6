"""Figure of two errors of networks: of power spectra (divergence), and of values (RMSE).

Networks whose loss includes the spectrum trade one error for the other.
"""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from stp.render.figures.panels import (
    in_words,
    legend,
    legend_height,
    panels,
    point,
)
from stp.render.figures.reading import Line, Scores, Value, at_leads, variables_of

FIGURE = {
    "of_case": True,
    "about": "divergence of spectra against errors",
    "caption": "SpecDiv against RMSE of trained networks and their variants, with 95 % intervals, "
    "and the front of each network",
}

ERROR, SPECTRA = "wrmse.pooled", "spectral_divergence.high_wavenumbers"
LEADS = (1, 14, 44)
"""Lead times of the columns of panels, if there are forecasts."""


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw scatter plots: a row for each variable, a column for each of some lead times.

    The axes are the RMSE of values (x) and the divergence of spectra (y). Points are trained
    networks and their variants (networks with other options), with intervals. A line joins the
    Pareto front of a network: no other variant of it has both a lower RMSE and a lower divergence.

    Args:
        scores: scores of all models in all tests of a table.
        case: name of the test to draw.

    Returns:
        the figure, and notes to print below it.
    """
    errors, spectra = (at_leads(scores, case, name) for name in (ERROR, SPECTRA))
    lines = [line for line in scores.lines(case) if line.cells[0].key.seed is not None]
    available = {lead for line in lines for _, _, lead in errors[line.model]}
    variables, leads = variables_of(scores, case), [lead for lead in LEADS if lead in available]
    if not leads:
        return in_words(f"{scores.title(case)}: no trained network has values by lead time"), []
    names = [line.model for line in lines]
    figure, axes = panels(
        len(variables) * len(leads), 1.85, len(leads), extra=0.45 + legend_height(names)
    )
    figure.suptitle(scores.title(case))
    panel_axes = iter(axes)
    for variable in variables:
        for lead in leads:
            panel, at = next(panel_axes), (variable, None, lead)
            panel.set_title(f"{variable}, lead time {lead}")
            values = {
                line.model: (errors[line.model][at], spectra[line.model][at])
                for line in lines
                if at in errors[line.model] and at in spectra[line.model]
            }
            for model, (x, y) in values.items():
                _cross(panel, x, y, scores, model)
            for network in dict.fromkeys(line.cells[0].key.model for line in lines):
                points = [values[line.model] for line in lines if _is_of(line, network, values)]
                joined = pareto_front([(x.value, y.value) for x, y in points])
                if len(joined) > 1:
                    panel.plot(*zip(*joined, strict=True), color="black", linewidth=0.6, zorder=1)
            panel.set_xscale("log")
            panel.set_yscale("log")
            for ticks in (panel.xaxis, panel.yaxis):  # often less than a decade
                ticks.set_major_locator(MaxNLocator(3))
                ticks.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                ticks.set_minor_locator(NullLocator())
            panel.set_xlabel("RMSE")
            panel.set_ylabel("SpecDiv")
    legend(figure, scores.styles, names, lines=False)
    return figure, ["bars: 95 % intervals, where there are any", "line: front of a network"]


def pareto_front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Select the Pareto front of points with two errors each, sorted by the first error.

    A point is left out if another point is smaller in one error and not larger in the other.
    """
    return sorted(
        point
        for point in set(points)
        if not any(
            other != point and other[0] <= point[0] and other[1] <= point[1] for other in points
        )
    )


def _is_of(line: Line, network: str, values: dict[str, tuple[Value, Value]]) -> bool:
    return line.cells[0].key.model == network and line.model in values


def _cross(axes: Axes, x: Value, y: Value, scores: Scores, model: str) -> None:
    style = scores.styles[model]
    for value, line in ((x, axes.hlines), (y, axes.vlines)):
        if value.low is not None and value.high is not None:
            other = y if value is x else x
            line(other.value, value.low, value.high, color=style.colour, linewidth=0.8, zorder=2)
    axes.plot([x.value], [y.value], label=model, zorder=3, **point(style))
