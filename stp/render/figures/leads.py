"""Draw the figure of scores over lead time: a panel for each column of the table.

A suite may declare other panels for this figure than the columns of its table.
"""

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stp.core.errors import StpError
from stp.page.figure_style import Style, styles
from stp.plan.manifest import forecast_recipe
from stp.render.figures.panels import curve, in_words, legend, legend_height, panels
from stp.render.figures.reading import (
    Scores,
    by_lead,
    printed_name,
    published_by_lead,
)
from stp.render.figures.time_step import step_of, tick_labels, ticks

FIGURE = {
    "of_case": True,
    "about": "scores over lead time",
    "caption": "Scores over the lead time, one panel for each column of the paper. Bands are 95 % "
    "intervals over clusters of clips; right of the dashed line lies extrapolation",
}


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw the scores of all models over lead time, for one case (a test of the dimension).

    Args:
        scores: scores of all models in all tests of a table.
        case: name of the test to draw, such as ``kitti-caltech``.

    Returns:
        the figure, and notes to print below it.

    Raises:
        StpError: the case is unknown, or it has only one lead time.
    """
    scores = scores.over_leads()
    lines = scores.lines(case)
    values_by_model = by_lead(scores, case)
    leads = sorted({lead for at in values_by_model.values() for lead in at})
    if leads and leads[-1] == 1:
        raise StpError(
            f"forecasts of {case} have one lead time",
            remedy="draw a case with a longer horizon, or look at `ranks`",
        )
    columns_drawn: list[str] = []
    lacking: dict[str, list[str]] = {}
    for column in scores.columns(case):
        entries = [
            at[column]
            for by_lead_of in values_by_model.values()
            for at in by_lead_of.values()
            if column in at
        ]
        if any(entry.value is not None for entry in entries):
            columns_drawn.append(column)
        else:
            over_all_leads = [
                line.row.entries[column] for line in lines if column in line.row.entries
            ]
            has_total = any(entry.value is not None for entry in over_all_leads)
            reason = (
                "no value per lead time" if has_total else (over_all_leads or entries)[0].reason
            )
            lacking.setdefault(reason, []).append(column)
    absent = [f"{', '.join(columns)} left out: {reason}" for reason, columns in lacking.items()]
    if not columns_drawn:
        text = f"{scores.title(case)}: no column has values per lead time"
        return in_words(text), absent
    models = [line.model for line in lines]
    printed = {column: published_by_lead(scores, case, column) for column in columns_drawn}
    ours_by_name = {name: line.model for line in lines if (name := printed_name(scores, line))}
    others = dict.fromkeys(
        f"{name} (published)"
        for by_name in printed.values()
        for name in by_name
        if name not in ours_by_name
    )
    style_of = _with_others(scores, others)
    figure, axes = panels(len(columns_drawn), 1.85, extra=0.45 + legend_height([*models, *others]))
    figure.suptitle(scores.title(case))
    trained = forecast_recipe(lines[0].cells[0]).get("horizon")
    unit, labels = tick_labels(ticks(1, leads[-1]), step_of(lines[0].cells[0]))
    for panel, column in zip(axes, columns_drawn, strict=True):
        panel.set_title(scores.heading(case, column))
        for model in models:
            at = {
                lead: by_lead_of[column]
                for lead, by_lead_of in values_by_model[model].items()
                if column in by_lead_of and by_lead_of[column].value is not None
            }
            ends = [
                None if e.low is None or e.high is None else (e.low, e.high) for e in at.values()
            ]
            values = [e.value for e in at.values() if e.value is not None]
            if values:
                curve(panel, list(at), values, ends, style_of[model], model)
        for name, curve_of in printed[column].items():
            as_printed(panel, curve_of, style_of, ours_by_name.get(name), f"{name} (published)")
        panel.set_xticks(ticks(1, leads[-1]), labels)
        panel.set_xlim(1 - 0.02 * leads[-1], leads[-1] * 1.02)
        panel.set_xlabel(f"lead time [{unit}]")
        panel.set_ylabel(scores.unit(case, column))
        if trained and trained < leads[-1]:
            panel.axvline(trained, color="black", linewidth=0.7, linestyle=(0, (4, 3)))
    if trained and trained < leads[-1]:
        absent.append(f"vertical line: the last lead time of the training ({trained})")
    if any(printed.values()):
        absent.append(about_printed(all(line.row.comparable for line in lines)))
    legend(figure, style_of, [*models, *others])
    return figure, absent


def as_printed(
    axes: Axes, values: dict[int, float], style_of: dict[str, Style], model: str | None, label: str
) -> None:
    """Draw published values as a dashed line, in the colour of stp's model of the same name.

    Args:
        axes: the panel.
        values: published values by lead time.
        style_of: style of each model of stp, by title.
        model: title of stp's model of the same name; None if there is none.
        label: name of the line in the legend.
    """
    style = style_of[model or label]
    axes.plot(
        list(values),
        list(values.values()),
        color=style.colour,
        linestyle=(0, (4, 2)),
        linewidth=0.9,
        marker="" if model else style.marker,
        markevery=max(1, len(values) // 6),
        markerfacecolor="white",
        label=label,
        zorder=2.5,
    )


def about_printed(comparable: bool) -> str:
    """Write the note below a figure that says that dashed curves are published values.

    Args:
        comparable: whether all results of the figure may be compared with published values; if not,
            the note says so.
    """
    return "dashed: as published" + ("" if comparable else ", of other data: not comparable")


def _with_others(scores: Scores, others: Iterable[str]) -> dict[str, Style]:
    names = list(scores.styles)
    style_of = styles([*names, *others], scores.baselines)
    return scores.styles | {name: style_of[name]._replace(line="--") for name in others}
