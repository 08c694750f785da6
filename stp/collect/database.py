"""Build results.duckdb: all scores, cells, receipts and published values.

The database is built under a temporary name and then renamed, so that readers do not block a writer
(DuckDB allows either one writer or several readers).
"""

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb
import pyarrow as pa

from stp.collect import schema, suite_rows
from stp.collect.artefact_views import KEPT_ROWS, KeptRows
from stp.collect.artefact_views import files as kept_files
from stp.collect.artefact_views import query as kept_query
from stp.collect.connection import create_results_store
from stp.collect.empty import (
    Keys,
    comment_statements,
    create,
    identifier,
    tables_with_keys,
    write_empty,
)
from stp.collect.equal_sample_size import Report, conventions_of_sets, matched_distances
from stp.collect.load_rows import check, claims, fill
from stp.collect.paper import paper_columns
from stp.collect.people_agreement import read_agreements
from stp.collect.ranking import standings
from stp.collect.receipt_rows import (
    AttemptedArtefact,
    artefact_row,
    attempt_rows,
    find_changed_scores,
    raw_file_rows,
    receipts_of,
)
from stp.collect.sample_files import SampleFiles, sample_files, samples_query
from stp.collect.schema import (
    CellRow,
    ConventionRow,
    DatasetRow,
    MissingRow,
    ModelRow,
    PublishedRow,
)
from stp.collect.settings import key_columns, setting_rows
from stp.collect.suite_views import views_of_plans
from stp.collect.table import Table
from stp.collect.track_runtimes import runtimes
from stp.collect.views import EVERY_SCORE
from stp.core.disk import atomic_path
from stp.core.errors import StpError
from stp.core.receipts import Receipt
from stp.plan.manifest import ORIGIN_FIELDS, Manifest, load_manifest, title_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Rows = Iterable["DataclassInstance | Mapping[str, object]"]
"""Dataclasses of `stp.collect.schema`; or mappings, where keys of settings are columns."""
Described = dict[str, Rows]
"""Rows of the tables that describe scores, by name of the table."""


class Gaps(NamedTuple):
    """Planned cells without scores, and what they wait for.

    Attributes:
        rows: rows of the table `schema.MISSING`, one per missing cell.
        finished: receipts of the finished artefacts that the missing cells depend on.
        attempted: unfinished artefacts that missing cells wait for, each with the attempts to make
            it.
    """

    rows: list[MissingRow]
    finished: list[Receipt]
    attempted: list[AttemptedArtefact]


def build(
    manifests: list[Path],
    collected: list[Path],
    out: Path,
    cache: Path | None = None,
    report: Report | None = None,
    gaps: Gaps | None = None,
    people: Path | None = None,
) -> None:
    """Build the database ``out`` from manifests and the Parquet files collected for them.

    Rows and their order depend on the inputs only.

    Args:
        manifests: manifest files of the collected dimensions; each lists the cells of one table.
        collected: Parquet files with the scores of these cells, in the same order.
        out: path of the database.
        cache: Parquet file for distances between sets at equal n (`matched_distances`), beside
            which ranks and comparisons are cached. These files are read if they exist, and updated.
            None to cache nothing.
        report: function that receives the progress, line by line; None for no progress.
        gaps: planned cells without scores, and what they wait for; None if there are none.
        people: CSV file with the agreement of metrics with people
            (`stp.collect.people_agreement`), which may be missing; None without one.

    Raises:
        StpError: a manifest, a collected file, a receipt or a per-sample file is missing or
            damaged, or scores have changed since they were collected.
    """
    plans = [load_manifest(manifest) for manifest in manifests]
    claimed = claims(plans, manifests, collected)
    keys = key_columns(suite_rows.setting_values(plans, gaps.rows if gaps else []))
    with atomic_path(out) as temporary:
        write_empty(temporary, keys)
        with (
            create_results_store(temporary) as database,
            ThreadPoolExecutor(max_workers=3) as meanwhile,
        ):
            reading = meanwhile.submit(_rows_by_table, plans, gaps or Gaps([], [], []), people)
            sampling = meanwhile.submit(sample_files, plans)
            others = meanwhile.submit(_fill_others, database, plans, keys, reading, sampling)
            database.begin()
            _insert(database, schema.CELLS, _cells(plans))
            fill(database, collected)
            check(database, plans, claimed, collected)
            names = ", ".join(f"'{name}'" for name in conventions_of_sets(plans))
            which = f"k.convention IN ({names}) AND k.leads IS NULL" if names else "false"
            distances = _overall(database, which)
            matched = matched_distances(plans, distances, cache, report)
            cache_folder = cache and cache.parent
            ranks, comparisons = standings(plans, lambda: _overall(database), cache_folder, report)
            _insert(database, schema.MATCHED_DISTANCES, matched)
            _insert(database, schema.RANKS, ranks)
            _insert(database, schema.COMPARISONS, comparisons)
            database.commit()
            others.result()
        _refuse_mixture(collected)


