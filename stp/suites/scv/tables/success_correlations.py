"""Table of rank correlations over models between metrics and the success of predicted games.

It shows how well a metric ranks models, compared with rules that tell whether a video is possible.
"""

from pathlib import Path

from stp.collect.success import ALL, Interval, Ranking, rankings
from stp.page.grid import Item, Section
from stp.plan.manifest import Manifest, load_manifest
from stp.render.tables.distortion_study import (
    cells_of,
    explain_conventions,
    origin_columns,
    write_study,
)

HEADER = (
    *("source", "scale", "protocol", "dataset", "subset", "setting"),
    *("metric", "success", "models", "correlation"),
    *("clips_ci95_low", "clips_ci95_high", "models_ci95_low", "models_ci95_high", "why"),
)
"""Columns of the CSV file."""


def render_success_correlations(manifest: Path, out: Path) -> None:
    """Write the table of correlations of metrics with success as .csv, .md, .tex and .html.

    Success means that a predicted video of a game shows what has to happen by the rules, such as
    that units collect shards (`stp.collect.success`).

    Args:
        manifest: path of the manifest (JSON list of the results) of the scores of all models.
        out: path of the CSV file; the other files are written next to it.

    Raises:
        StpError: a file is missing or damaged.
    """
    plan = load_manifest(manifest)
    all_rankings = rankings(plan)
    cells = cells_of(plan)
    rows = [
        [*(["", plan.scale, "", ALL] if r.dataset == ALL
           else origin_columns(plan, cells[r.dataset])),
         r.subset, r.setting, r.convention, r.success, r.models, r.correlation,
         *(r.over_clips or (None, None)), *(r.over_models or (None, None)), r.why]
        for r in all_rankings
    ]  # fmt: skip
    groups: dict[tuple[str, ...], list[Ranking]] = {}
    for r in all_rankings:
        groups.setdefault((r.dataset, r.subset, r.setting, r.success), []).append(r)
    without = sorted(set(cells) - {ranking.dataset for ranking in all_rankings})
    write_study(
        plan, out, HEADER, rows, [_section(plan, alike) for alike in groups.values()],
        title="Metrics beside success",
        intro=[
            "Spearman's rank correlation of each metric with success over models: 1 for a metric "
            "that ranks models as success does, whichever direction is better. Variants, "
            "snapshots and seeds count as models.",
            "Two 95 % intervals: over clips, for other test clips and the same models; over "
            "models, for other models. A few models say little about others, however many clips "
            "there are.",
        ],
        conventions=(ranking.convention for ranking in all_rankings),
        made_from="scores and features",
        legend=[
            *explain_conventions(plan, _conventions(all_rankings)),
            *(f"{plan.names.datasets[name]}: success is not known there" for name in without),
        ],
    )  # fmt: skip


def _conventions(all_rankings: list[Ranking]) -> list[str]:
    named = [
        name
        for ranking in all_rankings
        for name in (ranking.convention, ranking.success)
        if "." in name
    ]
    return list(dict.fromkeys(named))


def _section(plan: Manifest, alike: list[Ranking]) -> Section:
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
