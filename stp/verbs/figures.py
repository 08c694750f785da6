"""The verb that draws figures of results."""

from pathlib import Path
from typing import Annotated

import typer

from stp.render.figures.kinds import KINDS
from stp.verbs.app import Log, draws, examples, say_wrote

_KINDS = "; ".join(f"[cyan]{name}[/cyan]: {kind.about}" for name, kind in KINDS.items())


@draws.command(
    epilog=examples(
        "stp draw figure ranks results/demo/plan/short_term.json --out ranks.png",
        "stp draw figure leads results/demo/plan/long_term.json --cell bridge-extrapolation "
        "--out curves.png",
    ),
)
def figure(
    kind: Annotated[str, typer.Argument(help=_KINDS)],
    manifest: Annotated[Path, typer.Argument(help="A manifest, from results/SCALE/plan.")],
    out: Annotated[Path, typer.Option(help="The PNG file to write; an SVG is written beside it.")],
    cell: Annotated[
        str | None,
        typer.Option(help="The test to draw, such as kitti-caltech, for figures of one test."),
    ] = None,
    log: Log = None,
) -> None:
    """Draw a figure from collected scores. docs/figures.md explains how to read each figure."""
    from stp.render.figures.kinds import render

    render(kind, manifest, manifest.parent.parent, out, cell)
    say_wrote(log, out, f" and {out.with_suffix('.svg').name}")