def _refuse_mixture(collected: list[Path]) -> None:
    """Refuse collected rows if their score artefacts have changed since.

    Other tables of the database would describe the new scores, not the collected ones.

    Raises:
        StpError: a score artefact was made again since its rows were collected.
    """
    for path in collected:
        for folder in find_changed_scores(path) or ():
            raise StpError(
                f"{folder}: made again since its scores were collected into {path}",
                expected="the scores that the rows were collected from",
                remedy="run again, which collects them again",
            )


def _overall(database: duckdb.DuckDBPyConnection, which: str = "true") -> pa.Table:
    """Select mean values over all lead times, or over the lead times of a table's column.

    They are in the order in which they were collected.
    """
    return database.sql(
        f"{EVERY_SCORE} WHERE k.lead IS NULL AND k.statistic = 'mean' AND {which} ORDER BY s.rowid"
    ).to_arrow_table()


def _rows_by_table(plans: list[Manifest], gaps: Gaps, people: Path | None) -> Described:
    receipts = receipts_of(plans, gaps.finished)
    return {
        schema.ARTEFACTS.name: [artefact_row(receipt) for receipt in receipts],
        schema.ATTEMPTS.name: [
            *attempt_rows(
                AttemptedArtefact(receipt.path, receipt.stage, receipt.attempts)
                for receipt in receipts
            ),
            *attempt_rows(gaps.attempted),
        ],
        schema.MISSING.name: gaps.rows,
        schema.RAW_FILES.name: list(raw_file_rows(plans, receipts)),
        schema.MODELS.name: _models(plans),
        schema.DATASETS.name: _datasets(plans),
        schema.PUBLISHED.name: [_published_record(row) for row in suite_rows.published_rows(plans)],
        schema.SETTINGS.name: setting_rows(suite_rows.settings(plans, gaps.rows)),
        schema.SUITES.name: list(suite_rows.suites(plans)),
        schema.DIMENSIONS.name: list(suite_rows.dimensions(plans)),
        schema.CONVENTIONS.name: _conventions(plans),
        schema.PAPER_COLUMNS.name: list(paper_columns(plans)),
        schema.RUNTIME.name: [
            row
            for plan in plans
            for row in runtimes(cell for cell in plan.cells if plan.kind_of(cell).has_runtime)
        ],
        schema.AGREEMENT_WITH_PEOPLE.name: read_agreements(people) if people else [],
    }


_SCORED = {
    table.name
    for table in (
        *(schema.CELLS, schema.SCORE_KINDS, schema.SCORE_ROWS),
        *(schema.MATCHED_DISTANCES, schema.RANKS, schema.COMPARISONS),
    )
}
"""Tables of scores and of results derived from them; other tables are filled at the same time."""


def _fill_others(
    database: duckdb.DuckDBPyConnection,
    plans: list[Manifest],
    keys: Keys,
    reading: Future[Described],
    sampling: Future[SampleFiles],
) -> None:
    with database.cursor() as cursor:
        cursor.begin()
        described = reading.result()
        for table in tables_with_keys(keys):
            if table.name not in _SCORED:
                _insert(cursor, table, described[table.name])
        for view in KEPT_ROWS:
            _create_kept_view(cursor, view, kept_files(plans, view))
        _create_sample_view(cursor, sampling.result(), _conventions(plans))
        cursor.commit()
        create(cursor, [], views_of_plans(plans))  # views may query all other tables


