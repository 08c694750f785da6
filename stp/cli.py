"""The front door: one verb per stage, and verbs to look at plan and results."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from stp.errors import StpError
from stp.job import Interrupted
from stp.launch import SAVED
from stp.signals import Terminated

app = typer.Typer(
    name="stp",
    help="Raw bytes to paper tables, one verb per stage. Snakemake calls the same verbs: "
    "[bold]snakemake --profile local results/tables/short_term.csv[/bold]",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

ConfigFile = Annotated[
    Path,
    typer.Option(
        "--configfile",
        envvar="STP_CONFIGFILE",
        help="The scale file: which cells, how much of everything.",
    ),
]
Log = Annotated[Path | None, typer.Option("--log", help="A file that gets every line as well.")]
Targets = Annotated[
    list[str],
    typer.Argument(
        help="A receipt of the store, or words that the path holds, such as "
        "[cyan]convlstm kth[/cyan]."
    ),
]
DEMO = Path("config/demo.yaml")


def _plan(configfile: Path) -> Any:
    from stp.cells import Plan

    return Plan.load(configfile)


def _make(stage: str, targets: list[str], configfile: Path, log: Path | None, **more: Any) -> None:
    """Make the artefacts of one stage that the targets name."""
    from stp import runner

    plan = _plan(configfile)
    named = [target for target in targets if target.endswith("artefact.json")]
    words = [target for target in targets if target not in named]
    artefacts = [plan.find(target) for target in named]
    if words:
        artefacts += [
            artefact
            for folder, artefact in plan.artefacts.items()
            if artefact.stage == stage and all(word in folder.split("/") for word in words)
        ]
    if not artefacts:
        stages = [a.label for a in plan.artefacts.values() if a.stage == stage]
        raise StpError(
            f"nothing to {stage} for {' '.join(targets)!r}",
            expected=f"words out of one of: {'; '.join(stages[:8])}",
            remedy="`stp plan` lists everything",
        )
    for artefact in artefacts:
        if artefact.stage != stage:
            raise StpError(f"{artefact.folder} is made by `stp {artefact.stage}`")
        runner.make(plan, artefact, log, **more)


@app.command()
def fetch(
    targets: Annotated[list[str], typer.Argument(help="Datasets, or lock files of the store.")],
    configfile: ConfigFile = DEMO,
    log: Log = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only report what is present, missing or damaged.")
    ] = False,
) -> None:
    """Find, download or generate the raw files of a dataset, and lock their bytes."""
    from stp import runner

    plan = _plan(configfile)
    releases = [plan.raw_of(target) for target in targets]
    if check:
        _report_files([state for raw in releases for state in runner.check_raw(plan, raw)])
        return
    for raw in releases:
        runner.fetch(plan, raw, log)


def _report_files(states: list[Any]) -> None:
    """Print the state of raw files; exit with an error unless all are present."""
    for state in states:
        print(f"{state.state:<8} {state.path}  {state.detail}")
    if any(state.state != "present" for state in states):
        raise typer.Exit(1)


@app.command()
def prepare(targets: Targets, configfile: ConfigFile = DEMO, log: Log = None) -> None:
    """Turn raw files into frames.zarr and index.parquet."""
    _make("prepare", targets, configfile, log)


@app.command()
def train(
    targets: Targets,
    configfile: ConfigFile = DEMO,
    log: Log = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
) -> None:
    """Train a model on a dataset; continues where an interrupted training stopped."""
    _make("train", targets, configfile, log, **({"device": device} if device else {}))


@app.command()
def predict(
    targets: Targets,
    configfile: ConfigFile = DEMO,
    log: Log = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
) -> None:
    """Predict the test clips of a cell into predictions.zarr."""
    _make("predict", targets, configfile, log, **({"device": device} if device else {}))


@app.command()
def score(targets: Targets, configfile: ConfigFile = DEMO, log: Log = None) -> None:
    """Compare predictions with observations: scores.parquet and sample_scores.parquet."""
    _make("score", targets, configfile, log)


@app.command()
def collect(
    manifests: Annotated[list[Path], typer.Argument(help="Manifests, from results/plan.")],
    out: Annotated[Path | None, typer.Option(help="Parquet file of all rows to write.")] = None,
    database: Annotated[Path | None, typer.Option(help="DuckDB file to build.")] = None,
    log: Log = None,
) -> None:
    """Collect the scores of all cells into one Parquet file, or into the DuckDB store."""
    from stp.collect.database import build
    from stp.collect.scores import collect as collect_rows

    if out is not None:
        collect_rows(manifests[0], out)
        _say(log, f"collected the scores of all cells into {out}")
    if database is not None:
        rows = [database.parent / "collected" / f"{path.stem}.parquet" for path in manifests]
        build(manifests, rows, database)
        _say(log, f"built {database}")


@app.command()
def render(
    manifest: Annotated[Path | None, typer.Argument(help="A manifest, from results/plan.")] = None,
    out: Annotated[Path | None, typer.Option(help="The table to write (.csv).")] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Write tables with gaps to results/partial/ instead."),
    ] = False,
    configfile: ConfigFile = DEMO,
    log: Log = None,
) -> None:
    """Render a table from the results store."""
    from stp import runner, workflow_files
    from stp.render.table import render_partial, render_table

    if partial:
        planned = _plan(configfile)
        folder = Path("results/partial")
        for path in workflow_files.write_manifests(planned).values():
            missing = render_partial(path, runner.failures(planned), folder)
            _say(log, f"wrote a table with {len(missing)} missing cells to {folder}")
    elif manifest is None or out is None:
        raise StpError("a table needs a manifest and --out, or --partial")
    else:
        render_table(manifest, out.parent.parent / "results.duckdb", out)
        for gap in Path("results/partial").glob(f"{out.stem}*"):  # no longer true
            gap.unlink()
        _say(log, f"wrote {out}, {out.with_suffix('.md')} and {out.stem}_intervals.csv")


def _say(log: Path | None, text: str) -> None:
    """Print a line to the screen, and to the log if there is one."""
    print(text, file=sys.stderr)
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            print(text, file=file)


# SQL that begins with a comment (--) must not be taken for an option.
@app.command(context_settings={"ignore_unknown_options": True})
def query(
    sql: Annotated[str, typer.Argument(help="SQL; tables: scores, sample_scores, cells, ...")],
    database: Annotated[Path, typer.Option(help="The DuckDB file.")] = Path(
        "results/results.duckdb"
    ),
    format: Annotated[
        Literal["table", "csv", "json", "markdown"],
        typer.Option("--format", "-f", help="How to print the answer."),
    ] = "table",
) -> None:
    """Ask the results store a question in SQL."""
    from stp.collect.query import query as ask

    print(ask(database, sql, format))


@app.command()
def plan(
    configfile: ConfigFile = DEMO,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """List every artefact of the plan and whether it is there."""
    planned = _plan(configfile)
    rows = [
        {
            "stage": artefact.stage,
            "what": artefact.label,
            "done": (planned.store / artefact.receipt).exists(),
            "receipt": str(planned.store / artefact.receipt),
        }
        for artefact in planned.artefacts.values()
    ]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("stage", "what", "done", "fingerprint", title=f"{len(rows)} artefacts")
    for row in rows:
        fingerprint = Path(row["receipt"]).parent.name
        table.add_row(row["stage"], row["what"], "yes" if row["done"] else "-", fingerprint)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


@app.command()
def status(
    configfile: ConfigFile = DEMO,
    start: Annotated[
        bool, typer.Option("--start", hidden=True, help="Note that a run begins.")
    ] = False,
) -> None:
    """Show how much of the plan is done, and where results, store and logs are."""
    from stp import progress, runner

    planned = _plan(configfile)
    if start:
        progress.mark_start(planned)
        return
    counts = progress.status(planned)
    done = sum(entry[0] for entry in counts.values())
    total = sum(entry[1] for entry in counts.values())
    per_stage = ", ".join(f"{stage} {entry[0]}/{entry[1]}" for stage, entry in counts.items())
    rest = "; nothing left to do" if done == total else ""
    scale = planned.config.scale.scale
    print(f"[{done}/{total}] {scale} scale: {per_stage}{rest}", file=sys.stderr)
    for failure in runner.failures(planned).values():
        print(
            f"  failed: {failure['stage']} of {failure['label']}: "
            f"{failure['error'].splitlines()[0]} (log: {failure['log']})",
            file=sys.stderr,
        )
    for dimension in planned.config.scale.dimensions:
        table = Path("results/tables") / f"{dimension}.csv"
        if table.is_file():
            print(
                f"  table: {table} (and .md)\n  database: results/results.duckdb\n"
                f"  store: {_short(planned.store)}\n  logs: results/logs",
                file=sys.stderr,
            )


def _short(path: Path) -> Path:
    """A path relative to here, where it is below."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def main() -> None:
    """Run the command line; errors for people are printed without a traceback."""
    _guarded(app)


def _guarded(command: Callable[[], Any]) -> None:
    try:
        command()
    except Interrupted as saved:
        print(f"stp: {saved}; run it again to go on from there", file=sys.stderr)
        sys.exit(SAVED)
    except Terminated as signal:
        print(f"stp: ended by {signal}", file=sys.stderr)
        sys.exit(143)
    except StpError as error:
        first, *rest = str(error).splitlines()
        print(f"stp: error: {first}", file=sys.stderr)
        for line in rest:
            print(f"  {line}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
