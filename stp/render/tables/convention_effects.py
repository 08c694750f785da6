"""How much of a ranking is convention: a table from view ``convention_effects``.

One and the same metric is computed in several ways in the field: pooled or per frame, with one data
range or another. Each way ranks the models; here these rankings stand beside each other.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from stp.collect.connection import opened
from stp.collect.schema import EVALUATION
from stp.page.digits import number
from stp.page.files import write_all
from stp.page.formats import html, latex, markdown
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.render.tables.data_origin import BytesUsed, bytes_used

NAME = "convention_effects"

COLUMNS = (
    "suite",
    "dimension",
    "trained_on",
    "train_subset",
    "tested_on",
    "subset",
    "setting",
    "tested",
    "metric",
    "convention",
    "other",
    "variable",
    "level",
    "threshold",
    "leads",
    "source",
    "scale",
    "leaky",
    "best_of",
    "set_size",
    "models",
    "relative_difference",
    "rank_correlation",
    "moved",
    "largest_move",
    "another_wins",
    "best_model",
    "best_variant",
    "other_best_model",
    "other_best_variant",
)
"""Columns of the CSV: a line for each pair of rankings."""

_SQL = """
WITH named AS (
    SELECT DISTINCT suite, dimension, trained_on, train_subset, tested_on, subset, setting, tested
    FROM cells
)
SELECT e.suite, e.dimension, e.trained_on, e.train_subset, e.tested_on, e.subset, e.setting,
    e.metric, e.convention, e.other, e.variable, e.level, e.threshold, e.leads, e.source, e.scale,
    e.leaky, e.best_of, e.set_size, e.models, e.relative_difference, e.rank_correlation, e.moved,
    e.largest_move, e.another_wins, e.best_model, e.best_variant, e.other_best_model,
    e.other_best_variant,
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


def _rank(whose: str, model: str, variant: str) -> str:
    """SQL: join the rank of one of the two models of a comparison ``c``."""
    alike = (f"{whose}.{name} IS NOT DISTINCT FROM c.{name}" for name in (*_TESTED, "convention"))
    named = f"{whose}.model = c.{model} AND {whose}.variant = c.{variant}"
    return f"LEFT JOIN ranks {whose} ON {named} AND {' AND '.join(alike)}"


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

K = TypeVar("K")

FEW_NOTES = 12
"""Cases named below the rows of a metric; all are in the CSV."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """A row of the view ``convention_effects``, with names for people.

    Attributes:
        tested: what was tested, in words.
        dataset, best, other_best: titles; variants of models in parentheses.
        title, description: of the convention.
        other_description: of the other one.
        same_direction: whether both are better in the same direction.
        sure: conventions by which one of the two winners is significantly better than the other;
            None if the two were not tested.
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
    dataset: str
    best: str
    other_best: str
    title: str | None
    description: str | None
    other_description: str | None
    same_direction: bool
    sure: tuple[str, ...] | None = None


Effects = Sequence[Effect]


def render_convention_effects(database: Path, out: Path) -> None:
    """Write ``<name>.csv`` with every pair of rankings, and summaries as ``.md``, ``.html`` and
    ``.tex``.

    Raises:
        StpError: there is no store, or it is an older one; nothing is written.
    """
    rows, whose = read(database)
    whole = grid(rows, whose, out.stem)
    write_all(
        {
            out: _csv(rows),
            out.with_suffix(".md"): markdown.text(whole),
            out.with_suffix(".tex"): latex.text(whole),
            out.with_suffix(".html"): html.text(whole),
        }
    )


def read(database: Path) -> tuple[Effects, list[BytesUsed]]:
    """Read all pairs of rankings of two models or more, and whose bytes and protocol they are of.

    Raises:
        StpError: there is no store, or it is an older one.
    """
    with opened(database, "a results store with the view convention_effects") as connection:
        answer = connection.execute(_SQL)
        names = [column[0] for column in answer.description or []]
        rows = [Effect(**dict(zip(names, row, strict=True))) for row in answer.fetchall()]
        tests = connection.execute(_TESTS).fetchall()
        whose = bytes_used(connection)
        return _tested(rows, tests), whose


