"""The application of all verbs, with common options and helpers."""

import sys
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException


class Panel(StrEnum):
    """Headings of `stp --help`, in its order."""

    SETUP = "Set up and look up"
    RUN = "Plan and run"
    RESULTS = "Read results"
    CHECKS = "Check results"
    OWN = "Your own data and models"
    STORE = "Keep and share"
    STAGES = "Stages, which Snakemake calls"


class Verbs(TyperGroup):
    """All verbs, by panel (heading of `stp --help`); a removed one names its replacement."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the verbs in the order of their panels.

        Typer alone would list groups, such as `stp list`, first.
        """
        panels = list(Panel)

        def position(name: str) -> int:
            return panels.index(getattr(self.commands[name], "rich_help_panel"))  # noqa: B009

        return sorted(super().list_commands(ctx), key=position)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb that the first word of the command line names.

        Raises:
            StpError: the verb was removed; the message names its replacement.
        """
        if self.get_command(ctx, args[0]) is None:
            from stp.plan.removed import refuse_verb

            refuse_verb(args[0])
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a verb.

        Raises:
            StpError: one of its options was removed; the message names the replacement.
        """
        try:
            return super().invoke(ctx)
        except TyperException as error:
            from stp.plan.removed import refuse_option

            refuse_option(vars(error).get("ctx"), str(vars(error).get("option_name")))
            raise


app = typer.Typer(
    name="stp",
    cls=Verbs,
    help="Compare models of spatio-temporal prediction, from raw files to the tables of papers. "
    "[bold]stp run short_term[/bold] runs the demo.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _group(name: str, about: str, panel: Panel) -> typer.Typer:
    group = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help=about)
    app.add_typer(group, name=name, rich_help_panel=panel)
    return group


stores = _group("store", "Clean up, verify, accept, export and import artefacts.", Panel.STORE)
checks = _group("check", "Check a suite against its paper, or a dataset for leaks.", Panel.CHECKS)
draws = _group(
    "draw",
    "Draw prepared clips, figures of scores, predictions or paths.",
    Panel.RESULTS,
)
studies = _group("study", "Write questionnaires for raters, and read their answers.", Panel.CHECKS)
listing = _group(
    "list", "List models, datasets, metrics, ..., or describe one of them.", Panel.SETUP
)
videos = _group(
    "videos", "Score videos without a plan: metrics, FVD and KVD, predicted opinions.", Panel.OWN
)
external = _group(
    "external", "Export the clips of a test, and import predictions of them.", Panel.OWN
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
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
    """Define the options of `stp` itself."""


DEMO = Path("config/demo.yaml")


def _or_last_run(context: typer.Context, parameter: typer.CallbackParam, named: Path) -> Path:
    """The named scale file, or else the configuration of the last run, or else the default."""
    if not is_default(context, parameter):
        return named
    from stp.plan.checked_config import read_yaml
    from stp.run.cluster import driver

    last = driver.read_driver()
    if last is None or not Path(last.configfile).is_file():
        tell_default(context, f"scale: {named}")
        return named
    configfile = Path(last.configfile)
    tell_default(context, f"scale: {read_yaml(configfile)['scale']}, that of the last run")
    return configfile


def is_default(context: typer.Context, parameter: typer.CallbackParam) -> bool:
    """Whether neither the command line nor the environment sets a parameter."""
    source = context.get_parameter_source(parameter.name or "")
    return source is not None and source.name == "DEFAULT" and not context.resilient_parsing


def tell_default(context: typer.Context, text: str) -> None:
    """Print which scale file or results a verb uses although the user named none.

    Only the first call of a process prints.

    Args:
        context: context of the verb.
        text: the line to print, such as "scale: demo, that of the last run".
    """
    if "stp.default" not in context.meta:
        context.meta["stp.default"] = text
        print(text, file=sys.stderr)


ConfigFile = Annotated[
    Path,
    typer.Option(
        "--configfile",
        envvar="STP_CONFIGFILE",
        help="The scale file, which says what is computed, and from how much data.",
        callback=_or_last_run,
        show_default=f"that of the last run, or else {DEMO}",
    ),
]
Log = Annotated[Path | None, typer.Option("--log", help="Also write every line to this file.")]
READY_PLANS: dict[Path, Any] = {}
"""Plans that the job server has made in advance (stp/job_server.py), by scale file."""


def examples(*commands: str) -> str:
    """Write the examples below the help of a verb.

    Args:
        *commands: commands to show, a line each.
    """
    return "Examples:\n\n" + "\n\n".join(f"    {command}" for command in commands)


def load_plan(configfile: Path) -> Any:
    """Make the plan of a scale file.

    Args:
        configfile: path of the scale file.

    Returns:
        the plan, a `stp.plan.cells.Plan`, with all artefacts of the scale. In a job of a run, its
        progress and status count only those that the run needs (`Plan.count`).
    """
    if configfile in READY_PLANS:
        return READY_PLANS[configfile]
    from stp.plan.cells import Plan  # not at the top: `stp --help` is quick
    from stp.run import workflow_files
    from stp.run.results import RESULTS

    plan = Plan.load(configfile)
    if configfile.parent == RESULTS / "plan":
        counted = workflow_files.read_counted()
        if counted is not None:
            plan.count(counted)
    return plan


def say(log: Path | None, text: str) -> None:
    """Print a line on standard error, and append it to a log.

    Args:
        log: path of the log; None for no log.
        text: the line.
    """
    print(text, file=sys.stderr)
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            print(text, file=file)


def say_wrote(log: Path | None, out: Path, suffix: str = "") -> None:
    """Say that a file is written; during a run, also count its finished tables and figures.

    Args:
        log: path of the log of a job of a run; None outside of a run.
        out: path of the written file.
        suffix: further text after this path.
    """
    from stp.run.progress import count_pages

    say(log, f"{count_pages(out) if log else ''}wrote {out}{suffix}")
