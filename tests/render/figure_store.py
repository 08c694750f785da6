"""A folder of results of made-up scores, to draw figures from."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from small_store import SmallStore, convention_facts, results, table_column, write_receipt

from stp.render.figures.kinds import SPECTRA
from stp.score.tables import CLUSTERS


class FigureStore(SmallStore):
    """A small store with what figures read besides: receipts of predictions, and spectra."""

    def __init__(self, folder: Path, dimension: str = "short_term") -> None:
        super().__init__(folder)
        self.manifest["dimension"] = dimension
        self.manifest["tables"] = {dimension: {"columns": {}}}
        self.manifest["names"] = {"models": {}, "datasets": {}}
        self.manifest["conventions"] = {}

    def column(
        self, dataset: str, heading: str, convention: str, variable: str | None = None, **about: Any
    ) -> None:
        """Let a dataset have a column; ``about`` is what is known of its convention."""
        columns = self.manifest["tables"][self.manifest["dimension"]]["columns"]
        columns.setdefault(dataset, []).append(table_column(heading, convention, variable=variable))
        self.manifest["conventions"][convention] = convention_facts(**about)

    def scored(
        self,
        model: str,
        dataset: str,
        values: dict[str, Any],
        *,
        seconds: float = 10.0,
        device: str = "cpu",
        host: str = "node1",
        horizon: int = 2,
        leads: int = 3,
        spectra: tuple[np.ndarray, np.ndarray] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Add a cell.

        Args:
            values: by convention; a number stands for the mean over all lead times.
            horizon: of the training.
            leads: lead times of the forecast.
            spectra: predicted and observed, (wavenumbers, leads) each, of one cluster.
        """
        given = {
            convention: value if isinstance(value, dict) else {"mean": value}
            for convention, value in values.items()
        }
        key = {"dimension": self.manifest["dimension"], "setting": f"horizon-{leads}"}
        cell = self.add(model, dataset, given, **key | more)
        made = {"host": host, "device": device, "seconds": seconds}
        write_receipt(
            Path(cell["predictions"]),
            "predict",
            recipe={"horizon": horizon, "shape": [1, 8, 12]},
            extras={"samples": 20, "lead_times": leads},
            provenance=made,
        )
        if spectra is not None:
            rows = [
                {
                    "convention": SPECTRA,
                    "cluster": name,
                    "n": n,
                    "components": 2 * len(spectra[0]),
                    "sums": (np.concatenate(spectra) * n * share).ravel().tolist(),
                }
                # Two clusters whose mean over samples is what was given.
                for name, n, share in (("a", 1, 4.0), ("b", 3, 0.0))
            ]
            folder = Path(cell["scores"])
            pq.write_table(pa.Table.from_pylist(rows, CLUSTERS), folder / "cluster_sums.parquet")
            write_receipt(folder, "score")
        return cell

    def results(self) -> tuple[Path, Path]:
        """Collect; return the manifest and the folder of results."""
        manifest = results(self)
        return manifest, manifest.parents[1]


def line_of(axes: Axes, label: str) -> Line2D:
    """The line that was drawn under a name."""
    (found,) = [line for line in axes.get_lines() if line.get_label() == label]
    return found


def points(line: Line2D) -> list[tuple[float, float]]:
    """What a line was drawn through."""
    return [(float(x), float(y)) for x, y in zip(*line.get_data(), strict=True)]


def near(*expected: tuple[float, float]) -> list[object]:
    """These points, but for rounding."""
    return [pytest.approx(point) for point in expected]
