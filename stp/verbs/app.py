"""What all verbs share: the application, common options, small helpers."""

import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    name="stp",
    help="Raw bytes to paper tables, one verb per stage. Snakemake calls the same verbs: "
    "[bold]snakemake --profile local results/tables/short_term.csv[/bold]",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"stp {metadata.version('stp')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Show the version, and exit.",
        ),
    ] = False,
) -> None:
    """Take the options of `stp` itself."""


ConfigFile = Annotated[
    Path,
    typer.Option(
        "--configfile",
        envvar="STP_CONFIGFILE",
        help="The scale file. It says which cells are computed, and how much of everything.",
    ),
]
Log = Annotated[Path | None, typer.Option("--log", help="Also write every line to this file.")]
AT_HAND: dict[Path, Any] = {}
"""Plans that the job server has made before a verb asks (stp/job_server.py)."""
DEMO = Path("config/demo.yaml")
PAPER = Path("config/paper.yaml")


def examples(*commands: str) -> str:
    """Write examples below the help of a verb."""
    return "Examples:\n\n" + "\n\n".join(f"    {command}" for command in commands)


def load_plan(configfile: Path) -> Any:
    """Make the plan of a scale file. For a run, the plan covers what the run was asked for."""
    if configfile in AT_HAND:
        return AT_HAND[configfile]
    from stp.plan.cells import Plan  # only when a verb needs it: `stp --help` is quick
    from stp.run import workflow_files
    from stp.run.results import RESULTS

    plan = Plan.load(configfile)
    if configfile.parent == RESULTS / "plan":
        counted = workflow_files.counted()
        if counted is not None:
            plan.count(counted)
    return plan


def say(log: Path | None, text: str) -> None:
    """Print a line to the screen, and to the log if there is one."""
    print(text, file=sys.stderr)
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            print(text, file=file)
