"""Enumerate the cells (model, data, setting, seed) that a scale file declares."""

from collections.abc import Iterator

from stp.core.errors import ConfigurationError
from stp.plan.artefacts import EXTERNAL, READ
from stp.plan.cell_key import CellKey
from stp.plan.config import Config
from stp.plan.recipes import Recipes


def enumerate_cells(config: Config) -> Iterator[tuple[CellKey, int | tuple[str, ...] | None]]:
    """Yield all cells (model, data, setting, seed) of a scale file, dataset by dataset.

    A model with imported predictions has only the cells for which predictions were imported.

    Yields:
        each cell, with the number of predictions to store or the names of their clips; None for
        all.

    Raises:
        ConfigurationError: a cell is declared twice, or no predictions were imported for an
            external model.
    """
    scale, cells, recipes = config.scale, set(), Recipes(config)
    for dimension, declared in scale.dimensions.items():
        for case in declared.cases(f"dimensions.{dimension}"):
            name = recipes.setting(case)
            for model in case.models:
                fit = config.models[model].fit
                key = (dimension, case.trained_on, case.train_subset, case.tested_on, case.subset)
                if fit == EXTERNAL and not recipes.submission(model, *key, name):
                    continue
                for variant, seed in _trainings(recipes, model, case.variant):
                    cell = CellKey(
                        suite=scale.suite,
                        dimension=dimension,
                        model=model,
                        variant=variant,
                        trained_on=case.trained_on,
                        train_subset=case.train_subset,
                        tested_on=case.tested_on,
                        subset=case.subset,
                        setting=name,
                        seed=seed,
                    )
                    if cell in cells:
                        raise ConfigurationError(
                            f"{cell} on {cell.subset} with {name} is declared twice",
                            remedy=f"remove one of the two from {dimension} in the scale file",
                        )
                    cells.add(cell)
                    reads = fit == READ and recipes.samples(case.tested_on).cores.read is not None
                    keep = (case.keep or 0) if reads else case.keep
                    yield cell, None if fit == EXTERNAL else keep
    models = {name for declared in scale.dimensions.values() for name in declared.models}
    models -= {cell.model for cell in cells}
    for model in sorted(name for name in models if config.models[name].fit == EXTERNAL):
        raise ConfigurationError(
            f"no predictions of {model} were imported for any cell of the scale {scale.scale}",
            expected="predictions for the same release, clips, subset and setting",
            remedy=f"stp external windows DATASET, predict, stp external import DIR --model {model}"
            f"; or remove {model} from the scale file",
        )


def _trainings(recipes: Recipes, model: str, variant: str) -> Iterator[tuple[str, int | None]]:
    """Yield (variant, seed) for all variants behind a name in `cells`; seed None without seeds."""
    entry = recipes.config.models[model]
    for name in entry.expand_variant(variant):
        settings = recipes.variant(model, name)
        has_seed = entry.fit == "sgd" and not (settings and settings.is_given)
        yield from ((name, seed) for seed in (recipes.config.scale.seeds if has_seed else (None,)))
