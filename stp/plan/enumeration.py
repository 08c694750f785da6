"""Which cells a scale wants."""

from collections.abc import Iterator

from stp.core.errors import StpError
from stp.plan.artefacts import EXTERNAL, READ
from stp.plan.cell_key import CellKey
from stp.plan.config import Config
from stp.plan.recipes import Recipes


def enumerate_cells(config: Config) -> Iterator[tuple[CellKey, int | tuple[str, ...] | None]]:
    """Yield all cells that a scale wants, datasets first: a table is read one at a time.

    Models that live elsewhere have the cells that predictions were imported for.

    Yields:
        each cell, and how many of its predictions are kept: None for all.

    Raises:
        StpError: a cell is wanted twice, or predictions of a model for none of its cells.
    """
    scale, seen, recipes = config.scale, set(), Recipes(config)
    for dimension, wanted in scale.dimensions.items():
        for case in wanted.cases(f"dimensions.{dimension}"):
            name = recipes.setting(case)
            for model in case.models:
                fit = config.models[model].fit
                place = (dimension, case.trained_on, case.train_subset, case.tested_on, case.subset)
                if fit == EXTERNAL and not recipes.submission(model, *place, name):
                    continue
                for name_of_variant, seed in _trainings(recipes, model, case.variant):
                    cell = CellKey(
                        suite=scale.suite,
                        dimension=dimension,
                        model=model,
                        variant=name_of_variant,
                        trained_on=case.trained_on,
                        train_subset=case.train_subset,
                        tested_on=case.tested_on,
                        subset=case.subset,
                        setting=name,
                        seed=seed,
                    )
                    if cell in seen:
                        raise StpError(
                            f"{cell} on {cell.subset} with {name} is wanted twice",
                            expected=f"each cell of {dimension} once",
                            remedy="take one of the two out of the scale file",
                        )
                    seen.add(cell)
                    reads = fit == READ and recipes.samples(case.tested_on).cores.read is not None
                    keep = (case.keep or 0) if reads else case.keep
                    yield cell, None if fit == EXTERNAL else keep
    without = {m for wanted in scale.dimensions.values() for m in wanted.models}
    without -= {cell.model for cell in seen}
    for model in sorted(m for m in without if config.models[m].fit == EXTERNAL):
        raise StpError(
            f"no predictions of {model} were imported for any cell of the scale {scale.scale}",
            expected="predictions for the same release, clips, subset and setting",
            remedy=f"stp external windows DATASET, predict, stp external import DIR --model {model}"
            f"; or take {model} out of the scale file",
        )


def _trainings(recipes: Recipes, model: str, variant: str) -> Iterator[tuple[str, int | None]]:
    """Variants that a name in `cells` stands for, each with all seeds if it has any."""
    facts = recipes.config.models[model]
    for name in facts.named(variant):
        own = recipes.variant(model, name)
        has_seed = facts.fit == "sgd" and not (own and own.is_given)
        yield from ((name, seed) for seed in (recipes.config.scale.seeds if has_seed else (None,)))
