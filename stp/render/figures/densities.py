"""Figure of predicted densities of people on the map, with the true paths.

Mixtures of Gaussians and grids of probabilities are drawn on the same fine grid.
"""

from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stp.page.figure_style import TEXT_WIDTH, new_figure
from stp.render.figures import crowd
from stp.render.figures.panels import in_words
from stp.render.figures.reading import Scores
from stp.render.pictures.trajectories import observed_scenarios
from stp.tracks import densities
from stp.tracks.densities import Density, Grid, Mixture
from stp.tracks.errors import displacement
from stp.tracks.prepared import PreparedTracks
from stp.tracks.scenarios import Scenarios

FIGURE = {
    "of_case": True,
    "about": "predicted densities on the map",
    "caption": "Where predictors expect people, as densities on the map, beside where people went "
    "(conventions position_nlp.mixture and position_nlp.grid score them)",
    "of_scenarios": True,
}

MOST = 2
"""Maximum number of predictors that are drawn."""
CELL, MOST_CELLS = 0.1, 200
"""Side of a cell of the drawing in metres, and maximum number of cells along a side."""
MARGIN = 1.5
"""Margin around the people, metres."""
NARROWEST = 0.8
"""Minimum ratio of the shorter to the longer side of the drawing."""
LEAST = 0.01
"""The lowest density that is drawn, people per square metre."""
CHOSEN = "the scenario of median error, by the mean ADE of the predicted points of those drawn"
HOW = "colour: expected people per square metre, all people of the scenario together, from 0.01"
NONE = "No predictor of this test gives densities."
INK, PAPER = "#000000", "#ffffff"


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw predicted densities: a row of panels for each predictor, up to three lead times.

    Args:
        scores: scores of all models in all tests of a table.
        case: name of the test to draw, such as ``atlas_eth-strict``.

    Returns:
        the figure, and notes to print below it.

    Raises:
        StpError: no test has the name ``case``, or predictions or data are damaged.
    """
    courses, left_out = crowd.calibrated_on_test(crowd.drawable(crowd.courses(scores, case)))
    surroundings, scenarios = observed_scenarios(courses[0].cells[0])
    density_of = {
        course.label: density
        for course in courses
        if (density := densities.read(course.cells[0].demand_predictions(), scenarios)) is not None
    }
    if not density_of:
        return in_words(NONE), []
    densities_drawn = dict(list(density_of.items())[:MOST])
    row = _median(densities_drawn, scenarios)
    scenario = scenarios.select(np.array([row]))
    people, steps = int(scenario.present.sum()), scenario.future.shape[2]
    leads = list(dict.fromkeys(-(-steps * part // 3) for part in (1, 2, 3)))
    x, y = _cells(scenario)
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    expected = {
        (label, lead): per_square_metre(density, row, people, lead, points).reshape(len(y), len(x))
        for label, density in densities_drawn.items()
        for lead in leads
    }
    most = max(values.max() for values in expected.values())
    norm = LogNorm(LEAST, max(most, 2 * LEAST))
    figure = new_figure(TEXT_WIDTH, 0.9 + 2.2 * len(densities_drawn))
    panels = figure.subplots(
        len(densities_drawn), len(leads), squeeze=False, sharex=True, sharey=True
    )
    for axes, (label, lead) in zip(panels.ravel(), expected, strict=True):
        image = axes.pcolormesh(
            x, y, np.ma.masked_less(expected[label, lead], LEAST),
            norm=norm, cmap="YlGnBu", shading="nearest", rasterized=True, label=f"_{label}",
        )  # fmt: skip
        _people(axes, scenario, people, lead, surroundings)
        axes.set_title(f"{lead * scenario.dt:.3g} s ahead")
    for row_of_panels, label in zip(panels, densities_drawn, strict=True):
        row_of_panels[0].set_ylabel(f"{fill(label, 28)}\ny [m]")
    for axes in panels[-1]:
        axes.set_xlabel("x [m]")
    figure.colorbar(image, ax=panels, label="people per m²", shrink=0.8)
    figure.suptitle(f"{courses[0].evaluation}: frame {int(scenario.start[0])}, {people} people")
    figure.legend(handles=_handles(), loc="lower center", ncols=3, frameon=False)
    notes = [
        f"1 of {len(scenarios)} scenarios of {len(np.unique(scenarios.episode))} episodes",
        CHOSEN,
        HOW,
    ]
    notes += ["grey squares: obstacles"] if surroundings.obstacles is not None else []
    notes += [f"not drawn: {', '.join(list(density_of)[MOST:])}"] if len(density_of) > MOST else []
    notes += left_out
    return figure, notes


def per_square_metre(
    density: Density, row: int, people: int, lead: int, points: np.ndarray
) -> np.ndarray:
    """Evaluate the expected number of people per square metre at points.

    Args:
        density: the densities of all scenarios.
        row: index of the scenario.
        people: number of people in the scenario; they have the first indices.
        lead: lead time, from 1.
        points: positions, (G, 2), in metres.

    Returns:
        sum of all people's densities at each point, (G,).
    """
    expected, when = np.zeros(len(points)), slice(lead - 1, lead)
    for person in range(people):  # all at once would need much memory
        index = (slice(row, row + 1), slice(person, person + 1))
        if isinstance(density, Mixture):
            parameters = (density.weights, density.means, density.covariances)
            part: Density = Mixture(*(values[(*index, when)] for values in parameters))
        else:
            probability = density.probability[(*index, when)]
            # The same grid for each point, without copies.
            part = Grid(
                np.broadcast_to(density.origin[index], (len(points), 1, 2)),
                density.resolution,
                np.broadcast_to(probability, (len(points), *probability.shape[1:])),
            )
        expected += np.exp(part.log_density(points[:, None, None])[:, 0, 0])
    return expected


def _median(densities_drawn: dict[str, Density], scenarios: Scenarios) -> int:
    """Index of the scenario with the median ADE of point predictions, mean over predictors."""
    displacements = [
        displacement(density.point()[None], scenarios.future)
        for density in densities_drawn.values()
    ]
    errors = np.mean([np.nanmean(values, axis=(0, 2, 3)) for values in displacements], axis=0)
    return int(np.argsort(errors, kind="stable")[(len(errors) - 1) // 2])


def _cells(scenario: Scenarios) -> tuple[np.ndarray, np.ndarray]:
    positions = np.concatenate([scenario.observed.reshape(-1, 2), scenario.future.reshape(-1, 2)])
    low, high = np.nanmin(positions, axis=0) - MARGIN, np.nanmax(positions, axis=0) + MARGIN
    middle, longest = (low + high) / 2, (high - low).max()
    half = np.maximum(high - low, NARROWEST * longest) / 2
    cell = max(CELL, longest / MOST_CELLS)
    x, y = (np.arange(m - h, m + h, cell) + cell / 2 for m, h in zip(middle, half, strict=True))
    return x, y


def _people(
    axes: Axes, scenario: Scenarios, people: int, lead: int, surroundings: PreparedTracks
) -> None:
    if surroundings.obstacles is not None:
        x, y = surroundings.obstacles.position.T
        axes.plot(x, y, "s", color="#d0d0d0", markersize=2, label="_obstacles", zorder=0)
    for person in range(people):
        past, future = scenario.observed[0, person], scenario.future[0, person, :lead]
        axes.plot(*past.T, "o:", color=INK, label="_observed", markersize=1.5, linewidth=0.7)
        line = np.concatenate([past[-1:], future])
        # A white outline makes the line visible on dark colours.
        axes.plot(*line.T, "-", color=PAPER, linewidth=2.4, label="_around")
        axes.plot(*line.T, "-", color=INK, linewidth=1.0, label="_true")
        axes.plot(*line[-1:].T, "*", color=INK, markeredgecolor=PAPER, markersize=8, label="_then")
    x, y = _cells(scenario)
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    axes.set_aspect("equal", adjustable="box")


def _handles() -> list[Line2D]:
    return [
        Line2D([], [], color=INK, linestyle=":", marker="o", markersize=2, label="observed"),
        Line2D([], [], color=INK, label="true path until then"),
        Line2D([], [], color=INK, linestyle="none", marker="*", label="true position then"),
    ]
