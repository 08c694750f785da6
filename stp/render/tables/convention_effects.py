"""Table of how far ranks of models depend on the exact definition of a metric.

Papers compute a metric in several ways, which are called conventions: pooled or per frame, with one
data range or another. For each pair of conventions, the table compares the rankings of the same
models in the same test. It is made from the view ``convention_effects``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from stp.collect.connection import open_results_store
from stp.collect.schema import EVALUATION
from stp.page.digits import csv_value
from stp.page.files import write_all
from stp.page.formats import render_grid
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.render.tables.data_origin import data_used

NAME = "convention_effects"

FEW_NOTES = 12
"""Maximum number of cases named below the rows of a metric; the CSV file has all."""

COLUMNS = (
    *("suite", "dimension", "trained_on", "train_subset", "tested_on", "subset", "setting"),
    *("tested", "metric", "convention", "other", "variable", "level", "threshold", "leads"),
    *("source", "scale", "leaky", "best_of", "set_size", "models", "relative_difference"),
    *("rank_correlation", "moved", "largest_move", "another_wins", "best_model", "best_variant"),
    *("other_best_model", "other_best_variant"),
)
"""Columns of the CSV file, which has a line for each pair of rankings of two models or more."""

_PLACE = (*EVALUATION, "variable", "level", "threshold", "leads", "source", "leaky", "best_of")


def _join_clause(test: str, convention: str, model: str, other: str) -> str:
    """SQL that joins the test of the two conventions' winners, under one of the conventions."""
    alike = (f"{test}.{name} IS NOT DISTINCT FROM e.{name}" for name in _PLACE)
    pairs = (("model", f"{model}_model"), ("variant", f"{model}_variant"),
             ("other", f"{other}_model"), ("other_variant", f"{other}_variant"))  # fmt: skip
    named = (f"{test}.{of_test} = e.{winner}" for of_test, winner in pairs)
    conditions = [f"{test}.convention = e.{convention}", *alike, *named]
    return f"LEFT JOIN tests {test} ON {' AND '.join(conditions)}"


def _rank(alias: str, model: str, variant: str) -> str:
    """SQL that joins the rank of one of the two models of a comparison ``c``."""
    alike = (f"{alias}.{name} IS NOT DISTINCT FROM c.{name}" for name in (*_PLACE, "convention"))
    named = f"{alias}.model = c.{model} AND {alias}.variant = c.{variant}"
    return f"LEFT JOIN ranks {alias} ON {named} AND {' AND '.join(alike)}"


_EFFECTS = f"""
CREATE TEMP TABLE effects AS
WITH named AS (
    SELECT DISTINCT suite, dimension, trained_on, train_subset, tested_on, subset, setting, tested
    FROM cells
),
tested AS (
    SELECT
        {", ".join(f"c.{name}" for name in (*_PLACE, "convention"))},
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
),
tests AS (
    FROM tested
    UNION ALL BY NAME
    SELECT * EXCLUDE (model, variant, other, other_variant, first_is_better),
        other AS model, other_variant AS variant, model AS other, variant AS other_variant,
        NOT first_is_better AS first_is_better
    FROM tested
)
SELECT
    {", ".join(f"{'n' if name == 'tested' else 'e'}.{name}" for name in COLUMNS)},
    row_number() OVER (
        ORDER BY e.metric, e.convention, e.other, e.tested_on, e.dimension, e.trained_on,
            e.train_subset, e.subset, e.setting, e.suite, e.source, e.leaky, e.best_of, e.set_size,
            e.variable, e.level, e.threshold, e.leads
    ) AS number,
    coalesce(d.title, e.tested_on) AS dataset,
    coalesce(m.title, e.best_model) || CASE e.best_variant
        WHEN 'default' THEN '' ELSE ' (' || e.best_variant || ')' END AS best,
    coalesce(o.title, e.other_best_model) || CASE e.other_best_variant
        WHEN 'default' THEN '' ELSE ' (' || e.other_best_variant || ')' END AS other_best,
    a.title,
    substr(e.convention, instr(e.convention, '.') + 1) AS choice,
    substr(e.other, instr(e.other, '.') + 1) AS other_choice,
    CASE WHEN a.higher_is_better IS NOT DISTINCT FROM b.higher_is_better
        THEN e.relative_difference END AS comparable_difference,
    concat_ws(' ',
        e.variable, 'level ' || format('{{:g}}', e.level),
        'threshold ' || format('{{:g}}', e.threshold), 'lead ' || e.leads, e.set_size || ' clips'
    ) AS part,
    CASE
        WHEN t.model IS NULL OR u.model IS NULL THEN 'the two are not tested'
        WHEN t.first_is_better AND u.first_is_better THEN 'both significantly'
        WHEN t.first_is_better THEN 'significantly by `' || choice || '` only'
        WHEN u.first_is_better THEN 'significantly by `' || other_choice || '` only'
        ELSE 'significantly by neither'
    END AS sureness
FROM convention_effects e
JOIN named n USING (suite, dimension, trained_on, train_subset, tested_on, subset, setting)
LEFT JOIN datasets d ON d.dataset = e.tested_on
LEFT JOIN models m ON m.model = e.best_model
LEFT JOIN models o ON o.model = e.other_best_model
LEFT JOIN conventions a ON a.convention = e.convention
LEFT JOIN conventions b ON b.convention = e.other
{_join_clause("t", "convention", "best", "other_best")}
{_join_clause("u", "other", "other_best", "best")}
WHERE e.models > 1
"""

