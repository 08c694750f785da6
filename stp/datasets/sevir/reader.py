"""SEVIR: storms over the United States, observed by weather radar and satellites; here, the radar.

Veillette, Samsi and Mattioli 2020, "SEVIR: a storm event imagery dataset for deep learning
applications in radar and satellite meteorology". An event is 4 hours of pictures of 384 km x 384 km
every 5 minutes. Of the five image types only vertically integrated liquid (VIL) is read. Events,
windows and splits are those of Earthformer (Gao et al. 2022), which PredBench uses too.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import zarr

from stp.core.errors import RawFileError, StpError
from stp.core.job import Extras, Job, Recipe
from stp.core.options import build, require
from stp.data.raw_files import RawFiles
from stp.prepare.frames import Decoded, Piece, write_frames
from stp.prepare.hdf5 import open_array, read
from stp.prepare.output import SPLITS, Clip, attributes, write_coordinate, write_index
from stp.prepare.pixels import read_inputs
from stp.prepare.planned_counts import Lists, Planned

CATALOG = "sevir/CATALOG.csv"
DATA = "sevir/data"
TYPE = "vil"
FRAMES = 49
MISSING = 255
MINUTES = 5
OFFSETS = (0, 12, 24)
"""First frames of the windows of an event: every 12 frames of 49 (PredBench,
configs/_base_/datasets/sevir.py and predbench/datasets/sevir.py)."""
BOUNDS = (pd.Timestamp("2019-01-01"), pd.Timestamp("2019-06-01"))
"""Events after these times (UTC) are for validation and for the test (Earthformer,
cfg_sevir.yaml)."""
COLUMNS = (
    *("id", "file_name", "file_index", "img_type", "time_utc", "minute_offsets"),
    *("episode_id", "event_id", "event_type", "llcrnrlat", "llcrnrlon", "urcrnrlat", "urcrnrlon"),
    *("proj", "size_x", "size_y", "height_m", "width_m", "pct_missing"),
)
NUMBERS = (
    *("file_index", "llcrnrlat", "llcrnrlon", "urcrnrlat", "urcrnrlon"),
    *("size_x", "size_y", "height_m", "width_m", "pct_missing"),
)
CODE = (
    "a code 0..254 of vertically integrated liquid in kg m-2: 0 if X <= 5, (X - 2) / 90.66 if "
    "X <= 18, exp((X - 83.9) / 38.9) above; 255 is missing"
)
"""Conversion of codes, from the SEVIR tutorial (eie-sevir)."""


@dataclass(frozen=True)
class SevirOptions:
    """Options of the reader of SEVIR; there are none."""


class Event(NamedTuple):
    """49 pictures of a storm, or of a randomly chosen location.

    Attributes:
        id: identifier, such as "S851130" (storm) or "R18010417267695" (random).
        split: train, val or test.
        file: path of the data file, below the raw folder.
        place: index of the event in the file, from 0.
        time: time of the picture with offset 0, seconds since 1970, UTC.
        offsets: minutes from this time to each picture.
    """

    id: str
    split: str
    file: str
    place: int
    time: int
    offsets: tuple[float, ...]


def read_catalog(path: Path) -> pd.DataFrame:
    """Read the catalogue: its columns and ``split``, for the events that are used, sorted by file.

    As in Earthformer's loader, events with missing pixels according to the catalogue and events
    whose identifier occurs twice are left out.

    Raises:
        StpError: the catalogue is damaged or incomplete, or has no events that can be used.
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise _catalog_error(path, f"cannot be read as a table ({error})") from error
    missing = [name for name in COLUMNS if name not in table.columns]
    if missing:
        raise _catalog_error(path, f"no column {', '.join(missing)}")
    table = table.loc[table["img_type"] == TYPE, list(COLUMNS)]
    for name in NUMBERS:
        numbers = pd.to_numeric(table[name], errors="coerce")
        table[name] = numbers.where(np.isfinite(numbers))
    table["file_index"] = table["file_index"].where(table["file_index"] % 1 == 0)
    times = pd.to_datetime(table["time_utc"], errors="coerce", format="ISO8601", utc=True)
    table["time_utc"] = times.dt.tz_localize(None)
    unreadable = table[["time_utc", "file_index", "height_m", "width_m"]].isna()
    if unreadable.to_numpy().any():
        row, column = np.argwhere(unreadable.to_numpy())[0]
        raise _catalog_error(
            path, f"event {table['id'].iloc[row]} has no {unreadable.columns[column]}"
        )
    table = table[table["pct_missing"] == 0]
    table = table[~table["id"].duplicated(keep=False)]
    if table.empty:
        raise _catalog_error(path, f"no event with {TYPE} that can be used")
    # The bound itself belongs to the split before, as in Earthformer's loader.
    later = sum((table["time_utc"] > bound).astype(int) for bound in BOUNDS)
    table["split"] = np.array(SPLITS)[later]
    table["file_index"] = table["file_index"].astype(np.int64)
    return table.sort_values(["file_name", "file_index"], kind="stable", ignore_index=True)


