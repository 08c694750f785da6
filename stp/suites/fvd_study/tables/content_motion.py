"""The weight of motion against content in distances between sets."""

from pathlib import Path

import numpy as np

from stp.collect.content_motion import Compared, compare
from stp.page.commands import table_command
from stp.page.grid import Grid, Item, Section
from stp.plan.manifest import Manifest, load_manifest
from stp.render.tables.distortion_study import (
    WHERE,
    cells_of,
    legend,
    of_whom,
    warnings,
    where,
    write,
)

HEADER = (
    *WHERE,
    *("metric", "distortion_of_time", "intensity", "error_by_frame", "value"),
    *("of_space_at_equal_error", "distortions_of_space", "ratio", "why"),
)
"""Columns of the CSV file."""


def render_content_motion(manifest: Path, out: Path) -> None:
    """Write ``<name>.csv``, and beside it .md, .tex and .html.

    Args:
        manifest: the dimension whose models are distortions.
        out: path of the CSV file.

    Raises:
        StpError: a file is missing or damaged.
    """
    plan = load_manifest(manifest)
    comparisons = compare(plan)
    cells = cells_of(plan)
    rows = [
        [*where(plan, cells[c.dataset]), c.convention, c.distortion, c.intensity, c.error, c.value,
         _mean(c), " ".join(c.of_space), c.ratio, c.why]
        for c in comparisons
    ]  # fmt: skip
    write(out, HEADER, rows, _grid(plan, comparisons, out.stem))


def _mean(comparison: Compared) -> float | None:
    return float(np.mean(list(comparison.of_space.values()))) if comparison.of_space else None


def _grid(plan: Manifest, comparisons: list[Compared], name: str) -> Grid:
    sections = []
    for dataset in dict.fromkeys(comparison.dataset for comparison in comparisons):
        of_dataset = [comparison for comparison in comparisons if comparison.dataset == dataset]
        distortions = list(dict.fromkeys(comparison.distortion for comparison in of_dataset))
        rows: list[list[str | Item]] = []
        notes: dict[str, None] = {}
        for convention in dict.fromkeys(comparison.convention for comparison in of_dataset):
            row: list[str | Item] = [convention]
            for distortion in distortions:
                of_distortion = [
                    o
                    for o in of_dataset
                    if (o.convention, o.distortion) == (convention, distortion)
                ]
                ratios = [
                    comparison.ratio for comparison in of_distortion if comparison.ratio is not None
                ]
                row.append(f"{np.median(ratios):.2g}" if ratios else "–")
            rows.append(row)
            missing = {
                comparison.distortion: comparison.why
                for comparison in of_dataset
                if comparison.convention == convention and comparison.why
            }
            same = len(missing) == len(distortions) and len(set(missing.values())) == 1
            for distortion, why in missing.items():
                where_text = "" if same else f", {plan.names.models[distortion]}"
                notes[f"{convention}{where_text}: {why}"] = None
        sections.append(
            Section(
                title=plan.names.datasets[dataset],
                columns=["metric", *(plan.names.models[comparison] for comparison in distortions)],
                rows=rows,
                numeric=[False, *[True] * len(distortions)],
                notes=list(notes),
            )
        )
    return Grid(
        name=name,
        title=f"Content against motion, scale {plan.scale}",
        intro=[
            "Each distortion of time is compared with distortions of space of the same error per "
            "frame (mean squared error to the real clip, from PSNR): the metric's value divided by "
            "their mean value, median over intensities. 1: the metric considers both equally bad; "
            "0: it does not react to motion. Unbiased distances, such as KVD, may be negative by "
            "chance.",
            "The CSV file has every intensity. The idea is from Ge et al. (2024), who use other "
            "distortions; values at equal error are interpolated linearly between intensities.",
            of_whom(plan),
        ],
        sections=sections,
        warnings=warnings(sorted({comparison.convention for comparison in comparisons})),
        legend=legend(plan, (comparison.convention for comparison in comparisons)),
        made_from=f"Made from scores of distorted clips by `{table_command(plan.scale, name)}`.",
    )