_COUNTS = """
    count(*), count(*) FILTER (another_wins), count(*) FILTER (moved > 0),
    median(rank_correlation), min(rank_correlation), median(comparable_difference)
"""
_SUMMARY = f"""
SELECT metric, any_value(title), len(list_distinct(list(convention) || list(other))), {_COUNTS}
FROM effects GROUP BY metric ORDER BY metric
"""
_OF_PAIRS = f"""
SELECT
    choice || ' → ' || other_choice, dataset,
    source || CASE WHEN leaky THEN ', LEAKY SPLIT' ELSE '' END
        || CASE WHEN best_of > 1 THEN ', best of ' || best_of ELSE '' END,
    max(largest_move), {_COUNTS}
FROM effects WHERE metric = ?
GROUP BY choice, other_choice, dataset, source, leaky, best_of ORDER BY min(number)
"""
_WINNERS = """
SELECT
    tested || ' (' || replace(dimension, '_', ' ')
    || coalesce('; ' || string_agg(part, ', ' ORDER BY number) FILTER (part <> ''), '') || '): '
    || best || ' wins by `' || choice || '`, ' || other_best || ' by `' || other_choice || '`; '
    || sureness || '.'
FROM effects WHERE metric = ? AND another_wins
GROUP BY tested, dimension, choice, best, other_choice, other_best, sureness ORDER BY min(number)
"""
_MEANINGS = """
SELECT '`' || convention || '`: ' || description || '.'
FROM conventions
WHERE convention IN (SELECT unnest([convention, other]) FROM effects WHERE metric = ?)
ORDER BY convention
"""


def render_convention_effects(database: Path, out: Path) -> None:
    """Write the table of how far ranks of models depend on the convention of a metric.

    A convention is one exact definition of a metric. The CSV file has a line for each test and pair
    of conventions of a metric, which compares the rankings of the same models: how many change
    their rank, and whether another model wins. The pages (.md, .html, .tex) summarise these lines.

    Args:
        database: path of the results store.
        out: path of the CSV file; the pages are written next to it.

    Raises:
        StpError: the store is missing, or was made by an older version; nothing is written.
    """
    with _open_effects(database) as connection:
        rows = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM effects ORDER BY number")
        lines = [[csv_value(value) for value in row] for row in rows.fetchall()]
        pages = render_grid(_grid(connection, out.stem), out.parent)
    write_all({out: csv_text([COLUMNS, *lines]), **pages})


def page(database: Path) -> Grid:
    """Make the page on how far ranks of models depend on the convention of a metric.

    The page compares the rankings of the same models in the same test under two conventions.

    Args:
        database: path of the results store.

    Raises:
        StpError: the store is missing, or was made by an older version.
    """
    with _open_effects(database) as connection:
        return _grid(connection, NAME)


