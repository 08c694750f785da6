"""Table and figure of the noise study: rank correlations of metrics with distortion intensity."""

from pathlib import Path

import numpy as np

from stp.collect.sensitivity import Curve, curves
from stp.page.figure_style import TEXT_WIDTH, new_figure, origin_note, paper_size, save, styles
from stp.page.grid import Section
from stp.plan.manifest import Manifest, load_manifest
from stp.render.tables.distortion_study import (
    WHERE,
    cells_of,
    origin_columns,
    section_of_distortions,
    write_study,
)
from stp.render.tables.sample_size import too_few

HEADER = (
    *(*WHERE, "n", "metric", "distortion"),
    *("correlation", "ci95_low", "ci95_high", "why"),
)
"""Columns of the CSV file, besides the value at each intensity."""


def render_noise_study(manifest: Path, out: Path) -> None:
    """Write table and figure of how metrics follow the intensity of distortions.

    True clips are distorted in several ways, each at several intensities. The table has Spearman's
    rank correlation between the value of a metric and the intensity, for each dataset, metric and
    distortion. It is 1 for a metric that gets worse with every step, whichever direction is better.
    The table is written as .csv, .md, .tex and .html, the figure as .png and .svg.

    Args:
        manifest: path of the manifest (JSON list of the results) of the noise study.
        out: path of the CSV file; the other files are written next to it.

    Raises:
        StpError: a file is missing or damaged; nothing is written.
    """
    plan = load_manifest(manifest)
    all_curves = curves(plan)
    most = max(len(curve.intensities) for curve in all_curves)
    header = [*HEADER, *(f"at intensity {i + 1}" for i in range(most))]
    draw(plan, all_curves, out.with_suffix(".png"))
    datasets = dict.fromkeys(curve.dataset for curve in all_curves)
    write_study(
        plan, out, header, _rows(plan, all_curves, most),
        [_section(plan, [c for c in all_curves if c.dataset == name]) for name in datasets],
        title="Noise study",
        intro=[
            "Spearman's rank correlation of each metric with the intensity of each distortion: 1 "
            "for a metric that gets worse with every step, whichever direction is better; 0 for "
            "one that does not react. In brackets: the 95 % interval over resampled clusters of "
            "clips.",
            "The paper shows its correlations as a figure without numbers (Figure 6), so none are "
            "printed beside ours.",
        ],
        conventions=(curve.convention for curve in all_curves),
        made_from="scores and features of distorted clips",
    )  # fmt: skip


def _rows(plan: Manifest, all_curves: list[Curve], most: int) -> list[list[object]]:
    cells = cells_of(plan)
    return [
        [*origin_columns(plan, cells[curve.dataset]), curve.n, curve.convention, curve.distortion,
         curve.correlation, curve.low, curve.high, curve.why, *curve.values,
         *[None] * (most - len(curve.values))]
        for curve in all_curves
    ]  # fmt: skip


def _section(plan: Manifest, curves_here: list[Curve]) -> Section:
    cell = cells_of(plan)[curves_here[0].dataset]
    texts = {}
    for curve in curves_here:
        text = "–" if curve.correlation is None else f"{curve.correlation:.2f}"
        if curve.correlation is not None and curve.low is not None and curve.high is not None:
            text += f" [{curve.low:.2f}, {curve.high:.2f}]"
        texts[curve.convention, curve.distortion] = text
    title = f"{plan.names.datasets[curves_here[0].dataset]}, {curves_here[0].n} clips"
    reasons = {(curve.convention, curve.distortion): curve.why for curve in curves_here}
    section = section_of_distortions(plan, title, texts, reasons)
    for convention in dict.fromkeys(convention for convention, _ in texts):
        if convention not in plan.unavailable and (reason := too_few(cell, convention)):
            section.notes.append(f"{convention}: {reason}")
    return section


def draw(plan: Manifest, all_curves: list[Curve], out: Path) -> None:
    """Draw a heat map of rank correlations for each dataset and, below it, the metrics' curves.

    A correlation is that of a metric with the intensity of a distortion. A curve shows the values
    of a metric over this intensity.

    Args:
        plan: manifest of the noise study.
        all_curves: values of a metric at each intensity of a distortion; there is a curve for each
            dataset, metric and distortion.
        out: path of the PNG file; an SVG file is written next to it.
    """
    datasets = list(dict.fromkeys(curve.dataset for curve in all_curves))
    distortions = list(dict.fromkeys(curve.distortion for curve in all_curves))
    conventions = list(dict.fromkeys(curve.convention for curve in all_curves))
    valued = [
        c
        for c in conventions
        if any(f.correlation is not None and f.convention == c for f in all_curves)
    ]
    across = 3
    down = -(-len(valued) // across)
    style_of = styles([plan.names.models[distortion] for distortion in distortions])
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
            curves_here = [curve for curve in all_curves if curve.dataset == dataset]
            axes = parts[2 * number].subplots()
            at = {(c.convention, c.distortion): c.correlation for c in curves_here}
            grid = np.array(
                [[at.get((c, d)) for d in distortions] for c in conventions], dtype=float
            )
            axes.imshow(grid, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
            for (y, x), value in np.ndenumerate(grid):
                text = "–" if np.isnan(value) else f"{value:.2f}"
                colour = "white" if abs(np.nan_to_num(value)) > 0.7 else "black"
                axes.text(x, y, text, ha="center", va="center", fontsize=6, color=colour)
            titles = [plan.names.models[distortion] for distortion in distortions]
            axes.set_xticks(range(len(distortions)), titles, rotation=30, ha="right")
            axes.set_yticks(range(len(conventions)), conventions)
            axes.set_title(f"{plan.names.datasets[dataset]}: rank correlation with the intensity")
            panels = parts[2 * number + 1].subplots(max(down, 1), across, squeeze=False).ravel()
            for panel in panels[len(valued) :]:
                panel.set_axis_off()
            for panel, convention in zip(panels, valued, strict=False):
                panel.set_title(convention)
                for curve in curves_here:
                    if curve.convention == convention and None not in curve.values:
                        name = plan.names.models[curve.distortion]
                        style = style_of[name]
                        panel.plot(
                            curve.intensities, [float(v or 0) for v in curve.values], label=name,
                            color=style.colour, linestyle=style.line, marker=style.marker,
                        )  # fmt: skip
                sizes = [
                    abs(v) for c in curves_here if c.convention == convention for v in c.values if v
                ]
                panel.set_yscale("symlog", linthresh=max(sizes) / 1000)
                panel.set_xlabel("intensity")
            if valued and number == len(datasets) - 1:
                handles, labels = panels[0].get_legend_handles_labels()
                figure.legend(handles, labels, loc="outside lower center", ncols=4)
        save(figure, out, origin_note(plan.cells))
