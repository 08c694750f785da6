"""Verbs that read the results store."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from stp.core.errors import StpError
from stp.verbs import output
from stp.verbs.app import PAPER, Log, app, examples, say

command = functools.partial(app.command, rich_help_panel="Results")


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

    The statement can read the store only, unless --allow-files is given. In
    CSV, text that a spreadsheet would execute begins with an apostrophe.

    Exit codes: 0 answered, 1 an error, 2 wrong usage; with --fail-if-empty, 3
    without rows.
    """
    chosen = output.chosen(format, out)
    rows = output.put_answer(database, sql, chosen, out, allow_files=allow_files)
    output.end_if_empty(rows, fail_if_empty)


@command(epilog=examples("stp metrics", "stp metrics --page docs/metrics.md"))
def metrics(
    page: Annotated[
        Path | None,
        typer.Option(help="Write the page of all metrics (Markdown) to this file instead."),
    ] = None,
) -> None:
    """List all metrics and their conventions, as scores and tables name them."""
    from rich.console import Console
    from rich.table import Table

    from stp.core.disk import write_text, writing
    from stp.plan import config
    from stp.render.tables import metrics_page

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
    database: output.Database = output.DATABASE,
    format: output.Format = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write to this file instead; .csv without --format is the whole table, with "
            ".md, .tex and .html beside it.",
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Show how far values and ranks change between the conventions of a metric."""
    from stp.collect.everything import build_database
    from stp.render.tables import convention_effects as render

    if out is None or format is not None or out.suffix != ".csv":
        chosen = output.chosen(format, out)
        rows, _ = render.read(database)
        output.put_rows(*render.summary(rows), chosen, out)
        return
    if not database.is_file():  # it is no output of the rule that collects
        build_database(database.parent / "collected", database)
    render.render_convention_effects(database, out)
    say(log, f"wrote {out}, and beside it .md, .tex and .html")


@command(
    epilog=examples(
        "stp trust fvd.predicted_only",
        "stp trust ssim.range1 --study results/fvd-demo/plan/video_distortions.json",
        "stp trust mine.per_frame --out card.md",
    )
)
def trust(
    convention: Annotated[
        str, typer.Argument(help="A convention of a metric, such as fvd.predicted_only.")
    ],
    study: Annotated[
        Path,
        typer.Option(help="The manifest of a study of distortions, from results/SCALE/plan."),
    ] = output.LAST / "plan" / "video_distortions.json",
    people: Annotated[
        Path | None,
        typer.Option(
            help="The table of a study with people (`stp preferences`).",
            show_default="results/SCALE/tables/agreement_with_people.csv of the same scale",
        ),
    ] = None,
    format: output.Format = None,
    out: output.Out = None,
) -> None:
    """Show what a metric can be trusted for: its trust card.

    The card says how the metric follows each distortion of real clips, with intervals;
    whether it sees the order of frames; how few clips bias it; and what it costs. It is
    made from the scores of a study (docs/fvd.md). To get a card for a metric of your own,
    name the metric in the scale file of the study.
    """
    from stp.collect import trust_card
    from stp.collect.people_agreement import TABLE, read_agreements
    from stp.plan.manifest import load_manifest
    from stp.render.tables.trust_page import page

    if not study.is_file():
        raise StpError(
            f"{study}: no such file",
            expected="the manifest of a study of distortions, results/SCALE/plan/....json",
            remedy="make results/tables/noise_study.csv with config/fvd.yaml or "
            "config/fvd-demo.yaml, or name the manifest of another study with --study",
        )
    plan = load_manifest(study)
    chosen = output.chosen(format, out)
    found = trust_card.card(plan, convention)
    asked = read_agreements(people or study.parent.parent / "tables" / f"{TABLE}.csv")
    if chosen in ("table", "markdown"):
        output.put_grid(page(plan, convention, found, asked), chosen, out)
    else:
        output.put_rows(trust_card.HEADER, trust_card.rows(found, asked), chosen, out)


@command(epilog=examples("stp runtime --out results/tables/runtime.csv"))
def runtime(
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="The CSV file to write, with .md, .tex and .html beside it."
        ),
    ],
    database: output.Database = output.DATABASE,
    log: Log = None,
) -> None:
    """Write the time that predictors of people take, by the number of people."""
    from stp.collect.everything import build_database
    from stp.render.tables.runtime import render_runtime

    if not database.is_file():  # it is no output of the rule that collects
        build_database(database.parent / "collected", database)
    render_runtime(database, out)
    say(log, f"wrote {out}, and beside it .md, .tex and .html")


@command(
    epilog=examples(
        "stp schema",
        "stp schema leaderboard",
        "stp schema --checksum",
        "stp schema --config schemas",
    )
)
def schema(
    name: Annotated[str | None, typer.Argument(help="A table or view (default: all).")] = None,
    database: output.Database = output.DATABASE,
    format: output.Format = None,
    out: output.Out = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Write the page of the results store (Markdown) to this file instead."),
    ] = None,
    checksum: Annotated[
        bool, typer.Option("--checksum", help="Print the SHA-256 of the sorted rows of each table.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            help="Write JSON schemas of all files of the configuration to this folder instead.",
            file_okay=False,
        ),
    ] = None,
    config_page: Annotated[
        Path | None,
        typer.Option(help="Write the page of all keys of the configuration to this file instead."),
    ] = None,
) -> None:
    """List the tables and views of the results store, or the columns of one, with their meaning.

    --config writes the keys of the configuration, as editors want them.
    """
    from stp.collect.query import answer
    from stp.core.disk import write_text, writing
    from stp.core.errors import nearest
    from stp.render.tables import schema_page

    if config is not None or config_page is not None:
        from stp.upkeep import config_schema

        if config is not None:
            output.print_lines(config_schema.write(config))
        if config_page is not None:
            with writing(config_page):
                write_text(config_page, config_schema.page())
            say(None, f"wrote {config_page}")
        return
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
    chosen = output.chosen(format, out)
    known = (
        "SELECT table_name AS name, 'table' AS kind, comment FROM duckdb_tables() UNION ALL "
        "SELECT view_name, 'view', comment FROM duckdb_views() WHERE NOT internal"
    )
    if name is None:
        output.put_answer(database, f"{known} ORDER BY kind, name", chosen, out)
        return
    names = [row[0] for row in answer(database, known)[1]]
    if name not in names:
        raise StpError(
            f"{database} has no table or view {name!r}",
            expected=f"one of {', '.join(sorted(names))}",
            remedy=nearest(name, names),
        )
    columns = (
        "SELECT column_name, data_type, comment FROM duckdb_columns() WHERE table_name = ? "
        "ORDER BY column_index"
    )
    output.put_answer(database, columns, chosen, out, [name])


@command(
    epilog=examples(
        "stp table",
        "stp table short_term --on kth",
        "stp table robustness --metric SSIM --model simvpv2",
        "stp table short_term -f json",
    )
)
def table(
    name: Annotated[
        str | None, typer.Argument(help="short_term, robustness, ... (default: list all tables).")
    ] = None,
    on: Annotated[
        str | None, typer.Option(help="Only this test dataset or case, such as kth.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Only this column, such as SSIM, or this convention.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Only this model; ranks do not change.")] = None,
    database: output.Database = output.DATABASE,
    format: output.Format = None,
    out: output.Out = None,
    log: Log = None,
) -> None:
    """Show a table of the paper: best in bold, second best underlined, source of the bytes, tests.

    Tables of scores, findings and views come from the results store, others
    from the files of a run. The formats csv, json and parquet give one row for
    each value, with all that is known about it. A view is written with --out
    FILE.csv as by a run, with .md, .tex and .html beside it.

    Exit codes: 0 shown, 1 an error, 2 wrong usage, 3 nothing is left by --on,
    --metric or --model.
    """
    from stp.render.tables import known as tables

    chosen = output.chosen(format, out)
    wanted = tables.Narrowed(on, metric, model)
    if name is None:
        if chosen == "table":
            output.put_grid(tables.listing_grid(database), chosen, out)
        else:
            output.put_rows(tables.LISTED, tables.listing(database), chosen, out)
        return
    tables.check_name(name)
    if any(wanted) and not tables.is_about_scores(name):
        raise typer.BadParameter("--on, --metric and --model narrow tables of scores only")
    is_view = tables.is_view(name)
    if is_view and out is not None and format is None and out.suffix == ".csv":
        from stp.collect.everything import build_database

        if not database.is_file():  # it is no output of the rule that collects
            build_database(database.parent / "collected", database)
        tables.write_view(name, database, out)
        say(log, f"wrote {out}, and beside it .md, .tex and .html")
        return
    if tables.is_about_scores(name):
        shown, lines = tables.of_scores(name, database, wanted)
        if chosen in ("table", "markdown"):
            output.put_grid(shown, chosen, out)
        else:
            rows = [tuple(line) for line in lines]
            output.put_rows(tables.HEADER, rows, chosen, out, tables.TYPES)
    elif tables.needs_store(name) and chosen in ("table", "markdown"):
        output.put_grid(tables.of_store(name, database), chosen, out)
    elif is_view:
        output.put_answer(database, f"FROM {name} ORDER BY ALL", chosen, out)
    else:
        _table_of_file(name, database, chosen, out)


def _table_of_file(name: str, database: Path, format: output.FormatName, out: Path | None) -> None:
    """Show a table that a run has written: its page to people, its rows to programs."""
    from stp.collect.query import of_csv
    from stp.render.tables import known as tables

    if format in ("table", "markdown"):
        text = tables.file_of(name, database, ".md").read_text(encoding="utf-8")
        output.put_markdown(text, format, out)
        return
    rows = tables.file_of(name, database, ".csv")
    if format == "csv":
        text = rows.read_text(encoding="utf-8")
        output.put(lambda: text, out)
        return
    output.put_rows(*of_csv(rows), format, out)


@command(
    epilog=examples(
        "stp compare simvpv2 convlstm",
        "stp compare simvpv2 convlstm --on kth --column SSIM",
        "stp compare simvpv2 convlstm -f csv > compared.csv",
        "stp compare simvpv2 convlstm --on kth --fail-if-alike || echo no significant difference",
    )
)
def compare(
    a: Annotated[str, typer.Argument(help="A model, as in config/models.")],
    b: Annotated[str, typer.Argument(help="Another model.")],
    on: Annotated[str | None, typer.Option(help="Only this test dataset or case.")] = None,
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

    As in the tables, Holm's correction covers all pairs of the models that are
    ranked together; a better model also passes a sign test over clusters.
    `detectable` is the smallest difference that four of five such t tests would
    find.

    Exit codes: 0 compared, 1 an error, 2 wrong usage, 3 nothing to compare;
    with --fail-if-alike, also 3 if no difference is significant.
    """
    from stp.core import exits
    from stp.render.tables import pairwise

    chosen = output.chosen(format, out)
    pairs = pairwise.compare(results, a, b, on=on, column=column)
    if chosen == "table":
        output.put_grid(pairwise.grid(pairs, a, b), chosen, out)
    else:
        columns = [{"a": a, "b": b}.get(name, name) for name in pairwise.COLUMNS]
        output.put_rows(columns, pairwise.rows(pairs), chosen, out, pairwise.TYPES)
    if fail_if_alike and not any(pair.better for pair in pairs):
        raise typer.Exit(exits.NOTHING)


