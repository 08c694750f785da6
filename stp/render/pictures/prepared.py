"""Draw pictures of prepared data: choose clips, variables and frames, and label them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from stp.core.errors import StpError, suggest_name
from stp.data.prepared import Clips, Prepared
from stp.data.zarr_read import has_array, read_array, read_decoded
from stp.render.pictures.sheet import Group, Panel, Sheet

FORMATS = (".png", ".gif", ".mp4")


def draw_prepared(
    folder: Path,
    out: Path,
    *,
    name: str,
    split: str,
    clips: int,
    variable: str | None,
    level: str | None,
) -> None:
    """Draw a few clips of a prepared dataset of frames as a contact sheet or a movie.

    Args:
        folder: folder of the prepared data.
        out: path of the file: .png for a contact sheet, .gif or .mp4 for a movie.
        name: name of the dataset, for the title.
        split: name of the split, such as ``test``.
        clips: number of clips, spread evenly over the split.
        variable, level: variable to draw and its level, as for `choose`; None for video.
    """
    sheet = sheet_of(Prepared(folder), name, split, clips, variable, level)
    from stp.render.pictures import drawing
    from stp.render.pictures import movie_files as movie

    if out.suffix == ".png":
        drawing.contact_sheet(sheet, out)
    else:
        movie.write(sheet, out)


def sheet_of(
    prepared: Prepared,
    name: str,
    split: str,
    n_clips: int,
    variable: str | None = None,
    level: str | None = None,
) -> Sheet:
    """Read clips, evenly spread over a split, and lay them out as a sheet.

    A sheet is the content of a drawing: panels of clips with titles, colour scales and times.

    Args:
        prepared: the prepared data of a dataset.
        name: name of the dataset, for the title.
        split: name of the split, such as ``test``.
        n_clips: number of clips; all clips of a smaller split.
        variable, level: variable to draw and its level, as for `choose`; None for video.

    Returns:
        the sheet, with a group of panels for each drawn variable, and a panel for each clip.

    Raises:
        StpError: the split or variable is unknown, or the split has no clips.
    """
    clips = prepared.clips(split)
    if not len(clips):
        raise StpError(f"{name}: the {split} split has no clips", remedy="choose another split")
    rows = np.unique(np.linspace(0, len(clips) - 1, max(1, n_clips)).astype(np.int64))
    values = clips.read(rows)
    labels = labels_of(prepared, clips, rows)
    attrs = prepared.attrs
    is_picture = shows_pictures(prepared)
    if is_picture:
        if variable is not None or level is not None:
            raise StpError(f"{name} is video: it has no variables", remedy="leave out --variable")
        colours = np.clip(np.moveaxis(values, 2, -1), 0, 1)
        frames = colours if colours.shape[-1] == 3 else colours[..., 0]
        groups = [Group("", "1", True, _panels(labels, frames))]
        drawn_text = ""
    else:
        names, units = variables_of(prepared), units_of(prepared)
        chosen = choose(names, variable, level)
        groups = [
            Group(
                names[i],
                units[i],
                False,
                _panels(labels, values[:, :, i]),
            )
            for i in chosen
        ]
        drawn_text = (
            f", {len(chosen)} of {len(names)} variables" if len(chosen) < len(names) else ""
        )
    lat, lon = grid_of(prepared)
    return Sheet(
        f"{name}, {attrs.get('source', 'unknown source')} data, {split} split: {len(rows)} of "
        f"{len(clips):,} clips{drawn_text}",
        groups,
        np.arange(values.shape[1]) - prepared.context + 1,
        seconds_of(prepared, clips, rows),
        lat,
        lon,
    )


def variables_of(prepared: Prepared) -> list[str]:
    """Names of the channels; ``channel 0``, ``channel 1``, ... if they have none."""
    names = prepared.attrs.get("variables")
    return list(names) if names else [f"channel {i}" for i in range(prepared.shape[0])]


def choose(names: Sequence[str], variable: str | None, level: str | None) -> list[int]:
    """Choose the indices of the variables to draw.

    Args:
        names: names of all variables, such as ``t2m`` or ``z_500``.
        variable: name of a variable, such as ``t2m`` or ``z_500``; without its level if `level` is
            given. None for all variables if there are one or two, else for the first.
        level: level of the variable, such as the pressure level 500 of ``z_500``; None if the
            variable has no level, or the name contains it.

    Returns:
        indices of the variables in `names`.

    Raises:
        StpError: no variable, or more than one, has this name.
    """
    if variable is None:
        if level is not None:
            raise StpError("--level needs --variable", remedy="name a variable as well")
        return list(range(len(names))) if len(names) <= 2 else [0]
    full_name = variable if level is None else f"{variable}{level}"
    matches = [i for i, n in enumerate(names) if n == full_name]
    if not matches:
        matches = [
            i
            for i, n in enumerate(names)
            if level and _strip_separators(n) == _strip_separators(full_name)
        ]
    if not matches:
        levels = [
            n
            for n in names
            if _strip_separators(n).rstrip("0123456789") == _strip_separators(variable)
        ]
        if levels and level is None:
            raise StpError(f"{variable} has several levels", expected=", ".join(levels))
        raise StpError(f"there is no variable {full_name!r}", remedy=suggest_name(full_name, names))
    return matches


def _strip_separators(name: str) -> str:
    """Remove separators from a name: ``z_500`` and ``z@500`` become ``z500``."""
    return "".join(c for c in name.lower() if c.isalnum())


def shows_pictures(prepared: Prepared) -> bool:
    """Whether values are brightness or colours, not physical fields."""
    is_bytes = prepared.frames.dtype == np.uint8
    return is_bytes and prepared.shape[0] in (1, 3) and not prepared.attrs.get("variables")


def _panels(labels: list[str], frames: np.ndarray) -> list[Panel]:
    return [
        Panel(label, frames_of_clip) for label, frames_of_clip in zip(labels, frames, strict=True)
    ]


def units_of(prepared: Prepared) -> list[str]:
    """Unit of each channel, from the units of each variable or the common unit of the data."""
    if units := prepared.attrs.get("variable_units"):
        return [str(text) for text in units]
    store = prepared.folder / "frames.zarr"
    if has_array(store, "channel_units"):
        return [str(text) for text in read_array(store / "channel_units")]
    return [str(prepared.attrs.get("units", ""))] * prepared.shape[0]


def labels_of(prepared: Prepared, clips: Clips, rows: np.ndarray) -> list[str]:
    """Make labels of clips: name and, on a second line, time of the last context frame.

    The time is left out if it is not known, or if windows are drawn at random. Clips that are
    rendered on demand have no names; their labels contain their indices.

    Args:
        prepared: the prepared data.
        clips: the clips of a split.
        rows: indices of the clips to label.
    """
    if clips.virtual:
        return [f"drawn clip {row}" for row in rows]
    chosen = clips.index.iloc[rows]
    names = [str(name) for name in chosen["clip"]]
    is_random = clips.split in prepared.attrs.get("random_windows", {})
    store_folder = prepared.folder / "frames.zarr"
    if is_random or not (store_folder / "time").is_dir():
        return names
    last_context = chosen["start"] + (prepared.context - 1) * chosen["stride"]
    times = read_decoded(store_folder / "time")[last_context.to_numpy()]
    stamps = [str(moment)[:16].replace("T", " ") for moment in times]
    return [f"{name}\n{stamp}" for name, stamp in zip(names, stamps, strict=True)]


def seconds_of(prepared: Prepared, clips: Clips, rows: np.ndarray) -> float | None:
    """Seconds between two frames of clips; None if clips differ, or the data do not state it.

    Args:
        prepared: the prepared data.
        clips: the clips of a split.
        rows: indices of the clips.
    """
    fps = prepared.attrs.get("fps")
    if not fps or clips.virtual:
        return None
    strides = set(clips.index["stride"].to_numpy()[rows].tolist())
    return float(strides.pop() / fps) if len(strides) == 1 else None


def grid_of(prepared: Prepared) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Latitudes, (H,), and longitudes, (W,), of a grid in degrees; None for other data."""
    store_folder = prepared.folder / "frames.zarr"
    if not all((store_folder / name).is_dir() for name in ("lat", "lon")):
        return None, None
    lat, lon = (read_array(store_folder / name).astype(np.float64) for name in ("lat", "lon"))
    if lat.shape != prepared.shape[1:2] or lon.shape != prepared.shape[2:]:
        return None, None
    return lat, lon
