"""The verb that shows a cell of the results, an artefact, or a prepared dataset."""

import functools
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from stp.verbs import output
from stp.verbs.app import DEMO, ConfigFile, Panel, app, examples, load_plan

if TYPE_CHECKING:
    from stp.collect.cell import Artefact, Missing
    from stp.collect.schema import CellRow

command = functools.partial(app.command, rich_help_panel=Panel.RESULTS)

OF_DATASET = ("split", "clips", "variable", "level")
OF_CELL = ("format", "sample")


@command(
    epilog=examples(
        "stp show simvpv2/kth",
        "stp show short_term/convlstm/moving_mnist/seed-0",
        "stp show 4afec1",
        "stp show simvpv2/kth -f json",
        "stp show kth",
        "stp show moving_mnist --split train --clips 6 --out results/show/digits.gif",
        "stp show weatherbench --variable z --level 500",
        "stp show atlas_eth --out results/show/tracks.pdf",
        "stp show social_force/atlas_transfer/released --sample 20 --out results/show/20.gif",
    )
)
def show(
    context: typer.Context,
    what: Annotated[
        str,
        typer.Argument(
            help="A cell (words of its key separated by /, or the beginning of a fingerprint), or "
            "a prepared dataset."
        ),
    ],
    kind: Annotated[
        Literal["cell", "dataset"] | None,
        typer.Option("--as", help="Whether a cell or a dataset is meant, if WHAT could be both."),
    ] = None,
    database: output.Database = output.DATABASE,
    format: output.Format = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The file to write. For a cell: .csv, .json, .md, .parquet. For a dataset: "
            ".png (all frames), .gif or .mp4, and for people also .svg and .pdf (default:"
            " results/show/<name>.png).",
        ),
    ] = None,
    configfile: ConfigFile = DEMO,
    split: Annotated[
        str, typer.Option(help="For a dataset: train, val, test or another of its splits.")
    ] = "test",
    clips: Annotated[
        int, typer.Option(help="For a dataset: number of clips, spread over the split.", min=1)
    ] = 4,
    variable: Annotated[
        str | None,
        typer.Option(help="For a dataset: draw only this variable."),
    ] = None,
    level: Annotated[str | None, typer.Option(help="Level of the variable, such as 500.")] = None,
    sample: Annotated[
        int | None,
        typer.Option(help="For a cell of people: draw this scenario, from 0, with its prediction."),
    ] = None,
) -> None:
    """Show everything known about a cell of the results, or a few clips of a dataset.

    For people: all tracks of a dataset over its map, or with --sample a
    scenario of a cell.

    For a cell: the source of the data, all overall scores with intervals, what
    is missing and why, costs, artefacts, logs, and the command that makes it
    again. csv and parquet have its scores, json has everything. The name of a
    dataset draws the dataset.

    Exit codes: 0 shown, 1 an error (also: several cells match), 2 wrong usage,
    3 no such cell, or none of its scores.
    """
    if _is_dataset(what, kind, database, configfile):
        _only_for("a cell", OF_CELL, context)
        _draw(what, out, configfile, split, clips, variable, level)
        return
    _only_for("a dataset", OF_DATASET, context)
    from stp.collect import cell
    from stp.render.tables import cell_page

    if sample is not None:
        _draw_scenario(database, what, cell.find(database, what), sample, out)
        return
    output_format = output.chosen(format, out)
    match = cell.find(database, what)
    if isinstance(match, cell.Missing):
        _show_missing(match, output_format, out)
    elif isinstance(match, cell.Artefact):
        _show_artefact(database, match, output_format, out)
    elif output_format in ("csv", "parquet"):
        output.put_answer(database, cell.OVERALL, output_format, out, cell.key_of(match))
    elif output_format == "json":
        output.put_json(cell.about(database, match), out)
    else:
        page = cell_page.of_cell(database, cell.about(database, match))
        output.put_grid(page, output_format, out)


def _draw_scenario(
    database: Path,
    what: str,
    match: "CellRow | Artefact | Missing",
    sample: int,
    out: Path | None,
) -> None:
    """Draw one scenario of a cell of people.

    Raises:
        StpError: there is no such cell or scenario, or the cell is not about people.
    """
    from stp.collect.connection import opened
    from stp.collect.schema import CellRow
    from stp.collect.stored_cells import kinds, stored_cell, titles
    from stp.core.errors import StpError
    from stp.render.pictures import trajectories
    from stp.render.pictures.people import write

    if not isinstance(match, CellRow):
        raise StpError(f"{what}: --sample needs a cell that has scores", remedy="name a cell")
    with opened(database) as connection:
        cell = stored_cell(match, kinds(connection)[match.tested_on])
        names = titles(connection)
    if not trajectories.on_map(cell):
        raise StpError(
            f"{what}: --sample draws people on a map, and this cell is about {cell.kind}",
            remedy=f"stp draw pictures results/{match.scale}/plan/{match.dimension}.json "
            f"--cell {match.case_name} --samples {sample} --out {out or 'sample.png'}",
        )
    target = out or Path("results/show") / f"{match.model}-{match.case_name}-{sample}.png"
    write(trajectories.compare([cell], names).scene(sample), target)
    print(target)


