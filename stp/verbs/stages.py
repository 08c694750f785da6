"""Verbs of the stages, from raw files to tables; the rules of Snakemake call them."""

import functools
from pathlib import Path
from typing import Annotated, Any

import typer

from stp.core.errors import StpError, suggest_name
from stp.verbs.app import DEMO, ConfigFile, Log, Panel, app, examples, load_plan, say, say_wrote

command = functools.partial(app.command, rich_help_panel=Panel.STAGES)
Targets = Annotated[
    list[str],
    typer.Argument(
        help="Paths of receipts in the store, or words of these paths, such as "
        "[cyan]convlstm kth[/cyan]."
    ),
]


def _make(
    stage: str, targets: list[str], configfile: Path, log: Path | None, **runtime: Any
) -> None:
    from stp.run import runner

    plan = load_plan(configfile)
    receipts = [target for target in targets if target.endswith("artefact.json")]
    words = [target for target in targets if target not in receipts]
    artefacts = [plan.find(target) for target in receipts]
    if words:
        artefacts += [
            artefact
            for artefact in plan.artefacts.values()
            if artefact.stage == stage and artefact.words.issuperset(words)
        ]
    if not artefacts:
        words_of_stage = {
            word for a in plan.artefacts.values() if a.stage == stage for word in a.words
        }
        unknown = [word for word in words if word not in words_of_stage]
        raise StpError(
            f"nothing to {stage} matches {' '.join(targets)!r}",
            remedy=suggest_name(unknown[0], words_of_stage)
            if unknown
            else "use fewer words; `stp plan --list` lists all artefacts",
        )
    for artefact in artefacts:
        if artefact.stage != stage:
            raise StpError(f"{artefact.folder} is made by `stp {artefact.stage}`")
        runner.make(plan, artefact, log, **runtime)


