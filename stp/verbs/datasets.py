"""Verbs about datasets, official ones or the user's own."""

import json
import shutil
from pathlib import Path
from typing import Annotated

import typer

from stp.core.errors import StpError
from stp.verbs import output
from stp.verbs.app import (
    DEMO,
    ConfigFile,
    Log,
    Panel,
    app,
    checks,
    examples,
    listing,
    load_plan,
    say,
)
from stp.verbs.output import print_lines


@listing.command(
    "datasets",
    epilog=examples(
        "stp list datasets",
        "stp list datasets human36m",
        "stp list datasets bridge human36m --leakage --format json",
        "stp list datasets --page docs/datasets.md",
        "stp list datasets --licences docs/licences.md",
    ),
)
def data(
    names: Annotated[list[str] | None, typer.Argument(help="Datasets (default: all).")] = None,
    configfile: ConfigFile = DEMO,
    leakage: Annotated[
        bool,
        typer.Option(
            "--leakage",
            help="Show what splits have in common; always shown for a single dataset.",
        ),
    ] = False,
    prepared: Annotated[
        bool, typer.Option("--prepared", help="Describe everything that the scale prepares.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="With --prepared: the file to write.")] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Write the page of all datasets (Markdown) to this file instead."),
    ] = None,
    licences: Annotated[
        Path | None,
        typer.Option(help="Write the page of licences (Markdown) to this file instead."),
    ] = None,
    format: output.TableOrJson = "table",
    log: Log = None,
) -> None:
    """List datasets: clips of each split, beside published numbers, and what splits share.

    Numbers of clips come from split lists and rules where these exist, and from the store where the
    dataset is prepared. The column "published" has the numbers that the paper prints, as declared
    in config/datasets. A difference without a stated reason is marked.
    """
    from stp.core.disk import write_text, writing
    from stp.inspect import report
    from stp.inspect.page import page as page_text
    from stp.plan import config

    if licences is not None:
        from stp.inspect import licences_page
        from stp.plan import weights

        with writing(licences):
            write_text(
                licences,
                licences_page.page(config.load(configfile), weights.read_declared_weights()),
            )
        say(log, f"wrote {licences}")
        return
    if page is not None or prepared:
        target = page or out
        text = (
            page_text(config.load(configfile))
            if page
            else report.describe_prepared(load_plan(configfile))
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
    if format == "json":
        print(json.dumps(report.as_json(planned, counts, leaks), indent=1))
        return
    width = shutil.get_terminal_size((150, 20)).columns
    print_lines(report.lines(planned, counts, leaks, width))


@checks.command(
    epilog=examples(
        "stp check leak atlas_eth --configfile config/atlas-sample.yaml",
        "stp check leak atlas_eth --observe 3 --predict 12 --format json",
        "stp check leak chaosbench --configfile config/mine.yaml",
    ),
)
def leak(
    dataset: Annotated[
        str, typer.Argument(help="A prepared dataset of tracks of people, or with ocean months.")
    ],
    configfile: ConfigFile = DEMO,
    observe: Annotated[
        int | None,
        typer.Option(help="Number of observed positions (default: that of the dataset).", min=2),
    ] = None,
    predict: Annotated[
        int | None,
        typer.Option(help="Number of future positions (default: that of the dataset).", min=1),
    ] = None,
    format: output.TableOrJson = "table",
) -> None:
    """Measure how much of the future a dataset shows to models.

    Datasets of people: the future of all people is moved by one metre. Neither the input of a
    predictor nor its prediction should then change. This is measured under each protocol, a way to
    cut scenarios from tracks: atlas-paper (as the released code of Atlas), strict and
    strict-relaxed. A second table compares the errors of predictors under these protocols, on all
    scenarios of each and on those that all protocols have. Predictors have the parameters that were
    released for the dataset, or else their defaults.

    Datasets with monthly means of the ocean: ChaosBench gives each day the mean of its whole month,
    which contains later days. Persistence forecasts from these means are compared with those from
    the means of the month before.
    """
    from stp.inspect import future, months

    plan = load_plan(configfile)
    width = shutil.get_terminal_size((150, 20)).columns
    is_declared = dataset in plan.config.datasets
    if is_declared and not plan.recipes.samples(dataset).has_scenarios:
        ocean = months.measure(plan, dataset)
        text, content = months.lines(ocean, width), ocean.as_json()
    else:
        people = future.measure(plan, dataset, observe, predict)
        text, content = future.lines(people, width), people.as_json()
    if format == "json":
        print(json.dumps(content, indent=1))
        return
    print_lines(text)


@app.command(
    "new-dataset",
    rich_help_panel=Panel.OWN,
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
            help="A file, or a folder of videos, pictures, arrays, grids or detections of people."
        ),
    ],
    name: Annotated[
        str | None, typer.Option(help="Name of the dataset (default: made from the path).")
    ] = None,
    fps: Annotated[
        float | None,
        typer.Option(
            help="Frames per second of detections of people (default: inferred from their "
            "walking speed)."
        ),
    ] = None,
) -> None:
    """Draft a dataset file (YAML) for your own files, and a scale file for tests on it.

    Your files stay where they are. The draft is a guess with comments. The clips that it gives are
    counted at once.
    """
    from stp.inspect.new_dataset import new_dataset as draft

    if fps is not None and fps <= 0:
        raise typer.BadParameter("more than 0", param_hint="--fps")
    print_lines(draft(path, name, fps=fps))
