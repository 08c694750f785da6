"""The store as Parquet files, with all that the SQL console has to know of them."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from stp.collect.kept_rows import KEPT_ROWS
from stp.collect.questions import QUESTIONS
from stp.kinds import kind as kinds
from stp.page.shares import PAPERS_FILES, shares
from stp.plan.raw_bytes import bytes_text
from stp.plan.strict import check_name

LARGEST = 64_000_000
"""Bytes of the files of a view that still go into a page."""


def _having(attribute: str) -> list[str]:
    """The kinds of sample that have something."""
    return [name for name in kinds.names() if getattr(kinds.find(name), attribute)]


_FILES = {
    "sample_scores": (
        "sample_scores.parquet",
        "SELECT scores_folder FROM cells UNION SELECT perceptual_folder FROM cells",
    ),
    **{
        kept.view.name: (
            kept.file,
            f"SELECT {kept.folder} FROM cells JOIN datasets d ON d.dataset = tested_on "
            f"WHERE list_contains({_having(kept.has)}, d.kind)",
        )
        for kept in KEPT_ROWS
    },
}
"""Views of files in the store: their name, and the folders that they are in."""


class Understood(NamedTuple):
    """What the engine of the page makes of the store's views.

    Args:
        engine: its version.
        views: those it understands, in an order in which they can be created.
        refused: why it refuses the others.
    """

    engine: str
    views: list[str]
    refused: dict[str, str]


Relation = dict[str, Any]


def relations(database: duckdb.DuckDBPyConnection) -> list[Relation]:
    """Describe tables, then views: name, kind, comment, columns; and the SQL of views."""
    found = database.execute(
        "SELECT table_name, 'table', comment, NULL FROM duckdb_tables() WHERE NOT internal "
        "UNION ALL "
        "SELECT view_name, 'view', comment, sql FROM duckdb_views() WHERE NOT internal "
        "ORDER BY ALL"
    ).fetchall()
    for name, kind, *_ in found:  # of a file, too
        check_name(name, kind, "results.duckdb")
    columns = database.execute(
        "SELECT table_name, column_name, data_type, comment FROM duckdb_columns() "
        "WHERE NOT internal ORDER BY table_name, column_index"
    ).fetchall()
    return [
        {
            "name": name,
            "kind": kind,
            "comment": comment or "",
            "columns": [
                {"name": column, "type": type_, "comment": about}
                for table, column, type_, about in columns
                if table == name
            ],
            "sql": sql,
        }
        for name, kind, comment, sql in sorted(found, key=lambda row: (row[1], row[0]))
    ]


def question_for_engine(described: list[Relation]) -> str:
    """What console/understood.mjs is asked, as JSON."""
    tables = [r for r in described if r["sql"] is None or r["name"] in _FILES]
    views = [r for r in described if r not in tables]
    return json.dumps(
        {
            "tables": [create_table(table) for table in tables],
            "views": [
                {"name": v["name"], "create": v["sql"], "instead": create_table(v)} for v in views
            ],
        }
    )


def create_table(relation: Relation) -> str:
    """SQL of an empty table like it; the engine has no type JSON, which is text with a name."""
    columns = ", ".join(
        f"{_identifier(column['name'])} {re.sub(r'JSON', 'VARCHAR', column['type'])}"
        for column in relation["columns"]
    )
    return f"CREATE TABLE {_identifier(relation['name'])} ({columns})"


def write_data(
    database: duckdb.DuckDBPyConnection,
    described: list[Relation],
    understood: Understood,
    folder: Path,
) -> None:
    """Write ``<table>.parquet`` for each table and refused view, and ``store.json``.

    The same store gives the same bytes. Rows of files in the store are left out where they are
    larger than `LARGEST`, or no longer where the store says; views that ask these become tables, or
    are left out for the same reasons.

    Args:
        described: see `relations`.
        folder: is made.
    """
    folder.mkdir(parents=True)
    database.execute("SET threads = 1")  # so that rows keep their order
    by_name = {relation["name"]: relation for relation in described}
    gone = {name: _without_files(database, *of) for name, of in _FILES.items() if name in by_name}
    lacking = {name: note for name, note in gone.items() if note is not None}
    asking = _asking(described, lacking)
    for name, relation in by_name.items():
        relation |= {"rows": None, "file": None, "note": gone.get(name), "left_out": False}
        if name in _FILES:
            relation["left_out"] = name in lacking
            relation["when_asked"] = True
            relation["asked_by"] = sorted(_asking(described, [name]))
        elif name in asking:
            relation["note"] = f"Here a table: what it asks is not in the page ({asking[name]})."
            relation["when_asked"] = True
        elif name in understood.refused:
            why = understood.refused[name]
            relation["note"] = f"Here a table: the engine in the page refuses the view ({why})."
        if relation["left_out"] or (name in understood.views and name not in asking):
            continue
        path = folder / f"{name}.parquet"
        try:
            relation["rows"] = _write(database, relation, path)
        except duckdb.IOException:
            if name not in asking:
                raise
        if name in asking and (relation["rows"] is None or path.stat().st_size > LARGEST):
            path.unlink(missing_ok=True)
            note = f"Not in the page, as what it asks: {asking[name]}."
            relation |= {"rows": None, "left_out": True, "note": note}
            continue
        relation["file"] = path.name
    made = [r for r in described if r["file"]]
    made += [by_name[name] for name in understood.views if name not in asking]
    store = {
        "engine": understood.engine,
        "origin": _origin(database),
        "setup": [
            "SET autoinstall_known_extensions = false",
            "SET autoload_known_extensions = false",
            *(create_table(r) if r["file"] else r["sql"].rstrip("; \n") for r in made),
            *(comment for relation in made for comment in _comments(relation)),
        ],
        "questions": [{"question": asked, "sql": sql} for asked, _, sql in QUESTIONS],
        "relations": [{k: v for k, v in r.items() if k != "sql"} for r in described],
    }
    text = json.dumps(store, ensure_ascii=False, indent=1) + "\n"
    (folder / "store.json").write_text(text, encoding="utf-8")


def _asking(described: list[Relation], lacking: Iterable[str]) -> dict[str, str]:
    """Views that ask what is not in the page, also by way of other views: name -> what."""
    found = {name: name for name in lacking}
    while more := {
        view["name"]: found[name]
        for view in described
        for name in found
        if view["sql"] and view["name"] not in found and re.search(rf"\b{name}\b", view["sql"])
    }:
        found |= more
    return {name: what for name, what in found.items() if what != name}


def _write(database: duckdb.DuckDBPyConnection, relation: Relation, path: Path) -> int:
    name = _identifier(relation["name"])
    order = "ALL" if relation["kind"] == "view" else "rowid"
    count = database.execute(
        f"COPY (FROM {name} ORDER BY {order}) TO {_text(str(path))} "
        "(FORMAT parquet, COMPRESSION zstd)"
    ).fetchall()
    return int(count[0][0])


def _without_files(database: duckdb.DuckDBPyConnection, file: str, in_folders: str) -> str | None:
    """Why the rows of such files are not in the page, if so."""
    folders = sorted({folder for (folder,) in database.execute(in_folders).fetchall() if folder})
    paths = [Path(folder, file) for folder in folders]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        return f"Not in the page: {len(missing)} of {len(paths)} files of it are gone."
    size = sum(path.stat().st_size for path in paths)
    if size > LARGEST:
        return (
            f"Not in the page: {size / 1e6:.0f} MB are more than the {LARGEST / 1e6:.0f} MB that "
            "a page should load. `stp query` reads them."
        )
    return None


def _origin(database: duckdb.DuckDBPyConnection) -> str:
    """Whose bytes the numbers are from: as page/base.js says it."""
    cells = database.execute(
        "SELECT official_paper_protocol, comparable, source, protocol, leaky, bytes_known_by, "
        "lacking FROM cells"
    ).fetchall()
    kinds = [
        (
            f"{bytes_text(source, known)}, paper's protocol"
            if official
            else f"{bytes_text(source, known)}, {protocol} protocol: "
            + (PAPERS_FILES if comparable else "not comparable with published values")
        )
        + (" (leaky: test samples overlap with training data)" if leaky else "")
        + (" (incomplete release)" if lacking else "")
        for official, comparable, source, protocol, leaky, known, lacking in cells
    ]
    return shares(kinds, "cells")


def _comments(relation: Relation) -> list[str]:
    kind = "VIEW" if relation["file"] is None else "TABLE"
    name = _identifier(relation["name"])
    return [f"COMMENT ON {kind} {name} IS {_text(relation['comment'])}"] + [
        f"COMMENT ON COLUMN {name}.{_identifier(column['name'])} IS {_text(column['comment'])}"
        for column in relation["columns"]
        if column["comment"]
    ]


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
