"""Section of spectra: mean power of truth and forecasts by wavenumber, at two lead times."""

from pathlib import Path

import duckdb
import numpy as np

from stp.collect.schema import ALIKE
from stp.core.errors import StpError
from stp.options.score import CELL_KEYS
from stp.render.figures.kinds import SPECTRA
from stp.render.figures.spectra import mean_spectra
from stp.report.charted_cells import NUMBERED, SAME_CELL
from stp.report.columns import run_query

DIGITS = 5

WITH_SPECTRA = f"""
WITH {NUMBERED}
SELECT
    {", ".join(f"n.{key}" for key in CELL_KEYS if key != "seed")},
    {", ".join(f"n.{name}" for name in ALIKE)},
    list(n.seed ORDER BY n.cell) AS seeds, list(n.scores_folder ORDER BY n.cell) AS folders,
    list(n.cell ORDER BY n.cell) AS cells
FROM numbered n
JOIN overall s ON {SAME_CELL} AND s.convention = '{SPECTRA}' AND s.value IS NOT NULL
    AND s.variable IS NULL AND s.leads IS NULL
GROUP BY ALL ORDER BY min(n.cell)"""


def data(database: duckdb.DuckDBPyConnection, results: Path) -> dict[str, object]:
    """Compute spectra, averaged over samples, then over seeds, from sums stored beside the scores.

    Args:
        database: connection to the open results store.
        results: folder of the results store; not used, since all sections of the report are called
            alike.

    Returns:
        ``lines``: an item for each model and test, with ``cells`` (index of the cell of each seed
        in the page's list of cells), ``leads`` (the first and the last lead time), ``forecast`` and
        ``truth`` (for each of these lead times, the power by wavenumber, from 1 on). ``unread``:
        for models and tests whose spectra cannot be read, the reason, by the index of the first
        seed's cell.

    Raises:
        StpError: the store is older than the code.
    """
    names, rows = run_query(database, WITH_SPECTRA)
    lines, unread = [], {}
    for row in rows:
        about = dict(zip(names, row, strict=True))
        try:
            spectra = mean_spectra(map(Path, about["folders"]))
        except StpError as error:
            unread[about["cells"][0]] = error.what
            continue
        last = spectra.observed.shape[1]
        leads = [1] if last == 1 else [1, last]
        lines.append(
            {
                "cells": about["cells"],
                "leads": leads,
                "forecast": [_round_values(spectra.predicted[:, lead - 1]) for lead in leads],
                "truth": [_round_values(spectra.observed[:, lead - 1]) for lead in leads],
            }
        )
    return {"lines": lines, "unread": unread}


def _round_values(values: np.ndarray) -> list[float | None]:
    """Values rounded to five significant digits; None for NaN and infinity."""
    return [float(f"{v:.{DIGITS}g}") if np.isfinite(v) else None for v in values]
