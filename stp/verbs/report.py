"""The verb of the report."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from stp.verbs.app import Log, app, examples, say

command = functools.partial(app.command, rich_help_panel="Results")


@command(epilog=examples("stp report", "stp report --out report.html"))
def report(
    database: Annotated[Path, typer.Option(help="The DuckDB file.")] = Path(
        "results/results.duckdb"
    ),
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path(
        "results/report/index.html"
    ),
    log: Log = None,
) -> None:
    """Write the report: one page to look at, which needs no network and no server."""
    from stp.collect.everything import build_database
    from stp.report.build import write_report
    from stp.upkeep.meter import Meter

    if not database.is_file() and (database.parent / "collected").is_dir():
        build_database(database.parent / "collected", database)
    meter = Meter("report")
    write_report(database, out, report=meter)
    meter.clear()
    say(log, f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB): open it in a browser")
