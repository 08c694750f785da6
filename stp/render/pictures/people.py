"""Drawings of people who walk: a scenario with its predictions, its animation, a whole dataset.

No stage imports this, so that nothing that is computed depends on how it is drawn.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse
from scipy.spatial import cKDTree

from stp.core.disk import beside, writing
from stp.core.errors import StpError
from stp.page import figure_style
from stp.page.figure_style import (
    TEXT_WIDTH,
    TRUTH,
    Style,
    new_figure,
    note_height,
    paper_size,
    styles,
)
from stp.render.pictures import movie_files as movie
from stp.render.pictures.scene import Extent, Mixture, Predicted, Scene, extent_of
from stp.tracks.obstacles import Obstacles
from stp.tracks.prepared import Place, read
from stp.tracks.tracks import Tracks

PICTURES, MOVIES = (".png", ".svg", ".pdf"), (".gif", ".mp4")
FORMATS = (*PICTURES, *MOVIES)
Layout = Literal["overlay", "side"]
OBSERVED = "#6b6b6b"
WALL = "#b9b2a6"
GOAL = "#a05a00"
PERSON = 0.25
"""Metres: the radius of a person in Atlas."""
DPI, DPI_OF_PRINT = 110, 200
UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}
}  # fmt: skip
WALKED = 20.0
"""Seconds of the animation of a dataset."""
MOST_TRACKS = 3000
MOST_SHAPES = 1000
"""Cells of a map in .svg and .pdf; more are a picture within the drawing."""
STEPS_PER_SECOND = 4
"""Of an animation; the time in the scenario is written into it."""


def style_of(labels: Sequence[str]) -> dict[str, Style]:
    """A colour, line and marker for each label."""
    return styles(labels)


def width_of(label: str, shown: Mapping[str, Style]) -> float:
    """Points of a line: thinner lines lie on wider ones, so that equal paths are seen to be."""
    return max(1.0, 3.0 - 0.4 * list(shown).index(label)) if len(shown) > 1 else 1.6


# One scenario


def draw(
    axes: Axes,
    scene: Scene,
    *,
    shown: Mapping[str, Style] | None = None,
    upto: int | None = None,
    extent: Extent | None = None,
) -> None:
    """Draw a scenario: map, observed and true paths, and what models predict.

    Args:
        axes: to draw on; emptied before.
        scene: what to draw.
        shown: styles of the models that are drawn, by label; all of them unless given.
        upto: the last step that is drawn strongly, from 1 - O to T, where 0 is the last observed
            position; all unless given.
        extent: left, right, bottom and top, metres; that of the scene unless given.
    """
    steps = scene.future.shape[1]
    last = steps if upto is None else upto
    axes.clear()
    look = style_of([one.label for one in scene.predicted]) if shown is None else shown
    area = scene.extent if extent is None else extent
    draw_place(axes, scene.obstacles, scene.goals, area)
    seen = scene.observed.shape[1]
    known = scene.observed[:, : seen + min(last, 0)]
    ahead = np.concatenate([scene.observed[:, -1:], scene.future[:, : max(last, 0)]], axis=1)
    if upto is not None and upto < steps:
        _faint_truth(axes, scene)
    for path in scene.neighbours:
        axes.plot(*path.T, color=OBSERVED, lw=0.8, ls=":", zorder=2.5, label="_neighbour")
    for path in known:
        axes.plot(*path.T, color=OBSERVED, lw=1.4, marker="o", ms=2, zorder=3, label="_observed")
    for path in ahead if last > 0 else ():
        axes.plot(*path.T, color=TRUTH, lw=1.6, zorder=5.5, label="_true", solid_capstyle="round")
    for one in scene.predicted:
        if one.label in look and last > 0:
            width = width_of(one.label, look)
            _draw_predicted(axes, scene, one, look[one.label], last, width)
    now = known[:, -1] if last <= 0 else scene.observed[:, -1]
    axes.add_collection(
        EllipseCollection(
            2 * PERSON, 2 * PERSON, 0, units="xy", offsets=now, transOffset=axes.transData,
            facecolor="white", edgecolor=TRUTH, lw=0.9, zorder=6,
        )
    )  # fmt: skip
    for name, place in zip(scene.person, now, strict=True):
        axes.annotate(
            name, place + np.array([0, PERSON]), xytext=(0, 1.5), textcoords="offset points",
            ha="center", va="bottom", fontsize=6, zorder=7, color=TRUTH, annotation_clip=True,
        )  # fmt: skip
    if 0 < last < steps:
        axes.plot(*ahead[:, -1].T, ls="", marker="o", ms=4, color=TRUTH, zorder=6)


def draw_place(
    axes: Axes, obstacles: Obstacles | None, goals: np.ndarray | None, extent: Extent
) -> None:
    """Draw a map in metres, as wide as high; no more than what lies within the extent."""
    left, right, bottom, top = extent
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.tick_params(labelsize=7)  # ticks may be made later, under other settings
    if obstacles is not None:
        near, size = cells_within(obstacles, extent)
        axes.add_collection(
            EllipseCollection(
                size, size, np.zeros(len(near)), units="xy", offsets=near,
                transOffset=axes.transData, facecolor=WALL, edgecolor="none", zorder=1,
                label="_obstacles",
                rasterized=len(near) > MOST_SHAPES,
            )
        )  # fmt: skip
    if goals is not None:
        axes.plot(*goals.T, ls="", marker="*", ms=8, color=GOAL, zorder=2, label="_goals")
        axes.set_xlim(left, right)  # some goals are far away
        axes.set_ylim(bottom, top)


def cells_within(obstacles: Obstacles, extent: Extent) -> tuple[np.ndarray, np.ndarray]:
    """Centres and diameters of what lies within the extent; cells of a map touch each other."""
    position = obstacles.position
    diameter = 2 * obstacles.radius
    if obstacles.kind == "grid" and len(position) > 1:
        distance = cKDTree(position).query(position[:: max(1, len(position) // 500)], 2)[0]
        diameter = np.full(len(position), 1.45 * float(np.median(distance[:, 1])))
    left, right, bottom, top = extent
    x, y = position.T
    reach = diameter / 2
    near = (x > left - reach) & (x < right + reach) & (y > bottom - reach) & (y < top + reach)
    return position[near], diameter[near]


def _faint_truth(axes: Axes, scene: Scene) -> None:
    """All that people will have walked, so that a picture of an animation can be understood."""
    whole = np.concatenate([scene.observed, scene.future], axis=1)
    axes.add_collection(LineCollection(list(whole), colors="#d9d9d9", linewidths=1.0, zorder=2))


def _draw_predicted(
    axes: Axes, scene: Scene, one: Predicted, style: Style, last: int, width: float
) -> None:
    start = scene.observed[:, -1:]
    if one.mixture is not None:
        _draw_mixture(axes, one.mixture, style, last)
    if len(one.samples) > 1:
        thin = [
            np.concatenate([start[n], path[:last]])
            for sample in one.samples
            for n, path in enumerate(sample)
        ]
        axes.add_collection(
            LineCollection(
                thin, colors=style.colour, linewidths=0.5, alpha=0.45, zorder=3.5,
                label=f"_samples of {one.label}",
            )
        )  # fmt: skip
    for begin, path in zip(start, one.path, strict=True):
        line = np.concatenate([begin, path[:last]])
        axes.plot(
            *line.T, color=style.colour, ls=style.line, lw=width, zorder=5, marker=style.marker,
            ms=2.5 + width, markevery=[len(line) - 1], label=f"_{one.label}",
        )  # fmt: skip


def _draw_mixture(axes: Axes, mixture: Mixture, style: Style, last: int) -> None:
    """Ellipses of two standard deviations at the last step; the more probable the darker."""
    for person in range(len(mixture.means)):
        for weight, mean, covariance in zip(
            mixture.weights[person, last - 1],
            mixture.means[person, last - 1],
            mixture.covariances[person, last - 1],
            strict=True,
        ):
            axes.add_patch(ellipse(mean, covariance, style, float(weight)))


def ellipse_of(covariance: np.ndarray) -> tuple[float, float, float]:
    """Width and height in metres of the ellipse of two standard deviations, and degrees."""
    values, vectors = np.linalg.eigh(covariance)
    width, height = (float(length) for length in 4 * np.sqrt(np.maximum(values[::-1], 0)))
    return width, height, math.degrees(math.atan2(vectors[1, 1], vectors[0, 1]))


def ellipse(mean: np.ndarray, covariance: np.ndarray, style: Style, weight: float) -> Ellipse:
    """The ellipse of two standard deviations of a Gaussian.

    Args:
        mean: (2,), metres.
        covariance: (2, 2), square metres.
        style: of its model.
        weight: its share of a mixture, 0..1.
    """
    width, height, angle = ellipse_of(covariance)
    return Ellipse(
        (float(mean[0]), float(mean[1])), width, height, angle=angle,
        facecolor=style.colour, edgecolor=style.colour, lw=0.8, ls=style.line,
        alpha=0.1 + 0.35 * weight, zorder=3.2,
    )  # fmt: skip


def legend_of(
    scene: Scene, shown: Mapping[str, Style], *, with_errors: bool = True
) -> list[Line2D]:
    """What stands for what, with the mean error (ADE) of each model where there is one scenario."""
    lines = [Line2D([], [], color=OBSERVED, lw=1.4, marker="o", ms=2, label="observed")]
    if scene.is_future_known:
        lines.append(Line2D([], [], color=TRUTH, lw=1.8, label="true"))
    with_errors = with_errors and scene.is_future_known
    for one in scene.predicted:
        if one.label in shown:
            style = shown[one.label]
            error = f", ADE {one.errors(scene.future).mean():.2f} m" if with_errors else ""
            lines.append(
                Line2D(
                    [], [], color=style.colour, ls=style.line, marker=style.marker, ms=4,
                    lw=width_of(one.label, shown), label=f"{one.label}{error}",
                )
            )  # fmt: skip
    if len(scene.neighbours):
        lines.append(Line2D([], [], color=OBSERVED, lw=0.8, ls=":", label="observed, not followed"))
    if scene.obstacles is not None and len(cells_within(scene.obstacles, scene.extent)[0]):
        lines.append(Line2D([], [], ls="", marker="s", color=WALL, ms=6, label="obstacle"))
    if scene.goals is not None:
        lines.append(Line2D([], [], ls="", marker="*", color=GOAL, ms=8, label="goal"))
    return lines


def widened(extent: Extent, aspect: float) -> Extent:
    """An extent of a given width over height that holds another one, in the middle."""
    left, right, bottom, top = extent
    width, height = right - left, top - bottom
    more = max(height * aspect - width, 0) / 2, max(width / aspect - height, 0) / 2
    return left - more[0], right + more[0], bottom - more[1], top + more[1]


def figure_of(scene: Scene, layout: Layout = "overlay") -> Figure:
    """A figure of one scenario.

    Args:
        scene: what to draw.
        layout: ``overlay``: all models over one another; ``side``: a panel for each.

    Raises:
        StpError: models side by side, but there are none.
    """
    look = style_of([one.label for one in scene.predicted])
    if layout == "side" and not look:
        raise StpError("models side by side, but nothing is predicted", remedy="overlay them")
    groups = [look] if layout == "overlay" else [{name: style} for name, style in look.items()]
    left, right, bottom, top = scene.extent
    aspect = min(2.2, max(0.6, (right - left) / (top - bottom)))
    columns = min(len(groups), 3)
    rows = -(-len(groups) // columns)
    with paper_size():
        width = 5.2 if len(groups) == 1 else TEXT_WIDTH
        handles = legend_of(scene, look if layout == "overlay" else {})
        below = 0.15 * -(-len(handles) // 2)
        above = 0.25 if layout == "overlay" else 0.5
        each = width / columns - 0.5  # without the axis of y
        figure = new_figure(width, rows * (each / aspect + 0.4 + above) + below + 0.1)
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, group in zip(panels, groups, strict=False):
            draw(axes, scene, shown=group, extent=widened(scene.extent, aspect))
            if layout == "side":
                (one,) = (one for one in scene.predicted if one.label in group)
                error = one.errors(scene.future).mean()
                axes.set_title(f"{one.label}\nADE {error:.2f} m", fontsize=7)
        for axes in panels[len(groups) :]:
            axes.set_axis_off()
        figure.legend(handles=handles, loc="lower center", ncols=2, frameon=False, borderpad=1)
        figure.suptitle(scene.title, fontsize=9, parse_math=False)
        put_note(figure, scene.notes)
    return figure


def put_note(figure: Figure, notes: Sequence[str]) -> None:
    """Put sentences below a figure, which grows by what they take; legends stand above them."""
    note = " ".join(notes)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + (note_height(figure, note) if note else 0))
    figure_style.annotate(figure, note)


def save(figure: Figure, outs: Sequence[Path]) -> None:
    """Write a figure as .png, .svg or .pdf; the bytes depend on what is drawn alone.

    Args:
        figure: what to write.
        outs: the files; the first one is put in place last.
    """
    with paper_size():
        for out in reversed(outs):
            kind = out.suffix[1:]
            with writing(out), beside(out) as temporary:
                figure.savefig(temporary, format=kind, dpi=DPI_OF_PRINT, metadata=UNDATED[kind])


# In motion


def animation(scene: Scene, layout: Layout = "overlay") -> Iterator[np.ndarray]:
    """Pictures of a scenario, one for each position from the first observed to the last true one.

    Args:
        scene: what moves.
        layout: see `figure_of`.

    Returns:
        uint8 (height, width, 3), O + T of them; height and width are even, as video needs.
    """
    figure = figure_of(scene, layout)
    panels = figure.axes
    look = style_of([one.label for one in scene.predicted])
    groups = [look] if layout == "overlay" else [{name: style} for name, style in look.items()]
    with paper_size():
        _fixed(figure)
        extents = [(*axes.get_xlim(), *axes.get_ylim()) for axes in panels]
        titles = [axes.get_title() for axes in panels]
        for step in range(1 - scene.observed.shape[1], scene.future.shape[1] + 1):
            for axes, group, extent, title in zip(panels, groups, extents, titles, strict=False):
                draw(axes, scene, shown=group, upto=step, extent=extent)
                axes.set_title(title, fontsize=7)
            word = "observed" if step <= 0 else "predicted"
            figure.suptitle(
                f"{scene.title}\n{word} {step * scene.dt:+.1f} s", fontsize=8, parse_math=False
            )
            yield _pixels(figure)


def _fixed(figure: Figure) -> None:
    """Lay a figure out once, so that nothing in it jumps; its sides become even pixels."""
    figure.set_dpi(DPI)
    figure.set_size_inches(*(2 * round(s * DPI / 2) / DPI for s in figure.get_size_inches()))
    # two lines, so that there is room for the time
    figure.suptitle(f"{figure.get_suptitle()}\n", fontsize=8, parse_math=False)
    for _ in range(2):  # maps as wide as high settle in the second one
        figure.canvas.draw()
    figure.set_layout_engine("none")


def _pixels(figure: Figure) -> np.ndarray:
    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def write(scene: Scene, out: Path, layout: Layout = "overlay") -> None:
    """Write a scenario as a picture or, as .gif or .mp4, as an animation.

    Raises:
        StpError: of another kind.
    """
    check_suffix(out)
    if out.suffix in MOVIES:
        movie.save(list(animation(scene, layout)), out, STEPS_PER_SECOND)
    else:
        save(figure_of(scene, layout), [out])


def check_suffix(out: Path) -> None:
    """Refuse a kind of file that cannot be written.

    Raises:
        StpError: it is not one of `FORMATS`.
    """
    if out.suffix not in FORMATS:
        raise StpError(
            f"{out}: unknown kind of picture {out.suffix!r}",
            expected=" or ".join(FORMATS),
        )


# A dataset


def draw_prepared(folder: Path, out: Path, **_: object) -> None:
    """Draw prepared data; see `write_place`.

    Raises:
        StpError: the file is of another kind, or the data are damaged.
    """
    write_place(read(folder), out)


def write_place(place: Place, out: Path) -> None:
    """Write an overview of a dataset: all its tracks over its map; or its busiest moments.

    Args:
        place: the dataset.
        out: .png, .svg or .pdf for all tracks; .gif or .mp4 for the `WALKED` seconds in which most
            people are there.

    Raises:
        StpError: of another kind.
    """
    check_suffix(out)
    if out.suffix in MOVIES:
        movie.save(list(walk(place)), out, STEPS_PER_SECOND)
    else:
        save(overview(place), [out])


def _whose(place: Place) -> str:
    about = place.about
    return f"{str(about['source']).capitalize()} data, release {about['release']}."


def overview(place: Place) -> Figure:
    """A figure of all tracks over the map, coloured by speed, and below it people over time."""
    tracks = place.tracks
    paths = _paths(tracks)
    shown = paths[:: -(-len(paths) // MOST_TRACKS)]
    extent = extent_of(tracks.position)
    left, right, bottom, top = extent
    aspect = min(2.4, max(0.6, (right - left) / (top - bottom)))
    with paper_size():
        figure = new_figure(TEXT_WIDTH, min(7.0, 5.6 / aspect) + 1.6)
        upper, lower = figure.subplots(2, 1, height_ratios=[min(7.0, 5.6 / aspect), 0.9])
        draw_place(upper, place.obstacles, place.goals, extent)
        speeds = np.array([_speed(path, tracks) for _, path in shown])
        lines = LineCollection([path for _, path in shown], cmap="viridis", lw=0.7, alpha=0.7)
        lines.set_array(speeds)
        lines.set_clim(0, max(0.5, float(np.percentile(speeds, 98))))
        lines.set_zorder(2)
        lines.set_label("_tracks")
        upper.add_collection(lines)
        figure.colorbar(lines, ax=upper, label="mean speed [m/s]", shrink=0.8, pad=0.01)
        _people_over_time(lower, place)
        more = f" ({len(shown)} drawn)" if len(shown) < len(paths) else ""
        figure.suptitle(
            f"{place.about['dataset']}: {len(paths)} people{more}, {len(tracks)} detections "
            f"every {tracks.dt:g} s",
            fontsize=9,
            parse_math=False,
        )
        put_note(figure, [_whose(place)])
    return figure


def _paths(tracks: Tracks) -> list[tuple[np.ndarray, np.ndarray]]:
    """Frames and positions of each person, ascending in time."""
    found = []
    for rows in tracks.people().values():
        order = rows[np.argsort(tracks.frame[rows], kind="stable")]
        found.append((tracks.frame[order], tracks.position[order]))
    return found


def _speed(path: np.ndarray, tracks: Tracks) -> float:
    """Mean speed along a path, metres per second; gaps count as one step."""
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    return float(steps.mean() / tracks.dt) if len(steps) else 0.0


def _people_over_time(axes: Axes, place: Place) -> None:
    tracks = place.tracks
    frames, people = np.unique(tracks.frame, return_counts=True)
    seconds = (frames - frames[0]) / tracks.step * tracks.dt
    minutes = seconds / 60
    axes.fill_between(minutes, people, step="post", color=OBSERVED, alpha=0.5, lw=0)
    share = place.about["calibration"]
    cut = np.sort(tracks.frame)[min(len(tracks) - 1, int(len(tracks) * share))]
    at = (cut - frames[0]) / tracks.step * tracks.dt / 60
    axes.axvline(at, color=TRUTH, lw=1, ls="--")
    for text, side in (("calibration ", "right"), (" test", "left")):
        axes.annotate(text, (at, people.max()), fontsize=6, va="top", ha=side)
    axes.set_xlim(0, minutes[-1] if minutes[-1] > 0 else 1)
    axes.set_ylim(0, None)
    axes.set_xlabel("time [min]")
    axes.set_ylabel("people")


def walk(place: Place) -> Iterator[np.ndarray]:
    """Pictures of the `WALKED` seconds in which most people are there, one for each step.

    Returns:
        uint8 (height, width, 3), even.
    """
    tracks = place.tracks
    frames = np.unique(tracks.frame)
    length = max(1, round(WALKED / tracks.dt)) * tracks.step
    behind = np.searchsorted(np.sort(tracks.frame), [frames, frames + length])
    first = float(frames[int(np.argmax(behind[1] - behind[0]))])
    moments = np.arange(first, min(first + length, frames[-1] + 1), tracks.step)
    extent = extent_of(tracks.position)
    left, right, bottom, top = extent
    aspect = min(2.4, max(0.6, (right - left) / (top - bottom)))
    paths = [(at, path) for at, path in _paths(tracks) if at[-1] >= first and at[0] <= moments[-1]]
    with paper_size():
        figure = new_figure(5.6, 5.2 / aspect + 0.7)
        axes = figure.subplots()
        draw_place(axes, place.obstacles, place.goals, extent)
        figure.suptitle(place.about["dataset"], fontsize=8)
        put_note(figure, [_whose(place)])
        _fixed(figure)
        for moment in moments:
            drawn: list[Any] = []
            for at, path in paths:
                past = path[(at <= moment) & (at > moment - length / 4)]
                if len(past) and at[0] <= moment <= at[-1]:
                    drawn += axes.plot(*past.T, color="#0072b2", lw=1.2, zorder=3)
                    drawn += axes.plot(*past[-1], marker="o", ms=5, color=TRUTH, zorder=4)
            seconds = (moment - frames[0]) / tracks.step * tracks.dt
            figure.suptitle(
                f"{place.about['dataset']}\n{seconds:.1f} s, {len(drawn) // 2} people", fontsize=8,
                parse_math=False,
            )  # fmt: skip
            yield _pixels(figure)
            for artist in drawn:
                artist.remove()
