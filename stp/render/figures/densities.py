"""Where predictors expect people, as densities over the map, beside where people went.

Of predictors that say more than points: mixtures of Gaussians and grids of probabilities, both
drawn on one fine grid, so that they look alike where they are alike.
"""

from pathlib import Path
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stp.page.figure_style import TEXT_WIDTH, new_figure
from stp.render.figures import crowd
from stp.render.figures.panels import in_words, write
from stp.render.figures.paths import MARGIN
from stp.render.figures.reading import Scores
from stp.render.pictures.trajectories import given_scenarios
from stp.tracks import densities
from stp.tracks.densities import Density, Grid, Mixture
from stp.tracks.errors import displacement
from stp.tracks.prepared import Place
from stp.tracks.scenarios import Scenarios

FIGURE = {
    "of_case": True,
    "about": "predicted densities on the map",
    "caption": "Where predictors expect people, as densities on the map, beside where people went "
    "(conventions position_nlp.mixture and position_nlp.grid score them)",
    "of_scenarios": True,
}

MOST = 2
"""Predictors that are drawn."""
CELL, MOST_CELLS = 0.1, 200
"""Metres: side of a cell of what is drawn, and how many there are along a side of it at most."""
NARROWEST = 0.8
"""The shorter side of what is drawn, as a share of the longer one."""
LEAST = 0.01
"""People per square metre: less is not drawn."""
CHOSEN = "the scenario of median error, by the mean ADE of the stated points of what is drawn"
HOW = "colour: people expected per square metre, all people of the scenario together, from 0.01"
NONE = "No predictor of this test gives densities."
INK, PAPER = "#000000", "#ffffff"


def render(manifest: Path, results: Path, out: Path, case: str | None = None) -> None:
    """Write the figure of an evaluation; see `stp.render.figures.kinds.render`."""
    write(draw, manifest, results, out, str(case))


