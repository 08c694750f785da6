"""The verb of the paper's findings."""

import functools
from pathlib import Path
from typing import Annotated, Literal

import typer

from stp.verbs.app import Log, app, examples, say

command = functools.partial(app.command, rich_help_panel="Results")


@command(
    epilog=examples("stp findings", "stp findings 8", "stp findings 8 --format csv > finding8.csv")
)
def findings(
    number: Annotated[int | None, typer.Argument(help="One of them, with its evidence.")] = None,
    database: Annotated[Path, typer.Option(help="The DuckDB file.")] = Path(
        "results/results.duckdb"
    ),
    format: Annotated[
        Literal["table", "csv", "json", "markdown"],
        typer.Option("--format", "-f", help="How to print them."),
    ] = "table",
    out: Annotated[
        Path | None,
        typer.Option(help="Write the table of all (.csv, and beside it .md, .tex, .html) instead."),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Write the page of all on published numbers (Markdown) instead."),
    ] = None,
    log: Log = None,
) -> None:
    """Judge the paper's findings by the results at hand and by its published numbers."""
    from stp.collect.everything import build_database
    from stp.collect.query import written
    from stp.config import CONFIG_FOLDER
    from stp.errors import StpError
    from stp.render import findings as render

    folder = CONFIG_FOLDER / "findings"
    if out is not None:
        if number is not None:
            raise StpError("--out writes all findings", remedy="leave the number out")
        if not database.is_file():  # it is no output of the rule that collects
            build_database(database.parent / "collected", database)
        render.render_findings(database, folder, out)
        say(log, f"wrote {out}, and beside it .md, .tex and .html")
        return
    questions = render.read_questions(folder)
    if page is not None:
        from stp.disk import write_text, writing
        from stp.render import findings_page

        with writing(page):
            write_text(page, findings_page.page(render.judge(database, questions.values())))
        say(log, f"wrote {page}")
        return
    if number is None:
        judged = render.judge(database, questions.values())
        print(written(*render.summary(judged), format), end="")
        return
    (finding,) = render.judge(database, [render.pick(questions, number)])
    if format in ("csv", "json"):
        print(written(*render.evidence(finding), format), end="")
        return
    print(render.heading(finding))
    print(written(*render.parts(finding), format))
    print(written(*render.for_people(finding), format), end="")
