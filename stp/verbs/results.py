"""Verbs that read the results store."""

import functools
import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from stp.verbs.app import PAPER, Log, app, examples, say

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


@command(
    epilog=examples(
        "stp conventions", "stp conventions --out results/tables/convention_effects.csv"
    )
)
def conventions(
    database: Annotated[Path, typer.Option(help="The DuckDB file.")] = Path(
        "results/results.duckdb"
    ),
    format: Annotated[
        Literal["table", "csv", "json", "markdown"],
        typer.Option("--format", "-f", help="How to print them."),
    ] = "table",
    out: Annotated[
        Path | None,
        typer.Option(help="Write the whole table (.csv, and beside it .md, .tex, .html) instead."),
    ] = None,
    log: Log = None,
) -> None:
    """Show how far values and ranks move between the conventions of a metric."""
    from stp.collect.everything import build_database
    from stp.collect.query import written
    from stp.render import convention_effects as render

    if out is None:
        rows, _ = render.read(database)
        print(written(*render.summary(rows), format), end="")
        return
    if not database.is_file():  # it is no output of the rule that collects
        build_database(database.parent / "collected", database)
    render.render_convention_effects(database, out)
    say(log, f"wrote {out}, and beside it .md, .tex and .html")


@command(epilog=examples("stp schema", "stp schema leaderboard", "stp schema --checksum"))
def schema(
    name: Annotated[str | None, typer.Argument(help="A table or view; all unless given.")] = None,
    database: Annotated[Path, typer.Option(help="The DuckDB file.")] = Path(
        "results/results.duckdb"
    ),
    page: Annotated[
        Path | None, typer.Option(help="Write the page of the results store (Markdown) instead.")
    ] = None,
    checksum: Annotated[
        bool, typer.Option("--checksum", help="Print the SHA-256 of the sorted rows of each.")
    ] = False,
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
    if checksum:
        from stp.collect.checksum import checksums

        for held, total in checksums(database).items():
            if name in (None, held):
                print(f"{total}  {held}")
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


@command(
    epilog=examples(
        "stp compare simvpv2 convlstm",
        "stp compare simvpv2 convlstm --on kth --column SSIM",
        "stp compare simvpv2 convlstm -f csv > compared.csv",
    )
)
def compare(
    a: Annotated[str, typer.Argument(help="A model, as in config/models.")],
    b: Annotated[str, typer.Argument(help="Another one.")],
    on: Annotated[str | None, typer.Option(help="A case or dataset of the test.")] = None,
    column: Annotated[str | None, typer.Option(help="A column of tables, such as SSIM.")] = None,
    results: Annotated[Path, typer.Option(help="The folder of results.")] = Path("results"),
    format: Annotated[
        Literal["table", "csv", "json", "markdown"],
        typer.Option("--format", "-f", help="How to print the answer."),
    ] = "table",
) -> None:
    """Compare two models wherever both were evaluated: a paired bootstrap over clusters of clips.

    Holm's correction covers all comparisons of the answer; `detectable` is the smallest difference
    that four of five such tests would find.
    """
    from stp.collect.query import written
    from stp.render import pairwise

    pairs = pairwise.compare(results, a, b, on=on, column=column)
    columns = [{"a": a, "b": b}.get(name, name) for name in pairwise.COLUMNS]
    print(written(columns, pairwise.rows(pairs), format), end="")
    if format == "table":
        tested = [pair for pair in pairs if pair.p is not None]
        for model in (a, b):
            wins = sum(pair.better == model for pair in tested)
            print(f"{model} is significantly better in {wins} of {len(tested)} comparisons.")


@command(epilog=examples("stp trace 0.8248", "stp trace 0.8248 --model simvpv2 --on kth"))
def trace(
    number: Annotated[str, typer.Argument(help="A value of a cell, as a table prints it.")],
    model: Annotated[str | None, typer.Option(help="Only of this model.")] = None,
    on: Annotated[str | None, typer.Option(help="Only of this dataset of the test.")] = None,
    database: Annotated[Path, typer.Option(help="The DuckDB file.")] = Path(
        "results/results.duckdb"
    ),
) -> None:
    """Follow a printed number back to its cell, artefacts, code and raw files."""
    from stp.collect import trace as following

    found = following.matches(database, number, model, on)
    for match in found[: following.MOST]:
        told = {key: value for key, value in match.items() if value is not None and key != "scores"}
        print("  ".join(f"{key} {value}" for key, value in told.items()))
    if len(found) > following.MOST:
        print(f"... and more: {number} has few digits; --model and --on choose")
    for scores in dict.fromkeys(match["scores"] for match in found[: following.MOST]):
        if len({match["scores"] for match in found}) > 3:
            print("Choose one with --model and --on to see where it comes from.")
            break
        print(f"\nscores {scores} are made of:")
        for step in following.lineage(database, scores):
            seconds = f"{step['seconds']:.0f} s" if step["seconds"] is not None else "unknown time"
            print(f"  {step['stage']:<8} {step['path']}")
            print(
                f"           code {step['code_fingerprint']}, commit {step['commit']}, "
                f"{seconds} on {step['host']} ({step['device']})"
            )
            if step["raw_lock"]:
                files, size, first = following.raw_files(database, step["raw_lock"])
                print(f"           raw files: {files}, {size} bytes; {first}")
                print(f"           locked in {step['raw_lock']}")
