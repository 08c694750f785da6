"""Verbs that read the results store."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from stp.verbs import output
from stp.verbs.app import Panel, app, examples

command = functools.partial(app.command, rich_help_panel=Panel.RESULTS)


# SQL that begins with a comment (--) must not be taken for an option.
@command(
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "stp query \"FROM leaderboard WHERE tested_on = 'kth' ORDER BY convention, rank\"",
        'stp query "FROM overall" --out overall.parquet',
        'stp query "FROM overall WHERE value IS NULL" --fail-if-empty -f csv && echo gaps',
    ),
)
def query(
    sql: Annotated[
        str, typer.Argument(help="An SQL statement; tables are scores, sample_scores, cells, ...")
    ],
    database: output.Database = output.SCALES,
    format: output.Format = None,
    out: output.Out = None,
    fail_if_empty: output.FailIfEmpty = False,
    allow_files: Annotated[
        bool,
        typer.Option(
            "--allow-files",
            help="Allow the statement to read and write files and to use the network.",
        ),
    ] = False,
) -> None:
    """Query the results store in SQL.

    The statement can only read the store, unless --allow-files is set. In CSV,
    text that a spreadsheet would execute begins with an apostrophe.

    Exit codes: 0 answered, 1 an error, 2 wrong usage; with --fail-if-empty, 3
    no rows.
    """
    output_format = output.chosen(format, out)
    rows = output.put_answer(database, sql, output_format, out, allow_files=allow_files)
    output.end_if_empty(rows, fail_if_empty)


@command(
    epilog=examples(
        "stp compare simvpv2 convlstm",
        "stp compare simvpv2 convlstm --cell kth --column SSIM",
        "stp compare simvpv2 convlstm -f csv > compared.csv",
        "stp compare simvpv2 convlstm --cell kth --fail-if-alike || echo no significant difference",
    )
)
def compare(
    a: Annotated[str, typer.Argument(help="A model, as in config/models.")],
    b: Annotated[str, typer.Argument(help="Another model.")],
    cell: Annotated[str | None, typer.Option(help="Only this test dataset or case.")] = None,
    column: Annotated[
        str | None, typer.Option(help="Only this column of tables, such as SSIM.")
    ] = None,
    results: Annotated[Path, typer.Option(help="The folder of results of a scale.")] = output.LAST,
    format: output.Format = None,
    out: output.Out = None,
    fail_if_alike: Annotated[
        bool,
        typer.Option("--fail-if-alike", help="Exit with 3 if no difference is significant."),
    ] = False,
) -> None:
    """Compare two models wherever both were evaluated: paired t tests over clusters of clips.

    As in the tables, Holm's correction covers all pairs of models that are ranked
    together, and a better model also passes a sign test over clusters.
    `detectable` is the smallest difference that such a t test detects with a
    power of 80 %.

    Exit codes: 0 compared, 1 an error, 2 wrong usage, 3 nothing to compare;
    with --fail-if-alike, also 3 if no difference is significant.
    """
    from stp.core import exit_codes
    from stp.render.tables import pairwise

    output_format = output.chosen(format, out)
    pairs = pairwise.compare(results, a, b, on=cell, column=column)
    if output_format == "table":
        output.put_grid(pairwise.grid(pairs, a, b), output_format, out)
    else:
        columns = [{"a": a, "b": b}.get(name, name) for name in pairwise.COLUMNS]
        output.put_rows(columns, pairwise.rows(pairs), output_format, out, pairwise.TYPES)
    if fail_if_alike and not any(pair.better for pair in pairs):
        raise typer.Exit(exit_codes.NOTHING)


# A number below 0 must not be taken for an option.
@command(
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "stp trace 0.8478",
        "stp trace 0.8478 --cell simvpv2/kth",
        "stp trace 0.8478 -f json",
    ),
)
def trace(
    number: Annotated[str, typer.Argument(help="A value, as printed in a table.")],
    cell: Annotated[
        str | None,
        typer.Option(help="Only values of these cells: words of their keys, such as simvpv2/kth."),
    ] = None,
    database: output.Database = output.DATABASE,
    format: output.Format = None,
    out: output.Out = None,
) -> None:
    """Trace a printed number back to its cell, artefacts, code and raw files.

    It finds values of cells (over all lead times and at each one), means over
    seeds, and the differences of both from published values. The format json
    includes the artefacts.

    Exit codes: 0 found, 1 an error, 2 wrong usage, 3 no value matches.
    """
    from stp.collect import trace as following

    output_format = output.chosen(format, out)
    if output_format in ("csv", "markdown", "parquet"):
        sql, values = following.asked(number, cell)
        if not output.put_answer(database, sql, output_format, out, values):
            raise following.nothing(database, number)
        return
    matches = following.matches(database, number, cell)
    if output_format == "json":
        output.put_json(following.with_lineage(database, matches), out)
        return
    from stp.render.tables import trace_page

    output.put_grid(trace_page.page(database, number, matches), output_format, out)
