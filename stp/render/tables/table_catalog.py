"""List tables, and make the page of a table: ``stp table``.

Pages of dimensions, findings, effects of conventions, run times and views are made from the results
store, by the same code as their files (`stp.render.tables.paper_table`,
`stp.render.tables.findings`), so they are never older than the store. Other tables are made from
configuration, measurements and answers of raters; for these, files are read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from stp.collect.connection import open_results_store
from stp.core.errors import FileError, StpError, suggest_name
from stp.core.exit_codes import NothingFoundError
from stp.page.commands import table_command
from stp.page.grid import Grid, Section
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.column import Column
from stp.plan.manifest import Cell, Manifest, load_manifest, title_of
from stp.plan.suite import FINDINGS, OF_ALL, NamedTable, SuiteTable, ViewTable, read_suites
from stp.render.tables import view_table
from stp.render.tables.by_name import import_table, render
from stp.render.tables.paper_table import PaperTable, demand_complete, make_paper_table, read_scores
from stp.render.tables.table_layout import grid
from stp.render.tables.tidy import HEADER, Field, tidy_rows
from stp.run.results import last_results

if TYPE_CHECKING:
    from stp.render.tables.findings import Question

LISTED = ("table", "suite", "paper", "about", "there", "command")


class KnownTable(NamedTuple):
    """A table that exists or can be made.

    Attributes:
        suite: title of the table's suite; empty if all suites have the table.
        about: entry of the table in the configuration, with its content in a few words
            (``about``) and its place in the paper (``printed``).
        is_dimension: whether the table shows the scores of a dimension, such as ``short_term``.
        from_store: whether the table is made from the whole results store, such as ``findings``.
            Tables of a dimension, which are made from its scores only, do not count. Nor do tables
            that are made from configuration, measurements or answers of raters.
    """

    suite: str
    about: NamedTable
    is_dimension: bool
    from_store: bool


def tables() -> dict[str, KnownTable]:
    """All tables by name, in the order of the suites; tables that all suites have come last."""
    tables_of_suites = {
        name: KnownTable(
            suite.title,
            table,
            is_dimension=name in suite.dimensions,
            from_store=isinstance(table, ViewTable)
            or (isinstance(table, SuiteTable) and table.from_store),
        )
        for suite in read_suites().values()
        for name, table in suite.all_tables().items()
    }
    return tables_of_suites | {
        name: KnownTable("", table, False, True) for name, table in OF_ALL.items()
    }


def of_findings() -> set[str]:
    """Names of the tables that judge findings."""
    return {suite.findings for suite in read_suites().values() if suite.findings}


def needs_store(name: str) -> bool:
    """Whether the page of a table is made from the whole results store (DuckDB).

    Other tables are made from the scores of one dimension, or from files.
    """
    return tables()[name].from_store


def is_view(name: str) -> bool:
    """Whether a table shows a view (stored SQL query) of the results store."""
    return isinstance(tables()[name].about, ViewTable)


def listing(database: Path) -> list[tuple[str, ...]]:
    """List all tables, in a row each.

    Args:
        database: path of the results store.

    Returns:
        rows with the columns `LISTED`: name, suite, place in the paper and content of the table,
        ``yes`` or ``no`` for whether it exists, and the command that shows it or, if it does not
        exist, makes it.
    """
    lines: list[tuple[str, ...]] = []
    for name, table in tables().items():
        exists = _is_there(name, table, database)
        command = f"stp table {name}" if exists else _command_to_make(name, database)
        exists_text = "yes" if exists else "no"
        lines.append(
            (name, table.suite, table.about.printed, table.about.about, exists_text, command)
        )
    return lines


def listing_grid(database: Path) -> Grid:
    """Lay out the page that lists all tables, with a row for each.

    Its columns are name, suite, place in the paper, content, and whether the table exists.

    Args:
        database: path of the results store.
    """
    return Grid(
        name="tables",
        title="Tables",
        intro=[],
        sections=[
            Section(
                "",
                list(LISTED[:-1]),
                [[*line[:-1]] for line in listing(database)],
                [False] * (len(LISTED) - 1),
            )
        ],
        legend=[
            "To show a table: `stp table NAME`",
            f"To make a table, if the scale has its inputs: `{_command_to_make('NAME', database)}`",
        ],
    )


def check_name(name: str) -> None:
    """Refuse an unknown table.

    Raises:
        StpError: no table has this name.
    """
    available = tables()
    if name not in available:
        raise StpError(f"no table {name!r}", remedy=suggest_name(name, available))


def is_about_scores(name: str) -> bool:
    """Whether a table is made from scores; only such tables take ``--cell`` and ``--metric``."""
    return tables()[name].is_dimension


def file_of(name: str, database: Path, ending: str) -> Path:
    """Path of an existing file of a table.

    Args:
        name: name of the table.
        database: path of the results store of the run that made the table.
        ending: end of the file name, such as ``.md``.

    Raises:
        FileError: the file is missing.
    """
    path = database.parent / "tables" / f"{name}{ending}"
    if not path.is_file():
        raise FileError(path, "missing", remedy=f"make it: {_command_to_make(name, database)}")
    return path


class TableSelection(NamedTuple):
    """Selection of a part of a table; None selects all.

    Attributes:
        cell: name or title of a test dataset or a model, such as ``kth`` or ``convlstm``; or name
            of a test, such as ``bridge-interval-2``; or both, as in ``kth/convlstm``.
        metric: heading of a column, or name of a convention or metric.
    """

    cell: str | None = None
    metric: str | None = None


def of_scores(
    name: str, database: Path, selection: TableSelection
) -> tuple[Grid, list[list[Field]]]:
    """Make the table of a dimension (one question of a benchmark) from the results store.

    Ranks and tests include all models of the table, even those that are not selected; p values are
    corrected within a dataset and column. A selection therefore changes no number.

    Args:
        name: name of the dimension, which is that of the table.
        database: path of the results store.
        selection: the part of the table to make.

    Returns:
        the page of the table, and a row for each value with the columns
        `stp.render.tables.tidy.HEADER`.

    Raises:
        StpError: the dimension was not collected, or a name is unknown.
    """
    path = _manifest(name, database)
    if not path.is_file():
        raise FileError(
            path,
            f"the dimension {name} has not been collected",
            remedy=f"make the table: {_command_to_make(name, database)}; or `stp render --partial` "
            "for the cells that are finished",
        )
    full_plan = load_manifest(path)
    words = [word for word in (selection.cell or "").split("/") if word]
    cases = [
        word for word in words if any(_is_case(word, full_plan, cell) for cell in full_plan.cells)
    ]
    models = [word for word in words if word not in cases]
    for model in models:
        _check_model(model, full_plan)
    plan = _columns_kept(_cases_kept(full_plan, cases), name, selection.metric)
    scores = read_scores(database, plan)
    demand_complete(plan, name, scores, database)
    table = _models_kept(make_paper_table(plan, name, scores, {}), plan, models)
    return grid(
        plan, name, table.rows, table.standings, partial=False, leads=table.leads
    ), tidy_rows(table.rows, table.standings)


TYPES = dict.fromkeys(HEADER, pa.string()) | {
    name: kind
    for kind, names in {
        pa.float64(): "threshold value ci95_low ci95_high seed_sd p p_corrected published "
        "difference sd published_sd",
        pa.int64(): "clusters n seeds samples rank people",
    }.items()
    for name in names.split()
}
"""Types of the columns of a tidy table."""


def of_store(name: str, database: Path) -> Grid:
    """Make the page of a table of the whole store, such as findings or effects of conventions.

    Args:
        name: name of the table.
        database: path of the results store.

    Raises:
        StpError: the store is missing or was made by an older version, or a query of the table is
            wrong.
    """
    from stp.render.tables import findings

    if is_view(name):
        layout = _layout(name)
        return view_table.grid(view_table.read(database, name, layout.pages), layout, name)
    if name in of_findings():
        return findings.grid(findings.judge(database, questions_of(name).values()), name)
    page: Grid = import_table(name).page(database)
    return page


def write(name: str, database: Path, out: Path) -> None:
    """Write the files of a table of the whole store: all rows as CSV, and pages beside it.

    Args:
        name: name of the table.
        database: path of the results store.
        out: path of the CSV file.

    Raises:
        StpError: the store is missing or was made by an older version, or a query of the table is
            wrong; nothing is written.
    """
    from stp.render.tables import findings

    if is_view(name):
        view_table.render_view(database, name, _layout(name), out)
    elif name in of_findings():
        findings.render_findings(database, _queries(name), out)
    else:
        render(name, database, out)


def questions_of(name: str) -> "dict[int, Question]":
    """Read the findings that a table judges, by number.

    Args:
        name: name of a table of findings.

    Raises:
        StpError: the table is not a table of findings.
    """
    from stp.render.tables import findings

    tables_of_findings = of_findings()
    if name not in tables_of_findings:
        raise StpError(
            f"{name} is not a table of findings",
            expected=f"one of {', '.join(sorted(tables_of_findings))}",
            remedy=suggest_name(name, tables_of_findings),
        )
    return findings.read_questions(_queries(name))


def _queries(name: str) -> Path:
    """Folder with the queries of a table of findings."""
    suite = next(suite for suite in read_suites().values() if suite.findings == name)
    return suite.folder / FINDINGS


def _layout(view: str) -> view_table.Layout:
    table = tables()[view]
    assert isinstance(table.about, ViewTable)
    title = f"{table.suite}: {table.about.about}"
    return view_table.Layout(title, table.about.sections, table.about.pages)


def _manifest(name: str, database: Path) -> Path:
    return database.parent / "collected" / f"{name}.json"


def _is_there(name: str, table: KnownTable, database: Path) -> bool:
    if table.is_dimension:
        return database.is_file() and _manifest(name, database).is_file()
    if table.from_store:
        return database.is_file() and (not table.suite or table.suite in _suites(database))
    return (database.parent / "tables" / f"{name}.csv").is_file()


def _suites(database: Path) -> set[str]:
    """Titles of the suites with results in a results store."""
    with open_results_store(database, "a results store") as connection:
        return {title for (title,) in connection.execute("SELECT title FROM suites").fetchall()}


def _command_to_make(name: str, database: Path) -> str:
    """Command that makes a table, at the scale of the store's folder or else of the last run."""
    scale = database.resolve().parent.name
    if not (CONFIG_FOLDER / f"{scale}.yaml").is_file():
        scale = last_results().name
    return table_command(scale, name)


