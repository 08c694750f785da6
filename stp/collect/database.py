"""Build results.duckdb: every score with its cell, its receipts and the published values.

The database is built beside and renamed, so that readers are never in the way of a writer
(DuckDB allows one writer, and no reader beside it).
"""

import json
import os
import re
import struct
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from stp.collect import layout, suite_rows
from stp.collect.collected import check, claims, fill
from stp.collect.matched import METRIC, Report, matched_distances
from stp.collect.paper import paper_columns
from stp.collect.people import cells_of_people, error_files, errors_query, runtimes
from stp.collect.settings import key_columns, rows, with_keys
from stp.collect.standings import standings
from stp.collect.suite_views import views_of_plans
from stp.collect.views import EVERY_SCORE, View, comment_of
from stp.collect.views import with_keys as views_with_keys
from stp.core.disk import below, beside
from stp.core.errors import StpError
from stp.core.receipts import again, require_receipt
from stp.plan.manifest import WHOSE, Manifest, load_manifest, title_of

Rows = Iterable[dict[str, Any]]
Described = dict[str, list[dict[str, Any]]]
"""Rows of the tables that say what the scores are, by the table's name."""
SampleFiles = dict[str, list[list[Path]]]
"""Files of per-sample scores, of either kind of score artefact; those of a schema together."""

STAGES = ("data", "model", "predictions", "scores", "perceptual")
"""The artefacts behind a cell, in the order in which they are made."""


SAMPLE_SCORES = "sample_scores.parquet"


class Gaps(NamedTuple):
    """Cells that are planned and have no scores, and what is known of the work on them.

    Attributes:
        rows: of the table `layout.MISSING`.
        finished: receipts of artefacts that they are to be made from.
        tried: ``path``, ``stage`` and ``attempts`` of artefacts that are not finished.
    """

    rows: list[dict[str, Any]]
    finished: list[dict[str, Any]]
    tried: list[dict[str, Any]]


def build(
    manifests: list[Path],
    collected: list[Path],
    out: Path,
    cache: Path | None = None,
    report: Report | None = None,
    gaps: Gaps | None = None,
) -> None:
    """Build the database ``out`` from manifests and the parquet files collected from them.

    Rows have a fixed order, and nothing but the inputs enters: the same inputs give the same rows.

    Args:
        cache: Parquet file of distances at equal N that were computed before, see
            `matched_distances`; ranks and comparisons that were computed lie beside it, see
            `stp.collect.standings`.
        report: is told about the work.
        gaps: the cells that are planned and not collected; none unless given.

    Raises:
        StpError: a manifest, a collected file, a receipt or a per-sample file is missing or bad.
    """
    plans = [load_manifest(manifest) for manifest in manifests]
    claimed = claims(plans, manifests, collected)
    with (
        beside(out) as temporary,
        duckdb.connect(str(temporary)) as database,
        ThreadPoolExecutor(max_workers=3) as meanwhile,
    ):
        _create(database, _FIRST, [])
        reading = meanwhile.submit(_described, plans, gaps or Gaps([], [], []))
        sampling = meanwhile.submit(_sample_files, plans)
        keys = key_columns(suite_rows.keyed(plans, gaps.rows if gaps else []))
        others = meanwhile.submit(_create_others, database, plans, keys, reading, sampling)
        database.begin()
        _insert(database, layout.CELLS, _cells(plans))
        fill(database, collected)
        check(database, plans, claimed, collected)
        distances = _overall(database, f"k.metric = '{METRIC}' AND k.leads IS NULL")
        matched = matched_distances(plans, distances, cache, report)
        kept = cache and cache.parent
        ranks, comparisons = standings(plans, lambda: _overall(database), kept, report)
        _insert(database, layout.MATCHED_DISTANCES, matched)
        _insert(database, layout.RANKS, ranks)
        _insert(database, layout.COMPARISONS, comparisons)
        database.commit()
        others.result()


