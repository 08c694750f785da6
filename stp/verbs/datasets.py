"""Verbs that look at data, official or your own."""

import functools
import json
import shutil
from pathlib import Path
from typing import Annotated

import typer

from stp.core.errors import StpError
from stp.verbs.app import PAPER, ConfigFile, Log, app, examples, load_plan, say
from stp.verbs.output import print_lines

command = functools.partial(app.command, rich_help_panel="Data")


@command(
    epilog=examples(
        "stp data",
        "stp data human36m",
        "stp data bridge human36m --leakage --json",
        "stp data --page docs/datasets.md",
        "stp data --licences docs/licences.md",
        "stp data --table results/tables/dataset_statistics.csv",
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
    licences: Annotated[
        Path | None, typer.Option(help="Write the page of licences (Markdown) instead.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="Write the paper's Table 1 (.csv, and .md, .tex, .html) instead."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All of it, for machines.")] = False,
    log: Log = None,
) -> None:
    """Count the clips of each split beside the paper's Table 1, and find what splits share.

    Counts come from split lists and rules, where they are at hand, and from the store, where the
    dataset is prepared. A difference without an explanation is marked.
    """
    from stp.core.disk import write_text, writing
    from stp.inspect import report
    from stp.inspect.page import page as page_text
    from stp.plan import config

    if table is not None:
        from stp.inspect import statistics

        found = statistics.write(load_plan(configfile), table)
        say(log, f"wrote {table} with {len(found)} datasets, and beside it .md, .tex and .html")
        return
    if licences is not None:
        from stp.inspect import licences_page
        from stp.plan import weights

        with writing(licences):
            write_text(licences, licences_page.page(config.load(configfile), weights.declared()))
        say(log, f"wrote {licences}")
        return
    if page is not None or prepared:
        target = page or out
        text = (
            page_text(config.load(configfile))
            if page
            else report.prepared_text(load_plan(configfile))
        )
        if target is None:
            print(text, end="")
            return
        with writing(target):
            write_text(target, text)
        say(log, f"wrote {target}")
        return
    if out is not None:
        raise StpError("--out needs --prepared")
    planned = load_plan(configfile)
    counts, leaks = report.describe(planned, names or [], leakage)
    if as_json:
        print(json.dumps(report.as_json(planned, counts, leaks), indent=1))
        return
    width = shutil.get_terminal_size((150, 20)).columns
    print_lines(report.lines(planned, counts, leaks, width))


@command(
    epilog=examples(
        "stp leak atlas_eth --configfile config/atlas-sample.yaml",
        "stp leak atlas_eth --observe 3 --predict 12 --json",
    )
)
def leak(
    dataset: Annotated[str, typer.Argument(help="A prepared dataset of tracks of people.")],
    configfile: ConfigFile = Path("config/atlas-sample.yaml"),
    observe: Annotated[
        int | None, typer.Option(help="Observed positions; the dataset's unless given.", min=2)
    ] = None,
    predict: Annotated[
        int | None, typer.Option(help="Future positions; the dataset's unless given.", min=1)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All of it, for machines.")] = False,
) -> None:
    """Measure how much of the future each protocol shows to predictors of people, and what of it.

    Everybody's future is moved by one metre, and nothing that a predictor is given, or says, should
    move. The errors under each protocol are beside it, on all scenarios and on those in common.
    Predictors have the parameters that were released for the dataset, or else their defaults.
    """
    from stp.inspect import future

    found = future.measure(load_plan(configfile), dataset, observe, predict)
    if as_json:
        print(json.dumps(found.as_json(), indent=1))
        return
    print_lines(future.lines(found, shutil.get_terminal_size((150, 20)).columns))


@command(
    "new-dataset",
    epilog=examples(
        "stp new-dataset ../videos",
        "stp new-dataset era5.nc --name heat",
        "stp new-dataset hall.csv --fps 2.5",
    ),
)
def new_dataset(
    path: Annotated[
        Path,
        typer.Argument(
            help="A folder of videos, pictures, arrays, grids or detections of people; or a file."
        ),
    ],
    name: Annotated[
        str | None, typer.Option(help="Of the dataset; made from the path unless given.")
    ] = None,
    fps: Annotated[
        float | None,
        typer.Option(
            help="Frames per second of detections of people; guessed from how fast they walk."
        ),
    ] = None,
) -> None:
    """Draft the YAML that makes a dataset out of your own files, and a scale file for it.

    The files are looked at and stay where they are. The draft is a guess with comments; the clips
    that it gives are counted at once.
    """
    from stp.inspect.new_dataset import new_dataset as draft

    if fps is not None and fps <= 0:
        raise typer.BadParameter("more than 0", param_hint="--fps")
    print_lines(draft(path, name, fps=fps))
