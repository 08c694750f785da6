"""Tables 13-16 of PredBench: what it reproduced with the original code, and what we reproduce."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from stp.collect.published import PublishedValue
from stp.collect.scores import read_collected
from stp.core.errors import StpError
from stp.page.commands import table_command
from stp.page.data_origin import shares
from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.plan.column import Columns, ReproducedColumn
from stp.plan.manifest import Cell, Manifest, load_manifest
from stp.plan.manifest_types import ReproductionFacts, TableColumns
from stp.render.direction import Direction, heading
from stp.render.tables.reproduced import ORIGINAL, PAPER, Printed, is_in_table, read_printed
from stp.render.tables.rows import Entry, Overall, Row, gaps, make_rows, overall
from stp.run.results import rows_of

TABLE = "reproduction"
HEADER = (
    "table", "source", "scale", "protocol", "comparable", "dataset", "model", "metric",
    "convention", "factor", "original", "published", "ours", "difference", "seeds", "n", "notes",
)  # fmt: skip
"""Columns of the CSV: one line per model and metric of each table."""


@dataclass(frozen=True)
class Value:
    """One metric of one model.

    Attributes:
        original, published: printed values: by the original code, by the paper's.
        convention: exact definition of ours.
        factor: by which our value was multiplied, to be in the units of the table.
        ours: None has a ``reason``.
        difference: ours - published; only where the comparison is fair.
    """

    original: PublishedValue
    published: PublishedValue
    convention: str
    factor: float
    ours: float | None
    difference: float | None
    reason: str


@dataclass(frozen=True)
class Line:
    """One model of a table.

    Attributes:
        row: what is known of our runs; None if the scale has no such cell.
    """

    model: str
    row: Row | None
    values: dict[str, Value]


@dataclass(frozen=True)
class Reproduced:
    """One table.

    Attributes:
        number: in the paper.
        columns: by metric, as configured: convention, factor, unit, doubt.
    """

    number: str
    dataset: str
    columns: dict[str, ReproducedColumn]
    lines: list[Line]


def render_reproduction(manifest: Path, out: Path, collected: Path | None = None) -> None:
    """Write ``<name>.csv``, and beside it ``<name>.md``, ``<name>.tex`` and ``<name>.html``.

    Args:
        manifest: the cells of the short-term table.
        out: path of the CSV file.
        collected: their scores, collected from the same manifest; those of a run unless given.

    Raises:
        StpError: a file is missing or damaged, the scale has no cell of the tables, or a cell
            lacks a value that it should have; nothing is written.
    """
    plan = load_manifest(manifest)
    tables = read_tables(plan, collected or rows_of(manifest), manifest)
    write_all({out: _csv(plan, tables), **texts(_grid(plan, tables, out.stem), out.parent)})


def read_tables(plan: Manifest, collected: Path, manifest: Path) -> list[Reproduced]:
    """Read the tables of which the manifest has a cell, in the order of the paper.

    Raises:
        StpError: see `render_reproduction`.
    """
    names = plan.published_names
    printed = {
        dataset: read_printed(Path(plan.published or ""), configured.table)
        for dataset, configured in plan.reproduction.items()
    }
    cells = [
        cell
        for cell in plan.cells
        if is_in_table(cell.key, printed.get(cell.key.tested_on, ()), names)
    ]
    if not cells:
        raise StpError(
            f"{manifest}: no cell of Tables 13-16",
            expected="a model and a dataset of these tables in the short-term dimension",
            remedy="add some to the scale file, such as convlstm on moving_mnist",
        )
    of_tables = _plan_of_tables(plan, cells)
    rows = read_collected(collected)
    scores = overall(rows)
    lacking = gaps(of_tables, TABLE, rows, scores)
    if lacking:
        raise StpError(
            f"{collected}: cells are not complete" + "".join(f"\n  {gap}" for gap in lacking),
            expected=f"the scores of all {len(cells)} cells of Tables 13-16 in the manifest",
            remedy="score the missing cells and collect again: ask for the table",
        )
    found = [
        _table(of_tables, dataset, printed[dataset], scores)
        for dataset in printed
        if any(cell.key.tested_on == dataset for cell in cells)
    ]
    return sorted(found, key=lambda table: int(table.number))


def _plan_of_tables(plan: Manifest, cells: list[Cell]) -> Manifest:
    """The manifest with these cells and one table only: this one."""
    columns: dict[str, Columns] = {
        dataset: configured.columns for dataset, configured in plan.reproduction.items()
    }
    return replace(plan, cells=tuple(cells), tables={TABLE: TableColumns(columns)})


def _table(plan: Manifest, dataset: str, printed: Printed, scores: Overall) -> Reproduced:
    columns = {column.name: column for column in plan.reproduction[dataset].columns}
    names = plan.published_names
    titles = {names.models.get(model): title for model, title in plan.names.models.items()}
    ours: dict[str, Row] = {}
    for method in printed:
        cells = tuple(
            cell
            for cell in plan.cells
            if cell.key.tested_on == dataset and names.of_model(cell.key) == method
        )
        if cells:
            ours[method] = make_rows(replace(plan, cells=cells), TABLE, scores, (), {})[0]
    return Reproduced(
        number=_number_of(plan.reproduction[dataset]),
        dataset=plan.names.datasets.get(dataset, dataset),
        columns=columns,
        lines=[
            Line(
                titles.get(method, method),
                row := ours.get(method),
                {
                    metric: _value(column, metrics[metric], row, metric)
                    for metric, column in columns.items()
                },
            )
            for method, metrics in printed.items()
        ],
    )


def _number_of(configured: ReproductionFacts) -> str:
    """The number of a table: ``13`` of ``T13_repro_mmnist``."""
    return configured.table.partition("_")[0].removeprefix("T")


def _value(
    column: ReproducedColumn, printed: dict[str, PublishedValue], row: Row | None, metric: str
) -> Value:
    entry: Entry | None = row.entries[metric] if row else None
    ours = entry.value * column.factor if entry and entry.value is not None else None
    published = printed[PAPER]
    fair = row and row.comparable and not published.note and not column.doubt
    return Value(
        original=printed[ORIGINAL],
        published=published,
        convention=column.shown,
        factor=column.factor,
        ours=ours,
        difference=ours - published.value if fair and ours is not None else None,
        reason=entry.reason if entry and entry.value is None else "",
    )


def _csv(plan: Manifest, tables: list[Reproduced]) -> str:
    lines: list[list[object]] = [list(HEADER)]
    for table in tables:
        for line in table.lines:
            row = line.row
            about = [row.source, plan.scale, row.protocol] if row else ["", plan.scale, ""]
            about += [row.comparability if row else ""]
            counts = [row.seeds, row.samples] if row else ["", ""]
            for metric, value in line.values.items():
                lines.append(
                    [
                        table.number,
                        *about,
                        table.dataset,
                        line.model,
                        metric,
                        value.convention,
                        f"{value.factor:.10g}",
                        value.original.value,
                        value.published.value,
                        _number(value.ours),
                        _number(value.difference),
                        *counts,
                        "; ".join(_notes(plan, table.columns[metric], line, value)),
                    ]
                )
    return csv_text(lines)


def _number(value: float | None) -> str:
    """Write ten significant digits: more than any metric has, few enough to hide rounding."""
    return "" if value is None else f"{value:.10g}"


def _notes(plan: Manifest, column: ReproducedColumn, line: Line, value: Value) -> Iterable[str]:
    """What must be known of one value; reasons for an absent one are among those of its row."""
    yield from line.row.notes if line.row else [f"not at scale {plan.scale}"]
    if value.published.note:
        yield f"published: {value.published.note}"
    if column.doubt:
        yield f"not certain: {column.doubt}"


def _grid(plan: Manifest, tables: list[Reproduced], name: str) -> Grid:
    rows = [line.row for table in tables for line in table.lines if line.row]
    marked = [row for row in rows if not row.comparable]
    here = {table.number for table in tables}
    absent = sorted({_number_of(one) for one in plan.reproduction.values()} - here)
    warnings = []
    if marked:
        whose = shares((f"{row.source} bytes, {row.protocol} protocol" for row in marked), "rows")
        warnings.append(
            f"WARNING: {len(marked)} of {len(rows)} rows of ours are NOT COMPARABLE with the "
            f"published values: {whose}."
        )
    if absent:
        warnings.append(
            f"The scale {plan.scale} has no cell of {_listed('Table', absent)} of the paper."
        )
    return Grid(
        name=name,
        title=f"Reproduction, scale {plan.scale}",
        intro=[
            "Tables 13-16 of PredBench (appendix C.2): `original` is printed for the code of a "
            "model's authors, `PredBench` for its own code base; `ours` is computed here, and in "
            "parentheses stands its difference to PredBench's, for official bytes under the "
            "paper's protocol only.",
        ],
        sections=[_section(plan, table) for table in tables],
        warnings=warnings,
        legend=[
            "best of a column bold, second best marked as well; values that are doubtful are left "
            "out, and ours are compared with ours only",
            "†: doubtful as printed; see the notes. –: not at this scale, or no value",
        ],
        made_from=f"Made from `results/{plan.scale}/collected/{plan.dimension}.parquet` by "
        f"`{table_command(plan.scale, name)}`.",
    )


def _listed(word: str, names: list[str]) -> str:
    return f"{word}{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _section(plan: Manifest, table: Reproduced) -> Section:
    """A row for each model or, where there is only one, for each metric."""
    items = {metric: _items(plan, table, metric) for metric in table.columns}
    headings = {
        metric: heading(metric, _direction(plan, column))
        for metric, column in table.columns.items()
    }
    title = f"Table {table.number}: {table.dataset}"
    if len(table.lines) == 1:
        columns = ["metric", "original", plan.suite.title, "ours"]
        rows: list[list[str | Item]] = [
            [headings[metric], *of_metric[0]] for metric, of_metric in items.items()
        ]
        title += f", {table.lines[0].model}"
    else:
        columns = ["model"]
        for metric in table.columns:
            columns += [f"{headings[metric]} original", plan.suite.title, "ours"]
        rows = [
            [line.model, *(item for of_metric in items.values() for item in of_metric[number])]
            for number, line in enumerate(table.lines)
        ]
    numeric = [False, *(True for _ in columns[1:])]
    return Section(title, columns, rows, numeric, notes=list(_section_notes(plan, table)))


def _direction(plan: Manifest, column: ReproducedColumn) -> Direction:
    return Direction.of(plan, column.convention)


def _items(plan: Manifest, table: Reproduced, metric: str) -> list[list[Item]]:
    """The three places of each line for one metric, ranked where there are several lines."""
    direction = _direction(plan, table.columns[metric])
    values = [line.values[metric] for line in table.lines]
    originals = [_trusted(value.original) for value in values]
    papers = [_trusted(value.published) for value in values]
    # Equal as printed counts as equal.
    ours = [None if value.ours is None else float(_printed(value.ours)) for value in values]
    ranks = zip(*(_ranks(column, direction) for column in (originals, papers, ours)), strict=True)
    found = []
    for value, (of_original, of_paper, of_ours) in zip(values, ranks, strict=True):
        both = [
            Item(printed.raw, rank=rank, mark="†" if printed.note else "")
            for printed, rank in ((value.original, of_original), (value.published, of_paper))
        ]
        difference = "" if value.difference is None else f"{value.difference:+.3g}"
        text = "–" if value.ours is None else _printed(value.ours)
        found.append([*both, Item(text, rank=of_ours, aside=difference)])
    return found


def _printed(ours: float) -> str:
    return f"{ours:#.5g}".removesuffix(".")


def _trusted(printed: PublishedValue) -> float | None:
    return None if printed.note else printed.value


def _ranks(values: list[float | None], direction: Direction) -> list[int]:
    """1 for the best value, 2 for the second best, else 0; nothing is best without a rival."""
    losses = [None if value is None else direction.loss(value) for value in values]
    known = sorted({loss for loss in losses if loss is not None})
    places = {loss: place for place, loss in enumerate(known[:2], start=1)}
    if len(known) < 2 or not direction.known:
        return [0] * len(values)
    return [0 if loss is None else places.get(loss, 0) for loss in losses]


def _section_notes(plan: Manifest, table: Reproduced) -> Iterable[str]:
    absent = [line.model for line in table.lines if line.row is None]
    if absent:
        yield f"not at scale {plan.scale}: {', '.join(absent)}"
    said: dict[str, list[str]] = {}
    for line in table.lines:
        for note in line.row.notes if line.row else ():
            said.setdefault(note, []).append(line.model)
        for note in dict.fromkeys(value.published.note for value in line.values.values()):
            if note:
                said.setdefault(f"† published: {note}", []).append(line.model)
    yield from (f"{', '.join(models)}: {note}" for note, models in said.items())
    known = plan.conventions
    for metric, column in table.columns.items():
        about = known[column.convention]
        text = f"{metric}: `{column.shown}`"
        text += f" times {column.factor:g}" if column.factor != 1 else ""
        text += f", {column.unit}" if column.unit else ""
        text += f"; {about.description}" if about.description else ""
        yield text + (f". Not certain: {column.doubt}" if column.doubt else "")
