"""Scores against a setting, such as the frame interval: a panel for each dataset and column."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stp.core.errors import StpError
from stp.page.figure_style import TEXT_WIDTH, new_figure
from stp.plan.setting import setting_of
from stp.render.figures.kinds import SLOPES
from stp.render.figures.panels import curve, in_words, legend, legend_height
from stp.render.figures.reading import Scores

FIGURE = {
    "of_case": False,
    "about": "scores over the frame interval, or another setting",
    "caption": "Scores over the frame interval, the share of training or the number of components",
}


def draw(scores: Scores) -> tuple[Figure, list[str]]:
    """Draw scores against a setting, a panel for each dataset and column.

    Args:
        scores: scores of all models in all tests of a table.

    Returns:
        the figure, and notes to print below it.

    Raises:
        StpError: no dataset was tested at several values of a setting: the frame interval, the per
            cent of videos that are learnt from, or the number of principal components (`SLOPES`).
    """
    by_setting = ((name, _by_setting(scores, name)) for name in SLOPES)
    setting, datasets = next(((name, cases) for name, cases in by_setting if cases), ("", {}))
    if not datasets:
        raise StpError(
            f"nothing of the dimension {scores.plan.dimension} has several values of a setting",
            expected=f"a dimension that varies {' or '.join(SLOPES)}",
        )
    absent: dict[str, list[str]] = {}
    columns_of: dict[str, list[str]] = {}
    for title, cases in datasets.items():
        first = next(iter(cases.values()))
        for column in scores.columns(first):
            entries = [line.row.entries[column] for c in cases.values() for line in scores.cases[c]]
            if any(entry.value is not None for entry in entries):
                columns_of.setdefault(title, []).append(column)
            else:
                absent.setdefault(f"{column} left out: {entries[0].reason}", []).append(title)
    notes = [
        f"{text} ({', '.join(titles)})" if len(titles) < len(datasets) else text
        for text, titles in absent.items()
    ]
    if not columns_of:
        return in_words("No column of any dataset has a value."), notes
    models = [line.model for case in scores.cases.values() for line in case]
    counts = {len(columns) for columns in columns_of.values()}
    across = min(max(counts), 4 if 4 in counts else 3)
    down = sum(-(-len(columns) // across) for columns in columns_of.values())
    height = 1.55 * down + 0.4 + legend_height(set(models))
    figure = new_figure(TEXT_WIDTH, height)
    panel_grid = figure.subplots(down, across, squeeze=False)
    for unused in panel_grid.ravel():
        unused.set_axis_off()
    row = 0
    for title, columns in columns_of.items():
        for number, column in enumerate(columns):
            axes: Axes = panel_grid[row + number // across, number % across]
            axes.set_axis_on()
            _panel(axes, scores, datasets[title], column, setting)
            axes.set_title(f"{title}: {axes.get_title()}" if number == 0 else axes.get_title())
        row += -(-len(columns) // across)
    notes += _about_published(scores)
    legend(figure, scores.styles, models)
    return figure, notes


def _about_published(scores: Scores) -> list[str]:
    published = [
        entry.published
        for lines in scores.cases.values()
        for line in lines
        for entry in line.row.entries.values()
        if line.row.comparable and entry.published
    ]
    doubts = dict.fromkeys(value.note for value in published if value.note)
    text = "hollow: as published" + "".join(f" (doubtful: {doubt})" for doubt in doubts)
    return [text] if published else []


def _by_setting(scores: Scores, name: str) -> dict[str, dict[int, str]]:
    """Cases by title of the dataset, then value of a setting, for datasets with several values."""
    by_dataset: dict[str, dict[int, str]] = {}
    for case, lines in scores.cases.items():
        setting = setting_of(lines[0].cells[0].key.setting)
        if name in setting:
            value = setting[name]
            dataset = scores.title(case).removesuffix(f", {name} {value}")
            by_dataset.setdefault(dataset, {})[value] = case
    return {
        name: dict(sorted(cases.items())) for name, cases in by_dataset.items() if len(cases) > 1
    }


def _panel(axes: Axes, scores: Scores, cases: dict[int, str], column: str, setting: str) -> None:
    first = next(iter(cases.values()))
    axes.set_title(scores.heading(first, column))
    models = dict.fromkeys(line.model for case in cases.values() for line in scores.cases[case])
    for model in models:
        at = {
            value: line.row.entries[column]
            for value, case in cases.items()
            for line in scores.cases[case]
            if line.model == model and line.row.entries[column].value is not None
        }
        comparable = {
            value: line.row.comparable
            for value, case in cases.items()
            for line in scores.cases[case]
            if line.model == model
        }
        values = [e.value for e in at.values() if e.value is not None]
        ends = [None if e.low is None or e.high is None else (e.low, e.high) for e in at.values()]
        style = scores.styles[model]
        if values:
            curve(axes, list(at), values, ends, style, model)
        published = {
            value: e.published.value for value, e in at.items() if e.published and comparable[value]
        }
        if published:
            axes.plot(
                list(published),
                list(published.values()),
                linestyle="none",
                marker=style.marker,
                markerfacecolor="white",
                markeredgecolor=style.colour,
                label=f"_{model}, as published",
                zorder=4,
            )
    axes.set_xticks(list(cases))
    margin = 0.075 * (max(cases) - min(cases))
    axes.set_xlim(min(cases) - margin, max(cases) + margin)
    axes.set_xlabel(SLOPES[setting])
