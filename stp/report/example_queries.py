"""Questions: everyday ones, each with its query and what this store answers."""

import re
from pathlib import Path

import duckdb

from stp.collect.questions import QUESTIONS
from stp.report.columns import Rows, asked, by_columns, plain

MOST = 10
"""Rows of an answer that are shown."""
MANY = 4
"""Of so many rows, what is the same in all is said once."""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> list[dict[str, object]]:
    """Ask all of them."""
    answered = []
    for question, about, sql in QUESTIONS:
        names, rows = asked(database, sql)
        same = _same(names, rows)
        kept = [i for i, name in enumerate(names) if name not in same]
        shown = [tuple(row[i] for i in kept) for row in rows[:MOST]]
        answered.append(
            {
                "question": question,
                "more": re.sub(r"`|\[(.*?)\]\(.*?\)", r"\1", about),
                "sql": sql,
                "count": len(rows),
                "same": {name: plain(value) for name, value in same.items() if value is not None},
                "answer": by_columns([names[i] for i in kept], shown),
            }
        )
    return answered


def _same(names: list[str], rows: Rows) -> dict[str, object]:
    """Columns that have one value in all of many rows; a column is left to tell them apart."""
    if len(rows) < MANY:
        return {}
    found = {
        name: rows[0][i]
        for i, name in enumerate(names)
        if all(row[i] == rows[0][i] for row in rows)
    }
    return found if len(found) < len(names) else {}
