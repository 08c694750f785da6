"""The verb of the paper's findings."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from stp.verbs import output
from stp.verbs.app import Log, app, examples, say

command = functools.partial(app.command, rich_help_panel="Results")


@command(
    epilog=examples(
        "stp findings",
        "stp findings 8",
        "stp findings 8 --out finding8.parquet",
        "stp findings --out results/tables/findings.csv",
        "stp findings 2 --of s2s_findings",
    )
)
def findings(
    number: Annotated[
        int | None, typer.Argument(help="The number of one finding, to show it with its evidence.")
    ] = None,
    of: Annotated[
        str | None, typer.Option(help="Those of another suite: the name of their table.")
    ] = None,
    database: output.Database = output.DATABASE,
    format: output.Format = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write to this file instead. For all findings, .csv without --format is the "
            "table with every comparison, with .md, .tex and .html beside it.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Write the page with the verdicts on published numbers (Markdown) to this "
            "file instead."
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Judge the paper's findings by your results and by the paper's published numbers."""
    from stp.collect.everything import build_database
    from stp.collect.query import written
    from stp.core.errors import StpError, nearest
    from stp.plan.strict import CONFIG_FOLDER, config_file
    from stp.render.tables import findings as render
    from stp.render.tables.known import of_findings

    table, known = of or render.NAME, of_findings()
    if table not in known:
        raise StpError(
            f"no findings {table!r}",
            expected=f"one of {', '.join(sorted(known))}",
            remedy=nearest(table, known),
        )
    folder = config_file(CONFIG_FOLDER, table)
    if out is not None and number is None and format is None and out.suffix == ".csv":
        if not database.is_file():  # it is no output of the rule that collects
            build_database(database.parent / "collected", database)
        render.render_findings(database, folder, out)
        say(log, f"wrote {out}, and beside it .md, .tex and .html")
        return
    questions = render.read_questions(folder)
    if page is not None:
        from stp.core.disk import write_text, writing
        from stp.render.tables import findings_page

        with writing(page):
            write_text(page, findings_page.page(render.judge(database, questions.values())))
        say(log, f"wrote {page}")
        return
    chosen = output.chosen(format, out)
    if number is None:
        judged = render.judge(database, questions.values())
        output.put_rows(*render.summary(judged), chosen, out)
        return
    question = render.pick(questions, number)
    if chosen == "parquet":
        output.put_answer(database, question.sql, chosen, out)
        return
    (finding,) = render.judge(database, [question])
    if chosen in ("csv", "json"):
        output.put_rows(*render.evidence(finding), chosen, out)
        return
    parts, comparisons = render.parts(finding), render.for_people(finding)
    output.put(
        lambda: "\n".join(
            (render.heading(finding), written(*parts, chosen), written(*comparisons, chosen))
        ),
        out,
        (lambda width: output.answers(render.heading(finding), width, parts, comparisons))
        if chosen == "table"
        else None,
    )
