"""Build results.duckdb: every score with its cell, its receipts and the published values.

The database is built beside and renamed, so that readers are never in the way of a writer
(DuckDB allows one writer, and no reader beside it).
"""

import csv
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from stp.collect import layout
from stp.collect.collected import check, fill
from stp.collect.manifest import Manifest, load_manifest, title_of
from stp.collect.matched import METRIC, Report, matched_distances
from stp.collect.paper import paper_columns
from stp.collect.standings import standings
from stp.collect.views import VIEWS, View, comment_of
from stp.disk import beside
from stp.errors import StpError
from stp.receipts import again, require_receipt
from stp.score.options import CELL_KEYS
from stp.setting import case_name

Rows = Iterable[dict[str, Any]]

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
    with (
        beside(out) as temporary,
        duckdb.connect(str(temporary)) as database,
        ThreadPoolExecutor(max_workers=1) as beside_duckdb,
    ):
        reading = beside_duckdb.submit(_described, plans, gaps or Gaps([], [], []))
        samples = _sample_files(database, plans)
        database.begin()  # one commit, not one for each of hundreds of comments
        _create(database, layout.SCORES)
        fill(database, collected)
        check(database, plans, manifests, collected)
        overall = "FROM scores WHERE lead IS NULL AND statistic = 'mean'"
        distances = database.sql(f"{overall} AND metric = '{METRIC}'").to_arrow_table()
        matched = matched_distances(plans, distances, cache, report)
        ranks, comparisons = standings(
            plans, database.sql(overall).to_arrow_table(), cache and cache.parent, report
        )
        rows: dict[str, Rows | pa.Table] = {
            **reading.result(),
            layout.MATCHED_DISTANCES.name: matched,
            layout.RANKS.name: ranks,
            layout.COMPARISONS.name: comparisons,
        }
        for table in layout.TABLES:
            if table is not layout.SCORES:
                _create(database, table, rows[table.name])
        for view in VIEWS:
            _create_view(database, view)
        _create_sample_view(database, samples, _conventions(plans))
        database.commit()


def _described(plans: list[Manifest], gaps: Gaps) -> dict[str, list[dict[str, Any]]]:
    """The rows of all tables that say what the scores are, from manifests and receipts."""
    receipts = _receipts(plans, gaps.finished)
    return {
        layout.CELLS.name: list(_cells(plans)),
        layout.ARTEFACTS.name: [_artefact(receipt) for receipt in receipts],
        layout.ATTEMPTS.name: list(_attempts(receipts + gaps.tried)),
        layout.MISSING.name: gaps.rows,
        layout.RAW_FILES.name: list(_raw_files(plans, receipts)),
        layout.MODELS.name: list(_named(plans, layout.MODELS.name)),
        layout.DATASETS.name: list(_named(plans, layout.DATASETS.name)),
        layout.PUBLISHED.name: list(_published(plans)),
        layout.CONVENTIONS.name: _conventions(plans),
        layout.PAPER_COLUMNS.name: list(paper_columns(plans)),
    }


def _create(
    database: duckdb.DuckDBPyConnection, table: layout.Table, rows: pa.Table | Rows | None = None
) -> None:
    """Create one table with its comments, and fill it in the order of ``rows``."""
    name = _identifier(table.name)
    columns = ", ".join(f"{_identifier(column)} {kind}" for column, kind, _ in table.columns)
    database.execute(f"CREATE TABLE {name} ({columns})")
    if isinstance(rows, pa.Table):
        database.register("new_rows", rows)
        database.execute(f"INSERT INTO {name} BY NAME SELECT * FROM new_rows")
        database.unregister("new_rows")
    elif rows is not None:
        _insert(database, table, rows)
    database.execute(f"COMMENT ON TABLE {name} IS {_text(table.comment)}")
    for column, _, comment in table.columns:
        _comment(database, name, column, comment)


