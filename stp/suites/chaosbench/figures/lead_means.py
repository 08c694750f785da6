"""Figure of scores averaged over lead times: a panel for each metric, a point for each model."""

from collections import Counter
from collections.abc import Collection, Iterable
from statistics import fmean

from matplotlib.figure import Figure

from stp.render.figures.leads import about_printed
from stp.render.figures.panels import in_words, panels, point
from stp.render.figures.reading import Scores, by_lead, printed_name, published_by_lead
from stp.render.tables.rows import Entry

FIGURE = {
    "of_case": True,
    "about": "means over lead times",
    "caption": "Means of the scores over lead times, a point for each forecast: above the line "
    "those of no trained network",
}

ROW = 0.13
"""Height of the row of a forecast, inches."""


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw a panel for each metric, with one point for each forecast: its mean over lead times.

    A panel shows a column of the table that has values at several lead times.

    Means are over the lead times that most forecasts of the panel have. A forecast that lacks one
    of these has no point. There are no intervals. A line separates forecasts without a trained
    network from the others.

    Args:
        scores: scores of all models in all tests of a table.
        case: name of the test to draw.

    Returns:
        the figure, and notes to print below it.

    Raises:
        StpError: the dimension has no test with the name ``case``.
    """
    # Without intervals, since lead times of one sample depend on each other. Some forecasts lack
    # lead times, for example if a network was trained for some lead times only.
    scores = scores.over_leads()
    values_by_lead = by_lead(scores, case)
    of_columns = {
        column: values
        for column in scores.columns(case)
        if (values := _values(values_by_lead, column)) and max(map(max, values.values())) > 1
    }
    title = scores.title(case)
    if not of_columns:
        return in_words(f"{title}: no column has values at several lead times"), []
    in_order = sorted(scores.lines(case), key=lambda line: line.cells[0].key.seed is not None)
    lines = {line.model: line for line in in_order}
    named = {name: model for model, line in lines.items() if (name := printed_name(scores, line))}
    untrained = sum(line.cells[0].key.seed is None for line in lines.values())
    figure, axes = panels(len(of_columns), 0.55 + ROW * len(lines), extra=0.35)
    figure.suptitle(f"{title}: means over lead times")
    counts, is_printed, without = set(), False, dict[str, None]()
    for panel, (column, values) in zip(axes, of_columns.items(), strict=True):
        panel.set_title(scores.heading(case, column))
        common = _common_leads(values.values())
        counts.add(len(common))
        heights = {model: height for height, model in enumerate(lines)}
        for model, at in values.items():
            if common <= set(at):
                mean = fmean(at[lead] for lead in common)
                panel.plot([mean], [heights[model]], label=model, **point(scores.styles[model]))
            else:
                without[model] = None
        for name, at in published_by_lead(scores, case, column).items():
            ours = named.get(name, "")
            if ours in values and common <= set(at):
                is_printed = True
                panel.plot(
                    [fmean(at[lead] for lead in common)],
                    [heights[ours]],
                    linestyle="none",
                    marker="|",
                    markersize=9,
                    color=scores.styles[ours].colour,
                    label=f"{name} (published)",
                )
        if 0 < untrained < len(lines):
            panel.axhline(untrained - 0.5, color="black", linewidth=0.6)
        panel.set_ylim(len(lines) - 0.5, -0.5)
        at_left = panel.get_subplotspec().is_first_col()  # type: ignore[union-attr]
        panel.set_yticks(range(len(lines)), list(lines) if at_left else [])
    notes = [f"means over the lead times that most forecasts of a panel have ({_range(counts)})"]
    if without:
        notes.append(f"no point where some of these are missing: {'; '.join(without)}")
    if is_printed:
        comparable = all(line.row.comparable for line in lines.values())
        notes.append(about_printed(comparable).replace("dashed", "upright marks"))
    return figure, notes


def _common_leads(values: Collection[Iterable[int]]) -> set[int]:
    """The lead times that more than half of the forecasts have, or else all lead times."""
    having = Counter(lead for leads in values for lead in leads)
    most = {lead for lead, count in having.items() if 2 * count > len(values)}
    return most or set(having)


def _values(
    entries: dict[str, dict[int, dict[str, Entry]]], column: str
) -> dict[str, dict[int, float]]:
    """Values of a column by model and lead time; models without any value are left out."""
    values = {
        model: {
            lead: value
            for lead, at in by_column.items()
            if column in at and (value := at[column].value) is not None
        }
        for model, by_column in entries.items()
    }
    return {model: at for model, at in values.items() if at}


def _range(counts: set[int]) -> str:
    """The smallest and largest of some counts as text: ``9`` if they are equal, or ``9 to 44``."""
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
