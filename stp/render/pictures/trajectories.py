"""Pictures of people: where models think that they go, beside where they went.

Which scenarios are drawn is a rule, so that nobody can pick the pretty ones: those in which models
differ most, one of each episode, since scenarios of an episode overlap and look alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from stp.core.errors import StpError, nearest
from stp.core.receipts import require_receipt
from stp.page.figure_style import TEXT_WIDTH, new_figure, paper_size, whose
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
    "two of them, over pairs, people and lead times), one of each episode."
)
IN_PARENTHESES = "In parentheses: what a model was calibrated on, and whose parameters these are."
PARAMETERS = (
    "In parentheses: calibrated here on the dataset that is shown, or as others have released it."
)


def on_map(cell: StoredCell) -> bool:
    """Are forecasts of a cell drawn as trajectories over a map?"""
    return tasks.find(cell.kind).pictures == "trajectories"


def evaluations(cells: Sequence[StoredCell]) -> dict[str, list[StoredCell]]:
    """Cells that predict the same scenarios, by name: dataset, protocol and setting.

    Whatever they were calibrated on; the setting is named where there are several.
    """
    grouped: dict[tuple[str, str, str], list[StoredCell]] = {}
    for cell in cells:
        key = cell.key
        if on_map(cell):
            grouped.setdefault((key.tested_on, key.subset, key.setting), []).append(cell)
    places = [key[:2] for key in grouped]
    return {
        "-".join(key[:2] if places.count(key[:2]) == 1 else key): found
        for key, found in grouped.items()
    }


def label_of(cell: StoredCell, names: Names) -> str:
    """What a cell's model is called: with what it was calibrated on, and whose parameters."""
    key = cell.key
    title = names.models.get(key.model, key.model)
    if not cell.models and key.variant == "default":
        return title
    trained = names.datasets.get(key.trained_on, key.trained_on)
    return f"{title} ({trained}{'' if key.variant == 'default' else ', ' + key.variant})"


def at_home(label: str, cell: StoredCell) -> str:
    """A label without the name of the dataset, where a model is tested on that very one."""
    key = cell.key
    if "(" not in label or key.trained_on != key.tested_on:
        return label
    how = "calibrated" if key.variant == "default" else key.variant
    return f"{label.rpartition(' (')[0]} ({how})"


@dataclass(frozen=True)
class Compared:
    """All that is predicted for the scenarios of one test.

    Attributes:
        title: what was tested.
        cells: the first seed of each model, by label.
        place: with its map.
        scenarios: that were predicted.
        predicted: by label, (K, S, N, T, 2), metres.
        absent: why there is nothing of other models, by label.
        mixtures: of models that predict some, by label.
    """

    title: str
    cells: dict[str, StoredCell]
    place: prepared.Place
    scenarios: Scenarios
    predicted: dict[str, np.ndarray]
    absent: dict[str, str]
    mixtures: dict[str, densities.Mixture] = field(default_factory=dict)

    @cached_property
    def difference(self) -> np.ndarray:
        """How far models are apart, (S,), metres; of a single one its error."""
        there = self.scenarios.followed
        paths = [drawn.mean(axis=0) for drawn in self.predicted.values()]
        if len(paths) == 1:
            apart = [np.linalg.norm(paths[0] - self.scenarios.future, axis=-1)]
        else:
            apart = [np.linalg.norm(a - b, axis=-1) for a, b in combinations(paths, 2)]
        of_people = np.where(there, np.mean(apart, axis=0).mean(axis=-1), 0)
        return np.asarray(of_people.sum(axis=1) / there.sum(axis=1))

    def chosen(self, many: int) -> list[int]:
        """Numbers of scenarios by `RULE`; when each episode has one, the next ones of all."""
        order = np.argsort(-self.difference, kind="stable")
        _, first = np.unique(self.scenarios.episode[order], return_index=True)
        leading = order[np.sort(first)]
        others = order[~np.isin(order, leading)]
        return [int(number) for number in np.concatenate([leading, others])[:many]]

    def measure(self, number: int) -> str:
        """What the rule knows of a scenario, in words."""
        far = f"{self.difference[number]:.2f} m"
        return f"error {far}" if len(self.predicted) == 1 else f"models {far} apart"

    def name(self, number: int) -> str:
        """What a scenario is called."""
        start = self.scenarios.start[number]
        return f"scenario {number}, frame {start:g}, episode {self.scenarios.episode[number] + 1}"

    def scene(self, number: int, labels: Sequence[str] = ()) -> Scene:
        """One scenario with what is predicted for it.

        Args:
            number: of the scenario, from 0.
            labels: of those to draw; all unless given.

        Raises:
            StpError: there is no such scenario.
        """
        if not 0 <= number < len(self.scenarios):
            raise StpError(
                f"{self.title}: no scenario {number}",
                expected=f"a number from 0 to {len(self.scenarios) - 1}",
            )
        shown = [one for one in self.predicted if not labels or one in labels]
        bytes_ = whose(self.cells[label] for label in shown)
        notes = [f"{bytes_[:1].upper()}{bytes_[1:]}."]
        if any("(" in label for label in shown):
            notes.append(IN_PARENTHESES)
        several = {len(self.predicted[label]) for label in shown} - {1}
        if several:
            many = " or ".join(str(n) for n in sorted(several))
            notes.append(f"Thin lines: {many} samples; the strong line is their mean.")
        if any(label in self.mixtures for label in shown):
            notes.append("Ellipses: two standard deviations of each Gaussian of a mixture.")
        made = scene_of(
            self.scenarios,
            number,
            f"{self.title}, {self.name(number)}",
            [(label, self.predicted[label]) for label in shown],
            self.place.obstacles,
            self.place.goals,
            notes,
        )
        predicted = [
            replace(one, mixture=self._mixture(one.label, number)) for one in made.predicted
        ]
        return replace(made, predicted=predicted)

    def _mixture(self, label: str, number: int) -> Mixture | None:
        whole = self.mixtures.get(label)
        if whole is None:
            return None
        there = self.scenarios.followed[number]
        values = (whole.weights, whole.means, whole.covariances)
        return Mixture(*(of_all[number][there] for of_all in values))


