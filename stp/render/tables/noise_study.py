"""Write the noise study: rank correlations of every metric with the intensity of distortions."""

from collections.abc import Iterable
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau, pearsonr

from stp.collect.published import PublishedValue, read_published
from stp.collect.sensitivity import Curve, curves, looked
from stp.core.disk import beside
from stp.metrics.perceptual import SetDistance
from stp.page.figure_style import TEXT_WIDTH, new_figure, paper_size, save, styles, whose
from stp.page.formats import texts
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.plan.manifest import Manifest, columns_of, load_manifest
from stp.plan.setting import read_shown
from stp.score.conventions import find
from stp.score.sample_size import SHARES, extrapolate, why_no_line, within

HEADER = (
    *("source", "scale", "protocol", "dataset", "n", "metric", "distortion"),
    *("correlation", "ci95_low", "ci95_high", "why"),
)
"""Columns of the CSV file, besides the value at each intensity."""

PAIRS = {"FVD": "fvd.predicted_only", "SSIM": "ssim.range1", "PSNR": "psnr.pooled"}
"""What section 4.5 of the paper correlates."""


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
    pages = texts(_grid(plan, found, out.stem), out.parent)
    with ExitStack() as stack:  # unwinds from the last to the first: the CSV stands for all
        for path, text in {out: _csv(plan, found), **pages}.items():
            temporary = stack.enter_context(beside(path))
            temporary.write_text(text, encoding="utf-8", newline="\n")
        draw(plan, found, out.with_suffix(".png"))


