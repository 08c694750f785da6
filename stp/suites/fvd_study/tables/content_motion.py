"""Table of how strongly distances between sets of clips weigh motion against content.

Distortions of time (the order of frames) are compared with distortions of space (each frame) that
have the same error per frame.
"""

from pathlib import Path

import numpy as np

from stp.collect.content_motion import Compared, compare
from stp.page.grid import Section
from stp.plan.manifest import Manifest, load_manifest
from stp.render.tables.distortion_study import (
    WHERE,
    cells_of,
    origin_columns,
    section_of_distortions,
    write_study,
)

HEADER = (
    *WHERE,
    *("metric", "distortion_of_time", "intensity", "error_by_frame", "value"),
    *("of_space_at_equal_error", "distortions_of_space", "ratio", "why"),
)
"""Columns of the CSV file."""


def render_content_motion(manifest: Path, out: Path) -> None:
    """Write tables of how strongly distances between sets weigh motion against content.

    The files are .csv, .md, .tex and .html. There is a table for each dataset, with a row for each
    distance (such as FVD) and a column for each distortion of time. An entry is a ratio: the value
    of the distance for this distortion, divided by its mean value for distortions of space that
    have the same error per frame. 1 means that the distance considers both equally bad, 0 that it
    does not react to motion.

    Args:
        manifest: path of the manifest (JSON list of the results) of the distortion study.
        out: path of the CSV file; the other files are written next to it.

    Raises:
        StpError: a file is missing or damaged.
    """
    plan = load_manifest(manifest)
    comparisons = compare(plan)
    cells = cells_of(plan)
    rows = [
        [*origin_columns(plan, cells[c.dataset]), c.convention, c.distortion, c.intensity, c.error,
         c.value, _mean(c), " ".join(c.of_space), c.ratio, c.why]
        for c in comparisons
    ]  # fmt: skip
    write_study(
        plan, out, HEADER, rows, _sections(plan, comparisons),
        title="Content against motion",
        intro=[
            "Each distortion of time is compared with distortions of space of the same error per "
            "frame (mean squared error to the real clip, from PSNR): the metric's value divided by "
            "their mean value, median over intensities. 1: the metric considers both equally bad; "
            "0: it does not react to motion. Unbiased distances, such as KVD, may be negative by "
            "chance.",
            "The CSV file has every intensity. The idea is from Ge et al. (2024), who use other "
            "distortions; values at equal error are interpolated linearly between intensities.",
        ],
        conventions=(comparison.convention for comparison in comparisons),
        made_from="scores of distorted clips",
    )  # fmt: skip


def _mean(comparison: Compared) -> float | None:
    return float(np.mean(list(comparison.of_space.values()))) if comparison.of_space else None


def _sections(plan: Manifest, comparisons: list[Compared]) -> list[Section]:
    sections = []
    for dataset in dict.fromkeys(comparison.dataset for comparison in comparisons):
        ratios: dict[tuple[str, str], list[float]] = {}
        reasons: dict[tuple[str, str], str] = {}
        for c in comparisons:
            if c.dataset == dataset:
                of_place = ratios.setdefault((c.convention, c.distortion), [])
                of_place += [] if c.ratio is None else [c.ratio]
                if c.why:
                    reasons[c.convention, c.distortion] = c.why
        texts = {
            place: f"{np.median(values):.2g}" if values else "–" for place, values in ratios.items()
        }
        sections.append(section_of_distortions(plan, plan.names.datasets[dataset], texts, reasons))
    return sections
