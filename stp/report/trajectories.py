"""Trajectories: a few scenarios of each dataset of people, with what all models predict.

Scenarios are chosen by the rule of `stp.render.pictures.trajectories`, never by hand. Positions are
whole centimetres, which is less than a person's width by far; errors were computed before they were
rounded. The page reads a test when it is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np

from stp.collect.stored_cells import stored_cells, titles
from stp.core.errors import StpError
from stp.core.job import Report, silent
from stp.plan.cell_key import CellKey
from stp.plan.manifest_types import Names, StoredCell
from stp.render.pictures.scene import Extent, Mixture, Scene, extent_of
from stp.render.pictures.trajectories import (
    IN_PARENTHESES,
    RULE,
    Compared,
    compare,
    evaluations,
    on_map,
    own,
)
from stp.report.columns import plain
from stp.tracks import errors
from stp.tracks.obstacles import Obstacles

SCENARIOS, SAMPLES = 12, 10
"""The most of each test and model that the page holds."""
MOST_CELLS = 6000
"""Of a map; those of a larger one become larger themselves."""
CENTIMETRES = 100
Pieces = dict[str, object]
"""What the page's scripts read, by name: dataclasses, written by `columns.as_json`."""


@dataclass(frozen=True, kw_only=True)
class ShownModel:
    """A model, and its errors over lead times.

    Attributes:
        cell: its number in the page.
        samples: of each prediction.
        own: whether it is of this suite's own making.
        mean, low, high: mean and middle half over scenarios, metres.
    """

    label: str
    model: str
    cell: int
    samples: int
    own: bool
    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True, kw_only=True)
class ShownScenario:
    """A scenario that is drawn.

    Attributes:
        people: their number.
        measure: what the rule of choice knows of it, in words.
    """

    number: int
    name: str
    people: int
    measure: str


@dataclass(frozen=True, kw_only=True)
class ShownTest:
    """A test of which there is nothing to see.

    Attributes:
        gap: why.
        cells: numbers of its cells in the page.
    """

    dataset: str
    protocol: str
    setting: str
    gap: str
    cells: list[int]


@dataclass(frozen=True, kw_only=True)
class DrawnTest(ShownTest):
    """A test whose scenarios are drawn.

    Attributes:
        dt: seconds of a step.
        observe, predict: steps.
        count, episodes: of its scenarios.
        absent: why models are not drawn, by label.
        piece: name of its positions.
    """

    dt: float
    observe: int
    predict: int
    count: int
    episodes: int
    models: list[ShownModel]
    absent: dict[str, str]
    scenarios: list[ShownScenario]
    piece: str = ""


@dataclass(frozen=True)
class DrawnObstacles:
    """Discs, or cells of a grid: positions, and their diameters or width, in centimetres."""

    kind: str
    position: list[int]
    size: list[int] | int


@dataclass(frozen=True)
class DrawnPlace:
    """Where people walk: obstacles, and goals (x, y, x, y, ...) in centimetres."""

    obstacles: DrawnObstacles | None
    goals: list[int]


@dataclass(frozen=True, kw_only=True)
class DrawnPrediction:
    """What a model predicts of a scene, in centimetres.

    Attributes:
        path: of each person.
        samples: paths of each sample; empty if there is one only.
        ellipses: see `_ellipses`; empty where there is no mixture.
        errors: of each person at each step, millimetres.
    """

    path: list[list[int]]
    samples: list[list[list[int]]]
    ellipses: list[list[list[list[int]]]]
    errors: list[list[int]]


@dataclass(frozen=True, kw_only=True)
class DrawnScene:
    """A scenario: paths (x, y, x, y, ...) of people, in centimetres."""

    person: list[str]
    observed: list[list[int]]
    future: list[list[int]]
    neighbours: list[list[int]]
    extent: list[int]
    predicted: list[DrawnPrediction]


@dataclass(frozen=True)
class Positions:
    """All positions of a test."""

    place: DrawnPlace
    scenes: list[DrawnScene]


def pieces(database: duckdb.DuckDBPyConnection, report: Report = silent) -> Pieces:
    """Read what the page shows of people.

    Args:
        database: the results store.
        report: is told the progress.

    Returns:
        ``trajectories``, what there is, and ``trajectories-<n>``, the positions of one test each;
        ``tests`` is empty where nothing is about people.
    """
    cells = stored_cells(database)
    numbers = {cell.key: number for number, cell in enumerate(cells)}
    names = titles(database)
    made: Pieces = {}
    described: list[ShownTest] = []
    wanted = _one_setting(evaluations([cell for cell in cells if on_map(cell)]))
    for done, of_test in enumerate(wanted):
        about, positions = _test(of_test, names, numbers)
        if isinstance(about, DrawnTest):
            about = replace(about, piece=f"trajectories-{len(made)}")
            made[about.piece] = positions
        described.append(about)
        report("trajectories", done + 1, len(wanted))
    texts = {"rule": RULE, "in_parentheses": IN_PARENTHESES}
    return {"trajectories": {"tests": described, **texts}, **made}


def _one_setting(found: dict[str, list[StoredCell]]) -> list[list[StoredCell]]:
    """Of each dataset and protocol the setting in which most models were tested."""
    chosen: dict[tuple[str, str], list[StoredCell]] = {}
    for cells in found.values():
        key = cells[0].key.tested_on, cells[0].key.subset
        if len(cells) > len(chosen.get(key, [])):
            chosen[key] = cells
    return list(chosen.values())


