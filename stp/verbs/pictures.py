"""Verbs that draw prepared data and predictions."""

import shutil
from pathlib import Path
from typing import Annotated, Literal

import typer

from stp.core.errors import StpError
from stp.verbs import output
from stp.verbs.app import DEMO, ConfigFile, Log, draws, examples, load_plan, say_wrote


@draws.command(
    epilog=examples(
        "stp draw pictures results/demo/plan/short_term.json",
        "stp draw pictures results/demo/plan/short_term.json --cell kth --out kth.png",
        "stp draw pictures results/demo/plan/short_term.json --cell kth --out kth.gif "
        "--out kth.mp4 --errors",
        "stp draw pictures results/demo/plan/short_term.json --cell kth --out kth.png "
        "--samples median,hardest,7 --models persistence,simvpv2",
    )
)
def pictures(
    manifest: Annotated[Path, typer.Argument(help="A manifest, from results/SCALE/plan.")],
    cell: Annotated[str | None, typer.Option(help="The test to draw (default: list all).")] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help="A strip (.png, with .svg beside it) or a movie (.gif, .mp4); can be given "
            "several times."
        ),
    ] = None,
    samples: Annotated[
        str,
        typer.Option(
            help="median, hardest, easiest or numbers, separated by commas; writes one file "
            "for each."
        ),
    ] = "median",
    models: Annotated[
        str | None, typer.Option(help="Names of models, separated by commas (default: all).")
    ] = None,
    variable: Annotated[str | None, typer.Option(help="Draw only this variable.")] = None,
    errors: Annotated[
        bool, typer.Option("--errors", help="Draw errors in movies too; strips always have them.")
    ] = False,
    rank_by: Annotated[
        str | None,
        typer.Option(help="Order models by this convention, with its values behind their names."),
    ] = None,
    log: Log = None,
) -> None:
    """Draw predictions for a test sample beside the truth: strips and movies."""
    from stp.plan.manifest import load_manifest
    from stp.render.pictures.cases import cases
    from stp.render.pictures.files import draw

    planned = load_manifest(manifest)
    if cell is None or not out:
        if cell is not None or out:
            raise StpError("a picture needs both --cell and --out")
        for name, cells in cases(planned).items():
            print(f"{name}: {', '.join(dict.fromkeys(cell.key.model for cell in cells))}")
        return
    sample_names = [name.strip() for name in samples.split(",")]
    model_names = [name.strip() for name in models.split(",")] if models else []
    for path in draw(planned, cell, out, sample_names, model_names, variable, errors, rank_by):
        say_wrote(log, Path(path))


@draws.command(
    epilog=examples(
        "stp draw trajectories results/atlas-demo/plan/atlas_transfer.json --out differing.png",
        "stp draw trajectories results/atlas-demo/plan/atlas_transfer.json "
        "--cell atlas_eth-atlas-paper --scenario 20 --out scenario.svg --layout side",
        "stp draw trajectories results/atlas-demo/plan/atlas_transfer.json --scenario 20 "
        "--out scenario.gif --models social_force:released,constant_velocity",
    )
)
def trajectories(
    manifest: Annotated[
        Path, typer.Argument(help="A manifest of people, from results/SCALE/plan.")
    ],
    out: Annotated[
        list[Path], typer.Option(help="A picture (.png, .svg, .pdf) or animation (.gif, .mp4).")
    ],
    cell: Annotated[
        str | None,
        typer.Option(help="The test to draw, as DATASET-PROTOCOL (default: the first)."),
    ] = None,
    scenario: Annotated[
        int | None,
        typer.Option(
            help="Number of the scenario, from 0 (default: those in which models differ most)."
        ),
    ] = None,
    layout: Annotated[
        Literal["overlay", "side"],
        typer.Option(help="For one scenario: draw models over one another or side by side."),
    ] = "overlay",
    models: Annotated[
        str | None,
        typer.Option(
            help="For one scenario: names of models, separated by commas (default: those calibrated"
            " on this dataset)."
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Draw predicted paths of people over the map, beside the true paths."""
    from stp.plan.manifest import load_manifest
    from stp.render.pictures import people as drawing
    from stp.render.pictures import trajectories

    planned = load_manifest(manifest)
    if scenario is None:
        if cell is not None or models is not None or layout != "overlay":
            raise StpError("--cell, --models and --layout need --scenario")
        trajectories.draw_differing(planned, out)
    else:
        evaluation = trajectories.evaluation_of(planned, cell)
        labels = (
            trajectories.labels_of_models(evaluation, models.split(","))
            if models
            else trajectories.select_models(evaluation)
        )
        scene = evaluation.scene(scenario, labels)
        for path in out:
            drawing.write(scene, path, layout)
    for path in out:
        say_wrote(log, Path(path))


@draws.command(
    epilog=examples(
        "stp draw clips kth",
        "stp draw clips moving_mnist --split train --clips 6 --out results/clips/digits.gif",
        "stp draw clips weatherbench --variable z --level 500",
        "stp draw clips atlas_eth --out results/clips/tracks.pdf",
    )
)
def clips(
    dataset: Annotated[str, typer.Argument(help="A prepared dataset.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The file to write: .png (all frames), .gif or .mp4, and for people also .svg and "
            ".pdf (default: results/clips/<name>.png).",
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="train, val, test or another split.")] = "test",
    clips: Annotated[int, typer.Option(help="Number of clips, spread over the split.", min=1)] = 4,
    variable: Annotated[str | None, typer.Option(help="Draw only this variable.")] = None,
    level: Annotated[str | None, typer.Option(help="Level of the variable, such as 500.")] = None,
    configfile: ConfigFile = DEMO,
) -> None:
    """Draw a few clips of a prepared dataset.

    Of a dataset of people, all tracks are drawn over the map; a movie shows the busiest moments.
    """
    from stp.inspect.descriptions import describer_of
    from stp.inspect.pictures import show
    from stp.plan.checked_config import check_known

    plan = load_plan(configfile)
    check_known(dataset, plan.config.datasets, "dataset", "stp draw clips")
    samples = plan.recipes.samples(dataset)
    about = describer_of(samples)
    if out is None and samples.has_scenarios and about.facts(plan, dataset) is not None:
        _, shared = about.describe(plan, dataset, leakage=True)
        assert shared is not None
        width = shutil.get_terminal_size((150, 20)).columns
        output.print_lines(about.lines(plan, dataset, shared, width))
    target = out or Path("results/clips") / f"{dataset}.png"
    show(plan, dataset, target, split=split, clips=clips, variable=variable, level=level)
    print(target)
