"""The verb of the report."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from stp.verbs.app import Log, app, examples, say

command = functools.partial(app.command, rich_help_panel="Results")


@command(
    epilog=examples(
        "stp report",
        "stp report --out report.html --samples 1 --pictures-mb 10",
        "stp report --samples 0",
    )
)
def report(
    database: Annotated[Path, typer.Option(help="The DuckDB file.")] = Path(
        "results/results.duckdb"
    ),
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path(
        "results/report/index.html"
    ),
    samples: Annotated[
        int,
        typer.Option(
            min=0,
            max=3,
            help="Samples of each evaluation that are shown: those of median, largest and smallest "
            "error; 0 for none.",
        ),
    ] = 3,
    pictures_mb: Annotated[
        float, typer.Option("--pictures-mb", min=0, help="MB that all pictures may take.")
    ] = 25,
    log: Log = None,
) -> None:
    """Write the report: one page to look at, which needs no network and no server."""
    from stp.collect.everything import build_database
    from stp.report.build import write_report
    from stp.report.forecasts import Pictures
    from stp.upkeep.meter import Meter

    if not database.is_file() and (database.parent / "collected").is_dir():
        build_database(database.parent / "collected", database)
    meter = Meter("report")
    write_report(database, out, pictures=Pictures(samples, pictures_mb), report=meter)
    meter.clear()
    say(log, f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB): open it in a browser")
