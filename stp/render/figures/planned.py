"""Which figures a plan can make: known before anything runs."""

from collections.abc import Iterable, Mapping
from typing import Any

from stp.plan.cells import Cell, Plan
from stp.plan.setting import case_name, setting_of
from stp.render.figures.kinds import KINDS, SPECTRA, Kind, evaluation_name, varied_setting


def figures(plan: Plan) -> list[str]:
    """The PNG files of all figures of a plan, relative to the folder of results."""
    if plan.config.scale.suite == "atlas":
        return _of_people(plan)
    by_dimension: dict[str, dict[str, Cell]] = {name: {} for name in plan.config.scale.dimensions}
    for made in plan.cells:  # models and seeds do not matter here
        by_dimension[made.cell.dimension].setdefault(case_name(vars(made.cell)), made.cell)
    found = []
    for dimension, cases in by_dimension.items():
        for kind, about in _kinds("predbench"):
            possible = [case for case, cell in cases.items() if _has(plan, kind, cell)]
            if kind == "slopes" and not _has_slopes(cases.values()):
                continue
            names = [f"{kind}/{case}" for case in possible] if about.of_case else [kind]
            found += [f"figures/{dimension}/{name}.png" for name in names]
    return found


def _kinds(suite: str) -> list[tuple[str, Kind]]:
    return [(name, kind) for name, kind in KINDS.items() if kind.suite == suite]


def _of_people(plan: Plan) -> list[str]:
    """A dimension that varies a setting has a figure of it; the others have what is of a case."""
    found = []
    for dimension in plan.config.scale.dimensions:
        cells = [vars(made.cell) for made in plan.cells if made.cell.dimension == dimension]
        varied = varied_setting(cells)
        for name, kind in _kinds("atlas"):
            # the curves of a dimension of several horizons are those of its longest ones
            of_longest = varied == "horizon" and name == "horizon"
            if (name == "accuracy") != (varied is not None) and not of_longest:
                continue
            cases = list(
                dict.fromkeys(
                    evaluation_name(cell)
                    for cell in cells
                    if name != "densities" or _gives_densities(plan, cell)
                )
            )
            files = [f"{name}/{case}" for case in cases] if kind.of_case else [name]
            found += [f"figures/{dimension}/{file}.png" for file in files]
    return found


def _gives_densities(plan: Plan, key: Mapping[str, Any]) -> bool:
    """Does the predictor of a cell say more than points?"""
    density = plan.config.models[key["model"]].density
    if isinstance(density, bool):
        return density
    model, variant, trained_on = key["model"], key["variant"], key["trained_on"]
    tested_on, subset, setting = key["tested_on"], key["subset"], setting_of(key["setting"])
    recipe = plan.recipes.predict(model, trained_on, tested_on, subset, setting, variant)
    return bool(recipe["options"].get(density))


def _has(plan: Plan, kind: str, cell: Cell) -> bool:
    """Does a case have what a kind of figure draws?"""
    if kind == "leads":
        return setting_of(cell.setting)["horizon"] > 1
    if kind == "spectra":
        return SPECTRA in plan.recipes.scored(cell.tested_on, perceptual=False)
    return True


def _has_slopes(cells: Iterable[Cell]) -> bool:
    """Is the same thing tested at several frame intervals?"""
    tested = [
        (cell.trained_on, cell.tested_on, cell.subset)
        for cell in cells
        if "interval" in setting_of(cell.setting)
    ]
    return len(set(tested)) < len(tested)
