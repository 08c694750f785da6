"""Compute values of table columns that score artefacts do not contain.

These are values at one lead time or over a range of lead times, and standard deviations over
samples. They are computed from the sums and samples in score artefacts, so that a column can be
added to a table without scoring again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stp.collect.cluster_sums import Place, Sums, read_sums, series_of
from stp.collect.conventions import convention_of
from stp.collect.leave_one_out import LeftOut, without_each
from stp.collect.score_rows import ScoreRow, score_rows
from stp.metrics.metric import every_component, first_component
from stp.options.score import Bootstrap
from stp.plan.column import Part, lead_range
from stp.plan.manifest import Cell
from stp.score import bootstrap
from stp.score.tables import read_samples

VALUES = ("mean", "median")
"""Statistics that can be a convention's value; each convention has one of them."""


def compute_column_scores(
    cell: Cell,
    scores: pa.Table,
    wanted: Sequence[tuple[str, Part]],
    options: Mapping[str, Any],
) -> list[ScoreRow]:
    """Compute the scores of a result (cell) that table columns need and that are not stored.

    Args:
        cell: the cell: one model on one dataset in one setting.
        scores: stored scores of the cell, of the conventions of the columns.
        wanted: for each column, its convention (exact definition of a metric, such as
            ``ssim.range2``), and its part (lead times, or standard deviation).
        options: options of the bootstrap, from the score recipe.

    Returns:
        for a part with lead times, the value over these and both ends of its 95 % interval; for a
        standard deviation, one row. A missing value has a reason.

    Raises:
        StpError: a file of the artefact is damaged.
    """
    results: dict[tuple[object, ...], ScoreRow] = {}
    means = [Place(c, part) for c, part in wanted if part.leads and part.statistic == "mean"]
    sums = read_sums(cell, dict.fromkeys(means))
    left_out = without_each(sums)
    resampled = Bootstrap(**options)
    by_convention = {
        convention: list(score_rows(scores.filter(pc.equal(scores["convention"], convention))))
        for convention in {c for c, _ in wanted}
    }
    for convention, part in wanted:
        rows = by_convention[convention]
        overall = [row for row in rows if row.lead is None and row.statistic in VALUES]
        place = Place(convention, part._replace(statistic="mean"))
        number = series_of(overall, place)
        if number is None:
            continue  # the table marks the value as missing
        overall_row = replace(overall[number], leads=part.leads)
        new: Iterable[ScoreRow] = ()
        if part.statistic == "mean" and part.leads:
            why = _why_missing(rows, overall_row, part.leads)
            new = _mean(overall_row, sums[place], left_out[place], resampled, why)
        elif part.statistic == "sd":
            has_row = any(
                row.statistic == "sd" and row.lead is None and row.series == overall_row.series
                for row in rows
            )
            if part.leads or not has_row:
                leads = max((row.lead for row in rows if row.lead), default=None)
                new = [_sd(cell, overall_row, part, leads)]
        for row in new:
            results.setdefault((row.series, row.leads, row.statistic), row)
    return list(results.values())


def _why_missing(rows: Iterable[ScoreRow], whole: ScoreRow, leads: str) -> str:
    """The reason for the missing value at the first lead time that has none."""
    steps = lead_range(leads)
    reasons = [
        row.reason
        for row in rows
        if row.statistic == "mean" and row.lead in steps and row.reason
        if row.series == whole.series
    ]
    return reasons[0] if reasons else whole.reason or "undefined"


def _mean(
    whole: ScoreRow, sums: Sums | str, left_out: LeftOut | str, options: Bootstrap, why: str
) -> list[ScoreRow]:
    if isinstance(sums, str):
        return [_row(whole, "mean", None, whole.n, sums)]
    clusters = len(sums.counts)
    value = float(
        sums.values_from_means(sums.sums.sum(axis=0) / sums.counts.sum())[..., sums.series]
    )
    if not np.isfinite(value):
        ends = ("ci95_low", "ci95_high")
        absent = [_row(whole, name, None, clusters, why) for name in ends]
        return [_row(whole, "mean", None, whole.n, why), *absent]
    reason, both = None, (None, None)
    if isinstance(left_out, str):
        reason = left_out
    else:
        interval = bootstrap.intervals(
            np.array([value]),
            left_out.values[:, None],
            sums.counts,
            resamples=options.resamples,
            seed=options.seed,
            share=sums.metric.share,
        )[:, 0]
        if np.isnan(interval).any():
            reason = bootstrap.no_spread(clusters)
        else:
            both = interval.tolist()
    return [
        _row(whole, "mean", value, whole.n, None),
        *(
            _row(whole, name, end, clusters, reason)
            for name, end in zip(("ci95_low", "ci95_high"), both, strict=True)
        ),
    ]


def _sd(cell: Cell, whole: ScoreRow, part: Part, leads: int | None) -> ScoreRow:
    """Make the row of a standard deviation (ddof 0) over samples, each averaged over lead times."""
    metric = convention_of(cell, whole.convention)
    finish = getattr(metric, "finish", None)
    if finish not in (first_component, every_component) or whole.threshold is not None:
        return _row(whole, "sd", None, whole.n, "single samples have no value")
    samples = _samples(cell, whole.convention, whole.variable)
    if samples is None:
        return _row(whole, "sd", None, whole.n, "the scores of single samples were not kept")
    available = [value is not None for value in samples[0]]  # forecasts may lack lead times
    last = len(available) if leads is None else leads
    first = last - len(available) + 1
    steps = lead_range(part.leads) if part.leads else range(first, last + 1)
    if steps[-1] > last:
        return _row(whole, "sd", None, len(samples), f"there are only {last} lead times")
    chosen = [lead - first for lead in steps if lead >= first and available[lead - first]]
    if not chosen:
        why = f"the forecasts have no lead times {part.leads}"
        return _row(whole, "sd", None, len(samples), why)
    values = np.array(samples, np.float64)[:, chosen]
    sd = float(values.mean(axis=1).std())
    if not np.isfinite(sd):
        return _row(whole, "sd", None, len(values), "a sample has no value")
    return _row(whole, "sd", sd, len(values), None)


def _samples(cell: Cell, convention: str, variable: str | None) -> list[Any] | None:
    for folder in cell.folders(("scores", "perceptual")):
        samples = read_samples(folder, convention, variable)
        if samples is not None:
            return samples[1]
    return None


def _row(
    whole: ScoreRow, statistic: str, value: float | None, n: int | None, reason: str | None
) -> ScoreRow:
    return replace(whole, statistic=statistic, value=value, n=n, reason=reason)
