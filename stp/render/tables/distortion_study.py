"""Shared parts of the tables of a distortion study.

Such a study scores clips that were distorted at several intensities, to learn what metrics notice.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from stp.page.commands import table_command
from stp.page.digits import format_number
from stp.page.figure_style import origin_note
from stp.page.files import write_all
from stp.page.formats import render_grid
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.plan.manifest import Cell, Manifest, columns_of

WHERE = ("source", "scale", "protocol", "dataset")
"""Columns on the origin of a row."""


def cells_of(plan: Manifest) -> dict[str, Cell]:
    """One cell (result of one distortion) by dataset, to look up the dataset's real clips.

    Any cell of a dataset will do, since all of them have the same real clips.
    """
    return {cell.key.tested_on: cell for cell in plan.cells}


def origin_columns(plan: Manifest, cell: Cell) -> list[str]:
    """Texts for the first four columns of a table: source of the data, scale, protocol, dataset."""
    return [cell.source, plan.scale, cell.protocol, cell.key.tested_on]


def conventions_of(plan: Manifest, cell: Cell) -> list[str]:
    """Names of the conventions (exact definitions of metrics) that the table of a cell shows."""
    columns = columns_of(plan, plan.dimension, cell).values()
    return list(dict.fromkeys(column.convention for column in columns))


def explain_conventions(plan: Manifest, conventions: Iterable[str]) -> list[str]:
    """Explain each convention in a line, for the legend of a table.

    A convention is one exact definition of a metric, such as ``ssim.range2``.
    """
    return [
        f"`{name}`: {plan.conventions[name].description}" for name in dict.fromkeys(conventions)
    ]


def write(out: Path, header: Sequence[str], rows: Sequence[Sequence[object]], grid: Grid) -> None:
    """Write a table as .csv from its header and rows, and as .md, .tex and .html from its grid.

    Args:
        out: path of the .csv file; the other files are written beside it.
        header: names of the columns of the .csv file.
        rows: rows of the .csv file, a value for each column; None for an empty field.
        grid: the same content as laid out for the other files, with rounded values and notes.

    Raises:
        StpError: a file cannot be written.
    """
    lines = [
        header,
        *([format_number(v) if isinstance(v, float) else v for v in row] for row in rows),
    ]
    write_all({out: csv_text(lines), **render_grid(grid, out.parent)})


def write_study(
    plan: Manifest,
    out: Path,
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    sections: list[Section],
    *,
    title: str,
    intro: list[str],
    conventions: Iterable[str],
    made_from: str,
    legend: Iterable[str] | None = None,
) -> None:
    """Write a table of a distortion study: .csv with all values, .md, .tex and .html for reading.

    Args:
        plan: manifest of the study.
        out: path of the .csv file; the other files are written beside it.
        header: names of the columns of the .csv file.
        rows: rows of the .csv file, a value for each column; None for an empty field.
        sections: parts of the other files, which show the same values: each a small table with a
            heading, such as one for each dataset.
        title: title of the other files; the scale is added.
        intro: paragraphs above the sections; the origin of the data is added.
        conventions: conventions of the table; networks with random weights cause a warning.
        made_from: what the numbers are computed from, e.g. "network features of the real clips".
        legend: lines below the sections; None for the meaning of each convention.

    Raises:
        StpError: a file cannot be written.
    """
    names = list(dict.fromkeys(conventions))
    random = sorted(name for name in names if ".random_" in name)
    warning = (
        "WARNING: networks with random weights have learnt nothing. "
        f"{', '.join(random)} say nothing about the quality of videos or about the metric in "
        "whose place they are used."
    )
    if legend is None:
        legend = explain_conventions(plan, names)
    grid = Grid(
        name=out.stem,
        title=f"{title}, scale {plan.scale}",
        intro=[*intro, f"Numbers are of {origin_note(plan.cells)}."],
        sections=sections,
        warnings=[warning] if random else [],
        legend=list(legend),
        made_from=f"Made from {made_from} by `{table_command(plan.scale, out.stem)}`.",
    )
    write(out, header, rows, grid)


def section_of_distortions(
    plan: Manifest,
    title: str,
    texts: Mapping[tuple[str, str], str],
    reasons: Mapping[tuple[str, str], str],
) -> Section:
    """Make a section with a row for each metric and a column for each distortion.

    Args:
        plan: manifest of the study, with the titles of the distortions.
        title: heading of the section.
        texts: values as text, by convention and distortion; a missing value is shown as a dash.
        reasons: reasons for missing values, by convention and distortion; a reason that applies to
            a whole row is stated once.
    """
    distortions = list(dict.fromkeys(distortion for _, distortion in texts))
    titles = [plan.names.models[distortion] for distortion in distortions]
    rows: list[list[str | Item]] = []
    notes: dict[str, None] = {}
    for convention in dict.fromkeys(convention for convention, _ in texts):
        rows.append([convention, *(texts.get((convention, d), "–") for d in distortions)])
        whys = [reasons.get((convention, distortion), "") for distortion in distortions]
        for name, why in zip(titles, whys, strict=True):
            if why:
                notes[f"{convention}{'' if len(set(whys)) == 1 else f', {name}'}: {why}"] = None
    numeric = [False, *[True] * len(titles)]
    return Section(title, ["metric", *titles], rows, numeric, notes=list(notes))