def _insert(database: duckdb.DuckDBPyConnection, table: layout.Table, rows: Rows) -> None:
    """Insert a few thousand rows as one text of JSON.

    Arrow, which is faster for millions, imports pandas to read a list.
    """
    text = json.dumps(list(rows), allow_nan=False, default=datetime.isoformat)
    as_text = ("JSON", "TIMESTAMP")  # read by the column's own type
    kinds = {name: "VARCHAR" if kind in as_text else kind for name, kind, _ in table.columns}
    structure = {
        name: [kind.removesuffix("[]")] if kind.endswith("[]") else kind
        for name, kind in kinds.items()
    }
    database.execute(
        f"INSERT INTO {_identifier(table.name)} BY NAME "
        "SELECT one.* FROM (SELECT unnest(from_json(?, ?)) AS one)",
        [text, json.dumps([structure])],
    )


def _comment(database: duckdb.DuckDBPyConnection, name: str, column: str, comment: str) -> None:
    database.execute(f"COMMENT ON COLUMN {name}.{_identifier(column)} IS {_text(comment)}")


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _cells(plans: list[Manifest]) -> Iterable[dict[str, Any]]:
    for plan in plans:
        for cell in plan["cells"]:
            row = {name: cell["key"][name] for name in CELL_KEYS}
            for name in ("source", "release", "protocol", "official_paper_protocol", "leaky"):
                row[name] = cell[name]
            row["scale"] = plan["scale"]
            row["tested"] = title_of(plan, cell)
            row["case_name"] = case_name(cell["key"])
            row["subset_note"] = cell.get("subset_note", "")
            row["external"] = bool(cell.get("external"))
            row["samples"] = cell.get("samples", 1)
            row |= {name: cell.get(name) for name in ("statistic", "kept")}
            for stage in STAGES:
                folder = cell.get(stage)
                row[f"{stage}_folder"] = folder
                row[f"{stage}_fingerprint"] = folder.rpartition("/")[2] if folder else None
            yield row


def _named(plans: list[Manifest], kind: str) -> Iterable[dict[str, Any]]:
    """All models or datasets, by name, with their titles and what else is known of them."""
    titles: dict[str, str] = {}
    facts: dict[str, dict[str, Any]] = {}
    for plan in plans:
        titles.update(plan["names"][kind])
        facts.update(plan.get(kind, {}))
    for name in sorted(titles):
        yield {kind.removesuffix("s"): name, "title": titles[name], **facts.get(name, {})}


