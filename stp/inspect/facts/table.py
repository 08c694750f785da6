"""Make and check tables of facts: what a paper prints about its benchmark, beside what is here.

A table of facts is declared in the file of a suite, with ``facts:``. The other modules of this
package each make tables of one subject, such as `datasets` or `trainings`.
"""

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from stp.core import named_modules
from stp.core.errors import StpError, suggest_name
from stp.inspect.facts.fact import Fact, Facts
from stp.page.commands import table_command
from stp.page.digits import digits
from stp.page.files import write_all
from stp.page.formats import render_grid
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.plan.cells import Plan
from stp.plan.suite import FactPage, FactSource, Suite

DIFFERENCE = ("table", "row", "column", "ours", "printed", "why")
UNEXPLAINED = "UNEXPLAINED"
"""Text in place of a reason for a difference without one."""


def tables_of(suite: Suite) -> dict[str, FactSource]:
    """Find the tables of facts of a suite, and their declarations.

    A table of facts shows what a paper prints about its benchmark, such as sizes of datasets or
    settings of trainings, beside the same facts of stp.

    Returns:
        for each table of facts, by name, what the file of the suite declares: the module that
        determines the facts of stp, the file with the printed facts, and options.
    """
    return {name: about.facts for name, about in suite.tables.items() if about.facts}


def modules(plan: Plan, table: str) -> list[str]:
    """List the modules that a table of facts depends on.

    If one of them is edited, the table is made again.

    Args:
        plan: plan of the suite.
        table: name of the table.

    Returns:
        full names of the modules: those that make the table, the reader that its options name, and
        all trained networks if the table builds networks.
    """
    source = tables_of(plan.config.suite)[table]
    reader = source.options.get("reader")
    models = [name for name, model in plan.config.models.items() if model.fit == "sgd"]
    return [
        *(__name__, f"stp.inspect.facts.{source.source}"),
        *([named_modules.reader(reader)] if reader else []),
        *([f"stp.models.{name}" for name in models] if source.networks else []),
    ]


def make(plan: Plan, table: str) -> Facts:
    """Make a table that compares what a paper prints about its benchmark with ours.

    Printed facts are read from a file of the suite. Our facts, such as sizes of datasets, are
    determined by the module that the declaration of the table names.

    Args:
        plan: plan of the suite.
        table: name of the table, one of `tables_of`, such as ``training_protocol``.

    Returns:
        the table.

    Raises:
        StpError: the suite does not have the table, or one of its inputs is missing or damaged.
    """
    suite = plan.config.suite
    sources = tables_of(suite)
    if table not in sources:
        raise StpError(
            f"{suite.title} has no table of printed facts {table!r}",
            expected=f"one of {', '.join(sources) or 'none'}",
            remedy=suggest_name(table, sources),
        )
    source = importlib.import_module(f"stp.inspect.facts.{sources[table].source}")
    compared: Facts = source.facts(plan, sources[table])
    return compared


def write(plan: Plan, out: Path) -> Facts:
    """Make a table that compares what a paper prints about its benchmark with ours, and write it.

    An example is ``training_protocol`` of PredBench, with settings of trainings. The table is
    written as a CSV file and as pages.

    Args:
        plan: plan of the suite.
        out: path of the CSV file. The name of the file, without ``.csv``, is the name of the table.
            Pages get the same path with the endings ``.md``, ``.tex`` and ``.html``.

    Returns:
        the table.

    Raises:
        StpError: the suite does not have the table, one of its inputs is missing or damaged, or a
            file cannot be written.
    """
    compared = make(plan, out.stem)
    lines = [[fact.values[column] for column in compared.columns] for fact in compared.rows]
    page = as_grid(compared, plan, out.stem)
    write_all({out: csv_text([compared.columns, *lines]), **render_grid(page, out.parent)})
    return compared


def as_grid(compared: Facts, plan: Plan, name: str) -> Grid:
    """Lay out a table of facts for pages, with title, notes and legend.

    Args:
        compared: the table, from `make`.
        plan: plan of the suite, which has the titles.
        name: name of the table.
    """
    about = plan.config.suite.tables[name]
    assert about.facts is not None
    page, scale = about.facts.page, plan.config.scale.scale
    differing = [fact for fact in compared.rows if fact.differences]
    beside = any(fact.beside for fact in compared.rows)
    scaled = any(fact.scaled for fact in compared.rows)
    return Grid(
        name=name,
        title=about.about[0].upper() + about.about[1:],
        intro=[
            f"Beside {about.printed}: {len(compared.rows):,} rows, {len(differing)} of which are "
            "not as printed.",
            *compared.intro,
            *page.notes,
        ],
        warnings=list(compared.warnings),
        sections=list(_sections(compared, page)),
        legend=[
            *(["in parentheses: as printed; ≠: ours is not"] if differing or beside else []),
            *([f"in brackets: what the scale {scale} has instead"] if scaled else []),
            *compared.legend,
            *page.legend,
        ],
        made_from=f"Made by `{table_command(scale, name)}` from `config/` and "
        f"`{about.facts.file}` of the suite.",
    )


