"""`stp quality --where`: the models of a results store, best predicted quality first.

What people would think of the stored predictions of each cell, and how far other metrics, and the
answers of the human study, put the models of an evaluation into the same order.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from stp.collect.query import answer, ask
from stp.collect.rows import CellRow
from stp.collect.sensitivity import Curve
from stp.collect.videos import place
from stp.core.errors import StpError
from stp.core.job import Report, silent
from stp.external.quality import Clip, ClipRatings, Measure, Rating, of_cell
from stp.external.quality_card import curves
from stp.metrics.srocc import correlation

FEWEST_MODELS = 3
"""That an order is compared of."""
PEOPLE = "share of raters"
"""Stands where a convention does: how often raters chose the model as the best."""
NOT_KEPT = "its predictions are not kept"
FAR = "most clips are far from all rated videos"


@dataclass(frozen=True)
class Place:
    """A cell in the leaderboard.

    Attributes:
        tested: the evaluation, such as ``kth``.
        rank: by quality, from 1, among the cells of the evaluation; None without a value.
        model: its title, and variant and seed where there are such.
        clips: that were looked at.
        rated: of these, that are not far from all rated videos.
        quality: mean over the rated clips, points; None for the ``reason``.
        reason: why there is no value.
    """

    tested: str
    rank: int | None
    model: str
    clips: int
    rated: int
    quality: float | None
    reason: str


@dataclass(frozen=True)
class Order:
    """How far a metric, or people, and predicted quality rank the models of an evaluation alike.

    Attributes:
        tested: the evaluation.
        convention: of the metric, or `PEOPLE`.
        higher_is_better: its direction.
        models: cells that have both.
        srocc: Spearman's correlation over these, positive where both agree.
    """

    tested: str
    convention: str
    higher_is_better: bool
    models: int
    srocc: float


@dataclass(frozen=True)
class Board:
    """A leaderboard.

    Attributes:
        places: by evaluation, the best first.
        orders: of all metrics that have values of enough models.
        curves: of quality over the intensities of distortions, of cells that have such.
        found: what the measure is, with the ratings of all clips.
    """

    places: list[Place]
    orders: list[Order]
    curves: list[Curve]
    found: ClipRatings


def leaderboard(
    measure: Measure,
    database: Path,
    where: str,
    count: int | None = None,
    people: Path | None = None,
    *,
    device: str = "auto",
    threads: int = 1,
    report: Report = silent,
) -> Board:
    """Rate the stored predictions of the cells of a store, and sort them.

    Args:
        measure: that has learnt what people think.
        database: the results store.
        where: a condition in SQL on table ``cells``.
        count: clips of each cell, evenly spread; all unless given.
        people: ``human_preferences.csv`` of the same scale.
        device: auto, cpu or cuda.
        threads: of the CPU.
        report: is told the progress.

    Raises:
        StpError: no cell fits, one is no video of one or three channels, or a file is damaged.
    """
    cells = ask(database, CellRow, f"FROM cells WHERE {where} ORDER BY number")
    if not cells:
        raise StpError(
            f"{database}: no cell fits {where!r}",
            expected="a condition in SQL on table cells, such as tested_on = 'kth'",
            remedy='`stp query "FROM cells"` lists them',
        )
    kept = [cell for cell in cells if place(cell) is not None]
    found = measure.rate(_clips(kept, count), device=device, threads=threads, report=report)
    ratings: dict[int, list[Rating]] = {cell.number: [] for cell in cells}
    for rating in found.ratings:
        number, _, clip = rating.clip.partition("/")
        ratings[int(number)].append(replace(rating, clip=clip))
    titles = dict(answer(database, "SELECT model, title FROM models")[1])
    quality = {number: _mean(own) for number, own in ratings.items()}
    orders = _orders(database, cells, quality)
    if people is not None:
        orders += _people(database, people, cells, quality, titles)
    places = _places(cells, ratings, quality, titles)
    return Board(places, orders, curves(cells, ratings), found)


def _clips(cells: Sequence[CellRow], count: int | None) -> Iterator[Clip]:
    for cell in cells:
        for clip in of_cell(cell, count):
            yield replace(clip, name=f"{cell.number}/{clip.name}")


def _mean(ratings: Sequence[Rating]) -> float | None:
    """The mean over rated clips; None where these are not more than half of all."""
    values = [one.quality for one in ratings if one.quality is not None]
    return float(np.mean(values)) if 2 * len(values) > len(ratings) else None


def _name(cell: CellRow, titles: dict[str, str]) -> str:
    seed = "" if cell.seed is None else f"seed {cell.seed}"
    variant = "" if cell.variant == "default" else cell.variant
    return ", ".join(filter(None, [titles.get(cell.model, cell.model), variant, seed]))


def _places(
    cells: Sequence[CellRow],
    ratings: dict[int, list[Rating]],
    quality: dict[int, float | None],
    titles: dict[str, str],
) -> list[Place]:
    found = []
    for tested in dict.fromkeys(cell.case_name for cell in cells):
        own = [cell for cell in cells if cell.case_name == tested]
        own.sort(key=lambda cell: -(quality[cell.number] or -np.inf))
        for rank, cell in enumerate(own, start=1):
            value, of = quality[cell.number], ratings[cell.number]
            rated = sum(one.quality is not None for one in of)
            reason = "" if value is not None else FAR if of else NOT_KEPT
            shown = None if value is None else rank
            found.append(Place(tested, shown, _name(cell, titles), len(of), rated, value, reason))
    return found


def _orders(
    database: Path, cells: Sequence[CellRow], quality: dict[int, float | None]
) -> list[Order]:
    """Compare with all conventions that have one value of a cell and a direction."""
    numbers = [cell.number for cell in cells]
    _, rows = answer(
        database,
        "SELECT r.cell, k.convention, c.higher_is_better, r.value FROM score_rows r "
        "JOIN score_kinds k ON k.number = r.kind JOIN conventions c USING (convention) "
        "WHERE list_contains(?, r.cell) AND r.value IS NOT NULL AND k.statistic = 'mean' "
        "AND k.lead IS NULL AND k.leads IS NULL AND k.variable IS NULL AND k.level IS NULL "
        "AND k.threshold IS NULL AND c.higher_is_better IS NOT NULL ORDER BY ALL",
        [numbers],
    )
    values: dict[tuple[str, bool], dict[int, float]] = {}
    for number, convention, higher, value in rows:
        values.setdefault((convention, higher), {})[number] = value
    found = (
        _order(tested, *about, cells, quality, own)
        for tested in dict.fromkeys(cell.case_name for cell in cells)
        for about, own in values.items()
    )
    return [one for one in found if one is not None]


def _people(
    database: Path,
    path: Path,
    cells: Sequence[CellRow],
    quality: dict[int, float | None],
    titles: dict[str, str],
) -> list[Order]:
    """Compare with how often raters chose each model."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file, strict=True) if not row["group"]]
        shares = {(row["dataset"], row["model"]): float(row["share"]) for row in rows}
    except (OSError, ValueError, KeyError, csv.Error) as error:
        raise StpError(
            f"{path}: cannot be read ({error})",
            expected="human_preferences.csv, as `stp preferences` writes it",
            remedy="make it again",
        ) from None
    datasets = dict(answer(database, "SELECT dataset, title FROM datasets")[1])
    own = {}
    for cell in cells:
        dataset = datasets.get(cell.tested_on, cell.tested_on)
        share = shares.get((dataset, titles.get(cell.model, cell.model)))
        if share is not None and cell.variant == "default":
            own[cell.number] = share
    found = (
        _order(tested, PEOPLE, True, cells, quality, own)
        for tested in dict.fromkeys(cell.case_name for cell in cells)
    )
    return [one for one in found if one is not None]


def _order(
    tested: str,
    convention: str,
    higher_is_better: bool,
    cells: Sequence[CellRow],
    quality: dict[int, float | None],
    values: dict[int, float],
) -> Order | None:
    """Compare two orders; None where there are too few models, or all values are equal."""
    pairs = [
        (value, values[cell.number])
        for cell in cells
        if cell.case_name == tested and cell.number in values
        for value in [quality[cell.number]]
        if value is not None
    ]
    if len(pairs) < FEWEST_MODELS:
        return None
    x, y = np.array(pairs).T
    srocc = correlation(x, y if higher_is_better else -y)
    if not np.isfinite(srocc):
        return None
    return Order(tested, convention, higher_is_better, len(pairs), srocc)