def _tested(rows: Effects, tests: Iterable[tuple[Any, ...]]) -> Effects:
    """Say of each row how sure its two winners are: which conventions tell them apart."""
    found = {}
    for *place, model, variant, other, other_variant, first_is_better in tests:
        first, second = (model, variant), (other, other_variant)
        better = {True: first, False: second}.get(first_is_better)
        found[*place, frozenset((first, second))] = better
    made = []
    for row in rows:
        best = row.best_model, row.best_variant
        other_best = row.other_best_model, row.other_best_variant
        both = frozenset((best, other_best))
        place = [getattr(row, name) for name in _TESTED]
        ways = [(row.convention, best), (row.other, other_best)]
        if all((*place, name, both) in found for name, _ in ways):
            sure = (name for name, winner in ways if found[*place, name, both] == winner)
            row = replace(row, sure=tuple(sure))
        made.append(row)
    return made


def summary(rows: Effects) -> tuple[list[str], list[tuple[str, ...]]]:
    """Columns and rows of the summary: a row for each metric."""
    columns = ["metric", "conventions", *_EFFECTS]
    made: list[tuple[str, ...]] = []
    for metric, its in _grouped(rows, lambda row: row.metric):
        ways = {row.convention for row in its} | {row.other for row in its}
        made.append((_title(metric, its), str(len(ways)), *_effects(its)))
    return columns, made


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


def _correlation(found: list[float]) -> str:
    """The median, and the lowest where it is another."""
    if not found:
        return "–"
    middle, lowest = f"{median(found):.2f}", f"{min(found):.2f}"
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


def grid(rows: Effects, whose: Sequence[BytesUsed], name: str = NAME) -> Grid:
    """The effect of conventions for people: a row for each metric, then a section for each.

    Args:
        rows, whose: as `read` returns them.
    """
    scales = sorted({row.scale for row in rows})
    texts = [one.text for one in whose]
    strange = [one.text for one in whose if one.is_strange]
    return Grid(
        name=name,
        title="How much of a ranking is convention",
        intro=[
            "Papers compute one and the same metric in several ways: over all pixels at once or "
            "frame by frame, with one data range or another. Each way is a convention here, and "
            "every forecast was scored in all of them. This table shows what changes with nothing "
            "but the convention: the values, the ranks of the models, and the winner.",
            f"Of {len(rows)} pairs of rankings, some model moves in "
            f"{sum(row.moved > 0 for row in rows)}, and another model wins in "
            f"{sum(row.another_wins for row in rows)}.",
            f"Made of {'; '.join(texts) or 'no scores'}; scale {', '.join(scales) or 'none'}. A "
            "ranking is that of all models of one evaluation (dataset, dimension, subset) in one "
            f"variable or threshold. Each pair of rankings is a line of `{name}.csv`.",
        ],
        warnings=[
            f"Not the paper's data ({text}): which model wins here says nothing about the paper. "
            "That a convention can decide who wins needs no particular data."
            for text in strange
        ],
        sections=[
            _overview(rows),
            *(_section(metric, its) for metric, its in _grouped(rows, lambda row: row.metric)),
        ],
        legend=[
            "rankings: pairs of rankings, of the same models in the same evaluation and part.",
            "another wins: no model is first by both conventions. some move: at least "
            "one model has another rank; most places: the most that one moves.",
            "rank correlation: Spearman's, of the ranks of the models by the two conventions, "
            "median over rankings (and the lowest): 1 where they agree, 0 where one says nothing "
            "about the other, -1 where they are reversed. Of few models it is coarse.",
            "values differ by: median over models and rankings of |second - first| / |first|; – "
            "where the two have opposite directions.",
            "significantly: a paired test finds the winner better than the one of the other "
            "convention (`comparisons` in `results.duckdb`, corrected for all pairs of models). "
            "Fewer than ten independent clusters of clips are not tested.",
        ],
        made_from=f"Made from view `{NAME}` of `results.duckdb` by `stp table {NAME}`.",
    )


