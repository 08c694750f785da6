"""Section of trajectories: some scenarios of each dataset of people, with predictions of all
models.

Scenarios are chosen by the rule of `stp.render.pictures.trajectories`, not by hand. Positions are
rounded to centimetres after errors are computed. The page parses a test when it shows it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb
import numpy as np

from stp.collect.stored_cells import read_cells, titles
from stp.core.errors import StpError
from stp.core.job import Report, report_nothing
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
    select_models,
)
from stp.report.columns import to_json_value
from stp.tracks import errors
from stp.tracks.obstacles import Obstacles

SCENARIOS, SAMPLES = 12, 10
"""Maximum numbers of scenarios of a test and of samples of a model in the page."""
MOST_CELLS = 6000
"""Maximum number of cells of a map; larger maps get larger cells."""
CENTIMETRES = 100
Pieces = dict[str, object]
"""Data of the page's scripts, by name: dataclasses, written by `columns.as_json`."""


@dataclass(frozen=True, kw_only=True)
class ShownModel:
    """A model that is drawn, and its errors over lead times.

    Attributes:
        label: label of the model in legends.
        model: name of the model.
        cell: index of the model's cell in the report page's list of all cells, from 0.
        samples: number of samples (predicted futures) of each scenario.
        shown_at_first: whether the page shows the paths of the model when it opens; the user can
            show the other models. The first seven models that were calibrated on the test dataset
            are shown. If none was calibrated there, the first seven of all models
            are shown.
        mean: mean error over scenarios at each lead time, in metres.
        low: first quartile of the errors over scenarios at each lead time, in metres.
        high: third quartile of the errors over scenarios at each lead time, in metres.
    """

    label: str
    model: str
    cell: int
    samples: int
    shown_at_first: bool
    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True, kw_only=True)
class ShownScenario:
    """A scenario that is drawn.

    Attributes:
        number: index of the scenario in the test, from 0.
        name: title of the scenario.
        people: number of people in the scenario.
        measure: value by which the scenario was chosen, in words.
    """

    number: int
    name: str
    people: int
    measure: str