def _test(
    cells: Sequence[StoredCell], names: Names, numbers: Mapping[CellKey, int]
) -> tuple[ShownTest, Positions | None]:
    """What the page knows of a test at once, and its positions, if there are any."""
    key = cells[0].key
    about = ShownTest(
        dataset=key.tested_on,
        protocol=key.subset,
        setting=key.setting,
        gap="",
        cells=[numbers[cell.key] for cell in cells],
    )
    try:
        compared = compare(cells, names, lenient=True)
    except StpError as error:
        return replace(about, gap=str(error).splitlines()[0]), None
    chosen = compared.chosen(SCENARIOS)
    scenes = [compared.scene(number) for number in chosen]
    drawn = DrawnTest(
        **vars(about),
        dt=plain(compared.scenarios.dt),
        observe=compared.scenarios.observed.shape[2],
        predict=compared.scenarios.future.shape[2],
        count=len(compared.scenarios),
        episodes=len(np.unique(compared.scenarios.episode)),
        models=[_model(compared, label, numbers) for label in compared.predicted],
        absent={label: why.splitlines()[0] for label, why in compared.absent.items()},
        scenarios=[
            ShownScenario(
                number=number,
                name=compared.name(number),
                people=len(scene.person),
                measure=compared.measure(number),
            )
            for number, scene in zip(chosen, scenes, strict=True)
        ],
    )
    around = extent_of(np.concatenate([np.reshape(scene.extent, (2, 2)).T for scene in scenes]))
    goals = compared.place.goals
    place = DrawnPlace(
        _obstacles(compared.place.obstacles, around), [] if goals is None else _flat(goals)
    )
    return drawn, Positions(place, [_scene(scene) for scene in scenes])


def _model(compared: Compared, label: str, numbers: Mapping[CellKey, int]) -> ShownModel:
    """A model, and its errors over lead times: mean and middle half of scenarios, metres."""
    cell, drawn = compared.cells[label], compared.predicted[label]
    each = errors.displacement(drawn, compared.scenarios.future).mean(axis=0)
    steps = [errors.by_scenario(each[..., step]) for step in range(each.shape[-1])]
    low, high = (np.percentile(steps, share, axis=1) for share in (25, 75))
    return ShownModel(
        label=label,
        model=cell.key.model,
        cell=numbers[cell.key],
        samples=len(drawn),
        own=label in own(compared),
        mean=_metres(np.mean(steps, axis=1)),
        low=_metres(low),
        high=_metres(high),
    )


def _metres(values: np.ndarray) -> list[float]:
    return [plain(round(float(value), 4)) for value in values]


def _flat(positions: np.ndarray) -> list[int]:
    """Positions (..., 2) in metres as whole centimetres: x, y, x, y, ..."""
    whole: list[int] = np.rint(positions * CENTIMETRES).astype(int).reshape(-1).tolist()
    return whole


def _obstacles(obstacles: Obstacles | None, extent: Extent) -> DrawnObstacles | None:
    """Those within an extent: discs, or cells with their width, centimetres."""
    if obstacles is None:
        return None
    from stp.render.pictures.people import cells_within

    position, size = cells_within(obstacles, extent)
    if obstacles.kind == "discs" or not len(position):
        each: list[int] = np.rint(size * CENTIMETRES).astype(int).tolist()
        return DrawnObstacles("discs", _flat(position), each)
    # Cells are drawn as squares, which need less to touch each other than circles do.
    side = float(size[0]) / 1.3
    coarse = side
    while len(position) > MOST_CELLS:
        coarse *= 1.5
        position = np.unique(np.rint(position / coarse), axis=0) * coarse
    return DrawnObstacles("grid", _flat(position), int(np.ceil(coarse * CENTIMETRES)))


def _scene(scene: Scene) -> DrawnScene:
    return DrawnScene(
        person=scene.person,
        observed=[_flat(path) for path in scene.observed],
        future=[_flat(path) for path in scene.future],
        neighbours=[_flat(path) for path in scene.neighbours],
        extent=_flat(np.reshape(scene.extent, (2, 2)).T),
        predicted=[
            DrawnPrediction(
                path=[_flat(path) for path in one.path],
                samples=[[_flat(path) for path in sample] for sample in one.samples[:SAMPLES]]
                if len(one.samples) > 1
                else [],
                ellipses=[] if one.mixture is None else _ellipses(one.mixture),
                # Each person's error at each step, millimetres: of all samples, unrounded before.
                errors=np.rint(one.errors(scene.future) * 1000).astype(int).tolist(),
            )
            for one in scene.predicted
        ],
    )


def _ellipses(mixture: Mixture) -> list[list[list[list[int]]]]:
    """For each person and step ellipses of two standard deviations.

    Each is x, y and two radii in centimetres, degrees, and percent of the mixture.
    """
    from stp.render.pictures.people import ellipse_of

    people, steps, components = mixture.weights.shape
    return [
        [
            [
                [
                    *_flat(mixture.means[n, t, m]),
                    *_flat(np.array(shape[:2]) / 2),
                    round(shape[2]),
                    round(100 * float(mixture.weights[n, t, m])),
                ]
                for m in range(components)
                for shape in [ellipse_of(mixture.covariances[n, t, m])]
            ]
            for t in range(steps)
        ]
        for n in range(people)
    ]
