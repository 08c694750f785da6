"""Rank correlations of metrics with success over models."""

from pathlib import Path

from stp.collect.success import ALL, Interval, Ranking, rankings
from stp.page.commands import table_command
from stp.page.grid import Grid, Item, Section
from stp.plan.manifest import Manifest, load_manifest
from stp.render.tables.distortion_study import cells_of, of_whom, warnings, where, write

HEADER = (
    *("source", "scale", "protocol", "dataset", "subset", "setting"),
    *("metric", "success", "models", "correlation"),
    *("clips_ci95_low", "clips_ci95_high", "models_ci95_low", "models_ci95_high", "why"),
)
"""Columns of the CSV file."""


def render_success_correlations(manifest: Path, out: Path) -> None:
    """Write ``<name>.csv``, and beside it .md, .tex and .html.

    Args:
        manifest: a dimension with datasets for which success is known.
        out: path of the CSV file.

    Raises:
        StpError: a file is missing or damaged.
    """
    plan = load_manifest(manifest)
    all_rankings = rankings(plan)
    cells = cells_of(plan)
    rows = [
        [*(["", plan.scale, "", ALL] if r.dataset == ALL else where(plan, cells[r.dataset])),
         r.subset, r.setting, r.convention, r.success, r.models, r.correlation,
         *(r.over_clips or (None, None)), *(r.over_models or (None, None)), r.why]
        for r in all_rankings
    ]  # fmt: skip
    write(out, HEADER, rows, _grid(plan, all_rankings, out.stem))


def _grid(plan: Manifest, all_rankings: list[Ranking], name: str) -> Grid:
    groups: dict[tuple[str, ...], list[Ranking]] = {}
    for ranking in all_rankings:
        groups.setdefault(
            (ranking.dataset, ranking.subset, ranking.setting, ranking.success), []
        ).append(ranking)
    sections = [_section(plan, alike) for alike in groups.values()]
    without = sorted(set(cells_of(plan)) - {ranking.dataset for ranking in all_rankings})
    return Grid(
        name=name,
        title=f"Metrics beside success, scale {plan.scale}",
        intro=[
            "Spearman's rank correlation of each metric with success over models: 1 for a metric "
            "that ranks models as success does, whichever direction is better. Variants, "
            "snapshots and seeds count as models.",
            "Two 95 % intervals: over clips, for other test clips and the same models; over "
            "models, for other models. A few models say little about others, however many clips "
            "there are.",
            of_whom(plan),
        ],
        sections=sections,
        warnings=warnings(sorted({ranking.convention for ranking in all_rankings})),
        legend=[
            *(f"`{c}`: {plan.conventions[c].description}" for c in _conventions(all_rankings)),
            *(f"{plan.names.datasets[ranking]}: success is not known there" for ranking in without),
        ],
        made_from=f"Made from scores and features by `{table_command(plan.scale, name)}`.",
    )


def _conventions(all_rankings: list[Ranking]) -> list[str]:
    named = [
        name
        for ranking in all_rankings
        for name in (ranking.convention, ranking.success)
        if "." in name
    ]
    return list(dict.fromkeys(named))


def _section(plan: Manifest, alike: list[Ranking]) -> Section:
    """One dataset, or all of them, and one convention of success: a metric in each row."""
    first = alike[0]
    rows: list[list[str | Item]] = [
        [
            ranking.convention,
            str(ranking.models),
            "–" if ranking.correlation is None else f"{ranking.correlation:.2f}",
            _ends(ranking.over_clips),
            _ends(ranking.over_models),
        ]
        for ranking in alike
    ]
    case = ", ".join(filter(None, (first.subset, first.setting)))
    return Section(
        title=(
            "Mean of all datasets"
            if first.dataset == ALL
            else f"{plan.names.datasets[first.dataset]} ({case})"
        )
        + f", {first.success}",
        columns=["metric", "models", "correlation", "over clips", "over models"],
        rows=rows,
        numeric=[False, True, True, True, True],
        notes=[f"{ranking.convention}: {ranking.why}" for ranking in alike if ranking.why],
    )


def _ends(interval: Interval | None) -> str:
    return "–" if interval is None else f"[{interval.low:.2f}, {interval.high:.2f}]"
