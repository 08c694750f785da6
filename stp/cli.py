"""The front door: one verb per stage, and verbs to look at plan and results."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer

from stp.cluster.launch import SAVED
from stp.cluster.signals import Terminated
from stp.disk import disk_error
from stp.errors import StpError
from stp.job import Interrupted

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
PAPER = Path("config/paper.yaml")


def _examples(*commands: str) -> str:
    """Write examples below the help of a verb."""
    return "Examples:\n\n" + "\n\n".join(f"    {command}" for command in commands)


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
            remedy="`stp plan --list` lists everything",
        )
    for artefact in artefacts:
        if artefact.stage != stage:
            raise StpError(f"{artefact.folder} is made by `stp {artefact.stage}`")
        runner.make(plan, artefact, log, **more)


@app.command(
    epilog=_examples(
        "stp fetch kth --configfile config/paper.yaml",
        "stp fetch --check kth",
        "stp fetch --check",
    )
)
def fetch(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Datasets, or lock files of the store; with --check, all if none."),
    ] = None,
    configfile: ConfigFile = DEMO,
    log: Log = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only report what is present, missing or damaged.")
    ] = False,
) -> None:
    """Find, download, unpack or generate the raw files of a dataset, and lock their bytes.

    --check reads all bytes, whatever is known of them, and exits with 1 unless all are there and
    undamaged.
    """
    from stp import runner

    plan = _plan(configfile)
    if not targets and not check:
        raise StpError("nothing to fetch", remedy="name a dataset, or use --check")
    names = targets or [artefact.dataset for artefact in plan.prepared]
    releases = [plan.raw_of(name) for name in names]
    if check:
        _check_files(plan, releases)
        return
    for raw in releases:
        runner.fetch(plan, raw, log)


def _check_files(plan: Any, releases: list[Any]) -> None:
    """Print the state of raw files; exit with an error unless all are present."""
    from stp import runner
    from stp.fetch.table import is_complete, lines

    incomplete = []
    for raw in releases:
        states = runner.check_raw(plan, raw)
        for line in lines(f"{raw.dataset} (release {raw.release})", states):
            print(line, flush=True)
        if not is_complete(states):
            incomplete.append(raw.dataset)
    if len(releases) > 1:
        print(f"complete: {len(releases) - len(incomplete)} of {len(releases)} datasets", end="")
        print(f"; not: {', '.join(incomplete)}" if incomplete else "")
    if incomplete:
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
    manifest: Annotated[Path | None, typer.Argument(help="A manifest, from results/plan.")] = None,
    out: Annotated[Path | None, typer.Option(help="Parquet file of all rows to write.")] = None,
    database: Annotated[
        Path | None, typer.Option(help="DuckDB file to build from all that has been collected.")
    ] = None,
    log: Log = None,
) -> None:
    """Collect the scores of all cells of a dimension, and build the DuckDB store."""
    from stp.collect.everything import build_database, collect_dimension

    if out is not None:
        if manifest is None:
            raise StpError("--out needs a manifest", remedy="name one, from results/plan")
        collect_dimension(manifest, out)
        _say(log, f"collected the scores of all cells into {out}")
    if database is not None:
        held, left_out = build_database(database.parent / "collected", database)
        _say(log, f"built {database} with {', '.join(held)}")
        for dimension, reason in left_out.items():
            _say(log, f"  without {dimension}: {reason}")


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
    from stp.collect.everything import build_database
    from stp.render.table import render_partial, render_table

    if partial:
        planned = _plan(configfile)
        runner.restore_receipts(planned)
        folder = Path("results/partial")
        for dimension, path in workflow_files.write_manifests(planned).items():
            final = Path("results/tables") / f"{dimension}.csv"
            is_made = final.is_file() and final.stat().st_mtime >= path.stat().st_mtime
            if is_made or dimension in planned.config.evaluation.to_come:
                continue
            missing = render_partial(path, runner.failures(planned), folder)
            _say(log, f"wrote a table with {len(missing)} missing cells to {folder}")
    elif manifest is None or out is None:
        raise StpError("a table needs a manifest and --out, or --partial")
    else:
        database = out.parent.parent / "results.duckdb"
        if not database.is_file():  # it is no output of the rule that collects
            build_database(database.parent / "collected", database)
        render_table(manifest, database, out)
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
    listed: Annotated[
        bool, typer.Option("--list", help="List every artefact and whether it is there.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Costs of all jobs, of finished ones as well.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All of it, for machines.")] = False,
) -> None:
    """Show what the plan costs: jobs, GPU and CPU hours, storage, with the assumptions."""
    from rich.console import Console

    from stp.costs import summary as costs_summary
    from stp.costs import table as costs_table

    found = costs_summary.entries(_plan(configfile))
    if as_json:
        print(json.dumps(costs_summary.as_json(found), indent=1))
        return
    console = Console(width=None if sys.stdout.isatty() else 160)
    if listed:
        console.print(costs_table.listing(found))
    else:
        costs_table.show(console, found, everything)


@app.command(epilog=_examples("stp status", "watch -n 60 stp status", "stp status --json"))
def status(
    configfile: ConfigFile = DEMO,
    as_json: Annotated[bool, typer.Option("--json", help="All of it, for machines.")] = False,
    start: Annotated[
        bool, typer.Option("--start", hidden=True, help="Note that a run begins.")
    ] = False,
) -> None:
    """Show how each cell of the plan stands: done, running, failed, partly done or missing."""
    from stp import progress
    from stp.cluster import driver
    from stp.upkeep import claims
    from stp.upkeep import status as standing
    from stp.upkeep.status_text import lines

    planned = _plan(configfile)
    if start:
        progress.mark_start(planned)
        claims.claim(planned)
        driver.note(configfile)
        return
    found = standing.look(planned)
    if as_json:
        since = progress.run_started(planned)
        print(json.dumps(standing.describe(planned, found, since), indent=1))
        return
    width = shutil.get_terminal_size((100, 20)).columns
    for line in lines(planned, found, driver.noted(), width):
        print(line)


@app.command(
    epilog=_examples("stp gc", "stp gc --older-than 30 --yes", "stp gc --predictions --yes")
)
def gc(
    configfile: Annotated[
        list[Path] | None,
        typer.Option("--configfile", help="Scale files to keep; all of config/ unless given."),
    ] = None,
    predictions: Annotated[
        bool,
        typer.Option(
            "--predictions", help="Instead: data of predictions whose scores are all there."
        ),
    ] = False,
    older_than: Annotated[float, typer.Option(help="Days; what is younger stays.", min=0)] = 7,
    forget_after: Annotated[
        float | None,
        typer.Option(help="Days without a run after which a checkout's needs do not count."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete what is listed.")] = False,
) -> None:
    """List what a store holds and no plan needs; with --yes, delete it.

    Needed is what the scale files ask for, and what any checkout asked for when it last started a
    run on this store. What is being made stays in any case. Of predictions, the data go and the
    receipts stay, so that tables can still be made; a score that needs them has them made again.
    """
    from stp.upkeep import garbage

    garbage.collect(configfile, predictions, older_than, forget_after, yes)


@app.command(
    epilog=_examples(
        "stp why", "stp why simvpv2 kth", "stp why train convlstm", "stp why simvpv2 enso --prove"
    )
)
def why(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Words that the path holds, or receipts; everything unless given."),
    ] = None,
    configfile: ConfigFile = DEMO,
    prove: Annotated[
        bool,
        typer.Option(
            "--prove", help="Compute a sample again and compare it with the older artefact."
        ),
    ] = False,
    device: Annotated[str | None, typer.Option(help="For --prove: auto, cpu or cuda.")] = None,
) -> None:
    """Explain why artefacts would be made: which code, setting or input changed.

    Each is compared with the most similar one that is there. Where only code changed, and it
    computes the same as before, an entry in config/equivalent.yaml saves making it again: --prove
    makes one artefact of each kind again, in a temporary folder, and writes the entry.
    """
    from stp.upkeep.why_text import tell

    planned = _plan(configfile)
    runtime = {"device": device} if device else {}
    if not tell(planned, words or [], runtime if prove else None):
        raise typer.Exit(1)


@app.command(
    epilog=_examples(
        "stp export ../simvpv2-kth simvpv2 kth",
        "stp export ../scores.tar --scores-only",
        "(cd ../simvpv2-kth && sha256sum -c SHA256SUMS)",
    )
)
def export(
    out: Annotated[Path, typer.Argument(help="A new folder, or a new file that ends with .tar.")],
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Words that the path holds, or receipts; everything unless given."),
    ] = None,
    configfile: ConfigFile = DEMO,
    scores_only: Annotated[
        bool,
        typer.Option(
            "--scores-only", help="Scores, and only the receipts of what they are made from."
        ),
    ] = False,
) -> None:
    """Pack artefacts, with all that they are made from, receipts and checksums, for others."""
    from stp.upkeep.inventory import size_text
    from stp.upkeep.meter import Meter
    from stp.upkeep.sharing import export as pack

    meter = Meter("export")
    packed = pack(_plan(configfile), words or [], out, scores_only, meter)
    meter.clear()
    receipts = f", receipts of {len(packed.receipts)} more" if packed.receipts else ""
    print(f"{out}: artefacts: {len(packed.whole)}{receipts}, {size_text(packed.bytes)}")
    if packed.absent:
        print(f"left out, because they are not there: {len(packed.absent)}")
        for artefact in packed.absent:
            print(f"  {artefact.stage} of {artefact.label}")


@app.command("import", epilog=_examples("stp import ../simvpv2-kth", "stp import scores.tar"))
def import_(
    source: Annotated[
        Path, typer.Argument(help="What stp export wrote, or another store.", exists=True)
    ],
    configfile: ConfigFile = DEMO,
) -> None:
    """Take artefacts that were made elsewhere into the store.

    Every file is compared with its receipt, and every receipt with its path. What the store has
    stays as it is; what is damaged is refused by name, and the rest is taken.
    """
    from stp.upkeep.meter import Meter
    from stp.upkeep.receiving import receive

    meter = Meter("import")
    received = receive(_plan(configfile), source, meter)
    meter.clear()
    print(
        f"artefacts: {len(received.taken)} taken, {len(received.present)} were there already, "
        f"{len(received.refused)} refused"
    )
    for folder, why in received.refused.items():
        print(f"refused: {folder}\n  " + why.replace("\n", "\n  "), file=sys.stderr)
    if received.refused:
        raise typer.Exit(1)


@app.command(
    epilog=_examples(
        "stp data",
        "stp data human36m",
        "stp data bridge human36m --leakage --json",
        "stp data --page docs/datasets.md",
    )
)
def data(
    names: Annotated[
        list[str] | None, typer.Argument(help="Datasets; all of them unless given.")
    ] = None,
    configfile: ConfigFile = PAPER,
    leakage: Annotated[
        bool, typer.Option("--leakage", help="What splits share; shown for one dataset anyway.")
    ] = False,
    prepared: Annotated[
        bool, typer.Option("--prepared", help="Describe what the scale prepares, all of it.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="For --prepared: the file to write.")] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write the page of all datasets (Markdown) instead.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All of it, for machines.")] = False,
    log: Log = None,
) -> None:
    """Count the clips of each split beside the paper's Table 1, and find what splits share.

    Counts come from split lists and rules, where they are at hand, and from the store, where the
    dataset is prepared. A difference without an explanation is marked.
    """
    from stp import config
    from stp.datasets import report
    from stp.datasets.page import page as page_text
    from stp.disk import write_text, writing

    if page is not None or prepared:
        target = page or out
        text = (
            page_text(config.load(configfile)) if page else report.prepared_text(_plan(configfile))
        )
        if target is None:
            print(text, end="")
            return
        with writing(target):
            write_text(target, text)
        _say(log, f"wrote {target}")
        return
    if out is not None:
        raise StpError("--out needs --prepared")
    planned = _plan(configfile)
    counts, leaks = report.describe(planned, names or [], leakage)
    if as_json:
        print(json.dumps(report.as_json(planned, counts, leaks), indent=1))
        return
    width = shutil.get_terminal_size((150, 20)).columns
    for line in report.lines(planned, counts, leaks, width):
        print(line)


@app.command(
    epilog=_examples(
        "stp show kth",
        "stp show moving_mnist --split train --clips 6 --out results/show/digits.gif",
        "stp show weatherbench --variable z --level 500",
    )
)
def show(
    name: Annotated[str, typer.Argument(help="A dataset that is prepared.")],
    configfile: ConfigFile = DEMO,
    split: Annotated[str, typer.Option(help="train, val, test or another of its splits.")] = "test",
    clips: Annotated[int, typer.Option(help="How many, spread over the split.", min=1)] = 4,
    variable: Annotated[
        str | None, typer.Option(help="The only one to draw, where there are several.")
    ] = None,
    level: Annotated[str | None, typer.Option(help="Of the variable, such as 500.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help=".png (all frames), .gif or .mp4; results/show/<name>.png unless given."),
    ] = None,
) -> None:
    """Draw a few clips of a prepared dataset: a contact sheet, or moving pictures."""
    from stp.datasets.show import show as draw

    target = out or Path("results/show") / f"{name}.png"
    draw(
        _plan(configfile),
        name,
        target,
        split=split,
        clips=clips,
        variable=variable,
        level=level,
    )
    print(target)


@app.command(
    "new-dataset",
    epilog=_examples("stp new-dataset ../videos", "stp new-dataset era5.nc --name heat"),
)
def new_dataset(
    path: Annotated[
        Path, typer.Argument(help="A folder of videos, pictures, arrays or grids; or a file.")
    ],
    name: Annotated[
        str | None, typer.Option(help="Of the dataset; made from the path unless given.")
    ] = None,
) -> None:
    """Draft the YAML that makes a dataset out of your own files, and a scale file for it.

    The files are looked at and stay where they are. The draft is a guess with comments; the clips
    that it gives are counted at once.
    """
    from stp.inspect_data import new_dataset as draft

    for line in draft(path, name):
        print(line)


@app.command(
    # Options that this verb does not know are Snakemake's.
    context_settings={"ignore_unknown_options": True},
    epilog=_examples(
        "stp resume", "stp resume --profile slurm --jobs 50 results/tables/short_term.csv"
    ),
)
def resume(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="Snakemake's, instead of those of the crashed run.")
    ] = None,
    owner_is_dead: Annotated[
        bool,
        typer.Option(
            "--owner-is-dead", help="I know that the Snakemake on another machine has ended."
        ),
    ] = False,
) -> None:
    """Go on after Snakemake was killed: unlock, and run the same command again.

    Arguments are handed to Snakemake; without any, those of the run that crashed are used. A
    Snakemake that lives is left alone. Its jobs on a cluster are not cancelled: new jobs wait for
    them and take over what they made.
    """
    from stp.cluster.resume import resume as go_on

    # As typed: the parser swallows `--`, and Snakemake's options with many values need it.
    given = sys.argv[sys.argv.index("resume") + 1 :]
    go_on([word for word in given if word != "--owner-is-dead"], owner_is_dead)


@app.command()
def site(configfile: ConfigFile = Path("config/paper.yaml")) -> None:
    """Show this site's settings (config/site.yaml), and what the jobs of a plan ask for.

    Settings come from config/site.yaml, or from the file that STP_SITE names; start with
    config/site.example.yaml. Nothing is submitted.
    """
    import yaml
    from rich.console import Console
    from rich.table import Table

    from stp.cluster.resources import JobResources
    from stp.cluster.site import Site

    settings = Site.load()
    print(yaml.safe_dump(settings.model_dump(), sort_keys=False))
    print("Snakemake's options (profiles/slurm):")
    print(yaml.safe_dump(settings.profile(), sort_keys=False))
    rows = JobResources(_plan(configfile), settings).summary()
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(*names, title=f"largest request of each kind of job, {configfile}")
    for row in rows:
        table.add_row(*(str(row.get(name, "")) for name in names))
    Console(width=None if sys.stdout.isatty() else 200).print(table)


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
        _complain(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _complain(disk_error(error, "the system refused"))


def _complain(error: StpError) -> NoReturn:
    first, *rest = str(error).splitlines()
    print(f"stp: error: {first}", file=sys.stderr)
    for line in rest:
        print(f"  {line}", file=sys.stderr)
    sys.exit(1)
