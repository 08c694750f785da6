"""A forecast as files: Zarr, a picture and a movie."""

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
MOST = 4
"""Recordings and variables in a picture: more are too small to be seen."""


def frames(folder: Path, given: Recordings, found: np.ndarray, model: str) -> list[Path]:
    """Write forecasts of frames.

    Args:
        folder: for the files, which replace those of an earlier forecast.
        given: what was shown.
        found: (N, M, T, C, H, W), in units.
        model: its name.

    Returns:
        the files.
    """
    _cleared(folder)
    leads, context = found.shape[2], given.frames.shape[1]
    recipe = {"model": model, "split": "own", "context": context, "lead_times": leads}
    units = given.units[0] if len(set(given.units)) == 1 else "physical"
    attrs: dict[str, Any] = {"source": "own", "units": units, "variables": given.variables}
    numbers = np.arange(len(found))
    stored = create_predictions(folder, recipe, attrs, found.shape[1:], numbers, clips=given.names)
    stored[:] = found if found.shape[1] > 1 else found[:, 0]
    sheet = _sheet(given, found[:, 0], model)
    drawing.contact_sheet(sheet, folder / PICTURE)
    movie.write(sheet, folder / MOVIE)
    return [folder / name for name in (STORE, PICTURE, MOVIE)]


def _sheet(given: Recordings, found: np.ndarray, model: str) -> Sheet:
    """The context of each recording, and the first forecast of it."""
    whole = np.concatenate([given.frames, found], axis=1)[:MOST]
    steps = np.arange(whole.shape[1]) - given.frames.shape[1] + 1
    if given.is_picture:
        colours = np.clip(np.moveaxis(whole, 2, -1), 0, 1)
        shown = colours if colours.shape[-1] == 3 else colours[..., 0]
        groups = [Group("", "1", True, _panels(given.names, shown))]
    else:
        groups = [
            Group(given.variables[i], given.units[i], False, _panels(given.names, whole[:, :, i]))
            for i in range(min(MOST, whole.shape[2]))
        ]
    title = f"forecast of {model}: {len(whole)} of {len(given.names)} recordings"
    return Sheet(title, groups, steps, given.seconds, given.lat, given.lon)


def _panels(names: list[str], shown: np.ndarray) -> list[Panel]:
    return [Panel(name, one) for name, one in zip(names, shown, strict=False)]


def tracks(folder: Path, given: Crowd, found: np.ndarray, model: str) -> list[Path]:
    """Write forecasts of people.

    Args:
        folder: for the files, which replace those of an earlier forecast.
        given: what was shown.
        found: (M, N, T, 2), metres.
        model: its name.

    Returns:
        the files.
    """
    _cleared(folder)
    attrs = {"model": model, "source": "own", "units": "m", "dt": given.dt}
    group = create_group(folder / STORE, attrs)
    leads = found.shape[2]
    names = given.names != [str(number) for number in given.person]
    people_axis = np.array(given.names, np.dtypes.StringDType()) if names else given.person
    group.create_array("person", data=people_axis, dimension_names=("person",))
    group.create_array("lead", data=np.arange(1, leads + 1), dimension_names=("lead",))
    dims = ("sample", "person", "lead", "axis")
    stored = create_array(group, "predictions", found.shape, np.float64, dims, found.shape)
    stored[:] = found
    unknown = np.full((len(given.person), leads, 2), np.nan)
    scene = Scene(
        f"forecast of {model}: {len(given.person)} people, {leads * given.dt:g} s ahead",
        given.names,
        given.positions,
        unknown,
        given.dt,
        [Predicted(model, found)],
    )
    for name in (PICTURE, MOVIE):
        people.write(scene, folder / name)
    return [folder / name for name in (STORE, PICTURE, MOVIE)]


def _cleared(folder: Path) -> None:
    """Make room for a store: Zarr does not write over one."""
    import shutil

    folder.mkdir(parents=True, exist_ok=True)
    if (folder / STORE).is_dir():
        shutil.rmtree(folder / STORE)
