"""Verbs that draw predictions."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from stp.core.errors import StpError
from stp.verbs.app import Log, draws, examples, say_wrote


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
            raise StpError("a picture needs --cell and --out", remedy="give both, or neither")
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
        "--out scenario.gif",
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
    log: Log = None,
) -> None:
    """Draw predicted paths of people over the map, beside the true paths."""
    from stp.plan.manifest import load_manifest
    from stp.render.pictures import people as drawing
    from stp.render.pictures import trajectories

    planned = load_manifest(manifest)
    if scenario is None:
        if cell is not None or layout != "overlay":
            raise StpError("--cell and --layout need --scenario")
        trajectories.draw_differing(planned, out)
    else:
        evaluation = trajectories.evaluation_of(planned, cell)
        scene = evaluation.scene(scenario, trajectories.calibrated_here(evaluation))
        for path in out:
            drawing.write(scene, path, layout)
    for path in out:
        say_wrote(log, Path(path))
