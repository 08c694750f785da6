"""Write the noise study: rank correlations of every metric with the intensity of distortions."""

from pathlib import Path
from typing import Any

import numpy as np

from stp.collect.sensitivity import Curve, curves
from stp.page.commands import table_command
from stp.page.figure_style import TEXT_WIDTH, new_figure, paper_size, save, styles, whose
from stp.page.grid import Grid, Item, Section
from stp.plan.manifest import Manifest, load_manifest
from stp.render.tables.distortion_study import WHERE, cells_of, of_whom, warnings, where, write
from stp.render.tables.sample_size import too_few

HEADER = (
    *(*WHERE, "n", "metric", "distortion"),
    *("correlation", "ci95_low", "ci95_high", "why"),
)
"""Columns of the CSV file, besides the value at each intensity."""


def render_noise_study(manifest: Path, out: Path) -> None:
    """Write ``<name>.csv``, and beside it .md, .tex, .html, and the figure as .png and .svg.

    Args:
        manifest: of the dimension whose models are distortions.
        out: path of the CSV file.

    Raises:
        StpError: a file is missing or damaged; nothing is written.
    """
    plan = load_manifest(manifest)
    found = curves(plan)
    most = max(len(curve.intensities) for curve in found)
    header = [*HEADER, *(f"at intensity {i + 1}" for i in range(most))]
    draw(plan, found, out.with_suffix(".png"))
    write(out, header, _rows(plan, found, most), _grid(plan, found, out.stem))


def _rows(plan: Manifest, found: list[Curve], most: int) -> list[list[Any]]:
    cells = cells_of(plan)
    return [
        [*where(plan, cells[one.dataset]), one.n, one.convention, one.distortion, one.correlation,
         one.low, one.high, one.why, *one.values, *[None] * (most - len(one.values))]
        for one in found
    ]  # fmt: skip


def _grid(plan: Manifest, found: list[Curve], name: str) -> Grid:
    datasets = list(dict.fromkeys(curve.dataset for curve in found))
    sections = [_section(plan, [c for c in found if c.dataset == one]) for one in datasets]
    return Grid(
        name=name,
        title=f"Noise study, scale {plan.scale}",
        intro=[
            "Spearman's rank correlation of each metric with the intensity of each distortion: 1 "
            "is a metric that gets worse with every step, whichever direction is better; 0 one "
            "that does not see it. In brackets the 95 % interval over resampled clusters of clips.",
            "The paper shows its correlations as a figure without numbers (Figure 6), so there are "
            "none beside ours.",
            of_whom(plan),
        ],
        sections=sections,
        warnings=warnings(sorted({curve.convention for curve in found})),
        legend=[
            f"`{convention}`: {plan.conventions[convention].description}"
            for convention in dict.fromkeys(curve.convention for curve in found)
        ],
        made_from="Made from scores and features of distorted clips by "
        f"`{table_command(plan.scale, name)}`.",
    )


def _section(plan: Manifest, found: list[Curve]) -> Section:
    """One dataset: a metric in each row, a distortion in each column."""
    distortions = list(dict.fromkeys(curve.distortion for curve in found))
    cell = cells_of(plan)[found[0].dataset]
    rows: list[list[str | Item]] = []
    notes: dict[str, None] = {}
    for convention in dict.fromkeys(curve.convention for curve in found):
        row: list[str | Item] = [convention]
        of = {curve.distortion: curve for curve in found if curve.convention == convention}
        for distortion in distortions:
            curve = of[distortion]
            if curve.correlation is None:
                row.append("–")
            elif curve.low is None or curve.high is None:
                row.append(f"{curve.correlation:.2f}")
            else:
                row.append(f"{curve.correlation:.2f} [{curve.low:.2f}, {curve.high:.2f}]")
            if curve.why:
                title = plan.names.models[distortion]
                place = "" if all(c.why == curve.why for c in of.values()) else f", {title}"
                notes[f"{convention}{place}: {curve.why}"] = None
        if convention not in plan.unavailable and (reason := too_few(cell, convention)):
            notes[f"{convention}: {reason}"] = None
        rows.append(row)
    return Section(
        title=f"{plan.names.datasets[found[0].dataset]}, {found[0].n} clips",
        columns=["metric", *(plan.names.models[one] for one in distortions)],
        rows=rows,
        numeric=[False, *[True] * len(distortions)],
        notes=list(notes),
    )


def draw(plan: Manifest, found: list[Curve], out: Path) -> None:
    """Draw the heat map of each dataset, and below it the curves of each metric that has values."""
    datasets = list(dict.fromkeys(curve.dataset for curve in found))
    distortions = list(dict.fromkeys(curve.distortion for curve in found))
    conventions = list(dict.fromkeys(curve.convention for curve in found))
    seen = [
        c
        for c in conventions
        if any(f.correlation is not None and f.convention == c for f in found)
    ]
    across = 3
    down = -(-len(seen) // across)
    looks = styles([plan.names.models[one] for one in distortions])
    with paper_size():
        heat = 0.22 * len(conventions) + 1.0
        figure = new_figure(TEXT_WIDTH, len(datasets) * (heat + 1.4 * down) + 0.8)
        parts = figure.subfigures(
            2 * len(datasets),
            1,
            height_ratios=[heat, 1.4 * max(down, 1)] * len(datasets),
            squeeze=False,
        )[:, 0]
        for number, dataset in enumerate(datasets):
            here = [curve for curve in found if curve.dataset == dataset]
            axes = parts[2 * number].subplots()
            at = {(c.convention, c.distortion): c.correlation for c in here}
            grid = np.array(
                [[at.get((c, d)) for d in distortions] for c in conventions], dtype=float
            )
            axes.imshow(grid, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
            for (y, x), value in np.ndenumerate(grid):
                text = "–" if np.isnan(value) else f"{value:.2f}"
                colour = "white" if abs(np.nan_to_num(value)) > 0.7 else "black"
                axes.text(x, y, text, ha="center", va="center", fontsize=6, color=colour)
            titles = [plan.names.models[one] for one in distortions]
            axes.set_xticks(range(len(distortions)), titles, rotation=30, ha="right")
            axes.set_yticks(range(len(conventions)), conventions)
            axes.set_title(f"{plan.names.datasets[dataset]}: rank correlation with the intensity")
            places = parts[2 * number + 1].subplots(max(down, 1), across, squeeze=False).ravel()
            for place in places[len(seen) :]:
                place.set_axis_off()
            for place, convention in zip(places, seen, strict=False):
                place.set_title(convention)
                for curve in here:
                    if curve.convention == convention and None not in curve.values:
                        name = plan.names.models[curve.distortion]
                        look = looks[name]
                        place.plot(
                            curve.intensities, [float(v or 0) for v in curve.values], label=name,
                            color=look.colour, linestyle=look.line, marker=look.marker,
                        )  # fmt: skip
                sizes = [abs(v) for c in here if c.convention == convention for v in c.values if v]
                place.set_yscale("symlog", linthresh=max(sizes) / 1000)
                place.set_xlabel("intensity")
            if seen and number == len(datasets) - 1:
                handles, labels = places[0].get_legend_handles_labels()
                figure.legend(handles, labels, loc="outside lower center", ncols=4)
        save(figure, out, whose(plan.cells))