def events_of(catalog: pd.DataFrame, path: Path) -> list[Event]:
    """Make an `Event` of each row of a catalogue.

    Args:
        catalog: rows of the catalogue, from `read_catalog`.
        path: path of the catalogue, for errors only.

    Raises:
        StpError: an event does not have 49 pictures at ascending times.
    """
    events = []
    seconds = catalog["time_utc"].to_numpy().astype("datetime64[s]").astype(np.int64)
    columns = ("id", "split", "file_name", "file_index", "minute_offsets")
    rows = zip(*(catalog[name].tolist() for name in columns), seconds.tolist(), strict=True)
    for name, split, file, index, text, time in rows:
        try:
            offsets = tuple(float(minutes) for minutes in text.split(":"))
        except ValueError:
            offsets = ()
        if len(offsets) != FRAMES or (np.diff(offsets) <= 0).any():
            raise RawFileError(
                path,
                f"event {name}: minute_offsets are {text!r}",
                expected=f"{FRAMES} times in order, such as -120:-115:...:120",
            )
        events.append(Event(name, split, f"{DATA}/{file}", index, time, offsets))
    return events


def cut_windows(events: Iterable[Event], span: int) -> list[Clip]:
    """Cut events, whose frames are stored one after the other, into windows.

    Storms of one day are dependent, so the day is the cluster.

    Raises:
        StpError: a window reaches beyond its event.
    """
    most = FRAMES - OFFSETS[-1]
    require(span <= most, "context + horizon", span, f"at most {most} of {FRAMES} frames")
    clips = []
    for number, event in enumerate(events):
        day = str(np.datetime64(event.time, "s").astype("datetime64[D]"))
        for offset in OFFSETS:
            start = number * FRAMES + offset
            clips.append(Clip(event.split, f"{event.id}/{offset:02d}", start, 1, span, day))
    return clips


def run(job: Job) -> Extras:
    """Write the frames (``frames.zarr``), clips (``index.parquet``) and events of SEVIR.

    ``events.parquet`` has a row for each event in the order of the store: identifiers, time, first
    frame, and location (corners, projection).

    Returns:
        facts for the receipt (record of the preparation), such as numbers of clips.

    Raises:
        StpError: an option or a raw file is wrong, or a raw file is missing.
    """
    recipe = job.recipe
    _, raw, height, width, span = read_inputs(job, SevirOptions, channels=1)
    path = raw.find(CATALOG)
    catalog = read_catalog(path)
    events = events_of(catalog, path)
    clips = cut_windows(events, span)
    check_places(raw, events, path)

    written = write_frames(
        job,
        raw,
        [Piece(e.id, FRAMES, e, FRAMES * height * width) for e in events],
        decode_event,
        attrs=attributes(
            recipe,
            raw,
            units=recipe["units"],
            stored_scale=1.0,
            stored_offset=0.0,
            # PredBench: SEVIR_01_MEAN and SEVIR_01_STD of configs/_base_/datasets/sevir.py
            normalisation={
                **{"offset": 0.0, "scale": 255.0},
                **{"method": "fixed", "from": "published constants"},
            },
            phases=1,
            variables=[TYPE],
            notes={"code": CODE, "frame interval": f"{MINUTES} minutes"},
        ),
        dtype=np.uint8,
        unit="events",
    )
    _describe(written.group, events, catalog)
    table = catalog.drop(columns=["img_type", "minute_offsets"])
    table["first_frame"] = np.arange(len(events), dtype=np.int64) * FRAMES
    table.to_parquet(job.out / "events.parquet", index=False, write_page_checksum=True)
    train = [number for number, event in enumerate(events) if event.split == "train"]
    statistics = written.statistics.of(train)
    return {
        **write_index(job.out, clips),
        **written.extras,
        "missing pixels": int(sum(written.notes)),
        "training mean and std": [statistics["mean"][0], statistics["std"][0]],
    }


