"""List the figures that can be made of a plan, which has all evaluations of a configuration."""

from collections.abc import Iterable, Sequence

from stp.plan.cell_key import CellKey
from stp.plan.cells import Plan
from stp.plan.setting import setting_of
from stp.render.figures.kinds import (
    FEWEST_BLOCKS,
    FEWEST_MODELS,
    KINDS,
    SLOPES,
    SPECTRA,
    evaluation_name,
    varied_setting,
)

OF_SEVERAL = ("ranks", "overview", "critical_difference", "speed")
"""Kinds of figures that compare models over all cases, and need several models."""


def figures(plan: Plan) -> list[str]:
    """List the figures that can be made of a plan, as paths of PNG files in the results folder."""
    files = []
    for dimension in plan.config.scale.dimensions:
        # Models and seeds do not matter to figures of frames.
        cells = [
            artefacts.cell for artefacts in plan.cells if artefacts.cell.dimension == dimension
        ]
        facts = plan.config.suite.dimensions[dimension]
        for name in facts.figures:
            kind = KINDS[name]
            if name == "gain" and facts.controls not in plan.config.scale.dimensions:
                continue
            names = (
                _scenarios(plan, name, cells) if kind.of_scenarios else _tests(plan, name, cells)
            )
            if name == "detail":
                names = [case for case in names if case in plan.drawable_cases(dimension)]
            if kind.of_case:
                files += [f"figures/{dimension}/{name}/{case}.png" for case in names]
            elif names:
                files.append(f"figures/{dimension}/{name}.png")
    return files


def _tests(plan: Plan, name: str, keys: Sequence[CellKey]) -> list[str]:
    cases: dict[str, CellKey] = {}
    for cell in keys:
        cases.setdefault(cell.case_name, cell)
    if name == "slopes" and not _has_slopes(cases.values()):
        return []
    if name in OF_SEVERAL:
        models = {(cell.model, cell.variant) for cell in keys}
        datasets = {cell.tested_on for cell in keys}
        is_test = name == "critical_difference"
        if len(models) < (FEWEST_MODELS if is_test else 2):
            return []
        if is_test and len(datasets) < FEWEST_BLOCKS:
            return []
    return [case for case, cell in cases.items() if _has(plan, name, cell)]


def _scenarios(plan: Plan, name: str, keys: Sequence[CellKey]) -> list[str]:
    """Names of the tests for which a kind of figure of scenarios is drawn.

    Dimensions that vary a setting have the kind `accuracy` and, if the setting is the horizon, the
    kind `horizon`; other dimensions have all kinds except `accuracy`.
    """
    varied = varied_setting(keys)
    # Curves of a dimension with several horizons are drawn for the longest one.
    of_longest = varied == "horizon" and name == "horizon"
    if (name == "accuracy") != (varied is not None) and not of_longest:
        return []
    keys_of_figure = [key for key in keys if name != "densities" or _gives_densities(plan, key)]
    return list(dict.fromkeys(evaluation_name(key) for key in keys_of_figure))


def _gives_densities(plan: Plan, key: CellKey) -> bool:
    density = plan.config.models[key.model].density
    if isinstance(density, bool):
        return density
    tested = (key.model, key.trained_on, key.tested_on, key.subset)
    recipe = plan.recipes.predict(*tested, setting_of(key.setting), key.variant)
    return bool(recipe.options.get(density))


def _has(plan: Plan, kind: str, cell: CellKey) -> bool:
    if kind in ("leads", "lead_means"):
        return setting_of(cell.setting)["horizon"] > 1
    if kind == "spectra":
        return SPECTRA in plan.recipes.job_conventions(cell.tested_on, perceptual=False)
    return True


def _has_slopes(cells: Iterable[CellKey]) -> bool:
    tested = [
        (name, cell.trained_on, cell.tested_on, cell.subset)
        for cell in cells
        for name in SLOPES
        if name in setting_of(cell.setting)
    ]
    return len(set(tested)) < len(tested)