def _overall(database: duckdb.DuckDBPyConnection, which: str = "true") -> pa.Table:
    """The means over all lead times, or over those that columns show, in the order of the collected
    rows."""
    return database.sql(
        f"{EVERY_SCORE} WHERE k.lead IS NULL AND k.statistic = 'mean' AND {which} ORDER BY s.rowid"
    ).to_arrow_table()


def _described(plans: list[Manifest], gaps: Gaps) -> Described:
    """The rows of all tables that say what the scores are, from manifests and receipts."""
    receipts = _receipts(plans, gaps.finished)
    return {
        layout.ARTEFACTS.name: [_artefact(receipt) for receipt in receipts],
        layout.ATTEMPTS.name: list(_attempts(receipts + gaps.tried)),
        layout.MISSING.name: gaps.rows,
        layout.RAW_FILES.name: list(_raw_files(plans, receipts)),
        layout.MODELS.name: list(_named(plans, layout.MODELS.name)),
        layout.DATASETS.name: list(_named(plans, layout.DATASETS.name)),
        layout.PUBLISHED.name: list(suite_rows.published(plans)),
        layout.SETTINGS.name: rows(suite_rows.settings(plans, gaps.rows)),
        layout.SUITES.name: list(suite_rows.suites(plans)),
        layout.DIMENSIONS.name: list(suite_rows.dimensions(plans)),
        layout.CONVENTIONS.name: _conventions(plans),
        layout.PAPER_COLUMNS.name: list(paper_columns(plans)),
        layout.RUNTIME.name: list(runtimes(cells_of_people(plans))),
    }


_FIRST = (
    layout.CELLS,
    layout.SCORE_KINDS,
    layout.SCORE_ROWS,
    layout.MATCHED_DISTANCES,
    layout.RANKS,
    layout.COMPARISONS,
)
"""Tables that are filled while the others are created, and filled too."""


def _create_others(
    database: duckdb.DuckDBPyConnection,
    plans: list[Manifest],
    keys: tuple[tuple[str, str, str], ...],
    reading: Future[Described],
    sampling: Future[SampleFiles],
) -> None:
    """Create and fill all other tables, and create the views, over a connection of its own."""
    keyed = (layout.SETTINGS, layout.PUBLISHED)
    with database.cursor() as own:
        tables = [
            with_keys(table, keys) if table in keyed else table
            for table in layout.TABLES
            if table not in _FIRST
        ]
        _create(own, tables, [*views_with_keys(key for key, *_ in keys), *views_of_plans(plans)])
        own.begin()
        described = reading.result()
        for table in tables:
            _insert(own, table, described[table.name])
        _create_sample_view(own, sampling.result(), _conventions(plans))
        _create_errors_view(own, error_files(cells_of_people(plans)))
        own.commit()


def _create(
    database: duckdb.DuckDBPyConnection, tables: Iterable[layout.Table], views: Iterable[View]
) -> None:
    """Create empty tables, and views, with their comments.

    One commit, not one for each of hundreds of comments; and few calls, of which each would wait
    for the thread that reads receipts.
    """
    database.begin()
    statements = []
    for table in tables:
        columns = ", ".join(f"{_identifier(column)} {kind}" for column, kind, _ in table.columns)
        statements.append(f"CREATE TABLE {_identifier(table.name)} ({columns})")
        comments = {column: comment for column, _, comment in table.columns}
        statements += _comments("TABLE", table.name, table.comment, comments)
    described = {view.name: view for view in views}
    statements += [f"CREATE VIEW {_identifier(view.name)} AS {view.sql}" for view in views]
    database.execute(";\n".join(statements))
    found: dict[str, dict[str, str]] = {name: {} for name in described}
    for name, column in database.execute(
        "SELECT table_name, column_name FROM duckdb_columns() "
        "WHERE list_contains(?, table_name) ORDER BY column_index",
        [list(described)],
    ).fetchall():
        # Columns of tables keep the comments that they have there.
        found[name][column] = comment_of(described[name], column)
    statements = []
    for name, view in described.items():
        statements += _comments("VIEW", name, view.comment, found[name])
    database.execute(";\n".join(statements))
    database.commit()