def count(recipe: Recipe, raw: Lists) -> Planned:
    """Count the clips that `run` will write, from the catalogue of events, without pictures.

    Used before the data are downloaded, to compare the numbers with the published ones.

    Args:
        recipe: recipe of the preparation, with ``options``, ``context`` and ``horizon``.
        raw: finds the catalogue of events among the raw files.

    Returns:
        the clips, or their numbers by split, or the reason why a number is not known yet.

    Raises:
        StpError: an option or the catalogue is wrong.
    """
    build(SevirOptions, recipe["options"], "prepare options")
    try:
        path = raw.find(CATALOG)
    except StpError:
        reason = f"{CATALOG}, which lists the events, is missing; `stp fetch` downloads it"
        return Planned(unknown=dict.fromkeys(SPLITS, reason))
    events = events_of(read_catalog(path), path)
    return Planned(cut_windows(events, recipe["context"] + recipe["horizon"]))


def check_places(raw: RawFiles, events: Iterable[Event], catalog: Path) -> None:
    """Check that the data files have each event at the index that the catalogue states.

    Args:
        raw: the raw files.
        events: the events that are used, from `events_of`. Each has its data file, and ``place``,
            its index in this file.
        catalog: path of the catalogue, for errors only.

    Raises:
        StpError: a file is missing or damaged, or has another identifier at the index of an event.
    """
    by_file: dict[str, list[Event]] = {}
    for event in events:
        by_file.setdefault(event.file, []).append(event)
    missing = sorted(set(by_file) - set(raw.names))
    if missing:
        raise StpError(
            f"{len(missing)} of {len(by_file)} SEVIR files are missing, first {missing[0]}",
            expected=f"every file that {catalog} names for {TYPE}",
            remedy="fetch all files of the release, or remove the events from the catalogue",
        )
    for name, events_in_file in by_file.items():
        path = raw.find(name)
        with open_array(path, "id", ndim=1, dtypes=("bytes", "object")) as dataset:
            ids = read(dataset, slice(None), path)
        for event in events_in_file:
            value = ids[event.place] if 0 <= event.place < len(ids) else b"nothing"
            text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
            if text != event.id:
                raise RawFileError(
                    path,
                    f"at place {event.place} of {len(ids)} there is {text}",
                    expected=f"event {event.id}, as {catalog} says",
                )


def decode_event(raw: RawFiles, event: Event) -> Decoded:
    """Read the 49 pictures of an event as stored, uint8 (49, 1, H, W).

    Returns:
        the pictures, with the number of missing pixels (code 255) as note.

    Raises:
        StpError: the file is damaged, or number or type of the pictures is unexpected.
    """
    path = raw.find(event.file)
    with open_array(path, TYPE, ndim=4, dtypes=("uint8",)) as dataset:
        if event.place >= dataset.shape[0] or dataset.shape[3] != FRAMES:
            raise RawFileError(
                path,
                f"{TYPE} has shape {dataset.shape}",
                expected=f"(events, height, width, {FRAMES}) with event {event.place}",
            )
        pictures = read(dataset, event.place, path)
    frames = np.ascontiguousarray(pictures.transpose(2, 0, 1))[:, None]
    return Decoded(frames, int((frames == MISSING).sum()))


def _describe(group: zarr.Group, events: list[Event], catalog: pd.DataFrame) -> None:
    """Write coordinates: the time of each frame, and the distance of pixels from the edge of the
    picture.
    """
    times = np.array([e.time for e in events])[:, None] + np.round(
        60 * np.array([e.offsets for e in events])
    ).astype(np.int64)
    epoch = "seconds since 1970-01-01 00:00:00"
    names = {"standard_name": "time", "units": epoch, "calendar": "proleptic_gregorian"}
    write_coordinate(group, "time", "frame", times.reshape(-1), **names)
    for dim, pixels, metres in (
        ("y", group["frames"].shape[2], catalog["height_m"].iloc[0]),  # type: ignore[union-attr]
        ("x", group["frames"].shape[3], catalog["width_m"].iloc[0]),  # type: ignore[union-attr]
    ):
        centres = (np.arange(pixels) + 0.5) * float(metres) / pixels
        description = f"distance from the first {'row' if dim == 'y' else 'column'}'s edge"
        write_coordinate(group, dim, dim, centres, units="m", long_name=description)
    group["frames"].attrs.update(
        long_name="vertically integrated liquid, coded",
        units="1",
        comment=CODE,
        missing_code=MISSING,
        coordinates="time",
    )


def _catalog_error(path: Path, problem: str) -> StpError:
    return RawFileError(path, problem, expected="SEVIR's CATALOG.csv")
