"""The verb that shows tables."""

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
            help="Only this test dataset or case, model, or both, such as kth or simvpv2/kth. "
            "Ranks do not change."
        ),
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Only this column, such as SSIM, or this convention.")
    ] = None,
    finding: Annotated[
        int | None,
        typer.Option(
            help="For a table of findings: the number of a finding whose evidence is shown."
        ),
    ] = None,
    database: output.Database = output.DATABASE,
    format: output.Format = None,
    out: output.Out = None,
    page: Annotated[
        Path | None,
        typer.Option(
            help="For a table of findings: write the page with the verdicts on published numbers "
            "(Markdown) to this file instead."
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Show a table: best in bold, second best underlined, sources of the data, tests.

    Tables of scores, findings, conventions, running times and views come from the
    results store, others from the files of a run. The formats csv, json and parquet
    give one row for each value. For findings, conventions, running times and views,
    --out FILE.csv also writes .md, .tex and .html beside it.

    Exit codes: 0 shown, 1 an error, 2 wrong usage, 3 nothing matches --cell and
    --metric.
    """
    from stp.render.tables import table_catalog as tables

    if name is None:
        output_format = output.choose_format(format, out)
        if output_format == "table":
            output.put_grid(tables.listing_grid(database), output_format, out)
        else:
            output.put_rows(tables.LISTED, tables.listing(database), output_format, out)
        return
    tables.check_name(name)
    selection = tables.TableSelection(cell, metric)
    if any(selection) and not tables.is_about_scores(name):
        raise typer.BadParameter("--cell and --metric select from tables of scores only")
    if page is not None:
        from stp.core.disk import write_text, writing
        from stp.render.tables import findings, findings_page

        verdicts = findings.judge(database, tables.questions_of(name).values())
        with writing(page):
            write_text(page, findings_page.page(verdicts))
        say(log, f"wrote {page}")
    elif finding is not None:
        from stp.render.tables import findings

        question = findings.pick(tables.questions_of(name), finding)
        _show_finding(question, database, output.choose_format(format, out), out)
    elif tables.is_about_scores(name):
        output_format = output.choose_format(format, out)
        grid, lines = tables.of_scores(name, database, selection)
        if output_format in ("table", "markdown"):
            output.put_grid(grid, output_format, out)
        else:
            rows = [tuple(line) for line in lines]
            output.put_rows(tables.HEADER, rows, output_format, out, tables.TYPES)
    elif tables.needs_store(name):
        _table_of_store(name, database, format, out, log)
    else:
        _table_of_file(name, database, output.choose_format(format, out), out)


def _table_of_store(
    name: str, database: Path, format: output.FormatName | None, out: Path | None, log: Path | None
) -> None:
    from stp.collect.query import of_csv
    from stp.render.tables import table_catalog as tables

    if out is not None and format is None and out.suffix == ".csv":
        from stp.collect.refresh import build_database

        if not database.is_file():  # it is not an output of the rule that collects
            build_database(database.parent / "collected", database)
        tables.write(name, database, out)
        say_wrote(log, out, ", and beside it .md, .tex and .html")
        return
    output_format = output.choose_format(format, out)
    if output_format in ("table", "markdown"):
        output.put_grid(tables.of_store(name, database), output_format, out)
    elif tables.is_view(name):
        output.put_answer(database, f"FROM {name} ORDER BY ALL", output_format, out)
    else:
        with TemporaryDirectory() as folder:
            rows = Path(folder) / f"{name}.csv"
            tables.write(name, database, rows)
            output.put_rows(*of_csv(rows), output_format, out)


def _show_finding(
    question: "Question", database: Path, format: output.FormatName, out: Path | None
) -> None:
    from stp.collect.query import format_result
    from stp.render.tables import findings

    if format == "parquet":
        output.put_answer(database, question.sql, format, out)
        return
    (verdict,) = findings.judge(database, [question])
    if format in ("csv", "json"):
        output.put_rows(*findings.evidence_table(verdict), format, out)
        return
    heading = findings.heading(verdict)
    parts, comparisons = findings.parts_table(verdict), findings.comparison_table(verdict)
    output.put(
        lambda: "\n".join(
            (heading, format_result(*parts, format), format_result(*comparisons, format))
        ),
        out,
        (lambda width: output.answers(heading, width, parts, comparisons))
        if format == "table"
        else None,
    )


def _table_of_file(name: str, database: Path, format: output.FormatName, out: Path | None) -> None:
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
