"""Table of correlations between metrics (Unterthiner et al. 2018, section 4.5).

Points of a correlation are cells: the clips of a dataset with one distortion at one intensity, for
which each metric has a value.
"""

from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau, pearsonr

from stp.collect.published import read_published
from stp.collect.sensitivity import Curve, curves
from stp.page.grid import Item, Section
from stp.plan.manifest import Manifest, load_manifest
from stp.render.tables.distortion_study import write_study

PAIRS = {"FVD": "fvd.predicted_only", "SSIM": "ssim.range1", "PSNR": "psnr.pooled"}
"""The metrics of section 4.5 of the paper."""
ALL = "all"
FEWEST = 3
"""Minimum number of cells for a correlation."""

HEADER = (
    *("scale", "dataset", "metric", "with", "cells"),
    *("pearson", "kendall", "published_pearson", "published_kendall", "why"),
)
"""Columns of the CSV file."""


class Pair(NamedTuple):
    """The correlations of two metrics over the cells of a dataset, or of all datasets.

    A cell is one distortion of the dataset's clips at one intensity.

    Attributes:
        dataset: the dataset of the cells; `ALL` for all datasets together.
        one, other: exact definitions (conventions) of the two metrics, such as ``ssim.range2``.
        cells: number of cells with values of both metrics.
        pearson: Pearson's correlation; None if there is a reason in `why`.
        kendall: Kendall's tau-b; None if there is a reason in `why`.
        printed: texts of Pearson's and of Kendall's correlation as printed in the paper; each is
            empty if not printed.
        why: reason why a correlation is missing; empty if none is missing.
    """

    dataset: str
    one: str
    other: str
    cells: int
    pearson: float | None
    kendall: float | None
    printed: tuple[str, str]
    why: str


def pairs_of(plan: Manifest) -> list[Pair]:
    """Correlate each pair of metrics over the distortions of each dataset, and of all datasets.

    Raises:
        StpError: a file is missing or damaged.
    """
    all_curves = curves(plan, resamples=0)
    printed = {
        (value.model, value.run, value.metric): value.raw
        for value in read_published(plan.published)
        if value.dimension == "correlation"
    }
    datasets = list(dict.fromkeys(curve.dataset for curve in all_curves))
    names = {convention: name for name, convention in PAIRS.items()}
    pairs = []
    for dataset in [*datasets, ALL]:
        values = _values([c for c in all_curves if dataset in (c.dataset, ALL)])
        for first, other in combinations(values, 2):
            a, b = names.get(first, ""), names.get(other, "")
            published = [
                (printed.get((a, b, kind)) or printed.get((b, a, kind)) or "")
                if dataset == ALL
                else ""
                for kind in ("pearson", "kendall")
            ]
            pairs.append(_pair(dataset, first, other, values, (published[0], published[1])))
    return pairs


def _values(all_curves: list[Curve]) -> dict[str, dict[tuple[str, str, int], float]]:
    """Values by convention, then by dataset, distortion and intensity."""
    values: dict[str, dict[tuple[str, str, int], float]] = {}
    for curve in all_curves:
        of_convention = values.setdefault(curve.convention, {})
        for intensity, value in zip(curve.intensities, curve.values, strict=True):
            if value is not None:
                of_convention[curve.dataset, curve.distortion, intensity] = value
    return values


def _pair(
    dataset: str,
    one: str,
    other: str,
    values: dict[str, dict[tuple[str, str, int], float]],
    printed: tuple[str, str],
) -> Pair:
    shared = sorted(values[one].keys() & values[other].keys())
    x, y = (np.array([values[name][place] for place in shared]) for name in (one, other))
    why = ""
    if len(shared) < FEWEST:
        why = f"{len(shared)} cells have both; a correlation needs {FEWEST}"
    elif np.ptp(x) == 0 or np.ptp(y) == 0:
        why = "one of the metrics is constant"
    if why:
        return Pair(dataset, one, other, len(shared), None, None, printed, why)
    pearson, kendall = float(pearsonr(x, y).statistic), float(kendalltau(x, y).statistic)
    return Pair(dataset, one, other, len(shared), pearson, kendall, printed, "")


def render_metric_correlations(manifest: Path, out: Path) -> None:
    """Write the table as .csv, .md, .tex and .html.

    Args:
        manifest: path of the manifest (JSON list of the results) of the distortion study.
        out: path of the CSV file; the other files are written next to it.

    Raises:
        StpError: a file is missing or damaged.
    """
    plan = load_manifest(manifest)
    pairs = pairs_of(plan)
    rows = [
        [plan.scale, p.dataset, p.one, p.other, p.cells, p.pearson, p.kendall, *p.printed, p.why]
        for p in pairs
    ]
    write_study(
        plan, out, HEADER, rows, _sections(plan, pairs),
        title="Correlation of metrics over all cells",
        intro=[
            "Pearson's correlation and Kendall's tau-b of pairs of metrics over all distortions "
            "and intensities: within each dataset, and over all of them.",
            "published: section 4.5 of the paper, over models trained on its datasets. Ours are "
            "over distortions, which is another quantity.",
        ],
        conventions=(name for pair in pairs for name in (pair.one, pair.other)),
        made_from="scores of distorted clips",
        legend=(),
    )  # fmt: skip


def _sections(plan: Manifest, pairs: list[Pair]) -> list[Section]:
    sections = []
    for dataset in dict.fromkeys(pair.dataset for pair in pairs):
        of_dataset = [pair for pair in pairs if pair.dataset == dataset]
        rows: list[list[str | Item]] = [
            [p.one, p.other, str(p.cells), f"{p.pearson:.3f}", p.printed[0], f"{p.kendall:.3f}",
             p.printed[1]]
            for p in of_dataset
            if p.pearson is not None and p.kendall is not None
        ]  # fmt: skip
        sections.append(
            Section(
                title="All datasets" if dataset == ALL else plan.names.datasets[dataset],
                columns=["metric", "with", "cells", "Pearson", "published", "Kendall",
                         "published "],
                rows=rows,
                numeric=[False, False, *[True] * 5],
                notes=[
                    *(f"{p.one} with {p.other}: {p.why}" for p in of_dataset if p.why and p.cells),
                    *(f"{name}: {reason}" for name, reason in plan.unavailable.items()),
                ],
            )
        )  # fmt: skip
    return sections
