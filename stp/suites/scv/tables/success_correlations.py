"""Write how metrics rank models beside how success ranks them."""

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
        manifest: of a dimension with models of datasets whose success is known.
        out: path of the CSV file.

    Raises:
        StpError: a file is missing or damaged.
    """
    plan = load_manifest(manifest)
    found = rankings(plan)
    cells = cells_of(plan)
    rows = [
        [*(["", plan.scale, "", ALL] if one.dataset == ALL else where(plan, cells[one.dataset])),
         one.subset, one.setting, one.convention, one.success, one.models, one.correlation,
         *(one.over_clips or (None, None)), *(one.over_models or (None, None)), one.why]
        for one in found
    ]  # fmt: skip
    write(out, HEADER, rows, _grid(plan, found, out.stem))


def _grid(plan: Manifest, found: list[Ranking], name: str) -> Grid:
    places: dict[tuple[str, ...], list[Ranking]] = {}
    for one in found:
        places.setdefault((one.dataset, one.subset, one.setting, one.success), []).append(one)
    sections = [_section(plan, here) for here in places.values()]
    without = sorted(set(cells_of(plan)) - {one.dataset for one in found})
    return Grid(
        name=name,
        title=f"Metrics beside success, scale {plan.scale}",
        intro=[
            "Spearman's rank correlation of each metric with success over models: 1 is a metric "
            "that ranks models as their success does, whichever direction is better. Variants, "
            "snapshots and seeds count as models.",
            "Two intervals (95 %): over clips, what other test clips would give for the same "
            "models; over models, what other models would give. A few models say little about "
            "others, however many clips there are.",
            of_whom(plan),
        ],
        sections=sections,
        warnings=warnings(sorted({one.convention for one in found})),
        legend=[
            *(f"`{c}`: {plan.conventions[c].description}" for c in _conventions(found)),
            *(f"{plan.names.datasets[one]}: success is not known there" for one in without),
        ],
        made_from=f"Made from scores and features by `{table_command(plan.scale, name)}`.",
    )


def _conventions(found: list[Ranking]) -> list[str]:
    named = [name for one in found for name in (one.convention, one.success) if "." in name]
    return list(dict.fromkeys(named))


def _section(plan: Manifest, found: list[Ranking]) -> Section:
    """One dataset, or all of them, and one convention of success: a metric in each row."""
    one = found[0]
    rows: list[list[str | Item]] = [
        [
            ranking.convention,
            str(ranking.models),
            "–" if ranking.correlation is None else f"{ranking.correlation:.2f}",
            _ends(ranking.over_clips),
            _ends(ranking.over_models),
        ]
        for ranking in found
    ]
    case = ", ".join(filter(None, (one.subset, one.setting)))
    return Section(
        title=(
            "Mean of all datasets"
            if one.dataset == ALL
            else f"{plan.names.datasets[one.dataset]} ({case})"
        )
        + f", {one.success}",
        columns=["metric", "models", "correlation", "over clips", "over models"],
        rows=rows,
        numeric=[False, True, True, True, True],
        notes=[f"{ranking.convention}: {ranking.why}" for ranking in found if ranking.why],
    )


def _ends(interval: Interval | None) -> str:
    return "–" if interval is None else f"[{interval.low:.2f}, {interval.high:.2f}]"