def _show_missing(missing: "Missing", format: output.FormatName, out: Path | None) -> None:
    """Show why a cell has no scores, and exit with the code for that."""
    from stp.core import exit_codes
    from stp.render.tables import cell_page

    if format == "json":
        output.put_json(missing, out)
    elif format in ("csv", "parquet"):
        row = vars(missing.row)
        output.put_rows(list(row), [tuple(row.values())], format, out)
    else:
        output.put_grid(cell_page.of_missing(missing), format, out)
    raise typer.Exit(exit_codes.NOTHING)


def _show_artefact(
    database: Path, artefact: "Artefact", format: output.FormatName, out: Path | None
) -> None:
    from stp.collect import cell
    from stp.render.tables import cell_page

    if format == "json":
        output.put_json(artefact, out)
    elif format in ("csv", "parquet"):
        conditions = [f"{stage}_fingerprint = ?" for stage in cell.STAGES]
        conditions += [f"list_contains({part}_fingerprints, ?)" for part in cell.LISTS]
        sql = f"FROM cells WHERE {' OR '.join(conditions)}"
        values = [artefact.row.fingerprint] * len(conditions)
        output.put_answer(database, sql, format, out, values)
    else:
        steps = [
            step
            for step in cell.lineage(database, artefact.cells)
            if step.fingerprint == artefact.row.fingerprint
        ]
        output.put_grid(cell_page.of_artefact(database, artefact, steps), format, out)


def _is_dataset(what: str, kind: str | None, database: Path, configfile: Path) -> bool:
    """Whether a word is the name of a dataset.

    Raises:
        StpError: it may also mean a model or a fingerprint.
        NothingFoundError: nothing has this name.
    """
    if kind is not None:
        return kind == "dataset"
    if "/" in what:
        return False
    from stp.core.errors import StpError, nearest
    from stp.core.exit_codes import NothingFoundError
    from stp.plan import config
    from stp.plan.checked_config import entries

    meanings = _meanings(what, database)
    datasets = set(entries("datasets"))
    if what not in datasets and not meanings:  # the scale file may declare it
        datasets = set(config.load(configfile).datasets)
        if what not in datasets:
            raise NothingFoundError(
                f"{what!r} is no dataset, no cell of {database} and no fingerprint",
                remedy=nearest(what, datasets),
            )
    others = [meaning for meaning in meanings if meaning != TESTED]
    if what in datasets and others:
        raise StpError(
            f"{what!r} is both a dataset and {others[0]}",
            remedy=f"`stp show {what} --as dataset`, or `stp show {what} --as cell`",
        )
    return what in datasets


TESTED = "a dataset of cells"


def _meanings(what: str, database: Path) -> list[str]:
    """The possible meanings of a word in the results."""
    if not database.is_file():
        return []
    from stp.collect import cell

    cells = cell.every(database)
    meanings = []
    if cell.is_fingerprint(what) and cell.has_fingerprint(cells, what):
        meanings.append("the beginning of a fingerprint")
    if any(row.model == what for row in cells):
        meanings.append("a model")
    if not meanings and cell.matching(cells, [what]):
        meanings.append(TESTED)
    return meanings


def _only_for(what: str, names: tuple[str, ...], context: typer.Context) -> None:
    """Refuse options that do not apply.

    Raises:
        typer.BadParameter: such an option is set.
    """
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"only for {what}", param_hint=f"--{name}")


def _draw(
    name: str,
    out: Path | None,
    configfile: Path,
    split: str,
    clips: int,
    variable: str | None,
    level: str | None,
) -> None:
    """Draw a few clips of a prepared dataset as one picture or a movie, and print its counts."""
    from stp.inspect.descriptions import describer_of
    from stp.plan.checked_config import check_known
    from stp.render.pictures.prepared import show as draw

    plan = load_plan(configfile)
    check_known(name, plan.config.datasets, "dataset", "stp show")
    samples = plan.recipes.samples(name)
    about = describer_of(samples)
    if out is None and samples.has_scenarios and about.facts(plan, name) is not None:
        _, shared = about.describe(plan, name, leakage=True)
        assert shared is not None
        output.print_lines(
            about.lines(plan, name, shared, shutil.get_terminal_size((150, 20)).columns)
        )
    target = out or Path("results/show") / f"{name}.png"
    draw(
        plan,
        name,
        target,
        split=split,
        clips=clips,
        variable=variable,
        level=level,
    )
    print(target)
