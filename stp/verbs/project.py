"""Verbs that set up a project."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from stp.verbs.app import Panel, app, examples
from stp.verbs.output import print_lines


@app.command(rich_help_panel=Panel.SETUP, epilog=examples("stp init my-benchmark"))
def init(
    folder: Annotated[Path, typer.Argument(help="The folder to make; it must be new or empty.")],
) -> None:
    """Make a folder to work in, with configuration, profiles, a Snakefile and room for own code.

    The configuration is a copy for you to edit. The workflow stays that of the installed package.
    """
    from stp.upkeep import new_project

    new_project.create(folder)
    print_lines(
        [
            f"{folder} is ready. The demo runs with",
            f"    cd {shlex.quote(str(folder))}",
            "    stp plan short_term",
            "    snakemake --profile local results/tables/short_term.csv",
        ]
    )
