"""Ask: everyday questions, each with its query and what this store answers."""

import re
from pathlib import Path

import duckdb

from stp.collect.questions import QUESTIONS
from stp.report.columns import asked, by_columns

MOST = 10
"""Rows of an answer that are shown."""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> list[dict[str, object]]:
    """Ask all of them."""
    answered = []
    for question, about, sql in QUESTIONS:
        names, rows = asked(database, sql)
        answered.append(
            {
                "question": question,
                "more": re.sub(r"`|\[(.*?)\]\(.*?\)", r"\1", about),
                "sql": sql,
                "count": len(rows),
                "answer": by_columns(names, rows[:MOST]),
            }
        )
    return answered
