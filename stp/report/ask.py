"""Ask: everyday questions, each with its query and what this store answers."""

import re
from pathlib import Path
from typing import Any

import duckdb

from stp.render.tables import schema_page
from stp.report.columns import asked, by_columns

MOST = 10
"""Rows of an answer that are shown."""


def questions() -> list[tuple[str, str, str]]:
    """The questions of docs/results_store.md: what is asked, what more is said, and the query."""
    text = schema_page.page().split("\n## Five questions\n")[1].split("\n## ")[0]
    prose, code = text.split("```")[::2], text.split("```")[1::2]
    # What follows the last query asks nothing.
    found = []
    for about, sql in zip(prose, code, strict=False):
        question, _, more = " ".join(re.sub(r"`|\*\*", "", about).split()).partition("?")
        found.append((f"{question}?", more.strip(), sql.removeprefix("sql\n").strip()))
    return found


def data(database: duckdb.DuckDBPyConnection, results: Path) -> list[dict[str, Any]]:
    """Ask all of them."""
    answered = []
    for question, more, sql in questions():
        names, rows = asked(database, sql)
        answered.append(
            {
                "question": question,
                "more": more,
                "sql": sql,
                "count": len(rows),
                "answer": by_columns(names, rows[:MOST]),
            }
        )
    return answered