@command(
    epilog=examples(
        "stp fetch kth --configfile config/paper.yaml",
        "stp fetch --check kth",
        "stp fetch --check",
        "stp fetch kth --configfile config/paper.yaml --lock-out config/locks/kth-official.json",
    )
)
def fetch(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Datasets, or lock files of the store. With --check, the default is all."
        ),
    ] = None,
    configfile: ConfigFile = DEMO,
    log: Log = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only report what is present, missing or damaged.")
    ] = False,
    accept_incomplete: Annotated[
        bool,
        typer.Option(
            "--accept-incomplete",
            help="Lock a release with missing files, which every row of results will mention.",
        ),
    ] = False,
    lock_out: Annotated[
        Path | None,
        typer.Option(
            help="Also write the lock of the dataset (paths, sizes, SHA-256) to this file.",
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Find, download, unpack or generate the raw files of a dataset, and record their checksums.

    --check reads all files, without using cached checksums, and exits with 1 unless all of them
    exist and are undamaged. --lock-out config/locks/DATASET-RELEASE.json registers the checksums:
    with that file, another lab can verify that it has the same files.
    """
    from stp.run import runner

    plan = load_plan(configfile)
    if not targets and not check:
        raise StpError("nothing to fetch", remedy="name a dataset, or use --check")
    names = targets or [artefact.dataset for artefact in plan.prepared_data]
    releases = [plan.raw_of(name) for name in names]
    if lock_out and (check or len(releases) != 1):
        raise StpError(
            f"--lock-out of {len(releases)} dataset(s)" + (" with --check" if check else ""),
            remedy="name one dataset, without --check",
        )
    if check:
        _check_files(plan, releases)
        return
    for raw in releases:
        lock = runner.fetch(plan, raw, log, accept_incomplete)
        if lock_out is not None:
            _write_lock(lock, raw, lock_out)
            say(log, f"wrote {lock_out}")


def _write_lock(lock: Path, raw: Any, out: Path) -> None:
    from stp.core.disk import write_text, writing
    from stp.core.lock import header_of, read_lock

    locked = read_lock(lock, header_of(raw.dataset, raw.release, raw.declared.source))
    if locked is None or locked.incomplete:
        raise StpError(
            f"{lock}: the release {raw.release} of {raw.dataset} is incomplete",
            expected="all files of a release that others will verify",
            remedy="delete the lock, get the missing files and fetch the release again",
        )
    with writing(out):
        write_text(out, lock.read_text(encoding="utf-8"))


def _check_files(plan: Any, releases: list[Any]) -> None:
    from stp.fetch.table import is_complete, lines
    from stp.run import runner

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


@command()
def prepare(targets: Targets, configfile: ConfigFile = DEMO, log: Log = None) -> None:
    """Turn the raw files of datasets into prepared data, such as frames.zarr and index.parquet.

    Targets are words or paths of receipts (artefact.json). Words, such as `kth`, select the
    datasets of the scale file whose paths have all of them.
    """
    _make("prepare", targets, configfile, log)


@command()
def train(
    targets: Targets,
    configfile: ConfigFile = DEMO,
    log: Log = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
) -> None:
    """Train models on datasets; continues where an interrupted training run stopped.

    Targets are words or paths of receipts (artefact.json). Words, such as `convlstm kth`, select
    the training runs of the scale file whose paths have all of them.
    """
    _make("train", targets, configfile, log, **({"device": device} if device else {}))


@command()
def predict(
    targets: Targets,
    configfile: ConfigFile = DEMO,
    log: Log = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
) -> None:
    """Predict the test clips of datasets with models; write the forecasts as predictions.zarr.

    Targets are words or paths of receipts (artefact.json). Words, such as `convlstm kth`, select
    the predictions of the scale file whose paths have all of them.
    """
    _make("predict", targets, configfile, log, **({"device": device} if device else {}))


@command()
def features(
    targets: Targets,
    configfile: ConfigFile = DEMO,
    log: Log = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
) -> None:
    """Compute the features of a network for observed or predicted clips: features.parquet.

    Only features that a distance between sets of clips (FVD, KVD) needs are made; see `stp
    list weights`.

    Targets are words or paths of receipts (artefact.json). Words, such as `convlstm kth`, select
    the features of the scale file whose paths have all of them.
    """
    _make("features", targets, configfile, log, **({"device": device} if device else {}))


@command()
def score(
    targets: Targets,
    configfile: ConfigFile = DEMO,
    log: Log = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
) -> None:
    """Compare predictions with observations: scores.parquet and sample_scores.parquet.

    If the scale file sets `keep`, forecasts are computed or read here, and scored at once. Only
    those that `keep` chooses (a number of them, or names of clips) are stored.

    Targets are words or paths of receipts (artefact.json). Words, such as `convlstm kth`, select
    the scores of the scale file whose paths have all of them.
    """
    _make("score", targets, configfile, log, **({"device": device} if device else {}))


@command(
    epilog=examples(
        "stp collect --configfile config/atlas-sample.yaml",
        "stp collect results/demo/plan/short_term.json "
        "--out results/demo/collected/short_term.parquet",
        "stp collect --database results/demo/results.duckdb",
    )
)
def collect(
    manifest: Annotated[
        Path | None, typer.Argument(help="A manifest, from results/SCALE/plan.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The Parquet file to write, with all rows.")
    ] = None,
    database: Annotated[
        Path | None, typer.Option(help="The DuckDB file to build from all collected rows.")
    ] = None,
    configfile: ConfigFile = DEMO,
    log: Log = None,
) -> None:
    """Collect all scores of a dimension (a question with its tables); build the DuckDB store.

    With neither a manifest nor --database, all dimensions of the scale file are collected into
    results/SCALE/results.duckdb. results/results.duckdb holds those of all scales.
    """
    from stp.collect.merge_scales import combine
    from stp.collect.refresh import build_database, collect_dimension
    from stp.run.results import RESULTS

    if manifest is None and out is None and database is None:
        from stp.run import workflow_files

        plan = load_plan(configfile)
        results = workflow_files.results_of(plan)
        workflow_files.write_last_run(plan)
        for dimension, path in workflow_files.write_manifests(plan).items():
            collect_dimension(path, results / "collected" / f"{dimension}.parquet")
            say(log, f"collected the scores of {dimension}")
        database = results / "results.duckdb"
    if out is not None:
        if manifest is None:
            raise StpError("--out needs a manifest", remedy="name one, from results/SCALE/plan")
        collect_dimension(manifest, out)
        say(log, f"collected the scores of all cells into {out}")
    if database is not None:
        collected, missing = build_database(
            database.parent / "collected", database, lambda line: say(log, line)
        )
        say(log, f"built {database} with {', '.join(collected)}")
        for dimension, reason in missing.items():
            say(log, f"  without {dimension}: {reason}")
        if database.parent.parent == RESULTS:
            for scale, reason in combine(RESULTS, database.parent.name).items():
                say(log, f"results/results.duckdb is without {scale}: {reason}")


@command(
    epilog=examples(
        "stp render results/demo/plan/short_term.json --out results/tables/short_term.csv",
        "stp render results/demo/results.duckdb",
        "stp render results/demo/results.duckdb --out report.html --samples 1 --pictures-mb 10",
        "stp render --partial",
    )
)
def render(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="A manifest, from results/SCALE/plan, or for the report a results store (.duckdb)."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The table (.csv) or page (.html) to write (default of a page: report/index.html "
            "beside the store)."
        ),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Write tables with gaps to results/SCALE/partial/ instead."),
    ] = False,
    study: Annotated[
        str | None,
        typer.Option(
            help="Write a further table of the dimension instead, such as reliability or "
            "trust_cards (`stp table` lists them)."
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            min=0,
            max=3,
            help="For the report: number of samples to show for each evaluation: those with the "
            "median, largest and smallest error; 0 for none.",
        ),
    ] = 3,
    pictures_mb: Annotated[
        float,
        typer.Option(
            "--pictures-mb",
            min=0,
            help="For the report: largest total size of all pictures, in MB.",
        ),
    ] = 4,
    configfile: ConfigFile = DEMO,
    log: Log = None,
) -> None:
    """Render a table from the results store, or the report: a page that needs no network."""
    if partial:
        _render_partial(configfile, log)
    elif source is not None and source.suffix == ".duckdb":
        _render_report(source, out, samples, pictures_mb, log)
    elif source is None or out is None:
        raise StpError("a table needs a manifest and --out, or --partial")
    elif study is not None:
        from stp.render.tables import by_name

        by_name.render(study, source, out)
        say_wrote(log, out, ", and what belongs to it beside it")
    else:
        _render_table(source, out, log)


def _render_table(manifest: Path, out: Path, log: Path | None) -> None:
    from stp.collect.partial import remove
    from stp.collect.refresh import build_database
    from stp.render.tables.paper_table import render_table

    database = out.parent.parent / "results.duckdb"
    if not database.is_file():  # it is not an output of the rule that collects
        build_database(database.parent / "collected", database)
    render_table(manifest, database, out)
    gaps = out.parent.parent / "partial"
    for outdated in gaps.glob(f"{out.stem}*"):
        outdated.unlink()
    remove(gaps)
    say_wrote(log, out, f", and beside it .md, .tex, .html and {out.stem}_tidy.csv")


def _render_report(
    database: Path, out: Path | None, samples: int, pictures_mb: float, log: Path | None
) -> None:
    from stp.collect.refresh import build_database
    from stp.report.build import write_report
    from stp.report.forecasts import Pictures
    from stp.run.meter import CountMeter

    page = out or database.parent / "report" / "index.html"
    if not database.is_file() and (database.parent / "collected").is_dir():
        build_database(database.parent / "collected", database)
    meter = CountMeter("report")
    write_report(database, page, pictures=Pictures(samples, pictures_mb), report=meter)
    meter.clear()
    say_wrote(log, page, f" ({page.stat().st_size / 1e6:.1f} MB): open it in a browser")


def _render_partial(configfile: Path, log: Path | None) -> None:
    """Write the finished part of all tables, of the results store and of the report."""
    from stp.render.tables.paper_table import render_partial
    from stp.run import failures, input_digest, workflow_files
    from stp.run.restored_receipts import restore_receipts
    from stp.workflow.tables import Tables

    planned = load_plan(configfile)
    restore_receipts(planned)
    results = workflow_files.results_of(planned)
    folder = results / "partial"
    manifests = workflow_files.write_manifests(planned)
    tables = {table.name: table for table in Tables(planned, manifests)}
    for dimension in planned.dimensions:
        path = manifests[dimension]
        final = tables[dimension]
        if input_digest.is_current(Path(input_digest.note_of(final.path)), final.digest):
            continue
        missing = render_partial(path, failures.of_plan(planned), folder)
        say(log, f"wrote a table to {folder}; missing cells: {len(missing)}")
    _partial_store([manifests[name] for name in planned.dimensions], folder, log)


def _partial_store(manifests: list[Path], folder: Path, log: Path | None) -> None:
    """Build a store and a report of the finished cells, and say how to read them."""
    from stp.collect.partial import DATABASE, build_partial
    from stp.report.build import write_report
    from stp.report.forecasts import Pictures

    cells = build_partial(manifests, folder, folder.parent / "logs", lambda line: say(log, line))
    if not cells.scored:
        say(log, "no cell is scored yet, so there is no partial results store")
    if not cells.scored or not cells.missing:
        return
    database, page = folder / DATABASE, folder / "report" / "index.html"
    say(log, f"wrote {database}; scored cells: {cells.scored}, missing: {cells.missing}")
    say(log, f'missing cells: stp query --database {database} "FROM missing"')
    write_report(database, page, pictures=Pictures(samples=0))  # at the end of a run, so quick
    say(log, f"wrote {page}, a report of the finished cells, without pictures")
