"""Write how distances between sets depend on their size (Unterthiner et al. 2018, Figure 4)."""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stp.collect.conventions import convention_of
from stp.collect.sensitivity import looked
from stp.metrics import frechet
from stp.metrics.perceptual import SetDistance
from stp.page.commands import table_command
from stp.page.figure_style import TEXT_WIDTH, new_figure, paper_size, save, styles, whose
from stp.page.grid import Grid, Item, Section
from stp.plan.manifest import Cell, Manifest, load_manifest
from stp.render.tables.distortion_study import (
    WHERE,
    cells_of,
    conventions_of,
    of_whom,
    warnings,
    where,
    write,
)
from stp.score.sample_size import (
    SHARES,
    AtSize,
    Extrapolated,
    extrapolate,
    why_no_line,
    within,
)

HEADER = (
    *WHERE,
    *("metric", "features", "n", "mean", "standard_error", "standard_deviation", "tries"),
    *("infinite", "infinite_standard_error", "why_not_infinite"),
)
"""Columns of the CSV file."""


@dataclass(frozen=True)
class Sizes:
    """Distances between subsets of the real clips of a dataset that share none.

    Attributes:
        dataset: of the test.
        convention: of the metric.
        features: that a network has for each clip.
        sizes: by the number of clips in each of two subsets, ascending.
        infinite: of two halves, extrapolated; None for the reason `why`.
        why: there is no value at infinite N; empty if there is.
    """

    dataset: str
    convention: str
    features: int
    sizes: list[AtSize]
    infinite: Extrapolated | None
    why: str


def sizes_of(plan: Manifest) -> list[Sizes]:
    """Compute them for each dataset and each distance between sets that has values.

    Raises:
        StpError: a file is missing or damaged.
    """
    found = []
    for dataset, cell in cells_of(plan).items():
        for convention in conventions_of(plan, cell):
            if convention in plan.unavailable:
                continue
            metric = convention_of(cell, convention)
            if not isinstance(metric, SetDistance):
                continue
            real = looked(cell, convention).pair.observed
            sizes = [len(real) // share for share in SHARES if len(real) // share >= 2]
            if not sizes or not np.isfinite(real).all():
                continue
            # Random halves are of one distribution: at infinite N there is no distance.
            order = np.random.default_rng(0).permutation(len(real))
            half = len(real) // 2
            first, second = real[order[:half]], real[order[half : 2 * half]]
            why = why_no_line(half, real.shape[1])
            line = None if why else extrapolate(first, second, metric.distance)
            own = within(real, sizes, metric.distance)
            found.append(Sizes(dataset, convention, real.shape[1], own, line, why))
    return found


def too_few(cell: Cell, convention: str) -> str:
    """Say where the clips of a dataset cannot fill the covariance of a Frechet distance."""
    metric = convention_of(cell, convention)
    if not isinstance(metric, SetDistance) or metric.distance is not frechet.distance:
        return ""
    clips, features = looked(cell, convention).pair.observed.shape
    if clips > features:
        return ""
    return f"{clips} clips cannot fill a covariance of {features} x {features}: it is singular"


def render_sample_size(manifest: Path, out: Path) -> None:
    """Write ``<name>.csv``, and beside it .md, .tex, .html, and the figure as .png and .svg.

    Args:
        manifest: of the dimension whose models are distortions.
        out: path of the CSV file.

    Raises:
        StpError: a file is missing or damaged.
    """
    plan = load_manifest(manifest)
    found = sizes_of(plan)
    cells = cells_of(plan)
    rows = [
        [*where(plan, cells[of.dataset]), of.convention, of.features, at.n, at.mean,
         at.standard_error, at.deviation, at.tries,
         None if of.infinite is None else of.infinite.value,
         None if of.infinite is None else of.infinite.standard_error, of.why]
        for of in found
        for at in of.sizes
    ]  # fmt: skip
    _draw(plan, found, out.with_suffix(".png"))
    write(out, HEADER, rows, _grid(plan, found, out.stem))


def _grid(plan: Manifest, found: list[Sizes], name: str) -> Grid:
    cells = cells_of(plan)
    sections = []
    for dataset in dict.fromkeys(of.dataset for of in found):
        own = [of for of in found if of.dataset == dataset]
        rows: list[list[str | Item]] = []
        notes = []
        for of in own:
            rows += [
                [of.convention, str(at.n), f"{at.mean:.4g}", f"{at.standard_error:.2g}",
                 str(at.tries)]
                for at in of.sizes
            ]  # fmt: skip
            if of.infinite is not None:
                rows.append(
                    [of.convention, "∞", f"{of.infinite.value:.4g}",
                     f"{of.infinite.standard_error:.2g}", ""]
                )  # fmt: skip
            elif of.why:
                notes.append(f"{of.convention}, at infinite N: {of.why}")
            if reason := too_few(cells[dataset], of.convention):
                notes.append(f"{of.convention}, of all clips: {reason}")
        sections.append(
            Section(
                title=plan.names.datasets[dataset],
                columns=["metric", "N of each subset", "mean", "standard error", "tries"],
                rows=rows,
                numeric=[False, *[True] * 4],
                notes=notes,
            )
        )
    return Grid(
        name=name,
        title=f"Distances between sets by their size, scale {plan.scale}",
        intro=[
            "Distances between two subsets of the real clips that share none (Figure 4 of the "
            "paper): both were drawn from one set, so what is there is bias and chance. Values of "
            "different N are not to be compared, and nothing here ranks them.",
            "∞: the value at infinite N of two halves, from a line over 1 / N, with the standard "
            "error of the jackknife; this is our addition.",
            of_whom(plan),
        ],
        sections=sections,
        warnings=warnings(sorted({of.convention for of in found})),
        legend=[
            f"`{convention}`: {plan.conventions[convention].description}"
            for convention in dict.fromkeys(of.convention for of in found)
        ],
        made_from="Made from what networks see of the real clips by "
        f"`{table_command(plan.scale, name)}`.",
    )


def _draw(plan: Manifest, found: list[Sizes], out: Path) -> None:
    """Draw mean and standard error over N: a panel for each metric, a line for each dataset."""
    conventions = list(dict.fromkeys(of.convention for of in found))
    across = 3
    down = max(1, math.ceil(len(conventions) / across))
    looks = styles([plan.names.datasets[one] for one in cells_of(plan)])
    with paper_size():
        figure = new_figure(TEXT_WIDTH, 1.8 * down + 0.8)
        places = figure.subplots(down, across, squeeze=False).ravel()
        for place in places[len(conventions) :]:
            place.set_axis_off()
        for place, convention in zip(places, conventions, strict=False):
            for of in (one for one in found if one.convention == convention):
                name = plan.names.datasets[of.dataset]
                place.errorbar(
                    [at.n for at in of.sizes], [at.mean for at in of.sizes],
                    [at.standard_error for at in of.sizes], label=name, capsize=2,
                    color=looks[name].colour, marker=looks[name].marker,
                )  # fmt: skip
                if of.infinite is not None:
                    place.axhline(of.infinite.value, color=looks[name].colour, linestyle=":")
            place.set_title(convention)
            place.set_xscale("log", base=2)
            sizes = sorted({at.n for of in found if of.convention == convention for at in of.sizes})
            place.set_xticks(sizes, [str(n) for n in sizes])
            place.set_xlabel("N of each subset")
        if conventions:
            handles, labels = places[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=4)
        limit = "dotted: at infinite N; " if any(of.infinite for of in found) else ""
        save(figure, out, f"{limit}{whose(plan.cells)}")
