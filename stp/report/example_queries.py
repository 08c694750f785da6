"""Section with common questions, their queries, and the results from the store."""

import re
from pathlib import Path

import duckdb

from stp.collect.questions import QUESTIONS
from stp.report.columns import Rows, by_columns, run_query, to_json_value

MOST_ROWS = 10
"""Maximum number of rows of a result in the page."""
MANY = 4
"""Minimum number of rows for which a value that is equal in all rows is written once."""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> list[dict[str, object]]:
    """Run the queries of common questions, such as which model is best.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        for each question, a dict with its text (``question``, ``more``), the query (``sql``), the
        first rows of the result (``answer``) and their total number (``count``); columns with
        the same value in all rows are in ``same`` instead.
    """
    answered = []
    for question, about, sql in QUESTIONS:
        names, rows = run_query(database, sql)
        same = _constant_columns(names, rows)
        columns = [i for i, name in enumerate(names) if name not in same]
        first = [tuple(row[i] for i in columns) for row in rows[:MOST_ROWS]]
        answered.append(
            {
                "question": question,
                "more": re.sub(r"`|\[(.*?)\]\(.*?\)", r"\1", about),
                "sql": sql,
                "count": len(rows),
                "same": {
                    n: to_json_value(value) for n, value in same.items() if value not in (None, "")
                },
                "answer": by_columns([names[i] for i in columns], first),
            }
        )
    return answered


def _constant_columns(names: list[str], rows: Rows) -> dict[str, object]:
    """Values of the columns that have one value in all rows, if there are many rows.

    The result is empty if all columns have one value.
    """
    if len(rows) < MANY:
        return {}
    same = {
        name: rows[0][i]
        for i, name in enumerate(names)
        if all(row[i] == rows[0][i] for row in rows)
    }
    return same if len(same) < len(names) else {}
