"""Draw a dataset of people: all tracks on the map, or the busiest moments as an animation."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stp.page.figure_style import TEXT_WIDTH, TRUTH, new_figure, paper_size
from stp.render.pictures import movie_files as movie
from stp.render.pictures.people import (
    FORMATS,
    MOVIES,
    OBSERVED,
    STEPS_PER_SECOND,
    aspect_of,
    check_suffix,
    draw_place,
    fix_layout,
    put_note,
    save,
)
from stp.render.pictures.scene import extent_of
from stp.tracks.prepared import PreparedTracks, read
from stp.tracks.tracks import Tracks

__all__ = ["FORMATS", "draw_prepared", "overview", "walk", "write_place"]

WALKED = 20.0
"""Duration of the animation, seconds."""
MOST_TRACKS = 3000
"""Maximum number of tracks that are drawn."""


def draw_prepared(folder: Path, out: Path, **_: object) -> None:
    """Draw an overview of a prepared dataset of people: all tracks, or the busiest moments.

    Args:
        folder: folder of the prepared data.
        out: path of the file: .png, .svg or .pdf for all tracks on the map, .gif or .mp4 for an
            animation of the busiest `WALKED` (20) seconds.

    Raises:
        StpError: the suffix of ``out`` is unknown, or the data are damaged.
    """
    write_place(read(folder), out)


def write_place(dataset: PreparedTracks, out: Path) -> None:
    """Write an overview of a dataset: all tracks on the map, or the busiest moments.

    Args:
        dataset: the prepared dataset.
        out: path of the file: .png, .svg or .pdf for all tracks, .gif or .mp4 for the busiest
            `WALKED` seconds.

    Raises:
        StpError: the suffix of ``out`` is unknown.
    """
    check_suffix(out)
    if out.suffix in MOVIES:
        movie.save(list(walk(dataset)), out, STEPS_PER_SECOND)
    else:
        save(overview(dataset), [out])


def _source_text(dataset: PreparedTracks) -> str:
    facts = dataset.about
    return f"{str(facts['source']).capitalize()} data, release {facts['release']}."


def overview(dataset: PreparedTracks) -> Figure:
    """Draw all tracks on a map, coloured by speed; below it, the number of people over time."""
    tracks = dataset.tracks
    paths = _paths(dataset)
    drawn_paths = paths[:: -(-len(paths) // MOST_TRACKS)]
    extent = extent_of(tracks.position)
    aspect = aspect_of(extent, 2.4)
    with paper_size():
        figure = new_figure(TEXT_WIDTH, min(7.0, 5.6 / aspect) + 1.6)
        upper, lower = figure.subplots(2, 1, height_ratios=[min(7.0, 5.6 / aspect), 0.9])
        draw_place(upper, dataset.obstacles, dataset.goals, extent)
        speeds = np.array([_speed(*path, tracks) for path in drawn_paths])
        lines = LineCollection([path for _, path in drawn_paths], cmap="viridis", lw=0.7, alpha=0.7)
        lines.set_array(speeds)
        lines.set_clim(0, max(0.5, float(np.percentile(speeds, 98))))
        lines.set_zorder(2)
        lines.set_label("_tracks")
        upper.add_collection(lines)
        figure.colorbar(lines, ax=upper, label="mean speed [m/s]", shrink=0.8, pad=0.01)
        _people_over_time(lower, dataset)
        drawn_text = f" ({len(drawn_paths)} drawn)" if len(drawn_paths) < len(paths) else ""
        figure.suptitle(
            f"{dataset.about['dataset']}: {len(paths)} tracks{drawn_text}, "
            f"{len(tracks)} detections every {tracks.dt:g} s",
            fontsize=9,
            parse_math=False,
        )
        put_note(figure, [_source_text(dataset)])
    return figure


def _paths(dataset: PreparedTracks) -> list[tuple[np.ndarray, np.ndarray]]:
    """Frames (n,) and positions (n, 2) of each person in each recording, ascending in time."""
    tracks = dataset.tracks
    recordings = dataset.about.get("recordings", [len(tracks)])
    recording = np.repeat(np.arange(len(recordings)), recordings)
    return [
        (tracks.frame[part], tracks.position[part])
        for rows in tracks.people().values()
        for part in np.split(rows, np.flatnonzero(np.diff(recording[rows])) + 1)
    ]


def _speed(frames: np.ndarray, path: np.ndarray, tracks: Tracks) -> float:
    """Mean speed along a path, in metres per second."""
    length = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
    seconds = (frames[-1] - frames[0]) / tracks.step * tracks.dt
    return float(length / seconds) if seconds else 0.0


def _people_over_time(axes: Axes, dataset: PreparedTracks) -> None:
    tracks = dataset.tracks
    frames, people = np.unique(tracks.frame, return_counts=True)
    seconds = (frames - frames[0]) / tracks.step * tracks.dt
    minutes = seconds / 60
    axes.fill_between(minutes, people, step="post", color=OBSERVED, alpha=0.5, lw=0)
    share = dataset.about["calibration"]
    cut = np.sort(tracks.frame)[min(len(tracks) - 1, int(len(tracks) * share))]
    at = (cut - frames[0]) / tracks.step * tracks.dt / 60
    axes.axvline(at, color=TRUTH, lw=1, ls="--")
    for text, side in (("calibration ", "right"), (" test", "left")):
        axes.annotate(text, (at, people.max()), fontsize=6, va="top", ha=side)
    axes.set_xlim(0, minutes[-1] if minutes[-1] > 0 else 1)
    axes.set_ylim(0, None)
    axes.set_xlabel("time [min]")
    axes.set_ylabel("people")


def walk(dataset: PreparedTracks) -> Iterator[np.ndarray]:
    """Draw a picture for each step of the `WALKED` seconds with the most people.

    Returns:
        pictures, uint8 (height, width, 3); height and width are even.
    """
    tracks = dataset.tracks
    frames = np.unique(tracks.frame)
    length = max(1, round(WALKED / tracks.dt)) * tracks.step
    behind = np.searchsorted(np.sort(tracks.frame), [frames, frames + length])
    first = float(frames[int(np.argmax(behind[1] - behind[0]))])
    moments = np.arange(first, min(first + length, frames[-1] + 1), tracks.step)
    extent = extent_of(tracks.position)
    aspect = aspect_of(extent, 2.4)
    paths = [(at, path) for at, path in _paths(dataset) if at[-1] >= first and at[0] <= moments[-1]]
    with paper_size():
        figure = new_figure(5.6, 5.2 / aspect + 0.7)
        axes = figure.subplots()
        draw_place(axes, dataset.obstacles, dataset.goals, extent)
        figure.suptitle(dataset.about["dataset"], fontsize=8)
        put_note(figure, [_source_text(dataset)])
        fix_layout(figure)
        for moment in moments:
            artists: list[Line2D] = []
            for at, path in paths:
                past = path[(at <= moment) & (at > moment - length / 4)]
                if len(past) and at[0] <= moment <= at[-1]:
                    artists += axes.plot(*past.T, color="#0072b2", lw=1.2, zorder=3)
                    artists += axes.plot(*past[-1], marker="o", ms=5, color=TRUTH, zorder=4)
            seconds = (moment - frames[0]) / tracks.step * tracks.dt
            text = f"{dataset.about['dataset']}\n{seconds:.1f} s, {len(artists) // 2} people"
            figure.suptitle(text, fontsize=8, parse_math=False)
            yield movie.pixels(figure)
            for artist in artists:
                artist.remove()