@dataclass(frozen=True, kw_only=True)
class ShownTest:
    """A test of predictors of people's paths, in the report page's list of trajectories.

    An object of this class itself is a test without drawings, with the reason. A test with drawings
    is a `DrawnTest`.

    Attributes:
        dataset: name of the test dataset.
        protocol: name of the rules by which scenarios are cut, such as ``strict``.
        setting: name of what the test changes, such as ``horizon-12``.
        gap: reason why there are no drawings; empty in a `DrawnTest`.
        cells: indices of the test's cells in the report page's list of all cells, from 0.
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
        dt: seconds between two positions of a person.
        observe: number of observed positions of each person.
        predict: number of predicted positions of each person.
        count: number of all scenarios of the test, drawn or not.
        episodes: number of episodes of the test (groups of scenarios that overlap in time).
        models: models that are drawn.
        absent: for each model that is not drawn, the reason, by label.
        scenarios: scenarios that are drawn.
        piece: name of the block of data in the page that has the positions of the test, such as
            ``trajectories-0``.
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
    """The obstacles of a scene: discs, or cells of a grid.

    Attributes:
        kind: ``discs`` or ``grid``.
        position: centres (x, y, x, y, ...), in centimetres.
        size: list with the diameter of each disc, or the width of all cells, in centimetres.
    """

    kind: str
    position: list[int]
    size: list[int] | int


@dataclass(frozen=True)
class DrawnPlace:
    """The map around people.

    Attributes:
        obstacles: obstacles on the map; None without any.
        goals: positions of goals (x, y, x, y, ...), in centimetres; empty without any.
    """

    obstacles: DrawnObstacles | None
    goals: list[int]


@dataclass(frozen=True, kw_only=True)
class DrawnPrediction:
    """The prediction of a model for a scenario; a path is a list x, y, x, y, ... in centimetres.

    Attributes:
        path: mean predicted path of each person.
        samples: paths of all people in each sample; empty if there is a single sample.
        ellipses: ellipses of two standard deviations, by person, step and component of the
            predicted mixture: x, y and two radii in centimetres, an angle in degrees, and the
            weight in percent; empty without a mixture.
        errors: error of each person at each step, in millimetres.
    """

    path: list[list[int]]
    samples: list[list[list[int]]]
    ellipses: list[list[list[list[int]]]]
    errors: list[list[int]]


@dataclass(frozen=True, kw_only=True)
class DrawnScene:
    """The positions of people in a scenario; a path is a list x, y, x, y, ... in centimetres.

    Attributes:
        person: identifiers of the people.
        observed: observed path of each person.
        future: true path of each person after the observation.
        neighbours: paths of people who are observed but not predicted.
        extent: left, bottom, right and top of the drawing, in centimetres.
        predicted: predictions of the models.
    """

    person: list[str]
    observed: list[list[int]]
    future: list[list[int]]
    neighbours: list[list[int]]
    extent: list[int]
    predicted: list[DrawnPrediction]


@dataclass(frozen=True)
class Positions:
    """All positions that are drawn for a test.

    Attributes:
        place: the map around people.
        scenes: positions in each drawn scenario, in the order of `DrawnTest.scenarios`.
    """

    place: DrawnPlace
    scenes: list[DrawnScene]


def pieces(database: duckdb.DuckDBPyConnection, report: Report = report_nothing) -> Pieces:
    """Read the scenarios (paths of people) that the report page draws.

    Args:
        database: connection to the results store.
        report: callback for the progress.

    Returns:
        blocks of data by name. ``trajectories`` describes all tests, in a list ``tests``, which is
        empty for a store without data of people. ``trajectories-0``, ``trajectories-1``, ... have
        the positions of one test each.
    """
    cells = read_cells(database)
    numbers = {cell.key: number for number, cell in enumerate(cells)}
    names = titles(database)
    positions_of: Pieces = {}
    described: list[ShownTest] = []
    tests = _one_setting(evaluations([cell for cell in cells if on_map(cell)]))
    for done, of_test in enumerate(tests):
        about, positions = _test(of_test, names, numbers)
        if isinstance(about, DrawnTest):
            about = replace(about, piece=f"trajectories-{len(positions_of)}")
            positions_of[about.piece] = positions
        described.append(about)
        report("trajectories", done + 1, len(tests))
    texts = {"rule": RULE, "in_parentheses": IN_PARENTHESES}
    return {"trajectories": {"tests": described, **texts}, **positions_of}


def _one_setting(tests: dict[str, list[StoredCell]]) -> list[list[StoredCell]]:
    """For each dataset and protocol, the setting in which most models were tested."""
    chosen: dict[tuple[str, str], list[StoredCell]] = {}
    for cells in tests.values():
        key = cells[0].key.tested_on, cells[0].key.subset
        if len(cells) > len(chosen.get(key, [])):
            chosen[key] = cells
    return list(chosen.values())


def _test(
    cells: Sequence[StoredCell], names: Names, numbers: Mapping[CellKey, int]
) -> tuple[ShownTest, Positions | None]:
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
    chosen = compared.choose_scenarios(SCENARIOS)
    scenes = [compared.scene(number) for number in chosen]
    drawn = DrawnTest(
        **vars(about),
        dt=to_json_value(compared.scenarios.dt),
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
    cell, predicted = compared.cells[label], compared.predicted[label]
    each = errors.displacement(predicted, compared.scenarios.future).mean(axis=0)
    steps = [errors.by_scenario(each[..., step]) for step in range(each.shape[-1])]
    low, high = (np.percentile(steps, share, axis=1) for share in (25, 75))
    return ShownModel(
        label=label,
        model=cell.key.model,
        cell=numbers[cell.key],
        samples=len(predicted),
        shown_at_first=label in select_models(compared),
        mean=_metres(np.mean(steps, axis=1)),
        low=_metres(low),
        high=_metres(high),
    )


def _metres(values: np.ndarray) -> list[float]:
    return [to_json_value(round(float(value), 4)) for value in values]


def _flat(positions: np.ndarray) -> list[int]:
    """Positions (..., 2) in metres as whole centimetres: x, y, x, y, ..."""
    whole: list[int] = np.rint(positions * CENTIMETRES).astype(int).reshape(-1).tolist()
    return whole


def _obstacles(obstacles: Obstacles | None, extent: Extent) -> DrawnObstacles | None:
    if obstacles is None:
        return None
    from stp.render.pictures.people import cells_within

    position, size = cells_within(obstacles, extent)
    if obstacles.kind == "discs" or not len(position):
        each: list[int] = np.rint(size * CENTIMETRES).astype(int).tolist()
        return DrawnObstacles("discs", _flat(position), each)
    # Cells are drawn as squares, which touch each other at a smaller size than circles.
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
                path=[_flat(path) for path in prediction.path],
                samples=[
                    [_flat(path) for path in sample] for sample in prediction.samples[:SAMPLES]
                ]
                if len(prediction.samples) > 1
                else [],
                ellipses=[] if prediction.mixture is None else _ellipses(prediction.mixture),
                errors=np.rint(prediction.errors(scene.future) * 1000).astype(int).tolist(),
            )
            for prediction in scene.predicted
        ],
    )


def _ellipses(mixture: Mixture) -> list[list[list[list[int]]]]:
    """Ellipses of two standard deviations, by person, step and component of a mixture.

    An ellipse is x, y and two radii in centimetres, an angle in degrees, and the component's weight
    in percent.
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
