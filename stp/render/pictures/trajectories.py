"""Read predicted and true paths of people, and draw the scenarios in which models differ most.

Scenarios are chosen by a rule, not by hand. One is taken from each episode, since scenarios of an
episode overlap and look alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stp.core.errors import StpError, suggest_name
from stp.core.receipts import require_receipt
from stp.page.figure_style import TEXT_WIDTH, new_figure, origin_note, paper_size
from stp.plan.manifest_types import Manifest, Names, StoredCell
from stp.render.pictures import people as drawing
from stp.render.pictures.scene import Mixture, Scene, scene_of
from stp.score.motion import read_predictions
from stp.tasks import task as tasks
from stp.tracks import densities, prepared
from stp.tracks.scenarios import Scenarios

ACROSS, MOST_TESTS, MOST_MODELS = 2, 4, 7
ASPECT = 1.35
RULE = (
    "Drawn are the scenarios in which the models differ most (mean distance between the paths of "
    "two models, over pairs, people and lead times), one of each episode."
)
IN_PARENTHESES = "In parentheses: the data of a model's calibration, and the origin of parameters."
PARAMETERS = "In parentheses: calibrated here on the dataset shown, or released by others."


def on_map(cell: StoredCell) -> bool:
    """Whether forecasts of a cell (one model in one test) are drawn as trajectories on a map."""
    return tasks.find(cell.kind).pictures == "trajectories"


def evaluations(cells: Sequence[StoredCell]) -> dict[str, list[StoredCell]]:
    """Group cells (results of one model and seed) that predict the same scenarios.

    The models of a group may have been calibrated on different data.

    Returns:
        cells by name of the test: dataset and protocol, with the setting if tests differ in it.
    """
    grouped: dict[tuple[str, str, str], list[StoredCell]] = {}
    for cell in cells:
        key = cell.key
        if on_map(cell):
            grouped.setdefault((key.tested_on, key.subset, key.setting), []).append(cell)
    tests = [key[:2] for key in grouped]
    return {
        "-".join(key[:2] if tests.count(key[:2]) == 1 else key): cells_of_test
        for key, cells_of_test in grouped.items()
    }


def label_of(cell: StoredCell, names: Names) -> str:
    """Label of a model in pictures: its title, the data of its calibration, and its variant."""
    key = cell.key
    title = names.models.get(key.model, key.model)
    if not cell.models and key.variant == "default":
        return title
    trained = names.datasets.get(key.trained_on, key.trained_on)
    return f"{title} ({trained}{'' if key.variant == 'default' else ', ' + key.variant})"


def short_label(label: str, cell: StoredCell) -> str:
    """Shorten the label of a model: omit its calibration data if they are of the test dataset."""
    key = cell.key
    if "(" not in label or key.trained_on != key.tested_on:
        return label
    calibration = "calibrated" if key.variant == "default" else key.variant
    return f"{label.rpartition(' (')[0]} ({calibration})"


@dataclass(frozen=True)
class Compared:
    """Predictions of all models for the S scenarios of one test.

    Attributes:
        title: title of the test.
        cells: cell of each model's first seed, by label of the model.
        place: the prepared test dataset, with its map.
        scenarios: the scenarios of the test.
        predicted: K predictions of each scenario, by label of the model: positions of N people at T
            future steps, (K, S, N, T, 2), in metres.
        absent: reason why a model has no predictions, by label of the model.
        mixtures: predicted mixtures of Gaussians, by label of the model, for those models that
            predict mixtures.
    """

    title: str
    cells: dict[str, StoredCell]
    place: prepared.PreparedTracks
    scenarios: Scenarios
    predicted: dict[str, np.ndarray]
    absent: dict[str, str]
    mixtures: dict[str, densities.Mixture] = field(default_factory=dict)

    @cached_property
    def difference(self) -> np.ndarray:
        """Mean distance between the paths of models in each scenario, (S,), in metres.

        If there is only one model, its mean error is used instead.
        """
        followed = self.scenarios.has_future
        paths = [paths_of_model.mean(axis=0) for paths_of_model in self.predicted.values()]
        if len(paths) == 1:
            distances = [np.linalg.norm(paths[0] - self.scenarios.future, axis=-1)]
        else:
            distances = [np.linalg.norm(a - b, axis=-1) for a, b in combinations(paths, 2)]
        of_people = np.where(followed, np.mean(distances, axis=0).mean(axis=-1), 0)
        return np.asarray(of_people.sum(axis=1) / followed.sum(axis=1))

    def choose_scenarios(self, many: int) -> list[int]:
        """Choose ``many`` scenarios: those with the largest difference between models first.

        An episode is a group of scenarios that overlap in time. One scenario is chosen from each
        episode; if these are not enough, the scenarios with the next largest differences follow.

        Returns:
            indices of the scenarios, from 0.
        """
        order = np.argsort(-self.difference, kind="stable")
        _, first = np.unique(self.scenarios.episode[order], return_index=True)
        leading = order[np.sort(first)]
        others = order[~np.isin(order, leading)]
        return [int(number) for number in np.concatenate([leading, others])[:many]]

    def measure(self, number: int) -> str:
        """Describe the value by which a scenario was chosen, as in ``models 0.52 m apart``.

        With a single model, it is the mean error of this model: ``error 0.52 m``.

        Args:
            number: index of the scenario, from 0.
        """
        distance = f"{self.difference[number]:.2f} m"
        return f"error {distance}" if len(self.predicted) == 1 else f"models {distance} apart"

    def name(self, number: int) -> str:
        """Name of a scenario in titles: ``scenario 3, frame 780, episode 2``.

        Args:
            number: index of the scenario, from 0.
        """
        start = self.scenarios.start[number]
        return f"scenario {number}, frame {start:g}, episode {self.scenarios.episode[number] + 1}"

    def scene(self, number: int, labels: Sequence[str] = ()) -> Scene:
        """Make the scene of one scenario, with its predictions, for drawing.

        Args:
            number: index of the scenario, from 0.
            labels: labels of the models to draw; all by default.

        Raises:
            StpError: the scenario does not exist.
        """
        if not 0 <= number < len(self.scenarios):
            raise StpError(
                f"{self.title}: no scenario {number}",
                expected=f"a number from 0 to {len(self.scenarios) - 1}",
            )
        drawn_labels = [label for label in self.predicted if not labels or label in labels]
        origin = origin_note(self.cells[label] for label in drawn_labels)
        notes = [f"{origin[:1].upper()}{origin[1:]}."]
        if any("(" in label for label in drawn_labels):
            notes.append(IN_PARENTHESES)
        sample_counts = {len(self.predicted[label]) for label in drawn_labels} - {1}
        if sample_counts:
            counts_text = " or ".join(str(n) for n in sorted(sample_counts))
            notes.append(f"Thin lines: {counts_text} samples; the strong line is their mean.")
        if any(label in self.mixtures for label in drawn_labels):
            notes.append("Ellipses: two standard deviations of each Gaussian of a mixture.")
        scene = scene_of(
            self.scenarios,
            number,
            f"{self.title}, {self.name(number)}",
            [(label, self.predicted[label]) for label in drawn_labels],
            self.place.obstacles,
            self.place.goals,
            notes,
        )
        predicted = [
            replace(label, mixture=self._mixture(label.label, number)) for label in scene.predicted
        ]
        return replace(scene, predicted=predicted)

    def _mixture(self, label: str, number: int) -> Mixture | None:
        mixture = self.mixtures.get(label)
        if mixture is None:
            return None
        followed = self.scenarios.has_future[number]
        values = (mixture.weights, mixture.means, mixture.covariances)
        return Mixture(*(of_all[number][followed] for of_all in values))


def compare(cells: Sequence[StoredCell], names: Names, *, lenient: bool = False) -> Compared:
    """Read scenarios and predictions of one test, to compare the paths that models predict.

    Args:
        cells: results of the test, one for each model and seed. Of each model, the first one is
            read.
        names: titles of models and datasets.
        lenient: whether models with missing or damaged predictions are left out; if not, they raise
            an error.

    Returns:
        the scenarios and map of the test, and the predicted positions of each model.

    Raises:
        StpError: predictions or data are missing or damaged.
    """
    first = cells[0].key
    cell_of: dict[str, StoredCell] = {}
    for cell in cells:  # the first seed of each
        cell_of.setdefault(label_of(cell, names), cell)
    title = f"{names.datasets.get(first.tested_on, first.tested_on)}, {first.subset}"
    predicted: dict[str, np.ndarray] = {}
    absent: dict[str, str] = {}
    mixtures: dict[str, densities.Mixture] = {}
    scenarios_of_test: tuple[prepared.PreparedTracks, Scenarios] | None = None
    for label, cell in cell_of.items():
        try:
            dataset, scenarios = scenarios_of_test or observed_scenarios(cell)
            predicted[label] = read_predictions(cell.demand_predictions(), scenarios)
            density = densities.read(cell.demand_predictions(), scenarios)
            if isinstance(density, densities.Mixture):
                mixtures[label] = density
            scenarios_of_test = (dataset, scenarios)
        except StpError as error:
            if not lenient:
                raise
            absent[label] = str(error)
    if scenarios_of_test is None:
        raise StpError(
            f"{title}: no predictions; {next(iter(absent.values()), 'no model')}",
            remedy="run the table command again: it makes missing predictions",
        )
    return Compared(title, cell_of, *scenarios_of_test, predicted, absent, mixtures)


def observed_scenarios(cell: StoredCell) -> tuple[prepared.PreparedTracks, Scenarios]:
    """Cut the scenarios of a cell (result of one model) as the model observed them.

    Noise that the test adds to observed positions is included.

    Returns:
        the prepared dataset, and the scenarios.

    Raises:
        StpError: the predictions are not stored, or the data are damaged.
    """
    recipe = require_receipt(cell.demand_predictions()).recipe
    dataset = prepared.read(Path(cell.data))
    return dataset, dataset.scenarios(
        "test",
        recipe["split"],
        recipe["observe"] if "observe" in recipe else recipe["context"],
        recipe["lead_times"],
        noise=recipe.get("noise", 0) / 1000,
        seed=recipe["predict"].get("seed", 0),
        fewest=recipe.get("people"),
    )


def evaluation_of(manifest: Manifest, name: str | None = None) -> Compared:
    """Read what all models predicted in one test of a table, to compare their paths.

    Args:
        manifest: the part of the plan that the table is made from.
        name: name of the test, such as ``atlas_eth-strict``; None for the first test.

    Returns:
        the scenarios of the test, with true and predicted positions and the map.

    Raises:
        StpError: the test is unknown, or no test is about people.
    """
    tests = evaluations(manifest.cells)
    if not tests:
        raise StpError(f"no test of {manifest.dimension} is about people")
    if name is not None and name not in tests:
        raise StpError(
            f"{manifest.dimension} has no test {name!r}", remedy=suggest_name(name, tests)
        )
    return compare(tests[name or next(iter(tests))], manifest.names)


def labels_of_models(compared: Compared, models: Sequence[str]) -> list[str]:
    """Find the labels under which a test shows some models.

    Args:
        compared: the test.
        models: names of models, such as ``social_force``, or of variants, such as
            ``social_force:released``.

    Raises:
        StpError: a model or variant was not tested.
    """
    labels: dict[str, list[str]] = {}
    for label in compared.predicted:
        key = compared.cells[label].key
        for name in (key.model, f"{key.model}:{key.variant}"):
            labels.setdefault(name, []).append(label)
    for name in models:
        if name not in labels:
            raise StpError(
                f"{compared.title}: no model {name!r}",
                expected=", ".join(labels),
                remedy=suggest_name(name, labels),
            )
    return [label for name in models for label in labels[name]]


def select_models(compared: Compared) -> list[str]:
    """Select the models to draw: at most seven that were calibrated on the test dataset.

    If no model was calibrated on that dataset, all models are candidates. Of more than seven
    candidates, the first seven in the order of the cells of the test are selected.

    Returns:
        labels of the models.
    """
    at_home_labels = [
        label
        for label in compared.predicted
        if compared.cells[label].key.trained_on == compared.cells[label].key.tested_on
    ]
    return (at_home_labels or list(compared.predicted))[:MOST_MODELS]


def draw_differing(manifest: Manifest, outs: Sequence[Path]) -> None:
    """Draw the scenarios in which models differ most, a row for each of at most four tests.

    If tests differ only in the setting, only the first one is drawn.

    Args:
        manifest: manifest of the dimension.
        outs: paths of the files: .png, .svg and .pdf for a figure of all rows, .gif and .mp4 for an
            animation of the first test's first scenario.

    Raises:
        StpError: no test is about people, or predictions are missing or damaged.
    """
    for out in outs:
        drawing.check_suffix(out)
    tests = evaluations(manifest.cells)
    by_place: dict[tuple[str, str], list[StoredCell]] = {}
    for cells in tests.values():
        by_place.setdefault((cells[0].key.tested_on, cells[0].key.subset), cells)
    if not by_place:
        raise StpError(f"no test of {manifest.dimension} is about people")
    compared_tests = [
        compare(cells, manifest.names) for cells in list(by_place.values())[:MOST_TESTS]
    ]
    pictures = [out for out in outs if out.suffix in drawing.PICTURES]
    if pictures:
        drawing.save(_figure(compared_tests), pictures)
    for out in outs:
        if out.suffix in drawing.MOVIES:
            first = compared_tests[0]
            labels = select_models(first)
            drawing.write(
                first.scene(_select_models(first, labels).choose_scenarios(1)[0], labels), out
            )


def _select_models(compared: Compared, labels: Sequence[str]) -> Compared:
    """Reduce a test to some models, so that only their differences count."""
    return replace(compared, predicted={label: compared.predicted[label] for label in labels})


def _figure(compared_tests: Sequence[Compared]) -> Figure:
    cells = [one.cells[label] for one in compared_tests for label in select_models(one)]
    labels = list(
        dict.fromkeys(
            short_label(label, one.cells[label])
            for one in compared_tests
            for label in select_models(one)
        )
    )
    style_of_label = drawing.style_of(labels)
    panel_height = (TEXT_WIDTH / ACROSS - 0.4) / ASPECT + 0.75
    panels_per_test = 2 * ACROSS if len(compared_tests) == 1 else ACROSS
    panels_of = []
    for compared in compared_tests:
        selected = _select_models(compared, select_models(compared))
        panels_of += [
            (compared, selected, number) for number in selected.choose_scenarios(panels_per_test)
        ]
    origin = origin_note(cells)
    notes: list[str] = [RULE, f"{origin[:1].upper()}{origin[1:]}."]
    if any("(" in label for label in labels):
        notes.append(PARAMETERS)
    handles: dict[str, Line2D] = {}
    rows = -(-len(panels_of) // ACROSS)
    with paper_size():
        figure = new_figure(
            TEXT_WIDTH, rows * panel_height + 0.15 * -(-(len(labels) + 3) // 3) + 0.1
        )
        panels = figure.subplots(rows, ACROSS, squeeze=False).ravel()
        for axes in panels[len(panels_of) :]:
            axes.set_axis_off()
        for axes, (compared, selected, number) in zip(panels, panels_of, strict=False):
            scene = selected.scene(number)
            short = {
                label: short_label(label, selected.cells[label]) for label in selected.predicted
            }
            further_notes = [note for note in scene.notes[1:] if note != IN_PARENTHESES]
            notes += [note for note in further_notes if note not in notes]
            scene = replace(
                scene, predicted=[replace(one, label=short[one.label]) for one in scene.predicted]
            )
            drawing.draw(
                axes,
                scene,
                model_styles=style_of_label,
                extent=drawing.widened(scene.extent, ASPECT),
            )
            name = compared.name(number).replace(", ", "\n", 1)
            measure = selected.measure(number)
            axes.set_title(f"{compared.title}, {name}; {measure}", fontsize=7, parse_math=False)
            lines = drawing.legend_of(scene, style_of_label, with_errors=False)
            handles |= {str(one.get_label()): one for one in lines}
        figure.legend(
            handles=list(handles.values()), loc="lower center", ncols=3, frameon=False, borderpad=1
        )
        left_out = sum(len(one.predicted) - len(select_models(one)) for one in compared_tests)
        if left_out:
            notes.append(f"Not drawn: {left_out} models that were calibrated elsewhere.")
        drawing.put_note(figure, notes)
    return figure
