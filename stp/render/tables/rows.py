"""Make table rows from collected score rows: one per dataset and model, averaged over seeds."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from stp.collect.published import PublishedValue, of_cell, select_published
from stp.collect.score_rows import ScoreRow, score_rows
from stp.core.lock import COUNTS
from stp.options.score import CELL_KEYS
from stp.page.data_origin import FILES_OF_PAPER
from stp.page.digits import DIGITS
from stp.plan.cell_key import CellKey
from stp.plan.column import Column, Part
from stp.plan.data_origin import bytes_text
from stp.plan.manifest import (
    Cell,
    Manifest,
    columns_of,
    describe,
)
from stp.plan.setting import ROBUSTNESS, people_case, setting_of
from stp.render.tables import people

Place = tuple[CellKey, str, Part, str]
"""Cell key, convention, part and statistic."""
Overall = dict[Place, ScoreRow]
"""The chosen score row of each place."""


class PrintedValue(NamedTuple):
    """A value printed in a paper.

    Attributes:
        value: the value as a number.
        raw: text of the value as printed, with its standard deviation if there is one.
        note: reason why the value is doubtful; else empty.
        sd: printed standard deviation over test samples; None without one.
        sd_note: reason why `sd` is doubtful; else empty.
    """

    value: float
    raw: str
    note: str
    sd: float | None = None
    sd_note: str = ""


@dataclass(frozen=True)
class Entry:
    """The value of one column in one row.

    Attributes:
        convention: name of the convention.
        part: which values of the convention the column shows: variable, threshold, lead times and
            statistic.
        n: number of samples behind the value, the minimum over seeds; None without a value.
        value: mean over seeds; None if there is a ``reason``.
        low, high: ends of the 95 % interval over clusters, averaged over seeds; None without an
            interval.
        clusters: number of clusters behind the interval; None without an interval.
        seed_sd: sample standard deviation over seeds; None for fewer than two.
        published: value in the paper; None if it prints none.
        difference: difference from the published value; None if the comparison is not fair.
        reason: reason why the value or its interval is missing; empty if both exist.
        sd: standard deviation over test samples (ddof 0), averaged over seeds; None if not scored.
        unit: unit of the column, if it differs from the unit of the convention.
        digits: number of significant digits that pages show.
    """

    convention: str
    part: Part
    n: int | None
    value: float | None
    low: float | None
    high: float | None
    clusters: int | None
    seed_sd: float | None
    published: PrintedValue | None
    difference: float | None
    reason: str
    sd: float | None = None
    unit: str = ""
    digits: int = DIGITS


@dataclass(frozen=True)
class Row:
    """One row of a table: the values of one model on one dataset in one setting.

    Attributes:
        source: origin of the data: official, sample, synthetic or own.
        scale: name of the scale.
        protocol: name of the protocol, such as ``paper``.
        comparable: whether values may be compared with published values.
        leaky: whether training and test data share a video, person or period.
        dataset, model: titles of dataset and model, with what distinguishes the row from others,
            such as the setting.
        seeds: number of seeds; None for a deterministic model.
        samples: number of samples behind the values; the minimum if columns differ.
        entries: value of each column, by name of the column, such as ``SSIM`` or ``t2m WRMSE``.
        notes: remarks on the row, such as reasons for missing values.
        cells: cells with scores, one for each seed.
        key: key of the cells without their seed.
        counted: numbers of scenarios, people and episodes (groups of scenarios that overlap in
            time); None for other tasks than ``tracks``, and without scores.
        is_printed: whether the row has only published values, because the model has no cells.
        bytes_known_by: evidence that the data are official: ``checksums``, ``counts`` or
            ``stated``; None without such evidence, as for synthetic data and published rows.
    """

    source: str
    scale: str
    protocol: str
    comparable: bool
    leaky: bool
    dataset: str
    model: str
    seeds: int | None
    samples: int | None
    entries: dict[str, Entry]
    notes: list[str]
    cells: tuple[Cell, ...]
    key: CellKey
    counted: people.Counted | None = None
    is_printed: bool = False
    bytes_known_by: str | None = None

    @property
    def comparability(self) -> str:
        """Text on whether values are comparable to published ones; empty for published rows.

        It is ``yes``, ``NO``, or ``by counts`` if data are known by counts and sizes only.
        """
        if self.is_printed:
            return ""
        if not self.comparable:
            return "NO"
        return "by counts" if self.bytes_known_by == COUNTS else "yes"


def overall(scores: pa.Table, lead: int | None = None) -> Overall:
    """Select the score rows that a table can show, by the place in which it shows them.

    Columns of tables show one variable (``t2m``), one threshold (``16``), or all variables and
    thresholds together. So three kinds of rows are selected: those of a variable alone, those of a
    threshold alone, and those of neither. Rows of one level, and rows of both a variable and a
    threshold, are left out.

    If a cell has a single row of a convention and statistic, this row is also the one for all
    variables, levels and thresholds together: for example, the row of ``t2m`` if the dataset has no
    other variable.

    Args:
        scores: collected score rows.
        lead: lead time of the values, from 1; None for the values over all lead times.

    Returns:
        score rows by key of the cell, convention, part (variable, threshold, lead times) and
        statistic.
    """
    rows_of: Overall = {}
    alone_at: dict[Place, list[ScoreRow]] = {}
    at_lead = pc.is_null(scores["lead"]) if lead is None else pc.equal(scores["lead"], lead)
    for row in score_rows(scores.filter(at_lead)):
        part = Part(row.variable, row.threshold, row.leads)
        if row.level is None and (row.threshold is None or row.variable is None):
            rows_of[(row.key, row.convention, part, row.statistic)] = row
        together = Part(leads=row.leads)
        alone_at.setdefault((row.key, row.convention, together, row.statistic), []).append(row)
    for key, rows in alone_at.items():
        if len(rows) == 1:
            rows_of.setdefault(key, rows[0])
    return rows_of


def gaps(manifest: Manifest, table: str, rows: pa.Table, scores: Overall) -> list[str]:
    """List the results (cells) that a table lacks, wholly or in some columns, in a line each.

    Args:
        manifest: manifest of the dimension, with all cells (one model on one dataset each).
        table: name of the table.
        rows: all collected score rows.
        scores: rows selected by `overall`.
    """
    fingerprints = set(rows["scores_fingerprint"].unique().to_pylist())
    lacking_cells = []
    for cell in manifest.cells:
        columns = columns_of(manifest, table, cell)
        folders = cell.folders(("scores", "perceptual")) if columns else []
        if any(folder.name not in fingerprints for folder in folders):
            lacking_cells.append(f"{describe(cell.key)}: no rows")
            continue
        lacking = [
            f"{name} ({column.convention})"
            for name, column in columns.items()
            if (cell.key, *_score_key(column), column.statistic) not in scores
        ]
        if lacking:
            lacking_cells.append(f"{describe(cell.key)}: no overall value of {', '.join(lacking)}")
    return lacking_cells


def make_rows(
    manifest: Manifest,
    table: str,
    scores: Overall,
    published: Sequence[PublishedValue],
    absent: dict[CellKey, str],
) -> list[Row]:
    """Make the rows of a table, one for each model and test, averaged over seeds.

    Rows are in the order of the manifest's cells. Last come rows of models that the paper has
    values of, but that were not evaluated here.

    Args:
        manifest: manifest of the dimension, with all cells (one model on one dataset each).
        table: name of the table.
        scores: rows selected by `overall`.
        published: values that the paper prints, to show beside ours.
        absent: reasons for missing scores, by key of the cell; the values of these cells are None.
    """
    groups: dict[CellKey, list[Cell]] = {}
    for cell in manifest.cells:
        if columns_of(manifest, table, cell):
            groups.setdefault(replace(cell.key, seed=None), []).append(cell)
    labels = _labels(manifest, [cells[0] for cells in groups.values()])
    rows = [
        _row(manifest, table, cells, label, scores, published, absent)
        for cells, label in zip(groups.values(), labels, strict=True)
    ]
    if manifest.absent:
        of_test: dict[str, list[Cell]] = {}
        for cells, (dataset, _) in zip(groups.values(), labels, strict=True):
            of_test.setdefault(dataset, []).append(cells[0])
        rows += [
            _printed_row(manifest, table, cells[0], (dataset, method), reason, published)
            for dataset, cells in of_test.items()
            for method, reason in people.absent_methods(manifest, cells, published)
        ]
    return rows


def _labels(manifest: Manifest, cells: list[Cell]) -> list[tuple[str, str]]:
    """Titles of dataset and model of each row; equal titles get additions that distinguish them."""
    names = manifest.names

    def dataset(cell: Cell) -> str:
        key = cell.key
        tested, trained = key.tested_on, key.trained_on
        title = names.datasets.get(tested, tested)
        if trained != tested and not manifest.kind_of(cell).names_training:
            title = f"{names.datasets.get(trained, trained)} -> {title}"
        return ", ".join([title, *_describe_case(manifest, cell)])

    def predictor(cell: Cell) -> str:
        name = cell.key.model
        title = names.models.get(name, name)
        return f"{title}, {cell.calibrated}" if cell.calibrated else title

    labels_alone = [(dataset(cell), predictor(cell)) for cell in cells]
    labels = []
    for cell, (data, model) in zip(cells, labels_alone, strict=True):
        twins = [c for c, label in zip(cells, labels_alone, strict=True) if label == (data, model)]
        differing = [
            f"{name} {getattr(cell.key, name)}"
            for name in CELL_KEYS[:-1]
            if len({getattr(twin.key, name) for twin in twins}) > 1
        ]
        labels.append((data, f"{model} [{', '.join(differing)}]" if differing else model))
    return labels


def _describe_case(manifest: Manifest, cell: Cell) -> Iterable[str]:
    key, setting = cell.key, setting_of(cell.key.setting)
    if key.subset not in ("test", ROBUSTNESS):
        yield key.subset.replace("_", " ")
    if key.tested_on in manifest.steps:
        yield people.lengths(manifest, cell)
    if "interval" in setting:
        yield f"interval {setting['interval']}"
    yield from people_case(setting)


def _row(
    manifest: Manifest,
    table: str,
    cells: list[Cell],
    label: tuple[str, str],
    scores: Overall,
    published: Sequence[PublishedValue],
    absent: dict[CellKey, str],
) -> Row:
    first = cells[0]
    comparable = all(cell.comparable for cell in cells)
    leaky = any(cell.leaky for cell in cells)
    present = [cell.key for cell in cells if cell.key not in absent]
    printed = of_cell(manifest, first, published)
    entries = {
        name: _entry(present, column, scores, _find(column, printed), comparable)
        for name, column in columns_of(manifest, table, first).items()
    }
    seeded = any(cell.key.seed is not None for cell in cells)
    counts = manifest.kind_of(first).counts_people
    return Row(
        source=first.source,
        scale=manifest.scale,
        protocol=first.protocol,
        comparable=comparable,
        bytes_known_by=first.bytes_known_by,
        leaky=leaky,
        dataset=label[0],
        model=label[1],
        seeds=len(present) if seeded else None,
        samples=min((e.n for e in entries.values() if e.n is not None), default=None),
        entries=entries,
        notes=[
            *_markers(first, comparable, leaky),
            *_absences(cells, absent),
            *_reasons(entries, bool(present)),
        ],
        cells=tuple(cell for cell in cells if cell.key not in absent),
        key=replace(first.key, seed=None),
        counted=people.read_counts(first) if counts and present else None,
    )


def _printed_row(
    manifest: Manifest,
    table: str,
    cell: Cell,
    label: tuple[str, str],
    reason: str,
    published: Sequence[PublishedValue],
) -> Row:
    """Make the row of a method that has only published values, for the test of ``cell``."""
    dataset, method = label
    entries = {}
    of_method = [
        value for value in select_published(manifest, cell, published) if value.model == method
    ]
    for name, column in columns_of(manifest, table, cell).items():
        printed = _find(column, of_method)
        if printed is not None:
            blank = (None,) * 5
            entries[name] = Entry(*column.place, None, *blank, printed, None, reason)
    return Row(
        source=cell.source,
        scale=manifest.scale,
        protocol=cell.protocol,
        comparable=False,
        leaky=False,
        dataset=dataset,
        model=method,
        seeds=None,
        samples=None,
        entries=entries,
        notes=[f"no value: {reason}", *_reasons(entries, False)],
        cells=(),
        key=replace(cell.key, model=method, seed=None),
        is_printed=True,
    )


def _markers(cell: Cell, comparable: bool, leaky: bool) -> Iterable[str]:
    data = bytes_text(cell.source, cell.bytes_known_by)
    if cell.external:
        training = cell.training or "unknown"
        yield (
            f"EXTERNAL: predictions made elsewhere ({cell.reference}), training as stated there:"
            f" {training}"
        )
    if cell.source == "own":
        yield f"own data, {cell.protocol} protocol: nothing published to compare with"
    elif comparable and not cell.official_paper_protocol:
        yield f"{cell.source} data: {FILES_OF_PAPER}"
    elif not comparable:
        yield f"NOT COMPARABLE: {data}, {cell.protocol} protocol"
    elif cell.bytes_known_by == COUNTS:
        yield f"BY COUNTS: {data} and sizes, not by checksums"
    if cell.lacking:
        yield cell.lacking
    if cell.accepted:
        yield cell.accepted
    if leaky:
        yield "LEAKY SPLIT: test samples overlap with training data"
    if cell.subset_note:
        yield cell.subset_note
    if cell.clusters:
        yield f"intervals and tests over clusters of kind {cell.clusters}"
    if cell.samples > 1 and cell.statistic:
        yield _SAMPLED[cell.statistic].format(cell.samples)


_SAMPLED = {
    "mean_of_members": "{} samples of each clip, the mean of their scores",
    "ensemble_mean": "{} samples of each clip, the score of their mean",
    "best_of_members": "{} samples of each clip, best of",
}
"""Notes on what is scored if a clip has several forecasts; see `stp.score.members`."""


def _absences(cells: list[Cell], absent: dict[CellKey, str]) -> Iterable[str]:
    for cell in cells:
        if cell.key in absent:
            seed = cell.key.seed
            yield ("" if seed is None else f"seed {seed}: ") + absent[cell.key]


def _reasons(entries: dict[str, Entry], scored: bool) -> Iterable[str]:
    """Yield reasons for missing values, if scored, and for doubtful published values."""
    if scored:
        yield from _group_reasons(
            (column, entry.reason) for column, entry in entries.items() if entry.value is None
        )
    for text in _group_reasons(
        (column, entry.published.note)
        for column, entry in entries.items()
        if entry.published and entry.published.note
    ):
        yield f"published {text}"
    for text in _group_reasons(
        (column, entry.published.sd_note)
        for column, entry in entries.items()
        if entry.published and entry.published.sd_note
    ):
        yield f"published standard deviation of {text}"


def _group_reasons(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """Make lines such as "A, B: reason", with one line for all columns that share a reason."""
    columns: dict[str, list[str]] = {}
    for column, reason in reasons:
        columns.setdefault(reason, []).append(column)
    return [f"{', '.join(names)}: {reason}" for reason, names in columns.items()]


def _entry(
    keys: list[CellKey],
    column: Column,
    scores: Overall,
    published: PrintedValue | None,
    comparable: bool,
) -> Entry:
    """Make the entry of a column from the cells of all seeds; no value if one seed has none."""

    def rows(statistic: str) -> list[ScoreRow | None]:
        return [scores.get((key, *_score_key(column), statistic)) for key in keys]

    means = rows(column.statistic)
    has_interval = column.statistic in ("mean", "median")
    lows, highs = (rows("ci95_low"), rows("ci95_high")) if has_interval else ([], [])
    value, low, high = _mean(means), _mean(lows), _mean(highs)
    lacking = means if value is None else lows if low is None else []
    reasons = [
        row.reason if row else "not scored" for row in lacking if row is None or row.value is None
    ]
    fair = comparable and published is not None and not published.note
    return Entry(
        convention=column.convention,
        part=column.part,
        n=_smallest_n(means),
        value=value,
        low=low,
        high=high,
        clusters=_smallest_n(lows),
        seed_sd=statistics.stdev(_values(means)) if value is not None and len(means) > 1 else None,
        published=published,
        difference=value - published.value if fair and published and value is not None else None,
        reason=reasons[0] or "" if reasons else "" if keys else "missing",
        sd=_mean(rows("sd")),
        unit=column.unit,
        digits=column.digits,
    )


def _score_key(column: Column) -> tuple[str, Part]:
    """Convention and part of the score rows of a column, without the statistic."""
    return column.convention, column.part._replace(statistic="mean")


def _values(rows: list[ScoreRow | None]) -> list[float]:
    return [row.value for row in rows if row is not None and row.value is not None]


def _smallest_n(rows: list[ScoreRow | None]) -> int | None:
    return min((row.n for row in rows if row is not None and row.n is not None), default=None)


def _mean(rows: list[ScoreRow | None]) -> float | None:
    """Mean over seeds; None if there are no seeds, or if one has no value."""
    values = _values(rows)
    return statistics.fmean(values) if values and len(values) == len(rows) else None


def _find(column: Column, values: Sequence[PublishedValue]) -> PrintedValue | None:
    """Find the published value of a column, and its standard deviation.

    The published value must have the column's heading, variable, threshold and lead time. If
    several values match, the result is None, since the choice would be arbitrary.
    """

    def only(metric: str) -> PublishedValue | None:
        key = (metric, column.variable, column.threshold, column.lead)
        printed_value = [v for v in values if (v.metric, v.variable, v.threshold, v.leads) == key]
        return printed_value[0] if len(printed_value) == 1 else None

    printed_value = only(column.heading)
    if printed_value is None:
        return None
    printed = PrintedValue(printed_value.value, printed_value.raw, printed_value.note)
    sd = only(f"{column.heading} sd")
    if sd is None:
        return printed
    return printed._replace(raw=f"{printed.raw} ± {sd.raw}", sd=sd.value, sd_note=sd.note)
