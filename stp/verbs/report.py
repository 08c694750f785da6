"""The verb of the report."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from stp.run.results import last_results
from stp.verbs import output
from stp.verbs.app import Log, Panel, app, examples, say_wrote

command = functools.partial(app.command, rich_help_panel=Panel.RESULTS)


FOLDER = last_results() / "report"


@command(
    epilog=examples(
        "stp report",
        "stp report --out report.html --samples 1 --pictures-mb 10",
        "stp report --samples 0",
    )
)
def report(
    database: output.Database = output.DATABASE,
    out: Annotated[Path, typer.Option(help="The page to write.")] = FOLDER / "index.html",
    samples: Annotated[
        int,
        typer.Option(
            min=0,
            max=3,
            help="Number of samples to show for each evaluation: those with the median, "
            "largest and smallest error; 0 for none.",
        ),
    ] = 3,
    pictures_mb: Annotated[
        float,
        typer.Option("--pictures-mb", min=0, help="Largest total size of all pictures, in MB."),
    ] = 4,
    log: Log = None,
) -> None:
    """Write the report: one HTML page that needs no network and no server."""
    from stp.collect.refresh import build_database
    from stp.report.build import write_report
    from stp.report.forecasts import Pictures
    from stp.run.meter import CountMeter

    if not database.is_file() and (database.parent / "collected").is_dir():
        build_database(database.parent / "collected", database)
    meter = CountMeter("report")
    write_report(database, out, pictures=Pictures(samples, pictures_mb), report=meter)
    meter.clear()
    say_wrote(log, out, f" ({out.stat().st_size / 1e6:.1f} MB): open it in a browser")
