"""Radially averaged power spectra of the truth and of each model.

Blurred forecasts lack power at high wavenumbers.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from stp.core.errors import StpError
from stp.core.parquet import read_table
from stp.core.receipts import check_file, require_receipt
from stp.page.figure_style import TEXT_WIDTH, TRUTH, new_figure
from stp.plan.manifest import Cell, forecast_recipe
from stp.render.figures.kinds import SPECTRA
from stp.render.figures.panels import legend, legend_height, plain_ticks
from stp.render.figures.reading import Scores
from stp.score.tables import CLUSTERS

FIGURE = {
    "of_case": True,
    "about": "power spectra of truth and forecasts",
    "caption": "Radially averaged power spectra of truth and forecasts (convention "
    "spectral_divergence.mean_spectra), and their ratio: below 1 is blur, above 1 noise",
}


class Spectra(NamedTuple):
    """Mean power of forecasts and truth, float64 (wavenumbers, lead times) each.

    Wavenumbers count from 1.
    """

    predicted: np.ndarray
    observed: np.ndarray


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw spectra at the first and last lead time and, below, their ratio to the true spectrum.

    Args:
        scores: scores of all models in all tests of a table.
        case: name of the test to draw, such as ``kitti-caltech``.

    Returns:
        the figure, and notes to print below it.

    Raises:
        StpError: the case (a test of the dimension) is unknown, or a model has no spectra.
    """
    lines = scores.lines(case)
    spectra_of = {
        line.model: mean_spectra([Path(cell.scores) for cell in line.cells]) for line in lines
    }
    side = _shorter_side(lines[0].cells[0])
    truth = next(iter(spectra_of.values())).observed
    count, last = truth.shape
    leads = [1] if last == 1 else [1, last]
    figure = new_figure(TEXT_WIDTH, 4.3 + legend_height(["truth", *spectra_of]))
    figure.suptitle(scores.title(case))
    upper, lower = figure.subplots(
        2, len(leads), sharex=True, sharey="row", squeeze=False, height_ratios=(3, 2)
    )
    wavenumbers = np.arange(1, count + 1)
    for lead, power, ratio in zip(leads, upper, lower, strict=True):
        power.set_title(f"lead time {lead}")
        power.plot(
            wavenumbers, truth[:, lead - 1], color=TRUTH, linewidth=1.8, label="truth", zorder=1.5
        )
        for line in lines:
            style = scores.styles[line.model]
            spectra = spectra_of[line.model]
            line_style = {"color": style.colour, "linestyle": style.line, "label": line.model}
            power.plot(wavenumbers, spectra.predicted[:, lead - 1], **line_style)
            with np.errstate(divide="ignore", invalid="ignore"):
                share = spectra.predicted[:, lead - 1] / spectra.observed[:, lead - 1]
            ratio.plot(wavenumbers, share, **line_style)
        ratio.axhline(1, color=TRUTH, linewidth=1.2, label="truth")
        _scales(power, ratio, side)
    upper[0].set_ylabel("power")
    lower[0].set_ylabel("power / that of the truth")
    styles = {name: style._replace(marker="") for name, style in scores.styles.items()}
    truth_style = next(iter(styles.values()))._replace(colour=TRUTH, line="-")
    legend(figure, {"truth": truth_style, **styles}, ["truth", *spectra_of])
    return figure, [
        "power of frames as normalised for training, mean over test samples and channels"
    ]


def _scales(power: Axes, ratio: Axes, side: int) -> None:
    for axes in (power, ratio):
        axes.set_xscale("log")
        axes.set_yscale("log")
    ratio.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ratio.set_xlabel("wavenumber [cycles across the shorter side]")
    wavelength = power.secondary_xaxis("top", functions=(lambda k: _over(side, k),) * 2)
    wavelength.set_xlabel("wavelength [pixels]")
    for axis in (wavelength.xaxis, ratio.xaxis):
        plain_ticks(axis)


def _over(side: int, k: np.ndarray) -> np.ndarray:
    return side / np.maximum(np.asarray(k, np.float64), 1e-9)


def mean_spectra(scores: Iterable[Path]) -> Spectra:
    """Average power spectra over samples, then over seeds.

    Args:
        scores: folders of the scores of a model in one test, one for each seed.

    Raises:
        StpError: a folder has no spectra, or their file is damaged.
    """
    each = [_of_cell(folder) for folder in scores]
    return Spectra(
        np.mean([spectra.predicted for spectra in each], axis=0),
        np.mean([spectra.observed for spectra in each], axis=0),
    )


def _of_cell(folder: Path) -> Spectra:
    path = check_file(folder, require_receipt(folder), "cluster_sums.parquet")
    rows = read_table(path, CLUSTERS, expected="sums of each cluster")
    rows = rows.filter(pc.equal(rows["convention"], SPECTRA))
    if not len(rows):
        raise StpError(
            f"{path}: no spectra",
            expected=f"sums of {SPECTRA}",
            remedy=f"score this dataset with {SPECTRA} (config/suites)",
        )
    components = rows["components"][0].as_py()
    sums = np.array(rows["sums"].to_pylist(), np.float64).sum(axis=0)
    means = sums.reshape(components, -1) / pc.sum(rows["n"]).as_py()
    predicted, observed = np.split(means, 2)
    return Spectra(predicted, observed)


def _shorter_side(cell: Cell) -> int:
    shape = forecast_recipe(cell)["shape"]
    return int(min(shape[1:]))