# A number below 0 must not be taken for an option.
@command(
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "stp trace 0.8478",
        "stp trace 0.8478 --model simvpv2 --on kth",
        "stp trace 0.8478 -f json",
    ),
)
def trace(
    number: Annotated[str, typer.Argument(help="A value, as printed in a table.")],
    model: Annotated[str | None, typer.Option(help="Only values of this model.")] = None,
    on: Annotated[str | None, typer.Option(help="Only values on this test dataset.")] = None,
    database: output.Database = output.DATABASE,
    format: output.Format = None,
    out: output.Out = None,
) -> None:
    """Trace a printed number back to its cell, artefacts, code and raw files.

    It finds values of cells (over all lead times and at each), means over
    seeds, and differences from published values of both. The format json
    includes the artefacts of each.

    Exit codes: 0 found, 1 an error, 2 wrong usage, 3 no value is printed so.
    """
    from stp.collect import trace as following

    chosen = output.chosen(format, out)
    if chosen in ("csv", "markdown", "parquet"):
        sql, values = following.asked(number, model, on)
        if not output.put_answer(database, sql, chosen, out, values):
            raise following.nothing(database, number)
        return
    found = following.matches(database, number, model, on)
    if chosen == "json":
        output.put_json(following.with_lineage(database, found), out)
        return
    from stp.render.tables import trace_page

    output.put_grid(trace_page.page(database, number, found), chosen, out)
