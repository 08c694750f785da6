"""Spatio-temporal prediction benchmark: raw bytes to paper tables.

In a notebook, or a program of yours::

    import stp

    clips = stp.load_data("kth")                   # prepared clips, an xarray.DataArray
    model = stp.load_model("convlstm/kth")         # a trained model
    future = model.forecast(clips.values[:, :10])  # its forecasts, a numpy array
    stp.evaluate(predicted, true, ["ssim.range1"]) # scores of two arrays or folders of clips
    stp.open_store().sql("FROM leaderboard").df()  # the results of all runs

What a function needs is imported when it is called.
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
        dataset: the name of a dataset of frames that is prepared, or the folder of prepared data.
        split: train, val, test or another one of its splits.
        most: clips, the first ones; None for all of them, which have to fit into memory.
        configfile: the scale file that prepared it; the demo's unless given.

    Returns:
        float32 (sample, step, channel, y, x) in the dataset's units; ``step`` is 0 at the last
        frame of the context. Coordinates are the names of the clips and, where there are such
        things, variables, latitudes and longitudes; attributes those of the data.

    Raises:
        StpError: it is not known, not prepared, damaged, or has no such split.
    """
    from stp.inspect.xarray_view import clips

    return clips(dataset, split, most, configfile)


def load_model(
    model: "str | Path", *, configfile: "str | Path | None" = None
) -> "FrameModel | TrackModel":
    """Load a model, whose method ``forecast`` predicts.

    Args:
        model: the folder of a trained model, its ``model.pt``, words of a training run in the plan
            (``convlstm/kth``), or the name of a model with nothing to fit (``persistence``).
        configfile: the scale file of the plan; the demo's unless given.

    Returns:
        see `stp.forecast.frames.FrameModel` and `stp.forecast.tracks.TrackModel`.

    Raises:
        StpError: it is nothing of these, is not trained, or damaged.
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
        predicted: a folder of clips (films, arrays, folders of pictures), or an array
            (N, T, C, H, W), C is 1 or 3, of uint8 or of floating-point numbers in [0, 1].
        true: true clips in the same forms; clips are paired by order, those of two folders by name.
        metrics: conventions, such as ``ssim.range1``; docs/metrics.md has all. MSE, PSNR,
            SSIM, LPIPS and FVD unless given.
        context: frames at the beginning that were shown to the model; they are not scored.

    Returns:
        a score for each convention: its mean, its 95 % interval over clips where there are ten or
        more, and the reason where there is no value.

    Raises:
        StpError: an unknown convention; clips that do not belong together or differ in size.
    """
    from stp.external import scoring

    return scoring.evaluate(predicted, true, metrics or scoring.METRICS, context=context)


def open_store(database: "str | Path | None" = None) -> "duckdb.DuckDBPyConnection":
    """Open the results store for reading: ``.sql("FROM leaderboard").df()`` is a DataFrame.

    docs/results_store.md has its tables and views.

    Args:
        database: results/results.duckdb unless given, with the results of all scales.

    Raises:
        StpError: there is no store, or it is damaged.
    """
    from pathlib import Path

    import duckdb

    from stp.collect.connection import opened
    from stp.run.results import RESULTS

    path = Path(database or RESULTS / "results.duckdb")
    with opened(path):  # raises clear errors
        pass
    return duckdb.connect(str(path), read_only=True)