def _receipts(plans: list[Manifest], more: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Read each receipt once; the order is that of the stages, then that of the paths.

    Args:
        plans: whose cells' receipts are read.
        more: receipts that were read already; those of other artefacts come last.
    """
    folders = {
        (number, cell[stage])
        for plan in plans
        for cell in plan["cells"]
        for number, stage in enumerate(STAGES)
        if cell.get(stage)
    }
    found = [require_receipt(Path(folder)) for _, folder in sorted(folders)]
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
        for store in dict.fromkeys(plan["store"] for plan in plans):
            path = Path(store, lock)
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


def _published(plans: list[Manifest]) -> Iterable[dict[str, Any]]:
    """Read the published values and join our names to the printed ones."""
    ours: dict[str, dict[str, str]] = {"models": {}, "datasets": {}}
    for plan in plans:
        for kind, names in ours.items():
            printed = plan["published_names"].get(kind, {})
            names.update({theirs: name for name, theirs in printed.items()})
    for path in dict.fromkeys(plan["published"] for plan in plans):
        for row in read_published(Path(path)):
            yield {
                **row,
                "value": float(row["value"]),
                "model": ours["models"].get(row["method"]),
                "trained_on": ours["datasets"].get(row["train_dataset"]),
                "dataset": ours["datasets"].get(row["test_dataset"]),
            }


def read_published(path: Path) -> list[dict[str, str]]:
    """Read a file of published values; columns as in config/published/README.md.

    Raises:
        StpError: the file is missing or has other columns.
    """
    ours = {"model", "trained_on", "dataset"}
    wanted = {name for name, _, _ in layout.PUBLISHED.columns} - ours
    if not path.is_file():
        raise StpError(
            f"{path}: missing",
            expected="the published values",
            remedy="restore the file from the repository",
        )
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if set(reader.fieldnames or []) != wanted:
            raise StpError(
                f"{path}: columns {', '.join(reader.fieldnames or [])}",
                expected=f"columns {', '.join(sorted(wanted))}",
                remedy="restore the file from the repository",
            )
        return list(reader)


def _conventions(plans: list[Manifest]) -> list[dict[str, Any]]:
    known: dict[str, dict[str, Any]] = {}
    for plan in plans:
        known.update(plan.get("conventions", {}))
    fields = ("title", "description", "unit", "higher_is_better", "best_at", "available", "reason")
    return [
        {"metric": name.split(".")[0], "convention": name}
        | {field: known[name].get(field) for field in fields}
        for name in sorted(known)
    ]


def _sample_files(
    database: duckdb.DuckDBPyConnection, plans: list[Manifest]
) -> dict[str, list[Path]]:
    """The files of per-sample scores, found to be of the right schema."""
    folders = {
        kind: [cell[kind] for plan in plans for cell in plan["cells"] if cell.get(kind)]
        for kind in ("scores", "perceptual")
    }
    paths = {
        kind: [Path(folder, SAMPLE_SCORES).absolute() for folder in found]
        for kind, found in folders.items()
    }
    # Most are alike, and DuckDB reads hundreds of schemas at once: one of each kind is looked at.
    listed = ", ".join(_text(str(path)) for found in paths.values() for path in found)
    try:
        alike = database.execute(
            "SELECT min(file_name) FROM ("
            "SELECT file_name, list((name, type, num_children)) AS told "
            f"FROM parquet_schema([{listed}]) GROUP BY file_name) GROUP BY told"
        ).fetchall()
        looked_at = [Path(name).parent for (name,) in alike]
    except duckdb.Error:  # it is found out below which of them is damaged
        looked_at = [path.parent for found in paths.values() for path in found]
    for folder in looked_at:
        sample_file(folder)
    return paths


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


def _create_view(database: duckdb.DuckDBPyConnection, view: View) -> None:
    """Create a view with its comments; columns of tables keep those that they have there."""
    name = _identifier(view.name)
    database.execute(f"CREATE VIEW {name} AS {view.sql}")
    database.execute(f"COMMENT ON VIEW {name} IS {_text(view.comment)}")
    for column, *_ in database.execute(f"DESCRIBE {name}").fetchall():
        _comment(database, name, column, comment_of(view, column))


def _create_sample_view(
    database: duckdb.DuckDBPyConnection,
    paths: dict[str, list[Path]],
    conventions: list[dict[str, Any]],
) -> None:
    """Create the view over the per-sample files: absolute paths, valid from any folder.

    Perceptual scores have files of their own; in the view they stand beside the others.
    """

    def read(kind: str) -> str:
        listed = ", ".join(_text(str(path)) for path in paths[kind])
        return f"read_parquet([{listed}], union_by_name=true, hive_partitioning=false)"

    rows = f"SELECT * FROM {read('scores')}"
    if paths["perceptual"]:
        same = " AND ".join(
            f"a.{key} IS NOT DISTINCT FROM b.{key}" for key in layout.SAMPLE_COLUMNS
        )
        keys = ", ".join(layout.SAMPLE_COLUMNS)
        rows = (
            f"SELECT a.*, b.* EXCLUDE ({keys}) FROM {read('scores')} a "
            f"LEFT JOIN {read('perceptual')} b ON {same}"
        )
    database.execute(f"CREATE VIEW sample_scores AS {rows}")
    columns = [row[0] for row in database.execute("DESCRIBE sample_scores").fetchall()]
    database.execute(f"COMMENT ON VIEW sample_scores IS {_text(layout.SAMPLE_SCORES_COMMENT)}")
    titles = {row["convention"]: row["title"] or row["description"] for row in conventions}
    for column in columns:
        comment = layout.SAMPLE_COLUMNS.get(column)
        if comment is None:
            convention = ".".join(column.split(".")[:2])
            title = titles.get(convention)
            comment = f"{column} of each lead time" + (f": {title}." if title else ".")
        _comment(database, "sample_scores", column, comment)
