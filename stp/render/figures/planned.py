"""Which figures a plan can make: known before anything runs."""

from collections.abc import Iterable

from stp.cells import Cell, Plan
from stp.render.figures.kinds import KINDS, SPECTRA
from stp.setting import case_name, setting_of


def figures(plan: Plan) -> list[str]:
    """The PNG files of all figures of a plan, relative to the folder of results."""
    by_dimension: dict[str, dict[str, Cell]] = {name: {} for name in plan.config.scale.dimensions}
    for made in plan.cells:  # models and seeds do not matter here
        by_dimension[made.cell.dimension].setdefault(case_name(vars(made.cell)), made.cell)
    found = []
    for dimension, cases in by_dimension.items():
        for kind, about in KINDS.items():
            possible = [case for case, cell in cases.items() if _has(plan, kind, cell)]
            if kind == "slopes" and not _has_slopes(cases.values()):
                continue
            names = [f"{kind}/{case}" for case in possible] if about.of_case else [kind]
            found += [f"figures/{dimension}/{name}.png" for name in names]
    return found


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
