"""Lists of metrics, of tables of the results store, and of keys of the configuration."""

from pathlib import Path
from typing import Annotated

import typer

from stp.core.errors import StpError
from stp.verbs import output
from stp.verbs.app import examples, listing, say

PAPER = Path("config/paper.yaml")
"""A scale that every project has; all scales have the same metrics."""


@listing.command(
    epilog=examples(
        "stp list metrics",
        "stp list metrics fvd",
        "stp list metrics fvd.predicted_only",
        "stp list metrics ssim.range1 --study results/fvd-demo/plan/video_distortions.json",
        "stp list metrics mine.per_frame --out card.md",
        "stp list metrics --page docs/metrics.md",
    )
)
def metrics(
    name: Annotated[
        str | None,
        typer.Argument(
            help="List the conventions of this metric, such as fvd, or show the trust card of this "
            "convention, such as fvd.predicted_only (default: list all)."
        ),
    ] = None,
    study: Annotated[
        Path,
        typer.Option(
            help="For a trust card: the manifest of a study of distortions (results/SCALE/plan)."
        ),
    ] = output.LAST / "plan" / "video_distortions.json",
    people: Annotated[
        Path | None,
        typer.Option(
            help="For a trust card: the table of a study with people (`stp study preferences`).",
            show_default="results/SCALE/tables/agreement_with_people.csv of the same scale",
        ),
    ] = None,
    format: output.Format = None,
    out: output.Out = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Write the page of all metrics (Markdown) to this file instead."),
    ] = None,
) -> None:
    """List metrics and their conventions, or show the trust card of a convention.

    A convention is one exact definition of a metric, such as ssim.range2.

    The trust card of a convention says how the metric follows each distortion of
    real clips, with intervals; whether it sees the order of frames; how few clips
    bias it; and what it costs. It is made from the scores of a study
    (docs/fvd.md). To get a card for a metric of your own, name the metric in the
    scale file of the study.
    """
    from stp.core.disk import write_text, writing
    from stp.plan import config
    from stp.plan.checked_config import check_known
    from stp.render.tables import metrics_page

    if page is not None:
        with writing(page):
            write_text(page, metrics_page.page(config.load(PAPER)))
        say(None, f"wrote {page}")
        return
    output_format = output.choose_format(format, out)
    if name is not None and "." in name:
        _trust_card(name, study, people, output_format, out)
        return
    declared = config.load(PAPER).metrics
    if name is not None:
        check_known(name, declared, "metric", "stp list metrics")
    rows = [
        (f"{metric}.{choice}", metrics_page.describe_direction(about, choice), convention.about)
        for metric, about in sorted(declared.items())
        if name in (None, metric)
        for choice, convention in about.conventions.items()
    ]
    output.put_rows(("convention", "better", "what it computes"), rows, output_format, out)


def _trust_card(
    convention: str, study: Path, people: Path | None, format: output.FormatName, out: Path | None
) -> None:
    from stp.collect import trust_card
    from stp.collect.people_agreement import TABLE, read_agreements
    from stp.plan.manifest import load_manifest
    from stp.render.tables.trust_page import page

    if not study.is_file():
        raise StpError(
            f"{study}: no such file",
            expected="the manifest of a study of distortions, from results/SCALE/plan",
            remedy="run the study (`stp run noise_study --scale fvd-demo`), or name the manifest "
            "of another one with --study",
        )
    plan = load_manifest(study)
    card = trust_card.cards_by_dataset(plan, convention)
    agreements = read_agreements(people or study.parent.parent / "tables" / f"{TABLE}.csv")
    if format in ("table", "markdown"):
        output.put_grid(page(plan, convention, card, agreements), format, out)
    else:
        output.put_rows(trust_card.HEADER, trust_card.rows(card, agreements), format, out)


@listing.command(
    epilog=examples("stp list store", "stp list store leaderboard", "stp list store --checksum")
)
def store(
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
) -> None:
    """List the tables and views of the results store, or the columns of one, with their meaning."""
    from stp.collect.query import run_query
    from stp.core.disk import write_text, writing
    from stp.core.errors import suggest_name
    from stp.render.tables import schema_page

    if page is not None:
        with writing(page):
            write_text(page, schema_page.page())
        say(None, f"wrote {page}")
        return
    if checksum:
        from stp.collect.checksum import checksums

        for table, sha256 in checksums(database).items():
            if name in (None, table):
                print(f"{sha256}  {table}")
        return
    output_format = output.choose_format(format, out)
    listing_sql = (
        "SELECT table_name AS name, 'table' AS kind, comment FROM duckdb_tables() UNION ALL "
        "SELECT view_name, 'view', comment FROM duckdb_views() WHERE NOT internal"
    )
    if name is None:
        output.put_answer(database, f"{listing_sql} ORDER BY kind, name", output_format, out)
        return
    names = [row[0] for row in run_query(database, listing_sql)[1]]
    if name not in names:
        raise StpError(
            f"{database} has no table or view {name!r}", remedy=suggest_name(name, names)
        )
    columns = (
        "SELECT column_name, data_type, comment FROM duckdb_columns() WHERE table_name = ? "
        "ORDER BY column_index"
    )
    output.put_answer(database, columns, output_format, out, [name])


@listing.command(
    epilog=examples(
        "stp list keys",
        "stp list keys --page docs/configuration.md",
        "stp list keys --schemas schemas",
    )
)
def keys(
    page: Annotated[
        Path | None, typer.Option(help="Write the page (Markdown) to this file instead.")
    ] = None,
    schemas: Annotated[
        Path | None,
        typer.Option(
            help="Write JSON schemas of all files to this folder instead, for editors.",
            file_okay=False,
        ),
    ] = None,
) -> None:
    """List all keys of the configuration, with their meaning."""
    from stp.upkeep import config_schema

    if schemas is not None:
        output.print_lines(config_schema.write(schemas))
    else:
        output.put_markdown(config_schema.page(), "table", page)