def compare(cells: Sequence[StoredCell], names: Names, *, lenient: bool = False) -> Compared:
    """Read what the models of a test predict.

    Args:
        cells: of one test, see `evaluations`.
        names: titles of models and datasets.
        lenient: whether models whose predictions are missing or damaged are left out.

    Raises:
        StpError: predictions or data are missing or damaged.
    """
    first = cells[0].key
    found: dict[str, StoredCell] = {}
    for cell in cells:  # the first seed of each
        found.setdefault(label_of(cell, names), cell)
    title = f"{names.datasets.get(first.tested_on, first.tested_on)}, {first.subset}"
    predicted: dict[str, np.ndarray] = {}
    absent: dict[str, str] = {}
    mixtures: dict[str, densities.Mixture] = {}
    where: tuple[prepared.Place, Scenarios] | None = None
    for label, cell in found.items():
        try:
            place, scenarios = where or given_scenarios(cell)
            predicted[label] = read_predictions(cell.demand_predictions(), scenarios)
            density = densities.read(cell.demand_predictions(), scenarios)
            if isinstance(density, densities.Mixture):
                mixtures[label] = density
            where = (place, scenarios)
        except StpError as error:
            if not lenient:
                raise
            absent[label] = str(error)
    if where is None:
        raise StpError(
            f"{title}: nothing is predicted; {next(iter(absent.values()), 'no model')}",
            remedy="run the table command again: it predicts what is missing",
        )
    return Compared(title, found, *where, predicted, absent, mixtures)


def given_scenarios(cell: StoredCell) -> tuple[prepared.Place, Scenarios]:
    """The scenarios of a cell as its model was given them, with noise if that was added.

    Raises:
        StpError: its predictions are not kept, or its data are damaged.
    """
    recipe = require_receipt(cell.demand_predictions()).recipe
    place = prepared.read(Path(cell.data))
    return place, place.scenarios(
        "test",
        recipe["split"],
        recipe["observe"] if "observe" in recipe else recipe["context"],
        recipe["lead_times"],
        noise=recipe.get("noise", 0) / 1000,
        seed=recipe["predict"].get("seed", 0),
        fewest=recipe.get("people"),
    )


def evaluation_of(manifest: Manifest, wanted: str | None = None) -> Compared:
    """The test of a manifest with this name; the first one unless given.

    Raises:
        StpError: there is no such test, or nothing of people at all.
    """
    found = evaluations(manifest.cells)
    if not found:
        raise StpError(f"nothing of {manifest.dimension} is about people")
    if wanted is not None and wanted not in found:
        raise StpError(
            f"{manifest.dimension} has no test {wanted!r}",
            expected=", ".join(found),
            remedy=nearest(wanted, found),
        )
    return compare(found[wanted or next(iter(found))], manifest.names)


