"""Spatio-temporal prediction benchmark: raw bytes to paper tables.

In a notebook, or a program of yours::

    import stp

    clips = stp.load_data("kth")                   # prepared clips, an xarray.DataArray
    model = stp.load_model("convlstm/kth")         # a trained model
    future = model.forecast(clips.values[:, :10])  # its forecasts, a numpy array
    stp.open_store().sql("FROM leaderboard").df()  # the results of all runs

What a function needs is imported when it is called.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    import xarray as xr

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
    from stp.inspect.as_array import clips

    return clips(dataset, split, most, configfile)


def load_model(
    model: "str | Path", *, configfile: "str | Path | None" = None
) -> "FrameModel | TrackModel":
    """Load a model, whose method ``forecast`` predicts.

    Args:
        model: the folder of a trained model, its ``model.pt``, words of a training in the plan
            (``convlstm/kth``), or the name of a model with nothing to fit (``persistence``).
        configfile: the scale file of the plan; the demo's unless given.

    Returns:
        see `stp.forecast.frames.FrameModel` and `stp.forecast.tracks.TrackModel`.

    Raises:
        StpError: it is nothing of these, is not trained, or damaged.
    """
    from pathlib import Path

    from stp.forecast.trained import load
    from stp.plan.strict import CONFIG_FOLDER

    return load(model, Path(configfile or CONFIG_FOLDER / "demo.yaml"))


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

    from stp.collect.opened import opened
    from stp.run.results import RESULTS

    path = Path(database or RESULTS / "results.duckdb")
    with opened(path):  # which complains well
        pass
    return duckdb.connect(str(path), read_only=True)