def _comments(kind: str, name: str, comment: str, columns: dict[str, str]) -> list[str]:
    """Statements that comment on a table or view, and on its columns."""
    one = _identifier(name)
    return [f"COMMENT ON {kind} {one} IS {_text(comment)}"] + [
        f"COMMENT ON COLUMN {one}.{_identifier(column)} IS {_text(about)}"
        for column, about in columns.items()
    ]


def _insert(
    database: duckdb.DuckDBPyConnection, table: layout.Table, rows: pa.Table | Rows
) -> None:
    """Insert rows in their order: a table of Arrow, or a few thousand rows as one text of JSON.

    Arrow, which is faster for millions, imports pandas to read a list.
    """
    name = _identifier(table.name)
    if isinstance(rows, pa.Table):
        database.register("new_rows", rows)
        database.execute(f"INSERT INTO {name} BY NAME SELECT * FROM new_rows")
        database.unregister("new_rows")
        return
    text = json.dumps(list(rows), allow_nan=False, default=datetime.isoformat)
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


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _cells(plans: list[Manifest]) -> Iterable[dict[str, Any]]:
    number = 0
    for plan in plans:
        for cell in plan.cells:
            number += 1
            row = dict(vars(cell.key))
            row["number"] = number
            for name in WHOSE:
                row[name] = getattr(cell, name)
            row["scale"] = plan.scale
            row["tested"] = title_of(plan.names, cell.key)
            row["case_name"] = cell.key.case_name
            for name in ("subset_note", "external", "samples", "statistic", "kept"):
                row[name] = getattr(cell, name)
            for stage in STAGES:
                folder = cell.folder(stage)
                row[f"{stage}_folder"] = None if folder is None else str(folder)
                row[f"{stage}_fingerprint"] = None if folder is None else folder.name
            yield row


def _named(plans: list[Manifest], kind: str) -> Iterable[dict[str, Any]]:
    """All models or datasets, by name, with their titles and what else is known of them."""
    titles: dict[str, str] = {}
    facts: dict[str, dict[str, Any]] = {}
    for plan in plans:
        titles.update(getattr(plan.names, kind))
        facts.update({name: vars(of) for name, of in getattr(plan, kind).items()})
    for name in sorted(titles):
        yield {kind.removesuffix("s"): name, "title": titles[name], **facts.get(name, {})}


