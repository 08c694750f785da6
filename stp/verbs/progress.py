"""Verbs that run the workflow, and report on its plan and state."""

import functools
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from stp.core.errors import StpError
from stp.verbs import output
from stp.verbs.app import DEMO, ConfigFile, Panel, app, examples, listing, load_plan, say
from stp.verbs.output import Ticker, print_lines

if TYPE_CHECKING:
    from stp.plan.cells import Plan
    from stp.run.cluster.driver import Driver

command = functools.partial(app.command, rich_help_panel=Panel.RUN)
PASSED = "stp.passed"


class PassesOn(TyperCommand):
    """A verb that does not parse the words after ``--``, but passes them on to another program.

    The verb finds these words in ``context.meta[PASSED]``.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words before ``--``, and keep those after it in ``ctx.meta[PASSED]``.

        Args:
            ctx: context of the verb.
            args: all words after the name of the verb.

        Returns:
            words before ``--`` that belong to no parameter, as Typer's own method does.
        """
        end = args.index("--") if "--" in args else len(args)
        ctx.meta[PASSED] = args[end + 1 :]
        return super().parse_args(ctx, args[:end])


@command(
    cls=PassesOn,
    epilog=examples(
        "stp run short_term",
        "stp run all --scale atlas-demo",
        "stp run short_term long_term --cluster slurm",
        "stp run short_term --scale sample --dry-run",
        "stp run figures --scale demo -- --cores 4 --rerun-incomplete",
        "stp run --resume",
    ),
)
def run(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to make: tables by their names, such as [cyan]short_term[/cyan]; "
            "[cyan]tables[/cyan], [cyan]figures[/cyan], [cyan]report[/cyan] or "
            "[cyan]data[/cyan] for all of a kind; [cyan]all[/cyan] for tables, figures and report."
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            help="A scale: the name of a file in config/, or a path.",
            show_default="demo; on a cluster, paper",
        ),
    ] = None,
    cluster: Annotated[
        Literal["slurm"] | None, typer.Option(help="Submit jobs there (default: this machine).")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Count the jobs, and run none.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue the last run after Snakemake was killed: remove its lock."
        ),
    ] = False,
    owner_is_dead: Annotated[
        bool,
        typer.Option(
            "--owner-is-dead",
            help="With --resume: the Snakemake ran on another machine, and you know that it ended.",
        ),
    ] = False,
) -> None:
    """Run the workflow: from raw files to tables, figures or the report.

    Prints the Snakemake command that it runs. Words after [cyan]--[/cyan] are passed to Snakemake.
    A second run continues where the first one ended.

    --resume repeats the command of the last run, or takes the arguments after [cyan]--[/cyan]
    instead. It refuses while Snakemake is still running. Its jobs on a cluster are not cancelled:
    new jobs wait for them and take over their results.
    """
    from stp.run.cluster import resume as resuming
    from stp.run.snakemake_command import arguments

    passed = context.meta[PASSED]
    if resume:
        if targets or scale or cluster or dry_run:
            raise typer.BadParameter(
                "it repeats a command: no targets, --scale, --cluster or --dry-run",
                param_hint="--resume",
            )
        resuming.resume(passed, owner_is_dead)
    if not targets:
        raise typer.BadParameter("name what to make, such as short_term", param_hint="TARGETS")
    # A dry run changes nothing, so it needs no lock, which a run beside it may hold.
    dry = ["--dry-run", "--nolock"] if dry_run else []
    words = arguments(targets, scale, cluster, [*dry, *passed])
    print(shlex.join(["snakemake", *words]), file=sys.stderr, flush=True)
    sys.stdout.flush()
    os.execv(sys.executable, [*resuming.SNAKEMAKE, *words])


@app.command(
    rich_help_panel=Panel.SETUP,
    epilog=examples("stp doctor", "stp doctor --configfile config/paper.yaml"),
)
def doctor(
    configfile: ConfigFile = DEMO,
    format: output.TableOrJson = "table",
) -> None:
    """Check what a run needs on this machine: packages, weights, disk, GPU, Slurm, mirror.

    Each line says what is wrong and how to fix it. An optional part that is missing, such as a GPU,
    is no error.

    Exit codes: 0 a run can start, 1 it cannot, 2 wrong usage.
    """
    from stp.upkeep import doctor as checks

    results = checks.examine(configfile)
    if format == "json":
        print(json.dumps([check._asdict() for check in results], indent=1))
    else:
        print_lines(checks.lines(results))
    if any(check.state == checks.WRONG for check in results):
        raise typer.Exit(1)


