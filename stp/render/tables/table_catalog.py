"""The tables there are, and one of them to look at: ``stp table``.

The tables of the dimensions, the findings, the effects of conventions, running times and views are
made from the results store, as their files are (`stp.render.tables.paper_table`,
`stp.render.tables.findings`), so that they are never older than the store. What other tables say
comes from configuration, measurements and raters; they are read from the files that a run has made.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from stp.collect.connection import opened
from stp.core.errors import StpError, nearest
from stp.core.exit_codes import NothingFoundError
from stp.page.commands import table_command
from stp.page.grid import Grid, Section
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.column import Column
from stp.plan.manifest import Cell, Manifest, load_manifest, title_of
from stp.plan.suite import FINDINGS, OF_ALL, NamedTable, SuiteTable, ViewTable, read_suites
from stp.render.tables import view_table
from stp.render.tables.by_name import imported, render
from stp.render.tables.paper_table import PaperTable, demand_complete, make, read_scores
from stp.render.tables.table_layout import grid
from stp.render.tables.tidy import HEADER, tidy_rows
from stp.run.results import last_results

if TYPE_CHECKING:
    from stp.render.tables.findings import Question

LISTED = ("table", "suite", "paper", "about", "there", "command")


class KnownTable(NamedTuple):
    """A table that there is, or could be.

    Attributes:
        suite: the title of its suite; empty if stores of all suites have it.
        about: what is in it, and where it is printed.
        is_dimension: whether it is made from the scores of a dimension.
        from_store: whether its page is made from the results store, though it is of no dimension.
    """

    suite: str
    about: NamedTable
    is_dimension: bool
    from_store: bool


def tables() -> dict[str, KnownTable]:
    """All tables by name, suite after suite."""
    found = {
        name: KnownTable(
            suite.title,
            about,
            is_dimension=name in suite.dimensions,
            from_store=isinstance(about, ViewTable)
            or (isinstance(about, SuiteTable) and about.from_store),
        )
        for suite in read_suites().values()
        for name, about in suite.all_tables().items()
    }
    return found | {name: KnownTable("", about, False, True) for name, about in OF_ALL.items()}


def of_findings() -> set[str]:
    """The tables of the findings of all suites."""
    return {suite.findings for suite in read_suites().values() if suite.findings}


def needs_store(name: str) -> bool:
    """Whether the page of a table that is none of a dimension is made from the results store."""
    return tables()[name].from_store


def is_view(name: str) -> bool:
    """Whether a table is a view of the results store."""
    return isinstance(tables()[name].about, ViewTable)


def listing(database: Path) -> list[tuple[Any, ...]]:
    """Which tables there are, with `LISTED`: how to look at each, or how to make it."""
    found = []
    for name, known in tables().items():
        is_there = _is_there(name, known, database)
        command = f"stp table {name}" if is_there else _made_by(name, database)
        there = "yes" if is_there else "no"
        found.append((name, known.suite, known.about.printed, known.about.about, there, command))
    return found


def listing_grid(database: Path) -> Grid:
    """The same for people."""
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
            "One that is there: `stp table NAME`",
            f"One that is not, where the scale has what it needs: `{_made_by('NAME', database)}`",
        ],
    )


def check_name(name: str) -> None:
    """Refuse a table that nobody knows.

    Raises:
        StpError: it is none of `tables`.
    """
    known = tables()
    if name not in known:
        raise StpError(f"no table {name!r}", remedy=nearest(name, known))


def is_about_scores(name: str) -> bool:
    """Whether a table is made from the scores of a dimension, and can be narrowed."""
    return tables()[name].is_dimension


def file_of(name: str, database: Path, ending: str) -> Path:
    """A file of a table that a run has made.

    Args:
        ending: such as ``.md``.

    Raises:
        StpError: there is none.
    """
    path = database.parent / "tables" / f"{name}{ending}"
    if not path.is_file():
        raise StpError(
            f"{path}: no such table",
            expected="a table that a run has made",
            remedy=f"make it: {_made_by(name, database)}",
        )
    return path


class Narrowed(NamedTuple):
    """What to keep of a table; None keeps all.

    Attributes:
        cell: a dataset of the test or a case such as ``bridge-interval-2``, a model, or both with
            ``/`` between them; by name or title.
        metric: heading of a column, or convention, or metric.
    """

    cell: str | None = None
    metric: str | None = None


def of_scores(name: str, database: Path, wanted: Narrowed) -> tuple[Grid, list[list[Any]]]:
    """A table of a dimension, from the results store.

    Ranks and tests are those among all models of the table, whichever of them are shown; the
    correction of p values covers a dataset and column, so that narrowing changes no number.

    Returns:
        the grid, and one line per value with `stp.render.tables.tidy.HEADER`.

    Raises:
        StpError: the dimension was not collected, or a name is not known.
    """
    path = _manifest(name, database)
    if not path.is_file():
        raise StpError(
            f"{path}: the dimension {name} has not been collected",
            expected="a finished table",
            remedy=f"make it: {_made_by(name, database)}; `stp render --partial` writes what "
            "there is of it",
        )
    whole = load_manifest(path)
    words = [word for word in (wanted.cell or "").split("/") if word]
    cases = [word for word in words if any(_is_case(word, whole, cell) for cell in whole.cells)]
    models = [word for word in words if word not in cases]
    for model in models:
        _check_model(model, whole)
    plan = _columns_kept(_cases_kept(whole, cases), name, wanted.metric)
    scores = read_scores(database, plan)
    demand_complete(plan, name, scores, database)
    made = _models_kept(make(plan, name, scores, {}), plan, models)
    return grid(plan, name, made.rows, made.standings, partial=False, leads=made.leads), tidy_rows(
        made.rows, made.standings
    )


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
    """A table that `from_store`.

    Raises:
        StpError: see `findings.judge`, `view_table.read` and ``page`` of the table's module.
    """
    from stp.render.tables import findings

    if is_view(name):
        layout = _layout(name)
        return view_table.grid(view_table.read(database, name, layout.pages), layout, name)
    if name in of_findings():
        return findings.grid(findings.judge(database, questions_of(name).values()), name)
    shown: Grid = imported(name).page(database)
    return shown


def write(name: str, database: Path, out: Path) -> None:
    """Write a table that `from_store`: all rows as CSV, and its pages beside it.

    Raises:
        StpError: as in `of_store`; nothing is written.
    """
    from stp.render.tables import findings

    if is_view(name):
        view_table.render_view(database, name, _layout(name), out)
    elif name in of_findings():
        findings.render_findings(database, _queries(name), out)
    else:
        render(name, database, out)


def questions_of(name: str) -> "dict[int, Question]":
    """The findings of a table of findings, by number.

    Raises:
        StpError: the table is none of findings.
    """
    from stp.render.tables import findings

    tables_of_findings = of_findings()
    if name not in tables_of_findings:
        raise StpError(
            f"{name} is no table of findings",
            expected=f"one of {', '.join(sorted(tables_of_findings))}",
            remedy=nearest(name, tables_of_findings),
        )
    return findings.read_questions(_queries(name))


def _queries(name: str) -> Path:
    """The folder of the queries of a table of findings."""
    suite = next(suite for suite in read_suites().values() if suite.findings == name)
    return suite.folder / FINDINGS


def _layout(view: str) -> view_table.Layout:
    known = tables()[view]
    assert isinstance(known.about, ViewTable)
    title = f"{known.suite}: {known.about.about}"
    return view_table.Layout(title, known.about.sections, known.about.pages)


def _manifest(name: str, database: Path) -> Path:
    return database.parent / "collected" / f"{name}.json"


def _is_there(name: str, known: KnownTable, database: Path) -> bool:
    if known.is_dimension:
        return database.is_file() and _manifest(name, database).is_file()
    if known.from_store:
        return database.is_file() and (not known.suite or known.suite in _suites(database))
    return (database.parent / "tables" / f"{name}.csv").is_file()


def _suites(database: Path) -> set[str]:
    """Titles of the suites that a results store holds results of."""
    with opened(database, "a results store") as connection:
        return {title for (title,) in connection.execute("SELECT title FROM suites").fetchall()}


def _made_by(name: str, database: Path) -> str:
    """The command; of the scale whose folder the store lies in, else of the one that ran last."""
    scale = database.resolve().parent.name
    if not (CONFIG_FOLDER / f"{scale}.yaml").is_file():
        scale = last_results().name
    return table_command(scale, name)


def _cases_kept(plan: Manifest, words: Sequence[str]) -> Manifest:
    """Keep the cells that all words are the name of."""
    kept = tuple(cell for cell in plan.cells if all(_is_case(word, plan, cell) for word in words))
    if not kept:
        raise _nothing("dataset or case", "/".join(words), _cases(plan))
    return replace(plan, cells=kept)


def _is_case(word: str, plan: Manifest, cell: Cell) -> bool:
    """Whether a cell is of a dataset or a case of this name or title."""
    key, titles = cell.key, plan.names.datasets
    tested = key.tested_on
    names = {tested, key.case_name, titles.get(tested, tested), title_of(plan.names, key)}
    return word.casefold() in {name.casefold() for name in names}


def _cases(plan: Manifest) -> set[str]:
    return {name for cell in plan.cells for name in (cell.key.tested_on, cell.key.case_name)}


def _is_model(word: str, plan: Manifest, name: str) -> bool:
    return word.casefold() in (name.casefold(), plan.names.models.get(name, "").casefold())


def _check_model(word: str, plan: Manifest) -> None:
    """Refuse a word that is neither a case, as the caller knows, nor a model."""
    models = {cell.key.model for cell in plan.cells}
    if not any(_is_model(word, plan, name) for name in models):
        raise _nothing("dataset, case or model", word, models | _cases(plan))


def _columns_kept(plan: Manifest, table: str, metric: str | None) -> Manifest:
    if metric is None:
        return plan
    columns = plan.tables[table].columns
    datasets = {cell.key.tested_on for cell in plan.cells}
    kept = {
        dataset: tuple(column for column in of if _is_metric(metric, column))
        for dataset, of in columns.items()
        if dataset in datasets
    }
    if not any(kept.values()):
        raise _nothing("column", metric, {c.name for d in datasets for c in columns.get(d, ())})
    return replace(plan, tables={**plan.tables, table: replace(plan.tables[table], columns=kept)})


def _is_metric(asked: str, column: Column) -> bool:
    convention = column.convention
    metric = convention.partition(".")[0]
    names = (column.name, column.heading, column.shown, convention, metric)
    return asked.casefold() in (name.casefold() for name in names)


def _models_kept(made: PaperTable, plan: Manifest, models: Sequence[str]) -> PaperTable:
    """Keep the rows of the model that all words are the name of."""
    if not models:
        return made
    numbers = [
        i
        for i, row in enumerate(made.rows)
        if all(_is_model(word, plan, row.key.model) for word in models)
    ]
    if not numbers:
        raise _nothing("model", "/".join(models), {row.key.model for row in made.rows})
    leads = made.leads
    if leads:
        leads = replace(
            leads,
            rows={lead: [rows[i] for i in numbers] for lead, rows in leads.rows.items()},
            standings={lead: [of[i] for i in numbers] for lead, of in leads.standings.items()},
        )
    return PaperTable([made.rows[i] for i in numbers], [made.standings[i] for i in numbers], leads)


def _nothing(what: str, asked: str, known: Iterable[str]) -> NothingFoundError:
    return NothingFoundError(
        f"the table has no {what} {asked!r}",
        expected=f"one of {', '.join(sorted(known))}",
        remedy=nearest(asked, known),
    )
