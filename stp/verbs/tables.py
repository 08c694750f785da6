"""The verb of tables."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from stp.verbs import output
from stp.verbs.app import Log, Panel, app, examples, say, say_wrote

if TYPE_CHECKING:
    from stp.render.tables.findings import Question


@app.command(
    rich_help_panel=Panel.RESULTS,
    epilog=examples(
        "stp table",
        "stp table short_term --cell kth",
        "stp table robustness --metric SSIM --cell simvpv2",
        "stp table short_term -f json",
        "stp table findings --finding 8",
        "stp table convention_effects --out results/tables/convention_effects.csv",
    ),
)
def table(
    name: Annotated[
        str | None, typer.Argument(help="short_term, robustness, ... (default: list all tables).")
    ] = None,
    cell: Annotated[
        str | None,
        typer.Option(
            help="Only this test dataset, case or model, or both: kth, simvpv2/kth. Ranks do not "
            "change."
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Only this column, such as SSIM, or this convention.")
    ] = None,
    finding: Annotated[
        int | None,
        typer.Option(help="Of a table of findings: the number of one, to show its evidence."),
    ] = None,
    database: output.Database = output.DATABASE,
    format: output.Format = None,
    out: output.Out = None,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Of a table of findings: write the page with the verdicts on published numbers "
            "(Markdown) to this file instead."
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Show a table of the paper: best in bold, second best underlined, source of the bytes, tests.

    Tables of scores, findings, conventions, running times and views come from the
    results store, others from the files of a run. The formats csv, json and parquet
    give one row for each value, with all that is known about it. A table of the
    store that is none of scores is written with --out FILE.csv as by a run, with
    .md, .tex and .html beside it.

    Exit codes: 0 shown, 1 an error, 2 wrong usage, 3 nothing is left by --cell or
    --metric.
    """
    from stp.render.tables import table_catalog as tables

    if name is None:
        chosen = output.chosen(format, out)
        if chosen == "table":
            output.put_grid(tables.listing_grid(database), chosen, out)
        else:
            output.put_rows(tables.LISTED, tables.listing(database), chosen, out)
        return
    tables.check_name(name)
    wanted = tables.Narrowed(cell, metric)
    if any(wanted) and not tables.is_about_scores(name):
        raise typer.BadParameter("--cell and --metric narrow tables of scores only")
    if page is not None:
        from stp.core.disk import write_text, writing
        from stp.render.tables import findings, findings_page

        judged = findings.judge(database, tables.questions_of(name).values())
        with writing(page):
            write_text(page, findings_page.page(judged))
        say(log, f"wrote {page}")
    elif finding is not None:
        from stp.render.tables import findings

        question = findings.pick(tables.questions_of(name), finding)
        _show_finding(question, database, output.chosen(format, out), out)
    elif tables.is_about_scores(name):
        chosen = output.chosen(format, out)
        shown, lines = tables.of_scores(name, database, wanted)
        if chosen in ("table", "markdown"):
            output.put_grid(shown, chosen, out)
        else:
            rows = [tuple(line) for line in lines]
            output.put_rows(tables.HEADER, rows, chosen, out, tables.TYPES)
    elif tables.needs_store(name):
        _table_of_store(name, database, format, out, log)
    else:
        _table_of_file(name, database, output.chosen(format, out), out)


def _table_of_store(
    name: str, database: Path, format: output.FormatName | None, out: Path | None, log: Path | None
) -> None:
    """Show a table that is made from the store, or write it as a run does."""
    from stp.collect.query import of_csv
    from stp.render.tables import table_catalog as tables

    if out is not None and format is None and out.suffix == ".csv":
        from stp.collect.refresh import build_database

        if not database.is_file():  # it is no output of the rule that collects
            build_database(database.parent / "collected", database)
        tables.write(name, database, out)
        say_wrote(log, out, ", and beside it .md, .tex and .html")
        return
    chosen = output.chosen(format, out)
    if chosen in ("table", "markdown"):
        output.put_grid(tables.of_store(name, database), chosen, out)
    elif tables.is_view(name):
        output.put_answer(database, f"FROM {name} ORDER BY ALL", chosen, out)
    else:
        with TemporaryDirectory() as folder:
            rows = Path(folder) / f"{name}.csv"
            tables.write(name, database, rows)
            output.put_rows(*of_csv(rows), chosen, out)


def _show_finding(
    question: "Question", database: Path, format: output.FormatName, out: Path | None
) -> None:
    """Show one finding with its evidence."""
    from stp.collect.query import written
    from stp.render.tables import findings

    if format == "parquet":
        output.put_answer(database, question.sql, format, out)
        return
    (judged,) = findings.judge(database, [question])
    if format in ("csv", "json"):
        output.put_rows(*findings.evidence(judged), format, out)
        return
    heading = findings.heading(judged)
    parts, comparisons = findings.parts(judged), findings.for_people(judged)
    output.put(
        lambda: "\n".join((heading, written(*parts, format), written(*comparisons, format))),
        out,
        (lambda width: output.answers(heading, width, parts, comparisons))
        if format == "table"
        else None,
    )


def _table_of_file(name: str, database: Path, format: output.FormatName, out: Path | None) -> None:
    """Show a table that a run has written: its page to people, its rows to programs."""
    from stp.collect.query import of_csv
    from stp.render.tables import table_catalog as tables

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
