"""The effect of conventions on values and ranks: a table of the view ``convention_effects``.

Papers compute a metric in several ways: pooled or per frame, with one data range or another. The
table compares the rankings of models by each of these conventions.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from stp.collect.connection import opened
from stp.collect.schema import EVALUATION
from stp.page.digits import csv_value
from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.render.tables.data_origin import DataUsed, data_used

NAME = "convention_effects"

K = TypeVar("K")

FEW_NOTES = 12
"""The most cases named below the rows of a metric; the CSV file has all."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A row of the view ``convention_effects``: two rankings of the same models.

    Attributes:
        tested: what was tested, in words.
    """

    suite: str
    dimension: str
    trained_on: str
    train_subset: str
    tested_on: str
    subset: str
    setting: str
    tested: str
    metric: str
    convention: str
    other: str
    variable: str | None
    level: float | None
    threshold: float | None
    leads: str | None
    source: str
    scale: str
    leaky: bool
    best_of: int
    set_size: int | None
    models: int
    relative_difference: float | None
    rank_correlation: float | None
    moved: int
    largest_move: int
    another_wins: bool
    best_model: str
    best_variant: str
    other_best_model: str
    other_best_variant: str


COLUMNS = tuple(field.name for field in fields(Comparison))
"""Columns of the CSV file, which has a line for each pair of rankings."""


@dataclass(frozen=True, kw_only=True)
class Effect(Comparison):
    """The same with titles, and whether tests confirm the winners.

    Attributes:
        dataset, best, other_best: titles; variants of models in parentheses.
        title, description: of the convention.
        other_description: description of the other convention.
        same_direction: whether both conventions are better in the same direction.
        sure: conventions by which one of the two winners is significantly better than the other;
            None if the two were not tested.
    """

    dataset: str
    best: str
    other_best: str
    title: str | None
    description: str | None
    other_description: str | None
    same_direction: bool
    sure: tuple[str, ...] | None = None


_SQL = f"""
WITH named AS (
    SELECT DISTINCT suite, dimension, trained_on, train_subset, tested_on, subset, setting, tested
    FROM cells
)
SELECT {", ".join(f"e.{name}" for name in COLUMNS if name != "tested")},
    n.tested, coalesce(d.title, e.tested_on) AS dataset,
    coalesce(m.title, e.best_model) || CASE e.best_variant
        WHEN 'default' THEN '' ELSE ' (' || e.best_variant || ')' END AS best,
    coalesce(o.title, e.other_best_model) || CASE e.other_best_variant
        WHEN 'default' THEN '' ELSE ' (' || e.other_best_variant || ')' END AS other_best,
    a.title, a.description, b.description AS other_description,
    a.higher_is_better IS NOT DISTINCT FROM b.higher_is_better AS same_direction
FROM convention_effects e
JOIN named n USING (suite, dimension, trained_on, train_subset, tested_on, subset, setting)
LEFT JOIN datasets d ON d.dataset = e.tested_on
LEFT JOIN models m ON m.model = e.best_model
LEFT JOIN models o ON o.model = e.other_best_model
LEFT JOIN conventions a ON a.convention = e.convention
LEFT JOIN conventions b ON b.convention = e.other
WHERE e.models > 1
ORDER BY e.metric, e.convention, e.other, e.tested_on, e.dimension, e.trained_on, e.train_subset,
    e.subset, e.setting, e.suite, e.source, e.leaky, e.best_of, e.set_size, e.variable, e.level,
    e.threshold, e.leads
"""
_TESTED = (*EVALUATION, "variable", "level", "threshold", "leads", "source", "leaky", "best_of")


def _rank(alias: str, model: str, variant: str) -> str:
    """SQL: join the rank of one of the two models of a comparison ``c``."""
    alike = (f"{alias}.{name} IS NOT DISTINCT FROM c.{name}" for name in (*_TESTED, "convention"))
    named = f"{alias}.model = c.{model} AND {alias}.variant = c.{variant}"
    return f"LEFT JOIN ranks {alias} ON {named} AND {' AND '.join(alike)}"


_TESTS = f"""
SELECT
    {", ".join(f"c.{name}" for name in (*_TESTED, "convention"))},
    c.model, c.variant, c.other, c.other_variant,
    -- `better` names a model, and two may be variants of one.
    CASE
        WHEN c.better IS NULL THEN NULL
        WHEN c.model <> c.other THEN c.better = c.model
        WHEN k.best_at IS NULL THEN (c.difference < 0) = k.higher_is_better
        ELSE a.rank < b.rank
    END AS first_is_better