def differences(tables: Mapping[str, Facts], suite: Suite) -> list[list[str]]:
    """List all values that differ from those printed in the paper.

    Args:
        tables: tables of facts, from `make`, by name.
        suite: suite of the tables.

    Returns:
        a row for each such value: table, row (values that identify it), column, our value, printed
        value, and the declared reason or "UNEXPLAINED". Rows without a reason come first.
    """
    rows = []
    for name, compared in tables.items():
        key = tables_of(suite)[name].key
        for fact in compared.rows:
            which = ", ".join(str(fact.values[column]) for column in key)
            for column, printed in fact.differences.items():
                why = fact.why.get(column) or UNEXPLAINED
                rows.append([name, which, column, _format_value(fact.values[column]), printed, why])
    return sorted(rows, key=lambda row: row[-1] != UNEXPLAINED)


def make_facts_grid(
    tables: Mapping[str, Facts], suite: Suite, rows: Sequence[Sequence[str]]
) -> Grid:
    """Make the output of `stp check facts`: all differences from the paper, and a summary.

    The summary has a row for each table: where the paper prints it, its number of rows, and how
    many of them differ from the paper, with and without a declared reason.

    Args:
        tables: tables of facts, from `make`, by name.
        suite: suite of the tables.
        rows: the differences, from `differences`.
    """
    summary: list[list[str | Item]] = []
    for name, compared in tables.items():
        differing = [fact for fact in compared.rows if fact.differences]
        unexplained = sum(bool(fact.unexplained_columns) for fact in differing)
        counts = [f"{number:,}" for number in (len(compared.rows), len(differing), unexplained)]
        summary.append([name, suite.tables[name].printed, *counts])
    columns = ["table", "printed in", "rows", "not as printed", "unexplained"]
    parts = [
        Section("Not as printed", list(DIFFERENCE), [list(row) for row in rows], [False] * 6),
        Section("Tables", columns, summary, [False, False, True, True, True]),
    ]
    return Grid(
        name="check",
        title=f"What the paper of {suite.title} prints, and what is here",
        intro=[],
        sections=parts if rows else parts[1:],
        legend=list(dict.fromkeys(text for facts in tables.values() for text in facts.warnings)),
    )


def _sections(compared: Facts, page: FactPage) -> Iterator[Section]:
    across = page.across[0] if page.across else None
    visible = page.columns or tuple(
        column for column in compared.columns if column not in (*page.sections, across)
    )
    for title, facts in _group_by_columns(compared.rows, page.sections).items():
        columns = list(visible)
        rows = [[_item(fact, column) for column in visible] for fact in facts]
        if page.across:
            key, value = page.across
            places = dict.fromkeys(str(fact.values[key]) for fact in facts)
            columns, rows = [*visible, *places], []
            for alike in _group_by_columns(facts, visible).values():
                by_place = {str(fact.values[key]): fact for fact in alike}
                first = [_item(alike[0], column) for column in visible]
                of_places = [
                    _item(by_place[name], value) if name in by_place else "–" for name in places
                ]
                rows.append([*first, *of_places])
        numeric = [
            place > 0 and all(_is_number(row[place]) for row in rows)
            for place in range(len(columns))
        ]
        notes = list(dict.fromkeys(note for fact in facts for note in fact.notes))
        yield Section(", ".join(title), columns, rows, numeric, notes=notes)


def _group_by_columns(
    facts: Iterable[Fact], columns: Sequence[str]
) -> dict[tuple[str, ...], list[Fact]]:
    groups: dict[tuple[str, ...], list[Fact]] = {}
    for fact in facts:
        groups.setdefault(tuple(str(fact.values[column]) for column in columns), []).append(fact)
    return groups


def _item(fact: Fact, column: str) -> str | Item:
    text = _format_value(fact.values[column])
    if column in fact.scaled:
        text = f"{text} [{fact.scaled[column]}]"
    if column in fact.differences:
        return Item(text, mark="≠", aside=fact.differences[column] or "–")
    return Item(text, aside=fact.beside[column]) if column in fact.beside else text


def _format_value(value: object) -> str:
    if value in ("", None):
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    return digits(value) if isinstance(value, float) else str(value)


def _is_number(item: str | Item) -> bool:
    text = item.text if isinstance(item, Item) else item
    return text.replace(",", "").replace(".", "", 1).lstrip("-").isdigit() or text == "–"