def own(compared: Compared) -> list[str]:
    """Labels of models as they would be used there: calibrated on the dataset they are tested on.

    All of them where there is none; the first `MOST_MODELS`.
    """
    there = [
        label
        for label in compared.predicted
        if compared.cells[label].key.trained_on == compared.cells[label].key.tested_on
    ]
    return (there or list(compared.predicted))[:MOST_MODELS]


def draw_differing(manifest: Manifest, outs: Sequence[Path]) -> None:
    """Draw the scenarios in which models differ most: a row for each test, of different datasets.

    Args:
        manifest: of a dimension of people.
        outs: .png, .svg and .pdf: a figure; .gif and .mp4: the first scenario of each, moving.

    Raises:
        StpError: nothing is about people, or predictions are missing or damaged.
    """
    for out in outs:
        drawing.check_suffix(out)
    found = evaluations(manifest.cells)
    by_place: dict[tuple[str, str], list[StoredCell]] = {}
    for cells in found.values():
        by_place.setdefault((cells[0].key.tested_on, cells[0].key.subset), cells)
    if not by_place:
        raise StpError(f"nothing of {manifest.dimension} is about people")
    shown = [compare(cells, manifest.names) for cells in list(by_place.values())[:MOST_TESTS]]
    pictures = [out for out in outs if out.suffix in drawing.PICTURES]
    if pictures:
        drawing.save(_figure(shown), pictures)
    for out in outs:
        if out.suffix in drawing.MOVIES:
            first = shown[0]
            labels = own(first)
            drawing.write(first.scene(_of(first, labels).chosen(1)[0], labels), out)


def _of(compared: Compared, labels: Sequence[str]) -> Compared:
    """The same with some models only: those that are drawn are those that differ."""
    return replace(compared, predicted={one: compared.predicted[one] for one in labels})


def _figure(shown: Sequence[Compared]) -> Figure:
    """The figure, with its rule below it."""
    cells = [one.cells[label] for one in shown for label in own(one)]
    labels = list(
        dict.fromkeys(at_home(label, one.cells[label]) for one in shown for label in own(one))
    )
    look = drawing.style_of(labels)
    each = (TEXT_WIDTH / ACROSS - 0.4) / ASPECT + 0.75
    many = 2 * ACROSS if len(shown) == 1 else ACROSS
    panels_of = []
    for compared in shown:
        drawn = _of(compared, own(compared))
        panels_of += [(compared, drawn, number) for number in drawn.chosen(many)]
    bytes_ = whose(cells)
    notes: list[str] = [RULE, f"{bytes_[:1].upper()}{bytes_[1:]}."]
    if any("(" in label for label in labels):
        notes.append(PARAMETERS)
    handles: dict[str, Line2D] = {}
    rows = -(-len(panels_of) // ACROSS)
    with paper_size():
        figure = new_figure(TEXT_WIDTH, rows * each + 0.15 * -(-(len(labels) + 3) // 3) + 0.1)
        panels = figure.subplots(rows, ACROSS, squeeze=False).ravel()
        for axes in panels[len(panels_of) :]:
            axes.set_axis_off()
        for axes, (compared, drawn, number) in zip(panels, panels_of, strict=False):
            scene = drawn.scene(number)
            short = {label: at_home(label, drawn.cells[label]) for label in drawn.predicted}
            other = [note for note in scene.notes[1:] if note != IN_PARENTHESES]
            notes += [note for note in other if note not in notes]
            scene = replace(
                scene, predicted=[replace(one, label=short[one.label]) for one in scene.predicted]
            )
            drawing.draw(axes, scene, shown=look, extent=drawing.widened(scene.extent, ASPECT))
            name = compared.name(number).replace(", ", "\n", 1)
            apart = drawn.measure(number)
            axes.set_title(f"{compared.title}, {name}; {apart}", fontsize=7, parse_math=False)
            found = drawing.legend_of(scene, look, with_errors=False)
            handles |= {str(one.get_label()): one for one in found}
        figure.legend(
            handles=list(handles.values()), loc="lower center", ncols=3, frameon=False, borderpad=1
        )
        left_out = sum(len(one.predicted) - len(own(one)) for one in shown)
        if left_out:
            notes.append(f"Not drawn: {left_out} models that were calibrated elsewhere.")
        drawing.put_note(figure, notes)
    return figure