FROM comparisons c
JOIN conventions k USING (convention)
{_rank("a", "model", "variant")}
{_rank("b", "other", "other_variant")}
WHERE c.p IS NOT NULL
"""

Effects = Sequence[Effect]


def render_convention_effects(database: Path, out: Path) -> None:
    """Write ``<name>.csv`` with every pair of rankings, and summaries as ``.md``, ``.html`` and
    ``.tex``.

    Raises:
        StpError: there is no store, or it is an older one; nothing is written.
    """
    rows, data = read(database)
    page_grid = grid(rows, data, out.stem)
    write_all({out: _csv(rows), **texts(page_grid, out.parent)})


def read(database: Path) -> tuple[Effects, list[DataUsed]]:
    """Read all pairs of rankings of two models or more, and the origin and protocol of their data.

    Raises:
        StpError: there is no store, or it is an older one.
    """
    with opened(database, "a results store with the view convention_effects") as connection:
        answer = connection.execute(_SQL)
        names = [column[0] for column in answer.description or []]
        rows = [Effect(**dict(zip(names, row, strict=True))) for row in answer.fetchall()]
        tests = connection.execute(_TESTS).fetchall()
        data = data_used(connection)
        return _tested(rows, tests), data


def _tested(rows: Effects, tests: Iterable[tuple[Any, ...]]) -> Effects:
    winner_of = {}
    for *place, model, variant, other, other_variant, first_is_better in tests:
        first, second = (model, variant), (other, other_variant)
        better = {True: first, False: second}.get(first_is_better)
        winner_of[*place, frozenset((first, second))] = better
    confirmed = []
    for row in rows:
        best = row.best_model, row.best_variant
        other_best = row.other_best_model, row.other_best_variant
        both = frozenset((best, other_best))
        place = [getattr(row, name) for name in _TESTED]
        choices = [(row.convention, best), (row.other, other_best)]
        if all((*place, name, both) in winner_of for name, _ in choices):
            sure = (name for name, winner in choices if winner_of[*place, name, both] == winner)
            row = replace(row, sure=tuple(sure))
        confirmed.append(row)
    return confirmed


def summary(rows: Effects) -> tuple[list[str], list[tuple[str, ...]]]:
    """Columns and rows of the summary: a row for each metric."""
    columns = ["metric", "conventions", *_EFFECTS]
    lines: list[tuple[str, ...]] = []
    for metric, of_metric in _grouped(rows, lambda row: row.metric):
        conventions = {row.convention for row in of_metric} | {row.other for row in of_metric}
        lines.append((_title(metric, of_metric), str(len(conventions)), *_effects(of_metric)))
    return columns, lines


_EFFECTS = ["rankings", "another wins", "some move", "rank correlation", "values differ by"]


def _effects(rows: Effects) -> list[str]:
    correlations = [r.rank_correlation for r in rows if r.rank_correlation is not None]
    differences = [
        r.relative_difference
        for r in rows
        if r.relative_difference is not None and r.same_direction
    ]
    return [
        str(len(rows)),
        f"{sum(r.another_wins for r in rows)} of {len(rows)}",
        f"{sum(r.moved > 0 for r in rows)} of {len(rows)}",
        _correlation(correlations),
        _difference(median(differences)) if differences else "–",
    ]


def _correlation(correlations: list[float]) -> str:
    """The median, and the lowest where it is another."""
    if not correlations:
        return "–"
    middle, lowest = f"{median(correlations):.2f}", f"{min(correlations):.2f}"
    return middle if middle == lowest else f"{middle} ({lowest})"


def _difference(relative: float) -> str:
    """A relative difference: per cent, or a multiple from ten times on."""
    if relative < 1e-9:  # rounding
        return "0 %"
    if relative >= 10:
        return f"{relative:,.0f} times"
    return f"{100 * relative:.3g} %" if relative < 1 else f"{100 * relative:.0f} %"


def page(database: Path) -> Grid:
    """The table for people, as `stp table` shows it.

    Raises:
        StpError: see `read`.
    """
    return grid(*read(database))


def grid(rows: Effects, data: Sequence[DataUsed], name: str = NAME) -> Grid:
    """The effect of conventions for people: a row for each metric, then a section for each.

    Args:
        rows, data: as `read` returns them.
    """
    scales = sorted({row.scale for row in rows})
    origins = [used.text for used in data]
    other_data = [used.text for used in data if used.differs_from_paper]
    return Grid(
        name=name,
        title="How much of a ranking is convention",
        intro=[
            "Papers compute the same metric in several ways: over all pixels at once or frame by "
            "frame, with one data range or another. Each way is a convention, and every forecast "
            "was scored in all of them. This table shows what the convention alone changes: the "
            "values, the ranks of the models, and the winner.",
            f"Of {len(rows)} pairs of rankings, some model changes its rank in "
            f"{sum(row.moved > 0 for row in rows)}, and another model wins in "
            f"{sum(row.another_wins for row in rows)}.",
            f"Made from {'; '.join(origins) or 'no scores'}; scale {', '.join(scales) or 'none'}. "
            "A ranking is that of all models of one evaluation (dataset, dimension, subset) for "
            f"one variable or threshold. Each pair of rankings is a line of `{name}.csv`.",
        ],
        warnings=[
            f"Not the paper's data ({text}): which model wins here says nothing about the paper. "
            "That a convention can decide who wins needs no particular data."
            for text in other_data
        ],
        sections=[
            _overview(rows),
            *(
                _section(metric, of_metric)
                for metric, of_metric in _grouped(rows, lambda row: row.metric)
            ),
        ],
        legend=[
            "rankings: pairs of rankings of the same models in the same evaluation and part.",
            "another wins: no model is first by both conventions. some move: at least one model "
            "has another rank; most places: the largest change of a rank.",
            "rank correlation: Spearman's correlation of the ranks by the two conventions, median "
            "over rankings (in parentheses the lowest): 1 where they agree, 0 where they are "
            "unrelated, -1 where they are reversed. It is coarse for few models.",
            "values differ by: median over models and rankings of |second - first| / |first|; – "
            "where the two conventions have opposite directions.",
            "significantly: a paired test finds the winner better than the winner by the other "
            "convention (`comparisons` in `results.duckdb`, corrected for all pairs of models). "
            "Fewer than ten independent clusters of clips are not tested.",
        ],
        made_from=f"Made from view `{NAME}` of `results.duckdb` by `stp table {NAME}`.",
    )


def _overview(rows: Effects) -> Section:
    columns, lines = summary(rows)
    return Section(
        title="All metrics",
        columns=columns,
        rows=[list(row) for row in lines],
        numeric=[False, *[True] * (len(columns) - 1)],
        notes=[] if rows else ["No metric was computed in several conventions for two models."],
    )


def _section(metric: str, rows: Effects) -> Section:
    descriptions = {row.convention: row.description for row in rows}
    descriptions |= {row.other: row.other_description for row in rows}
    several_models = [row.models for row in rows]
    lines: list[list[str | Item]] = []
    for (convention, other), of_pair in _grouped(rows, lambda row: (row.convention, row.other)):
        groups = _grouped(of_pair, lambda row: (row.dataset, row.source, row.leaky, row.best_of))
        for (dataset, source, leaky, best_of), group in groups:
            data = f"{source}, LEAKY SPLIT" if leaky else source
            data += f", best of {best_of}" if best_of > 1 else ""
            pair = f"{_choice(convention)} → {_choice(other)}"
            most = str(max(row.largest_move for row in group))
            lines.append([pair, dataset, data, *_effects(group), most])
    return Section(
        title=_title(metric, rows),
        columns=["conventions", "dataset", "data", *_EFFECTS, "most places"],
        rows=lines,
        numeric=[False] * 3 + [True] * (len(_EFFECTS) + 1),
        intro=[
            *(f"`{name}`: {descriptions[name]}." for name in sorted(descriptions)),
            f"{_range(several_models)} models in each ranking.",
        ],
        notes=_winners(rows),
    )


def _winners(rows: Effects) -> list[str]:
    parts_of: dict[tuple[tuple[str, str], str, str, str, str, str], list[str]] = {}
    for row in rows:
        if row.another_wins:
            case = (row.tested, row.dimension.replace("_", " "))
            key = (case, row.convention, row.best, row.other, row.other_best, _sureness(row))
            parts_of.setdefault(key, []).append(_part(row))
    lines = []
    for (case, convention, best, other, other_best, sure), parts in parts_of.items():
        named = ", ".join(filter(None, parts))
        where = f"{case[0]} ({case[1]}{f'; {named}' if named else ''})"
        first, second = f"`{_choice(convention)}`", f"`{_choice(other)}`"
        lines.append(f"{where}: {best} wins by {first}, {other_best} by {second}; {sure}.")
    if len(lines) > FEW_NOTES:
        more = len(lines) - FEW_NOTES
        lines = [*lines[:FEW_NOTES], f"and {more} more in which another model wins: see the CSV."]
    return lines


def _sureness(row: Effect) -> str:
    if row.sure is None:
        return "the two are not tested"
    names = [f"`{_choice(name)}`" for name in row.sure]
    if len(names) == 2:
        return "both significantly"
    return f"significantly by {names[0] if names else 'neither'} {'only' if names else ''}".rstrip()


def _part(row: Effect) -> str:
    parts = [row.variable] if row.variable else []
    parts += [f"level {row.level:g}"] if row.level is not None else []
    parts += [f"threshold {row.threshold:g}"] if row.threshold is not None else []
    parts += [f"lead {row.leads}"] if row.leads is not None else []
    parts += [f"{row.set_size} clips"] if row.set_size is not None else []
    return " ".join(parts)


def _grouped(rows: Effects, key: Callable[[Effect], K]) -> Iterable[tuple[K, list[Effect]]]:
    groups: dict[K, list[Effect]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups.items()


def _title(metric: str, rows: Effects) -> str:
    title = next((row.title for row in rows if row.title), None)
    return f"{title} ({metric})" if title else metric


def _choice(convention: str) -> str:
    return convention.partition(".")[2]


def _range(numbers: list[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _csv(rows: Effects) -> str:
    lines: list[list[object]] = [list(COLUMNS)]
    for row in rows:
        lines.append([csv_value(getattr(row, column)) for column in COLUMNS])
    return csv_text(lines)