def _cases_kept(plan: Manifest, words: Sequence[str]) -> Manifest:
    """Keep the cells for which every word is the name or title of their dataset or case."""
    kept = tuple(cell for cell in plan.cells if all(_is_case(word, plan, cell) for word in words))
    if not kept:
        raise _not_found_error("dataset or case", "/".join(words), _cases(plan))
    return replace(plan, cells=kept)


def _is_case(word: str, plan: Manifest, cell: Cell) -> bool:
    """Whether a word is the name or title of a cell's dataset or case."""
    key, titles = cell.key, plan.names.datasets
    tested = key.tested_on
    names = {tested, key.case_name, titles.get(tested, tested), title_of(plan.names, key)}
    return word.casefold() in {name.casefold() for name in names}


def _cases(plan: Manifest) -> set[str]:
    return {name for cell in plan.cells for name in (cell.key.tested_on, cell.key.case_name)}


def _is_model(word: str, plan: Manifest, name: str) -> bool:
    return word.casefold() in (name.casefold(), plan.names.models.get(name, "").casefold())


def _check_model(word: str, plan: Manifest) -> None:
    """Refuse a word that names neither a case nor a model."""
    models = {cell.key.model for cell in plan.cells}
    if not any(_is_model(word, plan, name) for name in models):
        raise _not_found_error("dataset, case or model", word, models | _cases(plan))