@contextmanager
def _open_effects(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_results_store(
        database, "a results store with the view convention_effects"
    ) as connection:
        connection.execute(_EFFECTS)
        yield connection


def _grid(connection: duckdb.DuckDBPyConnection, name: str) -> Grid:
    """Make the table: a row for each metric, then a section for each metric."""
    data = data_used(connection)
    ((rankings, wins, moved),) = connection.execute(
        "SELECT count(*), count(*) FILTER (another_wins), count(*) FILTER (moved > 0) FROM effects"
    ).fetchall()
    scales = connection.execute("SELECT DISTINCT scale FROM effects ORDER BY ALL").fetchall()
    origins = "; ".join(used.text for used in data)
    metrics = connection.execute(_SUMMARY).fetchall()
    titles = {metric: f"{title} ({metric})" if title else metric for metric, title, *_ in metrics}
    overview = Section(
        title="All metrics",
        columns=["metric", "conventions", *_COLUMNS],
        rows=[[titles[row[0]], str(row[2]), *_counts(*row[3:])] for row in metrics],
        numeric=[False, True, *[True] * len(_COLUMNS)],
        notes=[] if rankings else ["No metric was computed in several conventions for two models."],
    )
    return Grid(
        name=name,
        title="How much of a ranking is convention",
        intro=[
            "Papers compute the same metric in several ways: over all pixels at once or frame by "
            "frame, with one data range or another. Each way is a convention, and every forecast "
            "was scored in all of them. This table shows what the convention alone changes: the "
            "values, the ranks of the models, and the winner.",
            f"Of {rankings} pairs of rankings, some model changes its rank in {moved}, and another "
            f"model wins in {wins}.",
            f"Made from {origins or 'no scores'}; scale "
            f"{', '.join(scale for (scale,) in scales) or 'none'}. "
            "A ranking is that of all models of one evaluation (dataset, dimension, subset) for "
            f"one variable or threshold. Each pair of rankings is a line of `{name}.csv`.",
        ],
        warnings=[
            f"Not the paper's data ({used.text}): which model wins here says nothing about the "
            "paper. That a convention can decide who wins needs no particular data."
            for used in data
            if used.differs_from_paper
        ],
        sections=[overview, *(_section(connection, *item) for item in titles.items())],
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


_COLUMNS = ["rankings", "another wins", "some move", "rank correlation", "values differ by"]


def _counts(
    rankings: int,
    wins: int,
    moved: int,
    correlation: float | None,
    lowest: float | None,
    difference: float | None,
) -> list[str]:
    """Format the values of `_COUNTS` for the columns `_COLUMNS`."""
    text = "–" if correlation is None else f"{correlation:.2f}"
    if lowest is not None and f"{lowest:.2f}" != text:
        text += f" ({lowest:.2f})"
    of_all = f"of {rankings}"
    return [str(rankings), f"{wins} {of_all}", f"{moved} {of_all}", text, _difference(difference)]


def _difference(relative: float | None) -> str:
    """Format a relative difference: in per cent or, from ten times on, as a multiple."""
    if relative is None:
        return "–"
    if relative < 1e-9:  # rounding
        return "0 %"
    if relative >= 10:
        return f"{relative:,.0f} times"
    return f"{100 * relative:.3g} %" if relative < 1 else f"{100 * relative:.0f} %"


def _section(connection: duckdb.DuckDBPyConnection, metric: str, title: str) -> Section:
    """Make the section of a metric: a row for each pair of conventions and dataset."""

    def ask(sql: str) -> list[tuple[Any, ...]]:
        return connection.execute(sql, [metric]).fetchall()

    rows: list[list[str | Item]] = [
        [pair, dataset, data, *_counts(*counts), str(most)]
        for pair, dataset, data, most, *counts in ask(_OF_PAIRS)
    ]
    ((fewest, most),) = ask("SELECT min(models), max(models) FROM effects WHERE metric = ?")
    models = str(fewest) if fewest == most else f"{fewest} to {most}"
    notes = [text for (text,) in ask(_WINNERS)]
    if len(notes) > FEW_NOTES:
        more = len(notes) - FEW_NOTES
        notes = [*notes[:FEW_NOTES], f"and {more} more in which another model wins: see the CSV."]
    return Section(
        title=title,
        columns=["conventions", "dataset", "data", *_COLUMNS, "most places"],
        rows=rows,
        numeric=[False] * 3 + [True] * (len(_COLUMNS) + 1),
        intro=[*(text for (text,) in ask(_MEANINGS)), f"{models} models in each ranking."],
        notes=notes,
    )
