"""Scores over lead time, a panel for each column of the paper, as in its figure 4."""

from pathlib import Path

from matplotlib.figure import Figure

from stp.core.errors import StpError
from stp.page.figure_style import paper_size
from stp.plan.manifest import forecast_recipe
from stp.render.figures.panels import curve, finish, in_words, legend, legend_height, panels
from stp.render.figures.reading import Scores, by_lead, read
from stp.render.figures.time_step import step_of, tick_labels, ticks


def render(manifest: Path, results: Path, out: Path, case: str | None = None) -> None:
    """Write the figure of a case; see `stp.render.figures.kinds.render`."""
    scores = read(manifest, results)
    with paper_size():
        figure, absent = draw(scores, str(case))
        finish(figure, out, [scores.about([str(case)]), *absent])


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw a case.

    Returns:
        the figure, and which columns it lacks and why.

    Raises:
        StpError: there is no such case, or it has one lead time only.
    """
    lines = scores.lines(case)
    found = by_lead(scores, case)
    leads = sorted({lead for at in found.values() for lead in at})
    if leads and leads[-1] == 1:
        raise StpError(
            f"forecasts of {case} have one lead time",
            expected="several, to draw a curve",
            remedy="draw a case with a longer horizon, or look at `ranks`",
        )
    drawn, absent = [], []
    for column in scores.columns(case):
        entries = [at[column] for by in found.values() for at in by.values() if column in at]
        if any(entry.value is not None for entry in entries):
            drawn.append(column)
        else:
            whole = [line.row.entries[column] for line in lines]
            known = any(entry.value is not None for entry in whole)
            reason = "it has no value per lead time" if known else whole[0].reason
            absent.append(f"{column} left out: {reason}")
    if not drawn:
        text = f"{scores.title(case)}: no column has values per lead time"
        return in_words(text), absent
    models = [line.model for line in lines]
    figure, axes = panels(len(drawn), 1.85, extra=0.45 + legend_height(len(models)))
    figure.suptitle(scores.title(case))
    trained = forecast_recipe(lines[0].cells[0]).get("horizon")
    unit, labels = tick_labels(ticks(1, leads[-1]), step_of(lines[0].cells[0]))
    for place, column in zip(axes, drawn, strict=True):
        place.set_title(scores.heading(case, column))
        for model in models:
            at = {
                lead: by[column]
                for lead, by in found[model].items()
                if column in by and by[column].value is not None
            }
            ends = [
                None if e.low is None or e.high is None else (e.low, e.high) for e in at.values()
            ]
            values = [e.value for e in at.values() if e.value is not None]
            if values:
                curve(place, list(at), values, ends, scores.styles[model], model)
        place.set_xticks(ticks(1, leads[-1]), labels)
        place.set_xlim(1 - 0.02 * leads[-1], leads[-1] * 1.02)
        place.set_xlabel(f"lead time [{unit}]")
        place.set_ylabel(_unit(scores, case, column))
        if trained and trained < leads[-1]:
            place.axvline(trained, color="black", linewidth=0.7, linestyle=(0, (4, 3)))
    if trained and trained < leads[-1]:
        absent.append(f"vertical line: the last lead time of the training ({trained})")
    legend(figure, scores.styles, models)
    return figure, absent


def _unit(scores: Scores, case: str, column: str) -> str:
    unit = scores.plan.conventions[scores.columns(case)[column]].unit
    # Other texts say that it depends on the variable.
    return "" if unit == "1" or " " in unit else unit
