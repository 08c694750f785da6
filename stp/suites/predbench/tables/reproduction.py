"""Tables 13 to 16 of PredBench: values of the models' authors, of PredBench, and ours.

PredBench trained each model twice: with the code of the model's authors, and with its own. Both
values are given beside the one measured here. A table with gaps is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from stp.collect.published import PublishedValue, read_published
from stp.collect.scores import read_collected
from stp.core.errors import ConfigurationError, FileError
from stp.page.commands import table_command
from stp.page.data_origin import count_kinds, origin
from stp.page.digits import format_number
from stp.page.files import write_all
from stp.page.formats import render_grid
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.plan.column import ReproducedColumn
from stp.plan.manifest import Cell, Manifest, load_manifest
from stp.plan.manifest_types import ReproductionFacts, TableColumns
from stp.render.direction import Direction, heading
from stp.render.tables.demands import is_reproduced
from stp.render.tables.paper_table import demand_complete
from stp.render.tables.rows import Row, make_rows, overall
from stp.run.results import rows_of

TABLE = "reproduction"
AUTHORS, PAPER = "original", "ours"
"""Names of the runs behind published values: with the code of a model's authors, and with the
paper's code."""
HEADER = (
    *("table", "source", "scale", "protocol", "comparable", "dataset", "model", "metric"),
    *("convention", "factor", "original", "published", "ours", "difference", "seeds", "n", "notes"),
)
"""Columns of the CSV file, which has a line for each model and metric of a table."""


@dataclass(frozen=True)
class Value:
    """The values of one metric of one model, as published twice and as computed here.

    Attributes:
        column: exact definition of the metric, and factor from our unit to that of the paper.
        original: value that the paper prints for the code of the model's authors.
        published: value that the paper prints for its own code.
        row: row of our results; None if the model is not evaluated on the dataset.
    """

    column: ReproducedColumn
    original: PublishedValue
    published: PublishedValue
    row: Row | None

    @property
    def ours(self) -> float | None:
        """Our value in the unit of the paper."""
        value = self.row.entries[self.column.name].value if self.row else None
        return None if value is None else value * self.column.factor

    @property
    def difference(self) -> float | None:
        """Our value minus the paper's value; None if they are not comparable."""
        doubtful = self.published.note or self.column.doubt
        if self.ours is None or self.row is None or not self.row.comparable or doubtful:
            return None
        return self.ours - self.published.value


@dataclass(frozen=True)
class ReproducedTable:
    """One of the tables 13 to 16 of the paper, with our values.

    Attributes:
        number: number of the table in the paper.
        dataset: title of the dataset.
        models: by title of the model, its values in the order of the table's columns.
    """

    number: int
    dataset: str
    models: dict[str, list[Value]]


def render_reproduction(manifest: Path, out: Path) -> None:
    """Write PredBench's Tables 13 to 16 with our values, as .csv, .md, .tex and .html.

    The tables compare three values of each metric of a model: as published for the code of the
    model's authors, as published for PredBench's code, and as computed here.

    Args:
        manifest: path of the manifest (JSON list of the results that tables are made from).
        out: path of the CSV file; the other files are written next to it.

    Raises:
        StpError: a file is missing or damaged, no model of the tables was evaluated, or a value is
            missing; nothing is written.
    """
    plan = load_manifest(manifest)
    tables = read_tables(plan, manifest)
    write_all({out: _csv(plan, tables), **render_grid(_grid(plan, tables, out.stem), out.parent)})