def _overview(rows: Effects) -> Section:
    columns, made = summary(rows)
    return Section(
        title="All metrics",
        columns=columns,
        rows=[list(row) for row in made],
        numeric=[False, *[True] * (len(columns) - 1)],
        notes=[] if rows else ["No metric was computed in several conventions for two models."],
    )


def _section(metric: str, rows: Effects) -> Section:
    """A row for each pair of conventions and dataset."""
    about = {row.convention: row.description for row in rows}
    about |= {row.other: row.other_description for row in rows}
    several_models = [row.models for row in rows]
    made: list[list[str | Item]] = []
    for (one, other), of_pair in _grouped(rows, lambda row: (row.convention, row.other)):
        alike = _grouped(of_pair, lambda row: (row.dataset, row.source, row.leaky, row.best_of))
        for (dataset, source, leaky, best_of), its in alike:
            bytes_ = f"{source}, LEAKY SPLIT" if leaky else source
            bytes_ += f", best of {best_of}" if best_of > 1 else ""
            pair = f"{_choice(one)} → {_choice(other)}"
            most = str(max(row.largest_move for row in its))
            made.append([pair, dataset, bytes_, *_effects(its), most])
    return Section(
        title=_title(metric, rows),
        columns=["conventions", "dataset", "bytes", *_EFFECTS, "most places"],
        rows=made,
        numeric=[False] * 3 + [True] * (len(_EFFECTS) + 1),
        intro=[
            *(f"`{name}`: {about[name]}." for name in sorted(about)),
            f"{_range(several_models)} models in each ranking.",
        ],
        notes=_winners(rows),
    )


def _winners(rows: Effects) -> list[str]:
    """Name where the convention decides who wins."""
    said: dict[tuple[tuple[str, str], str, str, str, str, str], list[str]] = {}
    for row in rows:
        if row.another_wins:
            case = (row.tested, row.dimension.replace("_", " "))
            key = (case, row.convention, row.best, row.other, row.other_best, _sureness(row))
            said.setdefault(key, []).append(_part(row))
    lines = []
    for (case, one, best, other, other_best, sure), parts in said.items():
        named = ", ".join(filter(None, parts))
        where = f"{case[0]} ({case[1]}{f'; {named}' if named else ''})"
        lines.append(
            f"{where}: {best} wins by `{_choice(one)}`, {other_best} by `{_choice(other)}`; {sure}."
        )
    if len(lines) > FEW_NOTES:
        more = len(lines) - FEW_NOTES
        lines = [*lines[:FEW_NOTES], f"and {more} more in which another model wins: see the CSV."]
    return lines


def _sureness(row: Effect) -> str:
    """Whether the two winners can be told apart from each other."""
    if row.sure is None:
        return "the two are not tested"
    names = [f"`{_choice(name)}`" for name in row.sure]
    if len(names) == 2:
        return "both significantly"
    return f"significantly by {names[0] if names else 'neither'} {'only' if names else ''}".rstrip()


def _part(row: Effect) -> str:
    named = [row.variable] if row.variable else []
    named += [f"level {row.level:g}"] if row.level is not None else []
    named += [f"threshold {row.threshold:g}"] if row.threshold is not None else []
    named += [f"lead {row.leads}"] if row.leads is not None else []
    named += [f"{row.set_size} clips"] if row.set_size is not None else []
    return " ".join(named)


def _grouped(rows: Effects, key: Callable[[Effect], K]) -> Iterable[tuple[K, list[Effect]]]:
    """Rows with equal values, in the order in which these come first."""
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
        lines.append([_exact(getattr(row, column)) for column in COLUMNS])
    return csv_text(lines)


def _exact(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if value is None or isinstance(value, float) else value
