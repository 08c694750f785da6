"""Distances between sets of clips as a function of set size (Unterthiner et al. 2018, Figure 4)."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stp.collect.conventions import convention_of
from stp.collect.sensitivity import read_distance_features
from stp.metrics import frechet
from stp.metrics.set_distance import SetDistance
from stp.page.figure_style import TEXT_WIDTH, new_figure, origin_note, paper_size, save, styles
from stp.page.grid import Item, Section
from stp.plan.manifest import Cell, Manifest, load_manifest
from stp.render.tables.distortion_study import (
    WHERE,
    cells_of,
    conventions_of,
    origin_columns,
    write_study,
)
from stp.score.sample_size import (
    SHARES,
    AtSize,
    Extrapolated,
    distances_within,
    extrapolate,
    why_no_line,
)

HEADER = (
    *WHERE,
    *("metric", "features", "n", "mean", "standard_error", "standard_deviation", "tries"),
    *("infinite", "infinite_standard_error", "why_not_infinite"),
)
"""Columns of the CSV file."""


@dataclass(frozen=True)
class Sizes:
    """Distances between disjoint subsets of the real clips of a dataset.

    Attributes:
        dataset: name of the dataset.
        convention: name of the convention (exact definition of a metric), such as one of FVD.
        features: number of network features of each clip.
        sizes: distances between subsets, ascending in the number of clips in each subset.
        infinite: distance between two halves, extrapolated to infinitely many clips; None if there
            is a reason in `why`.
        why: reason why `infinite` is None; else empty.
    """

    dataset: str
    convention: str
    features: int
    sizes: list[AtSize]
    infinite: Extrapolated | None
    why: str


def sizes_of(plan: Manifest) -> list[Sizes]:
    """Compute distances between subsets of the real clips, for several sizes of the subsets.

    Returns:
        distances for each dataset and each convention (exact definition of a metric) that compares
        sets of clips, such as FVD.

    Raises:
        StpError: a file is missing or damaged.
    """
    all_sizes = []
    for dataset, cell in cells_of(plan).items():
        for convention in conventions_of(plan, cell):
            if convention in plan.unavailable:
                continue
            metric = convention_of(cell, convention)
            if not isinstance(metric, SetDistance):
                continue
            real = read_distance_features(cell, convention).pair.observed
            sizes = [len(real) // share for share in SHARES if len(real) // share >= 2]
            if not sizes or not np.isfinite(real).all():
                continue
            # Random halves have one distribution: at infinite N their distance is 0.
            order = np.random.default_rng(0).permutation(len(real))
            half = len(real) // 2
            first, second = real[order[:half]], real[order[half : 2 * half]]
            why = why_no_line(half, real.shape[1])
            line = None if why else extrapolate(first, second, metric.distance)
            at_sizes = distances_within(real, sizes, metric.distance)
            all_sizes.append(Sizes(dataset, convention, real.shape[1], at_sizes, line, why))
    return all_sizes


def too_few(cell: Cell, convention: str) -> str:
    """Reason that a dataset has too few clips for a Frechet distance; empty if it has enough."""
    metric = convention_of(cell, convention)
    if not isinstance(metric, SetDistance) or metric.distance is not frechet.distance:
        return ""
    clips, features = read_distance_features(cell, convention).pair.observed.shape
    if clips > features:
        return ""
    return f"{clips} clips cannot fill a covariance of {features} x {features}: it is singular"


def render_sample_size(manifest: Path, out: Path) -> None:
    """Write table and figure of distances between sets of clips, such as FVD, by size of the sets.

    Both sets are disjoint subsets of the real clips of a dataset, as in Figure 4 of Unterthiner et
    al. (2018). The table is written as .csv, .md, .tex and .html, the figure as .png and .svg.

    Args:
        manifest: path of the manifest (JSON list of the results) of the distortion study whose real
            clips are used.
        out: path of the CSV file; the other files are written next to it.

    Raises:
        StpError: a file is missing or damaged.
    """
    plan = load_manifest(manifest)
    all_sizes = sizes_of(plan)
    cells = cells_of(plan)
    rows = [
        [*origin_columns(plan, cells[sizes.dataset]), sizes.convention, sizes.features, at.n,
         at.mean, at.standard_error, at.deviation, at.tries,
         None if sizes.infinite is None else sizes.infinite.value,
         None if sizes.infinite is None else sizes.infinite.standard_error, sizes.why]
        for sizes in all_sizes
        for at in sizes.sizes
    ]  # fmt: skip
    _draw(plan, all_sizes, out.with_suffix(".png"))
    write_study(
        plan, out, HEADER, rows, _sections(plan, all_sizes),
        title="Distances between sets by their size",
        intro=[
            "Distances between two disjoint subsets of the real clips (Figure 4 of the paper). "
            "Both are drawn from one set, so the distance is bias and chance. Values of different "
            "N must not be compared.",
            "∞: the distance of two halves at infinite N, extrapolated by a line over 1 / N, with "
            "the jackknife's standard error (not in the paper).",
        ],
        conventions=(sizes.convention for sizes in all_sizes),
        made_from="network features of the real clips",
    )  # fmt: skip


def _sections(plan: Manifest, all_sizes: list[Sizes]) -> list[Section]:
    cells = cells_of(plan)
    sections = []
    for dataset in dict.fromkeys(sizes.dataset for sizes in all_sizes):
        of_dataset = [sizes for sizes in all_sizes if sizes.dataset == dataset]
        rows: list[list[str | Item]] = []
        notes = []
        for sizes in of_dataset:
            rows += [
                [sizes.convention, str(at.n), f"{at.mean:.4g}", f"{at.standard_error:.2g}",
                 str(at.tries)]
                for at in sizes.sizes
            ]  # fmt: skip
            if sizes.infinite is not None:
                rows.append(
                    [sizes.convention, "∞", f"{sizes.infinite.value:.4g}",
                     f"{sizes.infinite.standard_error:.2g}", ""]
                )  # fmt: skip
            elif sizes.why:
                notes.append(f"{sizes.convention}, at infinite N: {sizes.why}")
            if reason := too_few(cells[dataset], sizes.convention):
                notes.append(f"{sizes.convention}, of all clips: {reason}")
        sections.append(
            Section(
                title=plan.names.datasets[dataset],
                columns=["metric", "N of each subset", "mean", "standard error", "tries"],
                rows=rows,
                numeric=[False, *[True] * 4],
                notes=notes,
            )
        )
    return sections


def _draw(plan: Manifest, all_sizes: list[Sizes], out: Path) -> None:
    conventions = list(dict.fromkeys(sizes.convention for sizes in all_sizes))
    across = 3
    down = max(1, math.ceil(len(conventions) / across))
    style_of = styles([plan.names.datasets[dataset] for dataset in cells_of(plan)])
    with paper_size():
        figure = new_figure(TEXT_WIDTH, 1.8 * down + 0.8)
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for axes in panels[len(conventions) :]:
            axes.set_axis_off()
        for axes, convention in zip(panels, conventions, strict=False):
            for sizes in (every for every in all_sizes if every.convention == convention):
                name = plan.names.datasets[sizes.dataset]
                axes.errorbar(
                    [at.n for at in sizes.sizes], [at.mean for at in sizes.sizes],
                    [at.standard_error for at in sizes.sizes], label=name, capsize=2,
                    color=style_of[name].colour, marker=style_of[name].marker,
                )  # fmt: skip
                if sizes.infinite is not None:
                    axes.axhline(sizes.infinite.value, color=style_of[name].colour, linestyle=":")
            axes.set_title(convention)
            axes.set_xscale("log", base=2)
            of_convention = [sizes for sizes in all_sizes if sizes.convention == convention]
            numbers = sorted({at.n for sizes in of_convention for at in sizes.sizes})
            axes.set_xticks(numbers, [str(n) for n in numbers])
            axes.set_xlabel("N of each subset")
        if conventions:
            handles, labels = panels[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=4)
        limit = "dotted: at infinite N; " if any(sizes.infinite for sizes in all_sizes) else ""
        save(figure, out, f"{limit}{origin_note(plan.cells)}")
