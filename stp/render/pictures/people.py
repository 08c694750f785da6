"""Draw a scenario of walking people with predictions, as a picture or an animation."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Ellipse
from scipy.spatial import cKDTree

from stp.core.disk import atomic_path, writing
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
from stp.render.pictures.scene import Extent, Mixture, Predicted, Scene
from stp.tracks.obstacles import Obstacles

PICTURES, MOVIES = (".png", ".svg", ".pdf"), (".gif", ".mp4")
FORMATS = (*PICTURES, *MOVIES)
Layout = Literal["overlay", "side"]
OBSERVED = "#6b6b6b"
WALL = "#b9b2a6"
GOAL = "#a05a00"
PERSON = 0.25
"""Radius of a person in Atlas, metres."""
DPI, DPI_OF_PRINT = 110, 200
MOST_SHAPES = 1000
"""Maximum number of cells of a map that are drawn as shapes in .svg and .pdf; larger maps are
rasterized."""
STEPS_PER_SECOND = 4
"""Rate of animations, which show the time in the scenario."""


def style_of(labels: Sequence[str]) -> dict[str, Style]:
    """Colour, line and marker of each model, by label."""
    return styles(labels)


def width_of(label: str, model_styles: Mapping[str, Style]) -> float:
    """Line width of a model, in points.

    Widths differ, with thinner lines on top, so that equal paths of several models are visible.
    """
    return max(1.0, 3.0 - 0.4 * list(model_styles).index(label)) if len(model_styles) > 1 else 1.6


# One scenario


def draw(
    axes: Axes,
    scene: Scene,
    *,
    model_styles: Mapping[str, Style] | None = None,
    upto: int | None = None,
    extent: Extent | None = None,
) -> None:
    """Draw a scenario: map, observed and true paths, and predictions.

    Args:
        axes: the panel, which is cleared first.
        scene: the scenario.
        model_styles: style of the models to draw, by label; None for all models.
        upto: last step of the paths, for pictures of an animation: 0 is the last observed position,
            positive numbers count future positions, and negative ones earlier positions. Later
            steps are drawn faintly. None for all steps.
        extent: left, right, bottom and top of the panel, in metres; None for the extent of the
            scene.
    """
    steps = scene.future.shape[1]
    last = steps if upto is None else upto
    axes.clear()
    styles_drawn = (
        style_of([predicted.label for predicted in scene.predicted])
        if model_styles is None
        else model_styles
    )
    limits = scene.extent if extent is None else extent
    draw_place(axes, scene.obstacles, scene.goals, limits)
    observed = scene.observed.shape[1]
    past = scene.observed[:, : observed + min(last, 0)]
    future = np.concatenate([scene.observed[:, -1:], scene.future[:, : max(last, 0)]], axis=1)
    if upto is not None and upto < steps:
        _faint_truth(axes, scene)
    for path in scene.neighbours:
        axes.plot(*path.T, color=OBSERVED, lw=0.8, ls=":", zorder=2.5, label="_neighbour")
    for path in past:
        axes.plot(*path.T, color=OBSERVED, lw=1.4, marker="o", ms=2, zorder=3, label="_observed")
    for path in future if last > 0 else ():
        axes.plot(*path.T, color=TRUTH, lw=1.6, zorder=5.5, label="_true", solid_capstyle="round")
    for predicted in scene.predicted:
        if predicted.label in styles_drawn and last > 0:
            width = width_of(predicted.label, styles_drawn)
            _draw_predicted(axes, scene, predicted, styles_drawn[predicted.label], last, width)
    now = past[:, -1] if last <= 0 else scene.observed[:, -1]
    axes.add_collection(
        EllipseCollection(
            2 * PERSON, 2 * PERSON, 0, units="xy", offsets=now, transOffset=axes.transData,
            facecolor="white", edgecolor=TRUTH, lw=0.9, zorder=6,
        )
    )  # fmt: skip
    for name, position in zip(scene.person, now, strict=True):
        axes.annotate(
            name, position + np.array([0, PERSON]), xytext=(0, 1.5),
            textcoords="offset points", ha="center", va="bottom", fontsize=6, zorder=7,
            color=TRUTH, annotation_clip=True,
        )  # fmt: skip
    if 0 < last < steps:
        axes.plot(*future[:, -1].T, ls="", marker="o", ms=4, color=TRUTH, zorder=6)


def draw_place(
    axes: Axes, obstacles: Obstacles | None, goals: np.ndarray | None, extent: Extent
) -> None:
    """Draw a map, with equal scales of both axes.

    Args:
        axes: the panel.
        obstacles: obstacles of the map; None for none.
        goals: positions of goals, (G, 2), in metres; None for none.
        extent: left, right, bottom and top of the panel, in metres.
    """
    left, right, bottom, top = extent
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel("x [m]")
    axes.set_ylabel("y [m]")
    axes.tick_params(labelsize=7)  # ticks may be drawn later, under other settings
    if obstacles is not None:
        centres, size = cells_within(obstacles, extent)
        axes.add_collection(
            EllipseCollection(
                size, size, np.zeros(len(centres)), units="xy", offsets=centres,
                transOffset=axes.transData, facecolor=WALL, edgecolor="none", zorder=1,
                label="_obstacles",
                rasterized=len(centres) > MOST_SHAPES,
            )
        )  # fmt: skip
    if goals is not None:
        axes.plot(*goals.T, ls="", marker="*", ms=8, color=GOAL, zorder=2, label="_goals")
        axes.set_xlim(left, right)  # some goals are far away
        axes.set_ylim(bottom, top)


def cells_within(obstacles: Obstacles, extent: Extent) -> tuple[np.ndarray, np.ndarray]:
    """Select the obstacles within an extent.

    Args:
        obstacles: obstacles of a map: discs, or the occupied cells of a grid.
        extent: left, right, bottom and top, in metres.

    Returns:
        centres, (M, 2), and diameters, (M,), of M obstacles, in metres. Cells of a grid get a
        diameter with which neighbours touch.
    """
    position = obstacles.position
    diameter = 2 * obstacles.radius
    if obstacles.kind == "grid" and len(position) > 1:
        distance = cKDTree(position).query(position[:: max(1, len(position) // 500)], 2)[0]
        diameter = np.full(len(position), 1.45 * float(np.median(distance[:, 1])))
    left, right, bottom, top = extent
    x, y = position.T
    reach = diameter / 2
    is_within = (x > left - reach) & (x < right + reach) & (y > bottom - reach) & (y < top + reach)
    return position[is_within], diameter[is_within]


def _faint_truth(axes: Axes, scene: Scene) -> None:
    """Draw whole true paths faintly, so that single pictures of an animation can be understood."""
    paths = np.concatenate([scene.observed, scene.future], axis=1)
    axes.add_collection(LineCollection(list(paths), colors="#d9d9d9", linewidths=1.0, zorder=2))


def _draw_predicted(
    axes: Axes, scene: Scene, predicted: Predicted, style: Style, last: int, width: float
) -> None:
    start = scene.observed[:, -1:]
    if predicted.mixture is not None:
        _draw_mixture(axes, predicted.mixture, style, last)
    if len(predicted.samples) > 1:
        thin = [
            np.concatenate([start[n], path[:last]])
            for sample in predicted.samples
            for n, path in enumerate(sample)
        ]
        axes.add_collection(
            LineCollection(
                thin, colors=style.colour, linewidths=0.5, alpha=0.45, zorder=3.5,
                label=f"_samples of {predicted.label}",
            )
        )  # fmt: skip
    for begin, path in zip(start, predicted.path, strict=True):
        line = np.concatenate([begin, path[:last]])
        axes.plot(
            *line.T, color=style.colour, ls=style.line, lw=width, zorder=5, marker=style.marker,
            ms=2.5 + width, markevery=[len(line) - 1], label=f"_{predicted.label}",
        )  # fmt: skip


def _draw_mixture(axes: Axes, mixture: Mixture, style: Style, last: int) -> None:
    """Draw ellipses of two standard deviations at step ``last``; darker ones are more probable."""
    for person in range(len(mixture.means)):
        for weight, mean, covariance in zip(
            mixture.weights[person, last - 1],
            mixture.means[person, last - 1],
            mixture.covariances[person, last - 1],
            strict=True,
        ):
            axes.add_patch(ellipse(mean, covariance, style, float(weight)))


def ellipse_of(covariance: np.ndarray) -> tuple[float, float, float]:
    """Compute the two-standard-deviation ellipse of a Gaussian.

    Args:
        covariance: covariance of the Gaussian, (2, 2), in square metres.

    Returns:
        width (the longer axis) and height, in metres, and the angle of the longer axis, in degrees,
        anticlockwise from the x axis.
    """
    values, vectors = np.linalg.eigh(covariance)
    width, height = (float(length) for length in 4 * np.sqrt(np.maximum(values[::-1], 0)))
    return width, height, math.degrees(math.atan2(vectors[1, 1], vectors[0, 1]))


def ellipse(mean: np.ndarray, covariance: np.ndarray, style: Style, weight: float) -> Ellipse:
    """Make the two-standard-deviation ellipse of a Gaussian as a matplotlib patch.

    Args:
        mean: mean of the Gaussian, (2,), in metres.
        covariance: covariance of the Gaussian, (2, 2), in square metres.
        style: style of the model.
        weight: weight of the Gaussian in its mixture, 0..1.
    """
    width, height, angle = ellipse_of(covariance)
    return Ellipse(
        (float(mean[0]), float(mean[1])), width, height, angle=angle,
        facecolor=style.colour, edgecolor=style.colour, lw=0.8, ls=style.line,
        alpha=0.1 + 0.35 * weight, zorder=3.2,
    )  # fmt: skip


def legend_of(
    scene: Scene, model_styles: Mapping[str, Style], *, with_errors: bool = True
) -> list[Line2D]:
    """Make the handles of a legend.

    Args:
        scene: the scenario.
        model_styles: style of the drawn models, by label.
        with_errors: whether labels include the average displacement error of the model.
    """
    lines = [Line2D([], [], color=OBSERVED, lw=1.4, marker="o", ms=2, label="observed")]
    if scene.is_future_known:
        lines.append(Line2D([], [], color=TRUTH, lw=1.8, label="true"))
    with_errors = with_errors and scene.is_future_known
    for predicted in scene.predicted:
        if predicted.label in model_styles:
            style = model_styles[predicted.label]
            error = f", ADE {predicted.errors(scene.future).mean():.2f} m" if with_errors else ""
            lines.append(
                Line2D(
                    [], [], color=style.colour, ls=style.line, marker=style.marker, ms=4,
                    lw=width_of(predicted.label, model_styles), label=f"{predicted.label}{error}",
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
    """Widen an extent about its centre, in one direction, to an aspect ratio.

    Args:
        extent: left, right, bottom and top, in metres.
        aspect: width of the result divided by its height.
    """
    left, right, bottom, top = extent
    width, height = right - left, top - bottom
    more = max(height * aspect - width, 0) / 2, max(width / aspect - height, 0) / 2
    return left - more[0], right + more[0], bottom - more[1], top + more[1]


def aspect_of(extent: Extent, widest: float) -> float:
    """Width of a map divided by its height, limited to 0.6..widest.

    Args:
        extent: left, right, bottom and top of the map, in metres.
        widest: largest result.
    """
    left, right, bottom, top = extent
    return min(widest, max(0.6, (right - left) / (top - bottom)))


def _groups(scene: Scene, layout: Layout) -> list[dict[str, Style]]:
    styles_of_models = style_of([predicted.label for predicted in scene.predicted])
    if layout == "overlay":
        return [styles_of_models]
    return [{label: style} for label, style in styles_of_models.items()]


def figure_of(scene: Scene, layout: Layout = "overlay") -> Figure:
    """Make a figure of one scenario.

    Args:
        scene: the scenario.
        layout: ``overlay`` for all models in one panel, ``side`` for a panel for each model.

    Raises:
        StpError: the layout is ``side`` and there are no predictions.
    """
    groups = _groups(scene, layout)
    if not groups:
        raise StpError("no predictions to draw side by side", remedy="overlay them")
    aspect = aspect_of(scene.extent, 2.2)
    columns = min(len(groups), 3)
    rows = -(-len(groups) // columns)
    with paper_size():
        width = 5.2 if len(groups) == 1 else TEXT_WIDTH
        handles = legend_of(scene, groups[0] if layout == "overlay" else {})
        legend_height = 0.15 * -(-len(handles) // 2)
        title_height = 0.25 if layout == "overlay" else 0.5
        panel_width = width / columns - 0.5  # without the axis of y
        figure = new_figure(
            width, rows * (panel_width / aspect + 0.4 + title_height) + legend_height + 0.1
        )
        panels = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, group in zip(panels, groups, strict=False):
            draw(axes, scene, model_styles=group, extent=widened(scene.extent, aspect))
            if layout == "side":
                (predicted,) = (
                    predicted for predicted in scene.predicted if predicted.label in group
                )
                error = predicted.errors(scene.future).mean()
                axes.set_title(f"{predicted.label}\nADE {error:.2f} m", fontsize=7)
        for axes in panels[len(groups) :]:
            axes.set_axis_off()
        figure.legend(handles=handles, loc="lower center", ncols=2, frameon=False, borderpad=1)
        figure.suptitle(scene.title, fontsize=9, parse_math=False)
        put_note(figure, scene.notes)
    return figure


def put_note(figure: Figure, notes: Sequence[str]) -> None:
    """Put sentences below a figure and its legends; the figure grows by their height."""
    note = " ".join(notes)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + (note_height(figure, note) if note else 0))
    figure_style.annotate(figure, note)


def save(figure: Figure, outs: Sequence[Path]) -> None:
    """Write a figure as .png, .svg or .pdf; equal figures give identical files.

    Args:
        figure: the figure.
        outs: paths of the files, .png, .svg or .pdf. The first file is written last, so that its
            presence means that all are complete.
    """
    with paper_size():
        for out in reversed(outs):
            kind = out.suffix[1:]
            with writing(out), atomic_path(out) as temporary:
                figure.savefig(
                    temporary, format=kind, dpi=DPI_OF_PRINT, metadata=figure_style.UNDATED[kind]
                )


# In motion


def animation(scene: Scene, layout: Layout = "overlay") -> Iterator[np.ndarray]:
    """Draw a picture of a scenario for each step, observed and future.

    Args:
        scene: the scenario.
        layout: ``overlay`` for all models in one panel, ``side`` for a panel for each model.

    Returns:
        a picture, uint8 (height, width, 3), for each observed and each future position; height and
        width are even, which video needs.
    """
    figure = figure_of(scene, layout)
    panels = figure.axes
    groups = _groups(scene, layout)
    with paper_size():
        fix_layout(figure)
        extents = [(*axes.get_xlim(), *axes.get_ylim()) for axes in panels]
        titles = [axes.get_title() for axes in panels]
        for step in range(1 - scene.observed.shape[1], scene.future.shape[1] + 1):
            for axes, group, extent, title in zip(panels, groups, extents, titles, strict=False):
                draw(axes, scene, model_styles=group, upto=step, extent=extent)
                axes.set_title(title, fontsize=7)
            word = "observed" if step <= 0 else "predicted"
            figure.suptitle(
                f"{scene.title}\n{word} {step * scene.dt:+.1f} s", fontsize=8, parse_math=False
            )
            yield movie.pixels(figure)


def fix_layout(figure: Figure) -> None:
    """Lay out a figure and freeze the layout, so that nothing moves between frames of a film.

    The height and width of the figure become even numbers of pixels.
    """
    figure.set_dpi(DPI)
    width, height = figure.get_size_inches()
    figure.set_size_inches(*movie.round_to_even_pixels(width, height, DPI))
    # Two lines leave room for the time.
    figure.suptitle(f"{figure.get_suptitle()}\n", fontsize=8, parse_math=False)
    for _ in range(2):  # maps of equal aspect need the second one
        figure.canvas.draw()
    figure.set_layout_engine("none")


def write(scene: Scene, out: Path, layout: Layout = "overlay") -> None:
    """Write a scenario as a picture or, with the suffix .gif or .mp4, as an animation.

    Args:
        scene: the scenario.
        out: path of the file: .png, .svg or .pdf for a picture, .gif or .mp4 for an animation.
        layout: ``overlay`` for all models in one panel, ``side`` for a panel for each model.

    Raises:
        StpError: the suffix is not .png, .svg, .pdf, .gif or .mp4.
    """
    check_suffix(out)
    if out.suffix in MOVIES:
        movie.save(list(animation(scene, layout)), out, STEPS_PER_SECOND)
    else:
        save(figure_of(scene, layout), [out])


def check_suffix(out: Path) -> None:
    """Refuse a path whose suffix is not that of a picture or an animation.

    Raises:
        StpError: the suffix is not .png, .svg, .pdf, .gif or .mp4.
    """
    if out.suffix not in FORMATS:
        raise StpError(
            f"{out}: unknown kind of picture {out.suffix!r}",
            expected=" or ".join(FORMATS),
        )