@command(
    epilog=examples(
        "stp plan",
        "stp plan short_term",
        "stp plan short_term --measure",
        "stp plan --configfile config/paper.yaml",
    )
)
def plan(
    table: Annotated[
        str | None,
        typer.Argument(
            help="Summarise the costs of this table in five lines, e.g. [cyan]short_term[/cyan]."
        ),
    ] = None,
    configfile: ConfigFile = DEMO,
    listed: Annotated[
        bool, typer.Option("--list", help="List every artefact, and whether it exists.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show the costs of all jobs, including finished ones.")
    ] = False,
    format: output.TableOrJson = "table",
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="First measure a few steps of each network whose speed on this machine is "
            "unknown.",
        ),
    ] = False,
) -> None:
    """Estimate the costs of the plan: jobs, GPU and CPU hours, storage, with the assumptions.

    With the name of a table, the remaining work for this table is summarised in five lines.
    --measure takes some seconds for each network. The store keeps the measured speeds for later
    plans.
    """
    from rich.console import Console

    from stp.inspect import own_options
    from stp.run.costs import brief
    from stp.run.costs import summary as costs_summary
    from stp.run.costs import table as costs_table

    planned = load_plan(configfile)
    own_options.check(planned)
    dimension = None if table is None else brief.dimension_of(planned, table)
    if dimension is not None and (listed or everything or format == "json"):
        raise StpError(
            f"stp plan {table} takes neither --list, --all nor --format json",
            remedy="leave out the option, or the table",
        )
    if measure:
        _measure(planned, dimension)
    if dimension is not None:
        print_lines(brief.lines(planned, dimension))
        return
    entries = costs_summary.entries(planned)
    if format == "json":
        print(json.dumps(costs_summary.as_json(entries), indent=1))
        return
    console = Console(width=None if sys.stdout.isatty() else 160)
    if listed:
        console.print(costs_table.listing(entries, console.width))
    else:
        costs_table.show(console, entries, everything)


def _measure(planned: "Plan", dimension: str | None) -> None:
    from stp.profiling.steps import measure_plan

    folders = {
        artefact.folder
        for cell in planned.cells
        if dimension in (None, cell.cell.dimension)
        for artefact in cell.artefacts
    }
    ticker = Ticker("measure")
    for line in measure_plan(planned, folders, ticker.report):
        ticker.close()
        say(None, line)


@command(epilog=examples("stp status", "watch -n 60 stp status", "stp status --format json"))
def status(
    configfile: ConfigFile = DEMO,
    format: output.TableOrJson = "table",
    start: Annotated[
        bool, typer.Option("--start", hidden=True, help="Record that a run begins.")
    ] = False,
    success: Annotated[
        bool,
        typer.Option("--success", hidden=True, help="Record that the run has finished."),
    ] = False,
) -> None:
    """Show the state of each evaluation (cell): done, running, failed, partly done or missing."""
    from stp.core.disk import is_read_only
    from stp.run import progress
    from stp.run import status as status_of
    from stp.run.cluster import driver
    from stp.run.status_text import lines
    from stp.upkeep import claims

    planned = load_plan(configfile)
    if start:
        try:
            progress.mark_start(planned)
            claims.claim(planned)
        except OSError as error:
            if not is_read_only(error):
                raise
            print(f"{planned.store} is read-only: finished artefacts can be used, new ones fail")
        driver.write_driver(configfile)
        return
    if success:
        driver.record_success()
    states = status_of.artefact_states(planned)
    if format == "json":
        since = progress.run_started(planned)
        print(json.dumps(status_of.describe(planned, states, since), indent=1))
        return
    width = shutil.get_terminal_size((100, 20)).columns
    last = driver.read_driver()
    has_run_last = last is not None and _scale(last) == planned.config.scale.scale
    print_lines(lines(planned, states, last if has_run_last else None, width))


def _scale(last: "Driver") -> str | None:
    from stp.plan.checked_config import read_yaml

    configfile = Path(last.configfile)
    return str(read_yaml(configfile)["scale"]) if configfile.is_file() else None


@command(epilog=examples("stp why", "stp why simvpv2 kth", "stp why train convlstm"))
def why(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Select artefacts by words of their paths, or by paths of receipts (default: all)."
        ),
    ] = None,
    configfile: ConfigFile = DEMO,
) -> None:
    """Explain why artefacts would be made: which code, setting or input changed.

    Each artefact to make is compared with the most similar existing one. If only code changed, and
    you know that the new code computes the same, `stp store accept` declares the existing artefact
    current.
    """
    from stp.upkeep.why_text import print_reasons

    print_reasons(load_plan(configfile), words or [])


@listing.command()
def site(configfile: ConfigFile = DEMO) -> None:
    """Show the settings of this site (cluster), and the resources that jobs request.

    Settings come from config/site.yaml, or from the file that the environment variable STP_SITE
    names; start with a copy of config/site.example.yaml. Nothing is submitted.
    """
    import yaml
    from rich.console import Console
    from rich.table import Table

    from stp.run.cluster.resources import JobResources
    from stp.run.cluster.site import Site

    settings = Site.load()
    print(yaml.safe_dump(settings.model_dump(), sort_keys=False))
    print("Snakemake's options (profiles/slurm):")
    print(yaml.safe_dump(settings.profile(), sort_keys=False))
    rows = JobResources(load_plan(configfile), settings).summary()
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(*names, title=f"largest request of each kind of job, {configfile}")
    for row in rows:
        table.add_row(*(str(row.get(name, "")) for name in names))
    Console(width=None if sys.stdout.isatty() else 200).print(table)