def _insert(database: duckdb.DuckDBPyConnection, table: Table, rows: pa.Table | Rows) -> None:
    """Insert rows in order: an Arrow table, or a list of rows, which is passed as JSON text.

    Arrow is faster for millions of rows, but needs pandas to read a list.
    """
    name = identifier(table.name)
    if isinstance(rows, pa.Table):
        database.register("new_rows", rows)
        database.execute(f"INSERT INTO {name} BY NAME SELECT * FROM new_rows")
        database.unregister("new_rows")
        return
    plain = [row if isinstance(row, Mapping) else vars(row) for row in rows]
    text = json.dumps(plain, allow_nan=False, default=datetime.isoformat)
    as_text = ("JSON", "TIMESTAMP")  # read by the column's own type
    kinds = {name: "VARCHAR" if kind in as_text else kind for name, kind, _ in table.columns}
    structure = {
        name: [kind.removesuffix("[]")] if kind.endswith("[]") else kind
        for name, kind in kinds.items()
    }
    database.execute(
        f"INSERT INTO {name} BY NAME SELECT one.* FROM (SELECT unnest(from_json(?, ?)) AS one)",
        [text, json.dumps([structure])],
    )


def _published_record(row: PublishedRow) -> dict[str, object]:
    values: dict[str, object] = {
        name: value for name, value in vars(row).items() if name != "setting"
    }
    return values | dict(row.setting)


def _cells(plans: list[Manifest]) -> Iterable[CellRow]:
    number = 0
    for plan in plans:
        for cell in plan.cells:
            number += 1
            models, features = cell.folders(["models"]), cell.folders(["features"])
            data, scores = Path(cell.data), Path(cell.scores)
            predictions, perceptual = cell.folder("predictions"), cell.folder("perceptual")
            yield CellRow(
                **vars(cell.key),
                number=number,
                tested=title_of(plan.names, cell.key),
                case_name=cell.key.case_name,
                **{name: getattr(cell, name) for name in ORIGIN_FIELDS},
                scale=plan.scale,
                subset_note=cell.subset_note,
                external=cell.external,
                samples=cell.samples,
                statistic=cell.statistic,
                kept=cell.kept,
                data_fingerprint=data.name,
                model_fingerprints=[folder.name for folder in models],
                predictions_fingerprint=predictions.name if predictions else None,
                feature_fingerprints=[folder.name for folder in features],
                scores_fingerprint=scores.name,
                perceptual_fingerprint=perceptual.name if perceptual else None,
                data_folder=str(data),
                model_folders=list(map(str, models)),
                predictions_folder=str(predictions) if predictions else None,
                feature_folders=list(map(str, features)),
                scores_folder=str(scores),
                perceptual_folder=str(perceptual) if perceptual else None,
            )


def _models(plans: list[Manifest]) -> list[ModelRow]:
    titles = {name: title for plan in plans for name, title in plan.names.models.items()}
    facts = {name: about for plan in plans for name, about in plan.models.items()}
    return [
        ModelRow(model=name, title=title, **(vars(facts[name]) if name in facts else {}))
        for name, title in sorted(titles.items())
    ]


def _datasets(plans: list[Manifest]) -> list[DatasetRow]:
    titles = {name: title for plan in plans for name, title in plan.names.datasets.items()}
    facts = {name: vars(about) for plan in plans for name, about in plan.datasets.items()}
    return [
        DatasetRow(dataset=name, title=title, **facts.get(name, {}))
        for name, title in sorted(titles.items())
    ]


def _conventions(plans: list[Manifest]) -> list[ConventionRow]:
    conventions = {name: about for plan in plans for name, about in plan.conventions.items()}
    return [
        ConventionRow(metric=name.split(".")[0], convention=name, **vars(about))
        for name, about in sorted(conventions.items())
    ]


def _create_kept_view(
    database: duckdb.DuckDBPyConnection, kept: KeptRows, files: list[Path]
) -> None:
    view = kept.view
    comments = {name: about for name, _, about in view.columns}
    statements = [f"CREATE VIEW {identifier(view.name)} AS {kept_query(files, kept)}"]
    statements += comment_statements("VIEW", view.name, view.comment, comments)
    database.execute(";".join(statements))


def _create_sample_view(
    database: duckdb.DuckDBPyConnection,
    files: SampleFiles,
    conventions: list[ConventionRow],
) -> None:
    database.execute(f"CREATE VIEW sample_scores AS {samples_query(files)}")
    titles = {row.convention: row.title or row.description for row in conventions}
    comments = {}
    for column, *_ in database.execute("DESCRIBE sample_scores").fetchall():
        comment = schema.SAMPLE_SCORES.comments.get(column)
        if comment is None:
            convention = ".".join(column.split(".")[:2])
            title = titles.get(convention)
            comment = f"{column} of each lead time" + (f": {title}." if title else ".")
        comments[column] = comment
    statements = comment_statements("VIEW", "sample_scores", schema.SAMPLE_SCORES.comment, comments)
    database.execute(";\n".join(statements))
