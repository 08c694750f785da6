"""Verbs that read the results store."""

import functools
import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from stp.verbs.app import PAPER, app, examples, say

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


@command(epilog=examples("stp metrics", "stp metrics --page docs/metrics.md"))
def metrics(
    page: Annotated[
        Path | None, typer.Option(help="Write the page of all metrics (Markdown) instead.")
    ] = None,
) -> None:
    """List all metrics and their conventions, as scores and tables name them."""
    from rich.console import Console
    from rich.table import Table

    from stp import config
    from stp.disk import write_text, writing
    from stp.render import metrics_page

    loaded = config.load(PAPER)
    if page is not None:
        with writing(page):
            write_text(page, metrics_page.page(loaded))
        say(None, f"wrote {page}")
        return
    table = Table("convention", "better", "what it computes")
    for name, metric in sorted(loaded.metrics.items()):
        table.add_section()
        for choice, text in metric.conventions.items():
            table.add_row(f"{name}.{choice}", metrics_page.better(metric, choice), text)
    Console().print(table)


@command(epilog=examples("stp schema", "stp schema leaderboard"))
def schema(
    name: Annotated[str | None, typer.Argument(help="A table or view; all unless given.")] = None,
    database: Annotated[Path, typer.Option(help="The DuckDB file.")] = Path(
        "results/results.duckdb"
    ),
    page: Annotated[
        Path | None, typer.Option(help="Write the page of the results store (Markdown) instead.")
    ] = None,
) -> None:
    """List the tables and views of the results store, or the columns of one, with their meaning."""
    from stp.collect.query import query as ask
    from stp.disk import write_text, writing
    from stp.errors import StpError, nearest
    from stp.render import schema_page

    if page is not None:
        with writing(page):
            write_text(page, schema_page.page())
        say(None, f"wrote {page}")
        return
    known = (
        "SELECT table_name AS name, 'table' AS kind, comment FROM duckdb_tables() UNION ALL "
        "SELECT view_name, 'view', comment FROM duckdb_views() WHERE NOT internal"
    )
    if name is None:
        print(ask(database, f"{known} ORDER BY kind, name"))
        return
    names = [row["name"] for row in json.loads(ask(database, known, "json"))]
    if name not in names:
        raise StpError(
            f"{database} has no table or view {name!r}",
            expected=f"one of {', '.join(sorted(names))}",
            remedy=nearest(name, names),
        )
    columns = "SELECT column_name, data_type, comment FROM duckdb_columns() WHERE table_name = "
    print(ask(database, f"{columns}'{name}' ORDER BY column_index"))
