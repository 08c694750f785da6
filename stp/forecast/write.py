"""Write the files of a forecast: Zarr, a picture and a movie."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from stp.data.zarr_write import create_array, create_group
from stp.forecast.frames import Recordings
from stp.forecast.tracks import Crowd
from stp.predict.output import create_predictions
from stp.render.pictures import drawing, people
from stp.render.pictures import movie_files as movie
from stp.render.pictures.scene import Predicted, Scene
from stp.render.pictures.sheet import Group, Panel, Sheet

STORE, PICTURE, MOVIE = "predictions.zarr", "forecast.png", "forecast.mp4"
MOST_DRAWN = 4
"""Maximum numbers of recordings and variables in a picture."""


def frames(folder: Path, recordings: Recordings, forecasts: np.ndarray, model: str) -> list[Path]:
    """Write forecasts of frames as a Zarr store, a picture and a movie.

    Picture and movie show the observed frames and the first forecast of a few recordings.

    Args:
        folder: folder of the files, which replace those of an earlier forecast.
        recordings: observed frames.
        forecasts: M forecasts of each of N recordings over T lead times, (N, M, T, C, H, W), in
            the dataset's units.
        model: name of the model.

    Returns:
        paths of the written files.
    """
    _clear(folder)
    leads, context = forecasts.shape[2], recordings.frames.shape[1]
    recipe = {"model": model, "split": "own", "context": context, "lead_times": leads}
    units = recordings.units[0] if len(set(recordings.units)) == 1 else "physical"
    attrs: dict[str, Any] = {"source": "own", "units": units, "variables": recordings.variables}
    numbers = np.arange(len(forecasts))
    stored = create_predictions(
        folder, recipe, attrs, forecasts.shape[1:], numbers, clips=recordings.names
    )
    stored[:] = forecasts if forecasts.shape[1] > 1 else forecasts[:, 0]
    sheet = _sheet(recordings, forecasts[:, 0], model)
    drawing.contact_sheet(sheet, folder / PICTURE)
    movie.write(sheet, folder / MOVIE)
    return [folder / name for name in (STORE, PICTURE, MOVIE)]


def _sheet(recordings: Recordings, forecasts: np.ndarray, model: str) -> Sheet:
    """The observed frames of each recording, and its first forecast."""
    sequences = np.concatenate([recordings.frames, forecasts], axis=1)[:MOST_DRAWN]
    steps = np.arange(sequences.shape[1]) - recordings.frames.shape[1] + 1
    if recordings.is_picture:
        colours = np.clip(np.moveaxis(sequences, 2, -1), 0, 1)
        pictures = colours if colours.shape[-1] == 3 else colours[..., 0]
        groups = [Group("", "1", True, _panels(recordings.names, pictures))]
    else:
        groups = [
            Group(
                recordings.variables[i],
                recordings.units[i],
                False,
                _panels(recordings.names, sequences[:, :, i]),
            )
            for i in range(min(MOST_DRAWN, sequences.shape[2]))
        ]
    title = f"forecast of {model}: {len(sequences)} of {len(recordings.names)} recordings"
    return Sheet(title, groups, steps, recordings.seconds, recordings.lat, recordings.lon)


def _panels(names: list[str], sequences: np.ndarray) -> list[Panel]:
    return [Panel(name, frames) for name, frames in zip(names, sequences, strict=False)]


def tracks(folder: Path, crowd: Crowd, forecasts: np.ndarray, model: str) -> list[Path]:
    """Write forecasts of people.

    Args:
        folder: folder of the files, which replace those of an earlier forecast.
        crowd: observed positions.
        forecasts: M forecasts of N people over T steps, (M, N, T, 2), metres.
        model: name of the model.

    Returns:
        paths of the written files.
    """
    _clear(folder)
    attrs = {"model": model, "source": "own", "units": "m", "dt": crowd.dt}
    group = create_group(folder / STORE, attrs)
    leads = forecasts.shape[2]
    has_names = crowd.names != [str(number) for number in crowd.person]
    person = np.array(crowd.names, np.dtypes.StringDType()) if has_names else crowd.person
    group.create_array("person", data=person, dimension_names=("person",))
    group.create_array("lead", data=np.arange(1, leads + 1), dimension_names=("lead",))
    dims = ("sample", "person", "lead", "axis")
    stored = create_array(group, "predictions", forecasts.shape, np.float64, dims, forecasts.shape)
    stored[:] = forecasts
    future = np.full((len(crowd.person), leads, 2), np.nan)
    scene = Scene(
        f"forecast of {model}: {len(crowd.person)} people, {leads * crowd.dt:g} s ahead",
        crowd.names,
        crowd.positions,
        future,
        crowd.dt,
        [Predicted(model, forecasts)],
    )
    for name in (PICTURE, MOVIE):
        people.write(scene, folder / name)
    return [folder / name for name in (STORE, PICTURE, MOVIE)]


def _clear(folder: Path) -> None:
    """Remove the store of an earlier forecast, over which Zarr does not write."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / STORE).is_dir():
        shutil.rmtree(folder / STORE)