def _csv(plan: Manifest, found: list[Curve]) -> str:
    most = max(len(curve.intensities) for curve in found)
    about = {cell.key.tested_on: cell for cell in plan.cells}
    lines: list[list[Any]] = [[*HEADER, *(f"at intensity {i + 1}" for i in range(most))]]
    for one in found:
        cell = about[one.dataset]
        values = [_number(value) for value in one.values]
        lines.append(
            [cell.source, plan.scale, cell.protocol, one.dataset, one.n, one.convention,
             one.distortion, _number(one.correlation), _number(one.low), _number(one.high), one.why,
             *values, *[""] * (most - len(values))]
        )  # fmt: skip
    return csv_text(lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def _grid(plan: Manifest, found: list[Curve], name: str) -> Grid:
    datasets = list(dict.fromkeys(curve.dataset for curve in found))
    sections = [_section(plan, [c for c in found if c.dataset == one]) for one in datasets]
    sections += _sample_sizes(plan)
    published = read_published(plan.published)
    for one in [*datasets, None] if len(datasets) > 1 else [None]:
        here = [curve for curve in found if one in (None, curve.dataset)]
        title = "all datasets" if one is None else plan.names.datasets[one]
        sections.append(_correlations(here, published, title))
    random = sorted({c.convention for c in found if ".random_" in c.convention})
    warnings = []
    if random:
        warnings.append(
            "WARNING: networks with random weights have learnt nothing: "
            f"{', '.join(random)} say nothing about the quality of videos, nor about the metric "
            "that they stand for."
        )
    return Grid(
        name=name,
        title=f"Noise study, scale {plan.scale}",
        intro=[
            "Spearman's rank correlation of each metric with the intensity of each distortion: 1 "
            "is a metric that gets worse with every step, whichever direction is better; 0 one "
            "that does not see it. In brackets the 95 % interval over resampled clusters of clips.",
            "The paper shows its correlations as a figure without numbers (Figure 6), so there are "
            "none beside ours.",
            f"Numbers are of {whose(plan.cells)}.",
        ],
        sections=sections,
        warnings=warnings,
        legend=[
            f"`{convention}`: {plan.conventions[convention].description}"
            for convention in dict.fromkeys(curve.convention for curve in found)
        ],
        made_from="Made from scores and features of distorted clips by "
        f"`snakemake results/tables/{name}.csv`.",
    )


def _section(plan: Manifest, found: list[Curve]) -> Section:
    """One dataset: a metric in each row, a distortion in each column."""
    distortions = list(dict.fromkeys(curve.distortion for curve in found))
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
                where = "" if all(c.why == curve.why for c in of.values()) else f", {title}"
                notes[f"{convention}{where}: {curve.why}"] = None
        rows.append(row)
    return Section(
        title=f"{plan.names.datasets[found[0].dataset]}, {found[0].n} clips",
        columns=["metric", *(plan.names.models[one] for one in distortions)],
        rows=rows,
        numeric=[False, *[True] * len(distortions)],
        notes=list(notes),
    )


def _sample_sizes(plan: Manifest) -> list[Section]:
    """Distances between disjoint subsets of the real clips of each dataset, by their size."""
    sections = []
    for dataset, cell in {one.key.tested_on: one for one in plan.cells}.items():
        rows: list[list[str | Item]] = []
        notes: dict[str, None] = {}
        for shown in columns_of(plan, plan.dimension, cell).values():
            convention = read_shown(shown).convention
            metric = find(convention)
            if not isinstance(metric, SetDistance) or convention in plan.unavailable:
                continue
            real = looked(cell, convention).pair.observed
            sizes = [len(real) // share for share in SHARES if len(real) // share >= 2]
            if not sizes or not np.isfinite(real).all():
                continue
            # Random halves are of one distribution: at infinite N there is no distance.
            order = np.random.default_rng(0).permutation(len(real))
            first, second = (
                real[order[part : part + len(real) // 2]] for part in (0, len(real) // 2)
            )
            limit = why_no_line(len(first), real.shape[1])
            if limit:
                notes[f"{convention}, at infinite N: {limit}"] = None
            else:
                line = extrapolate(first, second, metric.distance)
                notes[
                    f"{convention}, at infinite N: {line.value:.4g} ± {line.standard_error:.2g}, "
                    "of two halves; our addition"
                ] = None
            rows += [
                [convention, str(one.n), f"{one.mean:.4g}", f"{one.standard_error:.2g}",
                 str(one.tries)]
                for one in within(real, sizes, metric.distance)
            ]  # fmt: skip
        if rows:
            sections.append(
                Section(
                    title=f"Sample size, {plan.names.datasets[dataset]}",
                    columns=["metric", "N of each subset", "mean", "standard error", "tries"],
                    rows=rows,
                    numeric=[False, *[True] * 4],
                    intro=[
                        "Distances between two subsets of the real clips that share none (Figure "
                        "4 of the paper): both were drawn from one set, so what is there is bias "
                        "and chance. Values of different N are not to be compared.",
                    ],
                    notes=list(notes),
                )
            )
    return sections


def _correlations(found: list[Curve], published: Iterable[PublishedValue], title: str) -> Section:
    """Pearson's and Kendall's correlation of pairs of metrics over all cells."""
    printed = {
        (value.model, value.run, value.metric): value.raw
        for value in published
        if value.dimension == "correlation"
    }
    names = {convention: name for name, convention in PAIRS.items()}
    values: dict[str, dict[tuple[str, str, int], float]] = {}
    for curve in found:
        for intensity, value in zip(curve.intensities, curve.values, strict=True):
            if value is not None:
                place = curve.dataset, curve.distortion, intensity
                values.setdefault(curve.convention, {})[place] = value
    rows: list[list[str | Item]] = []
    for one, other in combinations(values, 2):
        shared = sorted(values[one].keys() & values[other].keys())
        pair = [[values[name][place] for place in shared] for name in (one, other)]
        if len(shared) < 3 or any(np.ptp(each) == 0 for each in pair):
            continue
        row: list[str | Item] = [one, other, str(len(shared))]
        for kind, test in (("pearson", pearsonr), ("kendall", kendalltau)):
            a, b = names.get(one, ""), names.get(other, "")
            their = printed.get((a, b, kind)) or printed.get((b, a, kind)) or ""
            row += [f"{test(*pair).statistic:.3f}", their]
        rows.append(row)
    return Section(
        title=f"Correlation of metrics over all cells, {title}",
        columns=["metric", "with", "cells", "Pearson", "published", "Kendall", "published "],
        rows=rows,
        numeric=[False, False, *[True] * 5],
        notes=[
            "published: section 4.5 of the paper, over models that were trained on its datasets; "
            "ours are over distortions, so the two are not the same quantity"
        ],
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
