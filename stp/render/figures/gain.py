"""Gain of ensembles: ratio of their scores to those of single forecasts, over lead time."""

from dataclasses import dataclass

from matplotlib.figure import Figure

from stp.core.errors import StpError
from stp.page.figure_style import Style
from stp.render.figures.leads import about_printed, as_printed
from stp.render.figures.panels import curve, in_words, legend, legend_height, panels
from stp.render.figures.reading import (
    Line,
    Scores,
    by_lead,
    printed_name,
    published_by_lead,
    read,
)
from stp.render.figures.time_step import step_of, tick_labels, ticks
from stp.render.tables.rows import Entry

FIGURE = {
    "of_case": True,
    "about": "ensembles over single forecasts, by lead time",
    "caption": "Scores of ensembles divided by those of the single forecasts of the same model, "
    "over the lead time",
}


@dataclass(frozen=True)
class Pair:
    """An ensemble and the single forecasts of the same model.

    Attributes:
        name: title of the ensemble.
        printed: name of the model in the paper; None if the paper has no such ensemble.
        ensemble, control: values of the ensemble, and of the single forecasts, by column, then by
            lead time, from 1.
    """

    name: str
    printed: str | None
    ensemble: dict[str, dict[int, float]]
    control: dict[str, dict[int, float]]


def draw(ensembles: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw the scores of ensembles, divided by those of single forecasts, over lead time.

    The single forecasts are scored in a dimension (a table) of their own, which the dimension of
    the ensembles declares. There is a panel for each column with values in both dimensions, if
    higher or lower values are better.

    Args:
        ensembles: scores of the dimension of the ensembles.
        case: name of the test to draw.

    Returns:
        the figure, and notes to print below it.

    Raises:
        StpError: the dimension of the ensembles declares no dimension of single forecasts, or one
            of the two has no such test.
    """
    if ensembles.plan.controls is None:
        raise StpError(
            f"{ensembles.plan.dimension} names no single forecasts of its ensembles",
            expected="a dimension with `controls` (config/suites)",
        )
    controls = read(ensembles.manifest.with_stem(ensembles.plan.controls), ensembles.results)
    ensembles, controls = ensembles.over_leads(), controls.over_leads()
    pairs = _pairs(ensembles, controls, case)
    columns = [
        column
        for column in ensembles.columns(case)
        if ensembles.direction(case, column).higher is not None
        and any(pair.ensemble[column] and pair.control.get(column) for pair in pairs)
    ]
    title = ensembles.title(case)
    if not columns:
        return in_words(f"{title}: no ensemble has single forecasts with values by lead time"), []
    models = [pair.name for pair in pairs]
    figure, axes = panels(len(columns), 1.85, extra=0.45 + legend_height(models))
    figure.suptitle(f"{title}: ensembles over single forecasts")
    is_printed = False
    last = max(lead for pair in pairs for at in pair.ensemble.values() for lead in at)
    unit, labels = tick_labels(ticks(1, last), step_of(ensembles.lines(case)[0].cells[0]))
    for panel, column in zip(axes, columns, strict=True):
        panel.set_title(ensembles.heading(case, column))
        panel.axhline(1, color="black", linewidth=0.7)
        published = [published_by_lead(scores, case, column) for scores in (ensembles, controls)]
        for pair in pairs:
            style: Style = ensembles.styles[pair.name]
            ratio = _ratio(pair.ensemble[column], pair.control.get(column, {}))
            if ratio:
                no_ends = [None] * len(ratio)
                curve(panel, list(ratio), list(ratio.values()), no_ends, style, pair.name)
            printed = _ratio(*(by_model.get(pair.printed or "", {}) for by_model in published))
            if printed:
                is_printed = True
                label = f"{pair.printed} (published)"
                as_printed(panel, printed, ensembles.styles, pair.name, label)
        panel.set_xticks(ticks(1, last), labels)
        panel.set_xlabel(f"lead time [{unit}]")
        panel.set_ylabel("ensemble / single")
    legend(figure, ensembles.styles, models)
    comparable = all(line.row.comparable for line in ensembles.lines(case))
    return figure, [about_printed(comparable)] if is_printed else []


def _pairs(ensembles: Scores, controls: Scores, case: str) -> list[Pair]:
    """Match ensembles with their single forecasts.

    An ensemble of training runs and its single forecasts have the same model. The ensembles and the
    single forecasts of a weather centre are two models with the same name in the paper.
    """
    trained: dict[str, Line] = {}
    by_printed_name: dict[str | None, Line] = {}
    for line in controls.lines(case):
        key = line.cells[0].key
        if key.variant == "default":
            trained[key.model] = line
            by_printed_name[printed_name(controls, line)] = line
    of_ensembles, of_single = by_lead(ensembles, case), by_lead(controls, case)

    def values(
        scores: Scores, line: Line, by_model: dict[str, dict[int, dict[str, Entry]]]
    ) -> dict[str, dict[int, float]]:
        return {
            column: {
                lead: value
                for lead, at in by_model[line.model].items()
                if column in at and (value := at[column].value) is not None
            }
            for column in scores.columns(case)
        }

    pairs = []
    for line in ensembles.lines(case):
        name = printed_name(ensembles, line)
        single = trained.get(line.cells[0].key.model) or (
            by_printed_name.get(name) if name else None
        )
        if single is not None:
            of_line = values(ensembles, line, of_ensembles)
            pairs.append(Pair(line.model, name, of_line, values(controls, single, of_single)))
    return pairs


def _ratio(values: dict[int, float], others: dict[int, float]) -> dict[int, float]:
    return {lead: value / others[lead] for lead, value in values.items() if others.get(lead)}
