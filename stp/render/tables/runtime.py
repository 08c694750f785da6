"""Table of the run times of predictors of people, by number of people, from view ``runtime``.

Rows are medians over the cells of a model, because the calibration does not influence the run time.
"""

from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from stp.collect.connection import open_results_store
from stp.page.data_origin import origin
from stp.page.digits import csv_value, digits
from stp.page.files import write_all
from stp.page.formats import render_grid
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text

NAME = "runtime"
SQL = """
SELECT
    r.tested_on, r.subset, r.model, r.people, r.samples, r.host, r.processor, r.device, r.threads,
    k.horizon,
    r.source, r.protocol,
    coalesce(d.title, r.tested_on) AS dataset, coalesce(m.title, r.model) AS title,
    median(r.milliseconds) AS milliseconds, median(r.low) AS low, median(r.high) AS high,
    min(r.least) AS least, count(*) AS cells, sum(r.scenarios) AS scenarios,
    sum(r.measurements) AS measurements
FROM runtime r
JOIN settings k USING (setting)
LEFT JOIN datasets d ON d.dataset = r.tested_on
LEFT JOIN models m ON m.model = r.model
GROUP BY ALL
ORDER BY dataset, r.subset, horizon, r.host, r.processor, r.threads, title, r.samples, r.people,
    r.source, r.protocol, r.device
"""

COLUMNS = (
    *("tested_on", "subset", "model", "people", "milliseconds", "low", "high", "least", "cells"),
    *("scenarios", "measurements", "samples", "horizon", "host", "processor", "device", "threads"),
    *("source", "protocol"),
)
"""Columns of the CSV: a line for each test, model, number of people and machine."""

Row = dict[str, Any]
"""A line of the table, with the titles of its dataset and model."""


def render_runtime(database: Path, out: Path) -> None:
    """Write the table of times that predictors of people need for a scenario.

    It is written as .csv, .md, .html and .tex.

    Args:
        database: path of the results store.
        out: path of the CSV file; the pages are written next to it.

    Raises:
        StpError: the store is missing, or was made by an older version; nothing is written.
    """
    rows = _read(database)
    lines = [[csv_value(row[name]) for name in COLUMNS] for row in rows]
    write_all({out: csv_text([COLUMNS, *lines]), **render_grid(_grid(rows, out.stem), out.parent)})


def _read(database: Path) -> list[Row]:
    with open_results_store(database, "a results store with the table runtime") as connection:
        answer = connection.execute(SQL)
        names = [column[0] for column in answer.description]
        return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def page(database: Path) -> Grid:
    """Make the page of times that predictors need for a scenario, as `stp table` shows it.

    Args:
        database: path of the results store.

    Raises:
        StpError: the store is missing, or was made by an older version.
    """
    return _grid(_read(database), NAME)


def _grid(rows: list[Row], name: str) -> Grid:
    """Make the table: a section for each test, horizon and machine."""
    origins = sorted({origin(row["source"], row["protocol"]) for row in rows})
    return Grid(
        name=name,
        title="Runtime of predictors of people",
        intro=[
            "Milliseconds per scenario, all people and lead times together, by the number of "
            "people (as in Figure 8 of Atlas, which prints no numbers). Each prediction job "
            "measures scenarios one at a time, after a warm-up; reading, writing and scoring are "
            "not included.",
            f"Made of {'; '.join(origins) or 'no predictions of people'}. Durations differ from "
            "run to run and from machine to machine; each machine has its own section.",
        ],
        sections=[_section(list(alike)) for _, alike in groupby(rows, itemgetter(*_PLACE))],
        legend=[
            "ms: median; in parentheses the quartiles, over the measurements of a cell, then the "
            "median over cells, whatever they were calibrated on. Jobs run in parallel; `least`, "
            "the shortest duration, is closest to that on an idle machine.",
        ],
        made_from="Made from table runtime of results.duckdb.",
    )


_PLACE = ("dataset", "subset", "horizon", "host", "processor", "threads")
"""Columns with equal values in all lines of a section."""


def _section(rows: list[Row]) -> Section:
    first = rows[0]
    threads = f"{first['threads']} thread{'s' if first['threads'] > 1 else ''}"
    machine = f"{first['host']}: {first['processor'] or 'unknown processor'}, {threads}"
    lines: list[list[str | Item]] = [
        [
            row["title"] + (f", {row['samples']} samples" if row["samples"] > 1 else ""),
            str(row["people"]),
            Item(
                digits(row["milliseconds"]), aside=f"{digits(row['low'])} to {digits(row['high'])}"
            ),
            digits(row["least"]),
            f"{row['measurements']} times",
        ]
        for row in rows
    ]
    return Section(
        title=f"{first['dataset']}, {first['subset']}, {first['horizon']} steps ({machine})",
        columns=["predictor", "people", "ms", "least", "measured"],
        rows=lines,
        numeric=[False, True, True, True, False],
    )