def _columns_kept(plan: Manifest, table: str, metric: str | None) -> Manifest:
    if metric is None:
        return plan
    columns = plan.tables[table].columns
    datasets = {cell.key.tested_on for cell in plan.cells}
    kept = {
        dataset: tuple(column for column in of_dataset if _is_metric(metric, column))
        for dataset, of_dataset in columns.items()
        if dataset in datasets
    }
    if not any(kept.values()):
        raise _not_found_error(
            "column", metric, {c.name for d in datasets for c in columns.get(d, ())}
        )
    return replace(plan, tables={**plan.tables, table: replace(plan.tables[table], columns=kept)})


def _is_metric(word: str, column: Column) -> bool:
    convention = column.convention
    metric = convention.partition(".")[0]
    names = (column.name, column.heading, column.label, convention, metric)
    return word.casefold() in (name.casefold() for name in names)


def _models_kept(table: PaperTable, plan: Manifest, models: Sequence[str]) -> PaperTable:
    """Keep the rows of the model for which every word is a name or title."""
    if not models:
        return table
    numbers = [
        i
        for i, row in enumerate(table.rows)
        if all(_is_model(word, plan, row.key.model) for word in models)
    ]
    if not numbers:
        raise _not_found_error("model", "/".join(models), {row.key.model for row in table.rows})
    leads = table.leads
    if leads:
        leads = replace(
            leads,
            rows={lead: [rows[i] for i in numbers] for lead, rows in leads.rows.items()},
            standings={
                lead: [of_lead[i] for i in numbers] for lead, of_lead in leads.standings.items()
            },
        )
    return PaperTable(
        [table.rows[i] for i in numbers], [table.standings[i] for i in numbers], leads
    )


def _not_found_error(kind: str, name: str, available: Iterable[str]) -> NothingFoundError:
    return NothingFoundError(
        f"the table has no {kind} {name!r}",
        expected=f"one of {', '.join(sorted(available))}",
        remedy=suggest_name(name, available),
    )
