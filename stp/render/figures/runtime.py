"""Run time of predictors of people by the number of people (Figure 8 of Atlas)."""

from statistics import median

from matplotlib.figure import Figure

from stp.collect.schema import RuntimeRow
from stp.collect.track_runtimes import runtimes
from stp.plan.setting import setting_of
from stp.render.figures import crowd
from stp.render.figures.panels import curve, in_words, legend, panels, plain_ticks
from stp.render.figures.people import MOST_TICKS
from stp.render.figures.reading import Scores

FIGURE = {
    "of_case": False,
    "about": "time by the number of people",
    "caption": "Milliseconds of a prediction by the number of people",
    "of_scenarios": True,
}

NOTE = (
    "one scenario at a time, median and quartiles of repetitions after a warm-up, in parallel with "
    "other jobs; hollow: the shortest, closest to that on an idle machine; all calibrations "
    "together; the paper prints no numbers"
)


def draw(scores: Scores) -> tuple[Figure, list[str]]:
    """Draw the run time of a prediction against the number of people in the scenario.

    There is a panel for each test and machine; bands are quartiles.

    Args:
        scores: scores of all models in all tests of a table.

    Returns:
        the figure, and notes to print below it.
    """
    rows = list(runtimes(scores.cells()))
    if not rows:
        return in_words("The runtime of these predictions was not measured."), []
    models = list(dict.fromkeys(row.model for row in rows))
    titles = scores.plan.names.models
    labels = {model: titles.get(model, model) for model in models}
    uncalibrated = {c.key.model for c in scores.cells() if not c.calibrated}
    style_of = crowd.styles(
        [labels[m] for m in models], [labels[m] for m in models if m in uncalibrated]
    )
    datasets = scores.plan.names.datasets
    groups: dict[tuple[str, str], list[RuntimeRow]] = {}
    for row in rows:
        where = f"{datasets.get(row.tested_on, row.tested_on)}, {row.subset}"
        machine = f"{row.host}: {row.processor or 'an unknown processor'}, "
        machine += f"{row.threads} thread{'s' if row.threads > 1 else ''}"
        groups.setdefault((where, machine), []).append(row)
    figure, axes_of_groups = panels(len(groups), 2.2, columns=2, extra=0.2)
    notes = [NOTE]
    for axes, ((where, machine), of_group) in zip(axes_of_groups, groups.items(), strict=True):
        sizes = sorted({row.people for row in of_group})
        for model in models:
            by_size = by_people([row for row in of_group if row.model == model])
            if by_size:
                middle = [by_size[size][0] for size in by_size]
                ends = [by_size[size][1:3] for size in by_size]
                style = style_of[labels[model]]
                curve(axes, list(by_size), middle, ends, style, labels[model])
                axes.plot(
                    list(by_size),
                    [by_size[size][3] for size in by_size],
                    linestyle="none",
                    marker=style.marker,
                    markerfacecolor="white",
                    markeredgecolor=style.colour,
                    label=f"_{labels[model]}, least",
                )
        axes.set_title(where)
        axes.set_xlabel("people in the scenario")
        axes.set_ylabel("ms per scenario")
        axes.set_yscale("log")
        plain_ticks(axes.yaxis)
        marked = sizes[:: -(-len(sizes) // MOST_TICKS)]
        axes.set_xticks(marked, [str(size) for size in marked])
        leads = sorted({setting_of(row.setting)["horizon"] for row in of_group})
        steps = ", ".join(map(str, leads))
        notes.append(f"{where}: {steps} predicted steps, on {machine}")
    figure.set_figheight(figure.get_figheight() + legend(figure, style_of, style_of))
    return figure, notes


def by_people(rows: list[RuntimeRow]) -> dict[int, tuple[float, float, float, float]]:
    """Summarise run times (ms) by number of people: median, both quartiles, and minimum.

    Args:
        rows: run times by number of people, from one or several results.

    Returns:
        the four times by number of people, ascending. Medians and quartiles of several results are
        combined by their median, minima by their minimum.
    """
    rows_of: dict[int, list[RuntimeRow]] = {}
    for row in rows:
        rows_of.setdefault(row.people, []).append(row)
    return {
        people: (
            median(row.milliseconds for row in alike),
            median(row.low for row in alike),
            median(row.high for row in alike),
            min(row.least for row in alike),
        )
        for people, alike in sorted(rows_of.items())
    }