def read_tables(plan: Manifest, manifest: Path) -> list[ReproducedTable]:
    """Read all tables of which at least one model was evaluated, in the order of the paper.

    Args:
        plan: content of the manifest, which lists our results.
        manifest: path of the manifest.

    Raises:
        StpError: a file is missing or damaged, no model of the tables was evaluated, or a value is
            missing.
    """
    published = read_published(plan.published)
    models = {(value.table, value.model) for value in published}
    names = {dataset: facts.table for dataset, facts in plan.reproduction.items()}
    cells: dict[tuple[str, str | None], list[Cell]] = {}
    for cell in plan.cells:
        if is_reproduced(cell.key, names, models, plan.published_names):
            model = plan.published_names.of_model(cell.key)
            cells.setdefault((cell.key.tested_on, model), []).append(cell)
    if not cells:
        raise ConfigurationError(
            f"{manifest}: no cell of Tables 13-16",
            remedy="add some to the scale file, such as convlstm on moving_mnist",
        )
    collected = rows_of(manifest)
    rows = read_collected(collected)
    plan = replace(
        plan,
        cells=tuple(cell for of_model in cells.values() for cell in of_model),
        tables={
            TABLE: TableColumns(
                {dataset: facts.columns for dataset, facts in plan.reproduction.items()}
            )
        },
    )
    demand_complete(plan, TABLE, rows, collected)
    scores = overall(rows)
    ours = {
        place: make_rows(replace(plan, cells=tuple(of_model)), TABLE, scores, (), {})[0]
        for place, of_model in cells.items()
    }
    datasets = dict.fromkeys(dataset for dataset, _ in cells)
    tables = [_table(plan, dataset, published, ours) for dataset in datasets]
    return sorted(tables, key=lambda table: table.number)


def _table(
    plan: Manifest,
    dataset: str,
    published: Iterable[PublishedValue],
    ours: Mapping[tuple[str, str | None], Row],
) -> ReproducedTable:
    facts = plan.reproduction[dataset]
    printed: dict[str, dict[tuple[str, str], PublishedValue]] = {}
    for value in published:
        if value.table == facts.table:
            printed.setdefault(value.model, {})[value.metric, value.run] = value
    names = plan.published_names.models
    titles = {names.get(model): title for model, title in plan.names.models.items()}
    try:
        models = {
            titles.get(model, model): [
                Value(
                    column,
                    of_model[column.name, AUTHORS],
                    of_model[column.name, PAPER],
                    ours.get((dataset, model)),
                )
                for column in facts.columns
            ]
            for model, of_model in printed.items()
        }
    except KeyError as missing:
        raise FileError(
            plan.published or "", f"the table {facts.table} is not complete: {missing}"
        ) from None
    return ReproducedTable(_table_number(facts), plan.names.datasets.get(dataset, dataset), models)


def _table_number(facts: ReproductionFacts) -> int:
    """The number of a table in the paper: 13 of ``T13_repro_mmnist``."""
    return int(facts.table.partition("_")[0].removeprefix("T"))


def _csv(plan: Manifest, tables: list[ReproducedTable]) -> str:
    lines: list[list[object]] = [list(HEADER)]
    for table in tables:
        for model, values in table.models.items():
            for value in values:
                row, column = value.row, value.column
                lines.append(
                    [
                        table.number,
                        row.source if row else "",
                        plan.scale,
                        row.protocol if row else "",
                        row.comparability if row else "",
                        table.dataset,
                        model,
                        column.name,
                        column.label,
                        format_number(column.factor),
                        value.original.value,
                        value.published.value,
                        format_number(value.ours),
                        format_number(value.difference),
                        row.seeds if row else "",
                        row.samples if row else "",
                        "; ".join(_notes(plan, value)),
                    ]
                )
    return csv_text(lines)


def _notes(plan: Manifest, value: Value) -> Iterable[str]:
    yield from value.row.notes if value.row else [f"not at scale {plan.scale}"]
    if value.published.note:
        yield f"published: {value.published.note}"
    if value.column.doubt:
        yield f"not certain: {value.column.doubt}"


def _grid(plan: Manifest, tables: list[ReproducedTable], name: str) -> Grid:
    rows = [values[0].row for table in tables for values in table.models.values()]
    ours = [row for row in rows if row]
    other_data = [row for row in ours if not row.comparable]
    absent = {_table_number(facts) for facts in plan.reproduction.values()}
    absent -= {table.number for table in tables}
    warnings = []
    if other_data:
        origins = count_kinds((origin(row.source, row.protocol) for row in other_data), "rows")
        warnings.append(
            f"WARNING: {len(other_data)} of {len(ours)} rows of ours are NOT COMPARABLE with the "
            f"published values: {origins}."
        )
    if absent:
        warnings.append(
            f"The scale {plan.scale} has no cell of Table{'s' if len(absent) > 1 else ''} "
            f"{', '.join(map(str, sorted(absent)))} of the paper."
        )
    return Grid(
        name=name,
        title=f"Reproduction, scale {plan.scale}",
        intro=[
            "Tables 13-16 of PredBench (appendix C.2). `original`: published for the code of a "
            "model's authors. `PredBench`: published for the code of the paper. `ours`: computed "
            "here; in parentheses, the difference from PredBench's value, for official data under "
            "the paper's protocol only.",
        ],
        sections=[_section(plan, table) for table in tables],
        warnings=warnings,
        legend=[
            "bold: best of a column; second best is marked as well; doubtful values are not "
            "ranked, and ours are ranked among ours only",
            "†: doubtful as printed; see the notes. –: not at this scale, or no value",
        ],
        made_from=f"Made from `results/{plan.scale}/collected/{plan.dimension}.parquet` by "
        f"`{table_command(plan.scale, name)}`.",
    )