def draw(scores: Scores, case: str) -> tuple[Figure, list[str]]:
    """Draw a row of panels for each predictor, a panel for each of up to three lead times.

    Returns:
        the figure, and notes.

    Raises:
        StpError: there is no such evaluation, or predictions or data are damaged.
    """
    found, left_out = crowd.at_home(crowd.drawable(crowd.courses(scores, case)))
    place, scenarios = given_scenarios(found[0].cells[0])
    read = {
        one.label: density
        for one in found
        if (density := densities.read(one.cells[0].demand_predictions(), scenarios)) is not None
    }
    if not read:
        return in_words(NONE), []
    shown = dict(list(read.items())[:MOST])
    row = _median(shown, scenarios)
    one = scenarios.chosen(np.array([row]))
    people, steps = int(one.present.sum()), one.future.shape[2]
    leads = list(dict.fromkeys(-(-steps * part // 3) for part in (1, 2, 3)))
    x, y = _cells(one)
    at = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    expected = {
        (label, lead): per_square_metre(density, row, people, lead, at).reshape(len(y), len(x))
        for label, density in shown.items()
        for lead in leads
    }
    most = max(values.max() for values in expected.values())
    norm = LogNorm(LEAST, max(most, 2 * LEAST))
    figure = new_figure(TEXT_WIDTH, 0.9 + 2.2 * len(shown))
    places = figure.subplots(len(shown), len(leads), squeeze=False, sharex=True, sharey=True)
    for axes, (label, lead) in zip(places.ravel(), expected, strict=True):
        image = axes.pcolormesh(
            x, y, np.ma.masked_less(expected[label, lead], LEAST),
            norm=norm, cmap="YlGnBu", shading="nearest", rasterized=True, label=f"_{label}",
        )  # fmt: skip
        _people(axes, one, people, lead, place)
        axes.set_title(f"{lead * one.dt:.3g} s ahead")
    for line, label in zip(places, shown, strict=True):
        line[0].set_ylabel(f"{fill(label, 28)}\ny [m]")
    for axes in places[-1]:
        axes.set_xlabel("x [m]")
    figure.colorbar(image, ax=places, label="people per m²", shrink=0.8)
    figure.suptitle(f"{found[0].evaluation}: frame {int(one.start[0])}, {people} people")
    figure.legend(handles=_handles(), loc="lower center", ncols=3, frameon=False)
    notes = [
        f"1 of {len(scenarios)} scenarios of {len(np.unique(scenarios.episode))} episodes",
        CHOSEN,
        HOW,
    ]
    notes += ["grey squares: obstacles"] if place.obstacles is not None else []
    notes += [f"not drawn: {', '.join(list(read)[MOST:])}"] if len(read) > MOST else []
    notes += left_out
    return figure, notes


def per_square_metre(
    density: Density, row: int, people: int, lead: int, at: np.ndarray
) -> np.ndarray:
    """How many people are expected per square metre at some places.

    Args:
        density: of all scenarios.
        row: the scenario.
        people: in it; they have its first places.
        lead: of the forecast, from 1.
        at: places, (G, 2), metres.

    Returns:
        (G,): the sum of everybody's density.
    """
    found, when = np.zeros(len(at)), slice(lead - 1, lead)
    for person in range(people):  # of all at once, memory would be large
        who = (slice(row, row + 1), slice(person, person + 1))
        if isinstance(density, Mixture):
            of = (density.weights, density.means, density.covariances)
            part: Density = Mixture(*(values[(*who, when)] for values in of))
        else:
            probability = density.probability[(*who, when)]
            # The same grid for each place: nothing is copied.
            part = Grid(
                np.broadcast_to(density.origin[who], (len(at), 1, 2)),
                density.resolution,
                np.broadcast_to(probability, (len(at), *probability.shape[1:])),
            )
        found += np.exp(part.log_density(at[:, None, None])[:, 0, 0])
    return found


def _median(shown: dict[str, Density], scenarios: Scenarios) -> int:
    """The scenario of median mean error of the stated points."""
    each = [displacement(one.point()[None], scenarios.future) for one in shown.values()]
    errors = np.mean([np.nanmean(one, axis=(0, 2, 3)) for one in each], axis=0)
    return int(np.argsort(errors, kind="stable")[(len(errors) - 1) // 2])


def _cells(one: Scenarios) -> tuple[np.ndarray, np.ndarray]:
    """Centres of the cells of what is drawn, along x and y."""
    seen = np.concatenate([one.observed.reshape(-1, 2), one.future.reshape(-1, 2)])
    low, high = np.nanmin(seen, axis=0) - MARGIN, np.nanmax(seen, axis=0) + MARGIN
    middle, longest = (low + high) / 2, (high - low).max()
    half = np.maximum(high - low, NARROWEST * longest) / 2
    cell = max(CELL, longest / MOST_CELLS)
    x, y = (np.arange(m - h, m + h, cell) + cell / 2 for m, h in zip(middle, half, strict=True))
    return x, y


def _people(axes: Axes, one: Scenarios, people: int, lead: int, place: Place) -> None:
    """Where people were, and where they went until some lead time."""
    if place.obstacles is not None:
        x, y = place.obstacles.position.T
        axes.plot(x, y, "s", color="#d0d0d0", markersize=2, label="_obstacles", zorder=0)
    for person in range(people):
        past, future = one.observed[0, person], one.future[0, person, :lead]
        axes.plot(*past.T, "o:", color=INK, label="_observed", markersize=1.5, linewidth=0.7)
        line = np.concatenate([past[-1:], future])
        # White around it: a line on dark colours, too.
        axes.plot(*line.T, "-", color=PAPER, linewidth=2.4, label="_around")
        axes.plot(*line.T, "-", color=INK, linewidth=1.0, label="_true")
        axes.plot(*line[-1:].T, "*", color=INK, markeredgecolor=PAPER, markersize=8, label="_then")
    x, y = _cells(one)
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    axes.set_aspect("equal", adjustable="box")


def _handles() -> list[Line2D]:
    return [
        Line2D([], [], color=INK, linestyle=":", marker="o", markersize=2, label="observed"),
        Line2D([], [], color=INK, label="what happened, until then"),
        Line2D([], [], color=INK, linestyle="none", marker="*", label="where they were then"),
    ]
