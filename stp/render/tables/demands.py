"""Conditions that a scale must meet for some tables, such as a minimum number of seeds.

A scale is the configuration of which models and datasets are evaluated. This module imports little,
since planning uses it.
"""

from collections.abc import Collection, Iterable, Mapping

from stp.core.errors import ConfigurationError
from stp.plan.cell_key import CellKey
from stp.plan.manifest_types import Names

FEWEST_RUNS = 4
"""Minimum number of runs: two in each half, since fewer have no spread within a half."""


def demand_runs(runs: Iterable[tuple[str, int]], where: str) -> None:
    """Refuse a study of repeated runs if a model has fewer than four seeds.

    Args:
        runs: name of each trained model with its dataset, such as ``convlstm on kth``, and its
            number of seeds. Each seed is a run.
        where: path of the file that lists the seeds, for the error.

    Raises:
        ConfigurationError: no model is trained with seeds, or one has fewer than four.
    """
    runs = list(runs)
    few = [f"{name}: {number}" for name, number in runs if number < FEWEST_RUNS]
    if few or not runs:
        raise ConfigurationError(
            f"{where}: too few seeds for a study of repeated runs"
            + (f" ({'; '.join(few)})" if few else " (no model that is trained with a seed)"),
            expected=f"trained models, each with at least {FEWEST_RUNS} seeds",
            remedy="add seeds under `seeds:` in the scale file, as config/reliability.yaml does",
        )


def is_reproduced(
    key: CellKey, tables: Mapping[str, str], models: Collection[tuple[str, str]], names: Names
) -> bool:
    """Whether a cell has values in one of Tables 13-16 of PredBench.

    These tables compare models that were trained with the code of their authors and with the code
    of PredBench, which reproduces it. The cell must be trained on the whole training split and
    tested on the whole test split of the same dataset.

    Args:
        key: key of the cell.
        tables: name of the table among 13-16 that is about a dataset, by name of the dataset.
        models: a pair (table, model) for every printed value, with names as in the paper.
        names: the paper's names of models and their variants.
    """
    as_trained = key.trained_on == key.tested_on and key.train_subset == "all"
    model = names.of_model(key)
    return (
        as_trained
        and key.subset == "test"
        and model is not None
        and (tables.get(key.tested_on, ""), model) in models
    )
