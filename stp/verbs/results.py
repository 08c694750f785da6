"""Verbs that read the results store."""

import functools
from pathlib import Path
from typing import Annotated, Literal

import typer

from stp.verbs.app import app

command = functools.partial(app.command, rich_help_panel="Results")


# SQL that begins with a comment (--) must not be taken for an option.
@command(context_settings={"ignore_unknown_options": True})
def query(
    sql: Annotated[str, typer.Argument(help="SQL; tables: scores, sample_scores, cells, ...")],
    database: Annotated[Path, typer.Option(help="The DuckDB file.")] = Path(
        "results/results.duckdb"
    ),
    format: Annotated[
        Literal["table", "csv", "json", "markdown"],
        typer.Option("--format", "-f", help="How to print the answer."),
    ] = "table",
) -> None:
    """Ask the results store a question in SQL."""
    from stp.collect.query import query as ask

    print(ask(database, sql, format))