def _section(plan: Manifest, table: ReproducedTable) -> Section:
    of_columns = [_items(plan, values) for values in zip(*table.models.values(), strict=True)]
    columns = [value.column for value in next(iter(table.models.values()))]
    headings = [heading(c.name, Direction.of(plan, c.convention)) for c in columns]
    title = f"Table {table.number}: {table.dataset}"
    if len(table.models) == 1:
        titles = ["metric", "original", plan.suite.title, "ours"]
        rows: list[list[str | Item]] = [
            [text, *items[0]] for text, items in zip(headings, of_columns, strict=True)
        ]
        title += f", {next(iter(table.models))}"
    else:
        titles = ["model"]
        for text in headings:
            titles += [f"{text} original", plan.suite.title, "ours"]
        rows = [
            [model, *(item for items in of_columns for item in items[i])]
            for i, model in enumerate(table.models)
        ]
    numeric = [False, *(True for _ in titles[1:])]
    return Section(title, titles, rows, numeric, notes=list(_section_notes(plan, table)))


def _items(plan: Manifest, values: Sequence[Value]) -> list[list[Item]]:
    direction = Direction.of(plan, values[0].column.convention)
    texts_of_ours = ["–" if v.ours is None else f"{v.ours:#.5g}".removesuffix(".") for v in values]
    ranks = zip(
        _ranks([_trusted_value(value.original) for value in values], direction),
        _ranks([_trusted_value(value.published) for value in values], direction),
        # Values that round to the same printed figure are equal.
        _ranks([None if text == "–" else float(text) for text in texts_of_ours], direction),
        strict=True,
    )
    items = []
    for value, text, of_value in zip(values, texts_of_ours, ranks, strict=True):
        published = [
            Item(printed.raw, rank=rank, mark="†" if printed.note else "")
            for printed, rank in zip((value.original, value.published), of_value, strict=False)
        ]
        difference = "" if value.difference is None else f"{value.difference:+.3g}"
        items.append([*published, Item(text, rank=of_value[2], aside=difference)])
    return items


def _trusted_value(printed: PublishedValue) -> float | None:
    return None if printed.note else printed.value


def _ranks(values: list[float | None], direction: Direction) -> list[int]:
    """Ranks of values: 1 for the best, 2 for the second best, else 0; all 0 if none differ."""
    if not direction.is_known:
        return [0] * len(values)
    losses = [None if value is None else direction.loss(value) for value in values]
    best = sorted({loss for loss in losses if loss is not None})[:2]
    if len(best) < 2:
        return [0] * len(values)
    return [best.index(loss) + 1 if loss in best else 0 for loss in losses]


def _section_notes(plan: Manifest, table: ReproducedTable) -> Iterable[str]:
    absent = [model for model, values in table.models.items() if values[0].row is None]
    if absent:
        yield f"not at scale {plan.scale}: {', '.join(absent)}"
    models_of: dict[str, list[str]] = {}
    for model, values in table.models.items():
        row = values[0].row
        notes = dict.fromkeys(row.notes if row else ())
        notes |= dict.fromkeys(
            f"† published: {value.published.note}" for value in values if value.published.note
        )
        for note in notes:
            models_of.setdefault(note, []).append(model)
    yield from (f"{', '.join(models)}: {note}" for note, models in models_of.items())
    for value in next(iter(table.models.values())):
        column = value.column
        description = plan.conventions[column.convention].description
        text = f"{column.name}: `{column.label}`"
        text += f" times {column.factor:g}" if column.factor != 1 else ""
        text += f", {column.unit}" if column.unit else ""
        text += f"; {description}" if description else ""
        yield text + (f". Not certain: {column.doubt}" if column.doubt else "")
