"""Tables 1 and 2 of PVQA as files: videos of each source, opinions of groups of videos, raters.

`stp show` prints the same numbers (`stp.inspect.opinions`).
"""

from collections.abc import Sequence
from pathlib import Path

from stp.core.errors import StpError
from stp.inspect import opinions
from stp.inspect.opinions import Number
from stp.opinions.prepared import open_database
from stp.opinions.raters import identical_text
from stp.page.commands import table_command
from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid, Section
from stp.page.safe_text import csv_text
from stp.plan.cells import Plan

NAME = "pvqa_opinions"
HEADER = ("dataset", "source", "scale", "table", "name", "quantity", "value", "published")


def write(plan: Plan, out: Path) -> int:
    """Write ``<name>.csv``, a row for each number, and ``<name>`` as .md, .tex and .html.

    Args:
        plan: of a scale that has opinions, whose data are prepared.

    Returns:
        the number of rows.

    Raises:
        StpError: it has none, or they are not prepared or damaged; or the disk refuses.
    """
    names = [one.dataset for one in plan.prepared if plan.recipes.samples(one.dataset).has_opinions]
    if not names:
        raise StpError(
            f"the scale {plan.config.scale.scale} has no opinions",
            expected="a scale of the suite pvqa",
            remedy="name one: --configfile config/pvqa-demo.yaml",
        )
    lines: list[Sequence[object]] = [HEADER]
    sections: list[Section] = []
    for name in names:
        numbers, made = _of(plan, name)
        about = (plan.config.datasets[name].title, _source(plan, name), plan.config.scale.scale)
        lines += [[*about, *one[:3], f"{one.value:.10g}", one.published] for one in numbers]
        sections += made
    write_all({out: csv_text(lines), **texts(_grid(plan, names, sections, out.stem), out.parent)})
    return len(lines) - 1


def _source(plan: Plan, name: str) -> str:
    dataset = plan.config.datasets[name]
    return dataset.releases[dataset.release].source


def _of(plan: Plan, name: str) -> tuple[list[Number], list[Section]]:
    """The numbers of a dataset, and how they are shown."""
    counted = opinions.facts(plan, name)
    if counted is None:
        raise StpError(
            f"{name} is not prepared",
            expected="prepared opinions",
            remedy=f"`stp fetch {name}`, then `stp prepare {name}`, with the same --configfile",
        )
    rows = open_database(plan.store / plan.data(name).folder, 0).table.to_pylist()
    printed = opinions.printed_of(plan, name)
    pairs = opinions.pairs_of(rows)
    raters = opinions.of_raters(counted, printed)
    sources = opinions.of_sources(rows, printed)
    groups = opinions.of_groups(pairs, printed)
    tests = opinions.of_tests(pairs, printed)
    title = plan.config.datasets[name].title
    said = [opinions.raters(raters)] if raters else ["single ratings are not known"]
    said += filter(None, [identical_text(counted["identical"])])
    sections = [
        _section(f"{title}: sources (Table 1)", opinions.SOURCE_COLUMNS,
                 opinions.rows_of_sources(sources), said),
        _section(f"{title}: groups (Table 2)", opinions.GROUP_COLUMNS,
                 opinions.rows_of_groups(groups), [] if groups else [opinions.NO_GROUPS]),
        _section(f"{title}: tests", opinions.TEST_COLUMNS, opinions.rows_of_tests(tests), []),
    ]  # fmt: skip
    return [*sources, *groups, *tests, *raters], [one for one in sections if one.rows or one.notes]


def _section(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: list[str]
) -> Section:
    numeric = [False, *[True] * (len(columns) - 1)]
    return Section(title, list(columns), [list(row) for row in rows], numeric, notes=notes)


def _grid(plan: Plan, names: list[str], sections: list[Section], name: str) -> Grid:
    others = sorted({_source(plan, one) for one in names} - {"official"})
    return Grid(
        name=name,
        title="Opinions of people",
        intro=["Beside Tables 1 and 2 of PVQA, and numbers of its text (columns `printed`)."],
        warnings=[f"Made from {' and '.join(others)} bytes: they say nothing about people."]
        if others
        else [],
        sections=sections,
        legend=[opinions.LEGEND],
        made_from=f"Made by `{table_command(plan.config.scale.scale, name)}` from the prepared "
        "data and `config/published/`.",
    )
