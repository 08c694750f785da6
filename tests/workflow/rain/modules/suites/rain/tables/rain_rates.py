"""The fractions skill score at each rain rate and over each square, a row for each."""

from pathlib import Path

from stp.collect.scores import read_collected
from stp.page.grid import Grid, Section
from stp.plan.manifest import load_manifest
from stp.render.tables.distortion_study import write

HEADER = ("model", "dataset", "convention", "rate", "value", "n", "why")
"""Columns of the CSV file."""


def render_rain_rates(manifest: Path, out: Path) -> None:
    """Write ``<name>.csv``, and beside it .md, .tex and .html.

    Args:
        manifest: of a dimension of rain.
        out: path of the CSV file.

    Raises:
        StpError: a file is missing or damaged.
    """
    plan = load_manifest(manifest)
    collected = manifest.parent.parent / "collected" / f"{plan.dimension}.parquet"
    rows = [
        [row["model"], row["tested_on"], row["convention"], row["threshold"], row["value"],
         row["n"], row["reason"]]
        for row in read_collected(collected).to_pylist()
        if row["statistic"] == "mean" and row["lead"] is None and row["leads"] is None
        if row["threshold"] is not None
    ]  # fmt: skip
    shown = [["" if value is None else str(value) for value in row] for row in rows]
    numeric = [name in ("rate", "value", "n") for name in HEADER]
    section = Section("All rates", list(HEADER), shown, numeric)
    write(out, HEADER, rows, Grid(name=out.stem, title="Rain rates", intro=[], sections=[section]))
