"""Verbs that read the results store."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stp.verbs import output
from stp.verbs.app import Panel, app, examples

if TYPE_CHECKING:
    from stp.collect.cell import Artefact, Missing

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

    Unless --allow-files is set, the statement can only read the store. In CSV,
    text that a spreadsheet would execute begins with an apostrophe.

    Exit codes: 0 answered, 1 an error, 2 wrong usage; with --fail-if-empty, 3
    no rows.
    """
    output_format = output.choose_format(format, out)
    rows = output.put_answer(database, sql, output_format, out, allow_files=allow_files)
    output.end_if_empty(rows, fail_if_empty)


@command(
    epilog=examples(
        "stp compare simvpv2 convlstm",
        "stp compare simvpv2 convlstm --cell kth --metric SSIM",
        "stp compare simvpv2 convlstm -f csv > compared.csv",
        "stp compare simvpv2 convlstm --cell kth --fail-if-alike || echo no significant difference",
    )
)
def compare(
    a: Annotated[str, typer.Argument(help="A model, as in config/models.")],
    b: Annotated[str, typer.Argument(help="Another model.")],
    cell: Annotated[str | None, typer.Option(help="Only this test dataset or case.")] = None,
    metric: Annotated[
        str | None, typer.Option(help="Only this column of tables, such as SSIM.")
    ] = None,
    results: output.Results = output.LAST,
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

    output_format = output.choose_format(format, out)
    pairs = pairwise.compare(results, a, b, on=cell, column=metric)
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
        "stp trace simvpv2/kth",
        "stp trace short_term/convlstm/moving_mnist/seed-0 -f json",
        "stp trace 4afec1",
    ),
)
def trace(
    what: Annotated[
        str,
        typer.Argument(
            help="A value, as printed in a table; a cell: words of its key, separated by /; or the "
            "beginning of a fingerprint."
        ),
    ],
    cell: Annotated[
        str | None,
        typer.Option(help="For a value: only those of these cells, such as simvpv2/kth."),
    ] = None,
    database: output.Database = output.DATABASE,
    format: output.Format = None,
    out: output.Out = None,
) -> None:
    """Trace a printed number, or a cell, back to its artefacts, code and raw files.

    A number is looked up among the values of cells (over all lead times and at each one), their
    means over seeds, the differences of these means from published values, and published values. A
    value that is equal after rounding is shown with its cell. The format json adds the artefacts.

    For a cell, everything that is known is shown: the source of the data, all overall scores with
    intervals, what is missing and why, costs, artefacts, logs, and the command that makes it again.
    csv and parquet have its scores, json has everything.

    For a fingerprint, the artefact and the cells that use it are shown; if only one cell uses it,
    this cell.

    Exit codes: 0 found, 1 an error (also: several cells match), 2 wrong usage, 3 no value or cell
    matches, or the cell has no scores.
    """
    from stp.collect.cell import begins_fingerprint
    from stp.collect.trace import is_number

    output_format = output.choose_format(format, out)
    if is_number(what) and not begins_fingerprint(database, what):
        _trace_number(database, what, cell, output_format, out)
    elif cell is not None:
        raise typer.BadParameter("only for a number", param_hint="--cell")
    else:
        _trace_cell(database, what, output_format, out)


def _trace_number(
    database: Path, number: str, cell: str | None, format: output.FormatName, out: Path | None
) -> None:
    from stp.collect import trace as following
    from stp.render.tables import trace_page

    if format in ("csv", "markdown", "parquet"):
        sql, values = following.build_query(number, cell)
        if not output.put_answer(database, sql, format, out, values):
            raise following.not_found_error(database, number)
        return
    matches = following.matches(database, number, cell)
    if format == "json":
        output.put_json(following.with_lineage(database, matches), out)
    else:
        output.put_grid(trace_page.page(database, number, matches), format, out)


def _trace_cell(database: Path, what: str, format: output.FormatName, out: Path | None) -> None:
    from stp.collect import cell
    from stp.render.tables import cell_page

    match = cell.find(database, what)
    if isinstance(match, cell.Missing):
        _trace_missing(match, format, out)
    elif isinstance(match, cell.Artefact):
        _trace_artefact(database, match, format, out)
    elif format in ("csv", "parquet"):
        output.put_answer(database, cell.OVERALL, format, out, cell.key_of(match))
    elif format == "json":
        output.put_json(cell.read_details(database, match), out)
    else:
        page = cell_page.of_cell(database, cell.read_details(database, match))
        output.put_grid(page, format, out)


def _trace_missing(missing: "Missing", format: output.FormatName, out: Path | None) -> None:
    """Show why a cell has no scores, and exit with the code for that."""
    from stp.core import exit_codes
    from stp.render.tables import cell_page

    if format == "json":
        output.put_json(missing, out)
    elif format in ("csv", "parquet"):
        row = vars(missing.row)
        output.put_rows(list(row), [tuple(row.values())], format, out)
    else:
        output.put_grid(cell_page.of_missing(missing), format, out)
    raise typer.Exit(exit_codes.NOTHING)


def _trace_artefact(
    database: Path, artefact: "Artefact", format: output.FormatName, out: Path | None
) -> None:
    from stp.collect import cell
    from stp.render.tables import cell_page

    if format == "json":
        output.put_json(artefact, out)
    elif format in ("csv", "parquet"):
        conditions = [f"{stage}_fingerprint = ?" for stage in cell.STAGES]
        conditions += [f"list_contains({part}_fingerprints, ?)" for part in cell.LISTS]
        sql = f"FROM cells WHERE {' OR '.join(conditions)}"
        values = [artefact.row.fingerprint] * len(conditions)
        output.put_answer(database, sql, format, out, values)
    else:
        steps = [
            step
            for step in cell.lineage(database, artefact.cells)
            if step.fingerprint == artefact.row.fingerprint
        ]
        output.put_grid(cell_page.of_artefact(database, artefact, steps), format, out)
