"""Spatio-temporal prediction benchmark, from raw data to the tables of papers.

In a notebook or a program of your own::

    import stp

    clips = stp.load_data("kth")                   # prepared clips, an xarray.DataArray
    model = stp.load_model("convlstm/kth")         # a trained model
    future = model.forecast(clips.values[:, :10])  # its forecasts, a numpy array
    stp.evaluate(predicted, true, ["ssim.range1"]) # scores of two arrays or folders of clips
    stp.open_store().sql("FROM leaderboard").df()  # the results of all runs

Each function imports what it needs when it is called.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import duckdb
    import numpy as np
    import xarray as xr

    from stp.external.scoring import Score
    from stp.forecast.frames import FrameModel
    from stp.forecast.tracks import TrackModel


def load_data(
    dataset: "str | Path",
    split: str = "test",
    most: int | None = 100,
    *,
    configfile: "str | Path | None" = None,
) -> "xr.DataArray":
    """Load prepared clips.

    Args:
        dataset: name of a prepared dataset of frames, or folder of prepared data.
        split: train, val, test, or another split of the dataset.
        most: maximum number of clips, from the first; None for all, which must fit into memory.
        configfile: scale file with which the dataset was prepared; by default that of the demo.

    Returns:
        clips, float32 (sample, step, channel, y, x) in the dataset's units; ``step`` is 0 at the
        last frame of the context. Coordinates are the names of the clips and, if the data have
        them, variables, latitudes and longitudes; the attributes are those of the data.

    Raises:
        StpError: the dataset is unknown, not prepared or damaged, or has no such split.
    """
    from stp.inspect.xarray_view import clips

    return clips(dataset, split, most, configfile)


def load_model(
    model: "str | Path", *, configfile: "str | Path | None" = None
) -> "FrameModel | TrackModel":
    """Load a model; its method ``forecast`` computes forecasts.

    Args:
        model: folder of a trained model, its ``model.pt``, words that select a training run of the
            plan (``convlstm/kth``), or name of a model without parameters (``persistence``).
        configfile: scale file of the plan; by default that of the demo.

    Returns:
        the model: a `stp.forecast.frames.FrameModel` or a `stp.forecast.tracks.TrackModel`.

    Raises:
        StpError: ``model`` is none of these, is not trained, or is damaged.
    """
    from pathlib import Path

    from stp.forecast.trained import load
    from stp.plan.checked_config import CONFIG_FOLDER

    return load(model, Path(configfile or CONFIG_FOLDER / "demo.yaml"))


def evaluate(
    predicted: "Path | str | np.ndarray",
    true: "Path | str | np.ndarray",
    metrics: "Sequence[str] | None" = None,
    *,
    context: int = 0,
) -> "list[Score]":
    """Score predicted clips against the true ones, without a plan, as ``stp videos evaluate`` does.

    Args:
        predicted: folder of clips (videos, arrays, folders of pictures), or an array (clip, frame,
            channel, y, x) with 1 or 3 channels, of uint8 or of floating-point numbers in [0, 1].
        true: true clips in the same forms; clips are paired by order, those of two folders by name.
        metrics: names of conventions (exact definitions of metrics), such as ``ssim.range1`` (see
            docs/metrics.md); by default MSE, PSNR, SSIM, LPIPS and FVD.
        context: number of first frames, which the model observed; they are not scored.

    Returns:
        a score for each convention: mean, 95 % interval over clips if there are at least ten, and a
        reason if the value is missing.

    Raises:
        StpError: a convention is unknown, or clips cannot be paired or differ in size.
    """
    from stp.external import scoring

    return scoring.evaluate(predicted, true, metrics or scoring.METRICS, context=context)


def open_store(database: "str | Path | None" = None) -> "duckdb.DuckDBPyConnection":
    """Open the results store for reading: ``.sql("FROM leaderboard").df()`` is a DataFrame.

    docs/results_store.md describes the tables and views.

    Args:
        database: path of the store; by default results/results.duckdb, with the results of all
            scales.

    Raises:
        StpError: the store is missing or damaged.
    """
    from pathlib import Path

    import duckdb

    from stp.collect.connection import open_results_store
    from stp.run.results import RESULTS

    path = Path(database or RESULTS / "results.duckdb")
    with open_results_store(path):  # raises clear errors
        pass
    return duckdb.connect(str(path), read_only=True)
