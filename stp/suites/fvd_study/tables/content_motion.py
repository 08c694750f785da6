"""Write how much motion weighs beside content in distances between sets."""

from pathlib import Path

import numpy as np

from stp.collect.content_motion import Compared, compare
from stp.page.commands import table_command
from stp.page.grid import Grid, Item, Section
from stp.plan.manifest import Manifest, load_manifest
from stp.render.tables.distortion_study import WHERE, cells_of, of_whom, warnings, where, write

HEADER = (
    *WHERE,
    *("metric", "distortion_of_time", "intensity", "error_by_frame", "value"),
    *("of_space_at_equal_error", "distortions_of_space", "ratio", "why"),
)
"""Columns of the CSV file."""


def render_content_motion(manifest: Path, out: Path) -> None:
    """Write ``<name>.csv``, and beside it .md, .tex and .html.

    Args:
        manifest: of the dimension whose models are distortions.
        out: path of the CSV file.

    Raises:
        StpError: a file is missing or damaged.
    """
    plan = load_manifest(manifest)
    found = compare(plan)
    cells = cells_of(plan)
    rows = [
        [*where(plan, cells[one.dataset]), one.convention, one.distortion, one.intensity,
         one.error, one.value, _mean(one), " ".join(one.of_space), one.ratio, one.why]
        for one in found
    ]  # fmt: skip
    write(out, HEADER, rows, _grid(plan, found, out.stem))


def _mean(one: Compared) -> float | None:
    return float(np.mean(list(one.of_space.values()))) if one.of_space else None


def _grid(plan: Manifest, found: list[Compared], name: str) -> Grid:
    sections = []
    for dataset in dict.fromkeys(one.dataset for one in found):
        here = [one for one in found if one.dataset == dataset]
        distortions = list(dict.fromkeys(one.distortion for one in here))
        rows: list[list[str | Item]] = []
        notes: dict[str, None] = {}
        for convention in dict.fromkeys(one.convention for one in here):
            row: list[str | Item] = [convention]
            for distortion in distortions:
                own = [o for o in here if (o.convention, o.distortion) == (convention, distortion)]
                ratios = [one.ratio for one in own if one.ratio is not None]
                row.append(f"{np.median(ratios):.2g}" if ratios else "–")
            rows.append(row)
            missing = {
                one.distortion: one.why for one in here if one.convention == convention and one.why
            }
            same = len(missing) == len(distortions) and len(set(missing.values())) == 1
            for distortion, why in missing.items():
                place = "" if same else f", {plan.names.models[distortion]}"
                notes[f"{convention}{place}: {why}"] = None
        sections.append(
            Section(
                title=plan.names.datasets[dataset],
                columns=["metric", *(plan.names.models[one] for one in distortions)],
                rows=rows,
                numeric=[False, *[True] * len(distortions)],
                notes=list(notes),
            )
        )
    return Grid(
        name=name,
        title=f"Content against motion, scale {plan.scale}",
        intro=[
            "Each distortion of time beside distortions of space that have the same error by frame "
            "(mean squared error to the real clip, read from PSNR): the value of the metric over "
            "the mean value of these, the median over intensities. 1 is a metric that holds both "
            "for equally bad, 0 one that sees no motion. Distances without a bias, as KVD, may be "
            "negative by chance.",
            "The CSV file has every intensity. The idea is that of Ge et al. (2024), whose "
            "distortions are others; values at equal error lie in a straight line between those of "
            "intensities.",
            of_whom(plan),
        ],
        sections=sections,
        warnings=warnings(sorted({one.convention for one in found})),
        legend=[
            f"`{convention}`: {plan.conventions[convention].description}"
            for convention in dict.fromkeys(one.convention for one in found)
        ],
        made_from=f"Made from scores of distorted clips by `{table_command(plan.scale, name)}`.",
    )