def _receipts(plans: list[Manifest], more: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Read each receipt once; the order is that of the stages, then that of the paths.

    Args:
        plans: whose cells' receipts are read.
        more: receipts that were read already; those of other artefacts come last.
    """
    folders = {
        (number, folder)
        for plan in plans
        for cell in plan.cells
        for number, stage in enumerate(STAGES)
        if (folder := cell.folder(stage))
    }
    # Models of further lead times, and what networks see of clips.
    folders |= {
        (STAGES.index("model" if stage == "train" else "predictions"), Path(folder))
        for plan in plans
        for cell in plan.cells
        for stage, folder in cell.behind
    }
    found = []
    for _, folder in sorted(folders):
        receipt = require_receipt(folder)
        # Most of a receipt are hundreds of names of code, which nobody here asks for: to hold all
        # of them makes the reading a third slower.
        code = receipt.get("code", {})
        found.append({**receipt, "code": {"fingerprint": code.get("fingerprint")}})
    paths = {receipt.get("path") for receipt in found}
    return found + [receipt for receipt in more if receipt.get("path") not in paths]


def _artefact(receipt: dict[str, Any]) -> dict[str, Any]:
    provenance = receipt.get("provenance", {})
    files = receipt.get("files", {})
    return {
        "stage": receipt.get("stage"),
        "path": receipt.get("path"),
        "fingerprint": receipt["fingerprint"],
        "code_fingerprint": receipt.get("code", {}).get("fingerprint"),
        "commit": provenance.get("commit"),
        "recipe": _json(receipt.get("recipe")),
        "inputs": _json(receipt.get("inputs")),
        "host": provenance.get("host"),
        "device": provenance.get("device"),
        "person": provenance.get("user"),
        "slurm_job": provenance.get("slurm_job"),
        "started": _time(provenance.get("started")),
        "finished": _time(provenance.get("finished")),
        "seconds": provenance.get("seconds"),
        "python": provenance.get("python"),
        "packages": _json(provenance.get("packages")),
        "bytes": sum(file["bytes"] for file in files.values()),
        "files": len(files),
    }


def _attempts(receipts: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for receipt in receipts:
        for attempt in receipt.get("attempts", []):
            began, ended = attempt.get("time"), attempt.get("ended")
            yield {
                **{key: receipt.get(key) for key in ("path", "stage")},
                **{key: attempt.get(key) for key in ("attempt", "how", "detail", "host", "gpus")},
                **{key: attempt.get(key) for key in ("slurm_job", "peak_mb", "memory_mb")},
                "started": _time(began),
                "ended": _time(ended),
                "seconds": None if began is None or ended is None else ended - began,
            }


def _raw_files(plans: list[Manifest], receipts: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Read the locks of the raw files that data were prepared from, where they are still there."""
    locks = sorted({r["inputs"]["raw"] for r in receipts if "raw" in (r.get("inputs") or {})})
    for lock in locks:
        for store in dict.fromkeys(plan.store for plan in plans):
            path = below(Path(store), lock, "a receipt")
            if not path.is_file():
                continue
            try:
                locked = json.loads(path.read_text(encoding="utf-8"))
                files = sorted(locked["files"].items())
            except (ValueError, KeyError, AttributeError) as error:
                raise StpError(
                    f"{path}: cannot be read ({error!r})",
                    expected="the lock of a release's raw files",
                    remedy="delete it and run again: the raw files are locked anew",
                ) from None
            for name, file in files:
                yield {
                    "lock": lock,
                    **{key: locked.get(key) for key in ("dataset", "release", "source")},
                    "file": name,
                    "bytes": file.get("bytes"),
                    "sha256": file.get("sha256"),
                }
            break


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _time(seconds: float | None) -> datetime | None:
    """Turn seconds since 1970 into UTC, without a zone: DuckDB's TIMESTAMP has none."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _conventions(plans: list[Manifest]) -> list[dict[str, Any]]:
    known = {name: about for plan in plans for name, about in plan.conventions.items()}
    return [
        {"metric": name.split(".")[0], "convention": name, **vars(about)}
        for name, about in sorted(known.items())
    ]


def _sample_files(plans: list[Manifest]) -> SampleFiles:
    """The files of per-sample scores of either kind, found to be right, those of a schema together.

    Most are alike: of each kind that a writer says to have written, one is looked at.
    """
    files: SampleFiles = {"scores": [], "perceptual": []}
    for kind, groups in files.items():
        schemas: list[pa.Schema] = []
        known: dict[bytes, int] = {}
        for folder in (
            folder for plan in plans for cell in plan.cells for folder in cell.folders([kind])
        ):
            path = (folder / SAMPLE_SCORES).absolute()
            stated = _stated_schema(path)
            group = known.get(stated) if stated else None
            if group is None:
                sample_file(folder)
                schema = pq.read_schema(path).remove_metadata()
                if schema not in schemas:
                    schemas.append(schema)
                    groups.append([])
                group = schemas.index(schema)
                known |= {stated: group} if stated else {}
            groups[group].append(path)
    return files


def _stated_schema(path: Path) -> bytes | None:
    """The schema that Arrow wrote into a Parquet file; None if there is none, or no such file.

    It is found in the bytes of the footer: to parse one of fifty columns takes ten times as long.
    """
    try:
        with path.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            length, magic = struct.unpack("<I4s", file.read())
            file.seek(-8 - length, os.SEEK_END)
            stated = _STATED.search(file.read(length))
    except OSError:
        return None
    return stated[1] if stated and magic == b"PAR1" else None


_STATED = re.compile(rb"ARROW:schema\x18[\x80-\xff]*[\x00-\x7f]([A-Za-z0-9+/]+=*)")
"""A name and its value in base64, as Thrift writes them: a byte of type, the length (in groups of
seven bits) and the text."""


def sample_file(folder: Path) -> Path:
    """Return the absolute path of the per-sample scores, found to be of the right schema."""
    path = (folder / SAMPLE_SCORES).absolute()
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise StpError(
            f"{path}: cannot be read ({error})",
            expected="the scores of each test sample",
            remedy=again(folder),
        ) from None
    problems = [f"no column {name}" for name in layout.SAMPLE_COLUMNS if name not in schema.names]
    problems += [
        f"{field.name} is {field.type}"
        for field in schema
        if field.name not in layout.SAMPLE_COLUMNS
        and not (pa.types.is_list(field.type) and field.type.value_type == pa.float64())
    ]
    if problems:
        raise StpError(
            f"{path}: wrong schema: {'; '.join(problems)}",
            expected=f"columns {', '.join(layout.SAMPLE_COLUMNS)}, and lists of double",
            remedy=again(folder),
        )
    return path


def _create_errors_view(database: duckdb.DuckDBPyConnection, files: list[Path]) -> None:
    """Create the view over errors of people, which stay where they were written."""
    view = layout.PERSON_ERRORS
    comments = {name: about for name, _, about in view.columns}
    statements = [f"CREATE VIEW {_identifier(view.name)} AS {errors_query(files)}"]
    statements += _comments("VIEW", view.name, view.comment, comments)
    database.execute(";".join(statements))


def _create_sample_view(
    database: duckdb.DuckDBPyConnection,
    files: dict[str, list[list[Path]]],
    conventions: list[dict[str, Any]],
) -> None:
    """Create the view over the per-sample files: absolute paths, valid from any folder.

    DuckDB looks at the first file of each group only, which is why they are alike. Perceptual
    scores have files of their own; in the view they stand beside the others.
    """

    def read(kind: str) -> str:
        listed = (", ".join(_text(str(path)) for path in group) for group in files[kind])
        return " UNION ALL BY NAME ".join(
            f"SELECT * FROM read_parquet([{paths}], hive_partitioning=false)" for paths in listed
        )

    rows = read("scores")
    if files["perceptual"]:
        same = " AND ".join(
            f"a.{key} IS NOT DISTINCT FROM b.{key}" for key in layout.SAMPLE_COLUMNS
        )
        keys = ", ".join(layout.SAMPLE_COLUMNS)
        rows = (
            f"SELECT a.*, b.* EXCLUDE ({keys}) FROM ({read('scores')}) a "
            f"LEFT JOIN ({read('perceptual')}) b ON {same}"
        )
    database.execute(f"CREATE VIEW sample_scores AS {rows}")
    titles = {row["convention"]: row["title"] or row["description"] for row in conventions}
    comments = {}
    for column, *_ in database.execute("DESCRIBE sample_scores").fetchall():
        comment = layout.SAMPLE_COLUMNS.get(column)
        if comment is None:
            convention = ".".join(column.split(".")[:2])
            title = titles.get(convention)
            comment = f"{column} of each lead time" + (f": {title}." if title else ".")
        comments[column] = comment
    statements = _comments("VIEW", "sample_scores", layout.SAMPLE_SCORES_COMMENT, comments)
    database.execute(";\n".join(statements))
