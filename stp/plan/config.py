"""Read and check the configuration of a run: which models and datasets a scale file evaluates.

It consists of the scale file, its suite (the benchmark), and the entries of datasets and models.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from stp.core.errors import ConfigurationError
from stp.core.project import check_own_modules
from stp.plan.checked_config import (
    CONFIG_FOLDER,
    SUITE_FILE,
    Json,
    S,
    Strict,
    check,
    check_known,
    check_name,
    entries,
    merge,
    read_yaml,
    save_cache,
)
from stp.plan.dataset import Dataset
from stp.plan.grid import Case, Combinations, Grid
from stp.plan.metric import Metric, with_definitions
from stp.plan.model import Model
from stp.plan.removed import refuse_files
from stp.plan.scale import DimensionCells, Scale
from stp.plan.suite import Suite, read_suites, suite_for


class Config(Strict):
    """The checked configuration of a run: what a scale file evaluates, and how.

    Attributes:
        scale: the scale file, which says what is evaluated.
        datasets: entries of all datasets, with the changes of the scale file, by name.
        models: entries of all models, without the changes of the scale file, and users' own
            forecasts, by name.
        suite: the suite to which the dimensions of the scale file belong.
        metrics: entries of all metrics, with further conventions of suites, datasets and the scale
            file, by name.
        declared: place of each dataset's entry (a file, or a key in the scale file), by the name of
            the dataset, for messages.
    """

    scale: Scale
    datasets: dict[str, Dataset]
    models: dict[str, Model]
    suite: Suite
    metrics: dict[str, Metric]
    declared: dict[str, str]


def _read_folder(
    kind: type[S], folder: Path, overrides: Mapping[str, Json], what: str, where: str
) -> dict[str, S]:
    """Read all entries of a kind, with the overrides of a scale file.

    A scale file may also contain the whole entry of a dataset, with its releases.
    """
    paths: dict[str, Path | None] = {**entries(folder.name, folder.parent)}
    for name, override in overrides.items():
        if name not in paths and kind is Dataset and "releases" in override:
            paths[name] = None
        check_known(name, paths, what, f"{where}: {what}s")
    checked = {}
    for name, path in paths.items():
        check_name(name, what, path or f"{where}: {what}s")
        label = f"{where}: {what}s.{name}" if name in overrides else str(path)
        entry = read_yaml(path) if path else {}
        checked[name] = check(kind, merge(entry, overrides.get(name, {})), label)
    return checked


def _check_cells(
    cells: DimensionCells,
    datasets: Mapping[str, Dataset],
    models: Mapping[str, Model],
    suite: Suite,
    declared: Mapping[str, str],
    where: str,
) -> None:
    for name in cells.models:
        check_known(name, models, "model", f"{where}.models")
    for label, grid in cells.entries(where):
        _check_names(grid, datasets, cells.models, label)
        for number, out in enumerate(grid.without):
            _check_names(out, datasets, grid.models or cells.models, f"{label}.without.{number}")
        for case in grid.cases(cells.models, label):
            _check_case(case, datasets, models, suite, declared, label)


def _check_case(
    case: Case,
    datasets: Mapping[str, Dataset],
    models: Mapping[str, Model],
    suite: Suite,
    declared: Mapping[str, str],
    label: str,
) -> None:
    trained_on, tested_on = datasets[case.trained_on], datasets[case.tested_on]
    if case.tested_on not in suite.datasets and not tested_on.metrics:
        raise ConfigurationError(
            f"{label}: no metrics are declared for {case.tested_on}",
            expected=f"metrics in {declared[case.tested_on]}",
            remedy="add a line such as metrics: [mse.pixel_mean, ssim.range1]",
        )
    subsets = ["all", *trained_on.train_subsets]
    subset_kind = f"training subset of {case.trained_on}"
    check_known(case.train_subset, subsets, subset_kind, f"{label}.train_subset")
    check_known(case.subset, ["test", *tested_on.subsets], f"subset of {case.tested_on}", label)
    if trained_on.shape != tested_on.shape:
        raise ConfigurationError(
            f"{label}: {case.tested_on} has frames of C, H, W = {list(tested_on.shape)}",
            expected=f"{list(trained_on.shape)}, as in the training on {case.trained_on}",
            remedy="test on a dataset with equal frames, or prepare one of the two differently",
        )
    for name in case.models:
        _check_kinds(case, models[name], name, datasets, label)


def _check_names(
    grid: Grid | Combinations, datasets: Mapping[str, Dataset], models: Collection[str], label: str
) -> None:
    for key in ("trained_on", "tested_on"):
        for name in getattr(grid, key) or ():
            check_known(name, datasets, "dataset", f"{label}.{key}")
    for name in grid.models or ():
        check_known(name, models, "model of the dimension", f"{label}.models")


def _check_kinds(
    case: Case, model: Model, name: str, datasets: Mapping[str, Dataset], where: str
) -> None:
    tested_on = case.tested_on
    for dataset in (case.trained_on, tested_on):
        kind = datasets[dataset].kind
        if kind != model.kind:
            raise ConfigurationError(
                f"{where}: {name} predicts {model.kind}, and {dataset} has {kind}",
                expected="a model and datasets of one kind",
                remedy=f"name another model, or remove {dataset} for this one",
            )
    if case.variant != "default":
        variants = [*model.variants, *model.grids]
        check_known(case.variant, variants, f"variant of {name}", where)
    samples = datasets[tested_on].samples
    if case.keep is not None and samples.cores.rollout is None:
        raise ConfigurationError(
            f"{where}: keep is {case.keep} for {name} on {tested_on}",
            expected=f"no keep: all forecasts of {model.kind} are stored",
            remedy="remove `keep` from its line of `cells`",
        )
    if model.fit == "read" and samples.sources is None:
        raise ConfigurationError(
            f"{where}: {name} on {tested_on} has `fit: read`",
            expected=f"a model that computes its forecasts, as all models of {model.kind}",
        )
    for key in case.setting:
        check_known(key, ("horizon", *samples.settings), f"setting of {model.kind}", where)
    protocols = samples.protocols
    is_given = case.variant in model.variants and model.variants[case.variant].is_given
    for key, value, is_needed in (
        ("subset", case.subset, True),
        ("train_subset", case.train_subset, model.fit in samples.fits and not is_given),
    ):
        if protocols and is_needed and value not in protocols:
            raise ConfigurationError(
                f"{where}: {name} on {tested_on} has {key} {value!r}",
                expected=f"a protocol: {' or '.join(protocols)}",
                remedy=f"write `{key}: strict` in its line of `cells`",
            )


def _check_settings(
    scale: Scale, datasets: Mapping[str, Dataset], models: Mapping[str, Model], where: str
) -> None:
    for name, dataset in datasets.items():
        label = f"{where}: datasets.{name}"
        check_known(dataset.release, dataset.releases, "release", label)
    for name, settings in scale.models.items():
        check_known(name, models, "model", f"{where}: models")
        for dataset_name in settings.datasets:
            check_known(dataset_name, datasets, "dataset", f"{where}: models.{name}.datasets")
    for name in scale.prepared:
        check_known(name, datasets, "dataset", f"{where}: prepared")


def load(
    scale: Mapping[str, Any] | Path, folder: Path = CONFIG_FOLDER, where: str | None = None
) -> Config:
    """Read and check the whole configuration of a scale.

    Args:
        scale: path or content of a scale file.
        folder: folder of the configuration.
        where: name of the scale in errors; by default the path of the file.

    Raises:
        StpError: a key or name is unknown, or a value is out of range.
    """
    where = where or (str(scale) if isinstance(scale, Path) else "the scale file")
    content = read_yaml(scale) if isinstance(scale, Path) else scale
    refuse_files(folder)
    checked = check(Scale, content, where)
    entries_of_models = _read_folder(Model, folder / "models", {}, "model", where)
    models = {name: model.with_grids() for name, model in entries_of_models.items()}
    datasets = _read_folder(Dataset, folder / "datasets", checked.datasets, "dataset", where)
    in_files = entries("datasets", folder)
    declared = {
        name: f"config/datasets/{name}.yaml" if name in in_files else f"{where}: datasets.{name}"
        for name in datasets
    }
    metrics = _read_folder(Metric, folder / "conventions", checked.metrics, "metric", where)
    _check_settings(checked, datasets, models, where)
    check_own_modules()
    suites = read_suites(folder / "suites")
    if not checked.suite:
        checked = checked.model_copy(update={"suite": suite_for(checked.dimensions, suites)})
    check_known(checked.suite, suites, "suite", f"{where}: suite")
    suite = suites[checked.suite]
    for label, definitions in (
        *((f"config/suites/{name}/{SUITE_FILE}", of.definitions) for name, of in suites.items()),
        *((declared[name], dataset.definitions) for name, dataset in datasets.items()),
        (where, checked.definitions),
    ):
        metrics = with_definitions(metrics, definitions, label)
    for name, own in checked.forecasts.items():
        if name in models:
            raise ConfigurationError(
                f"{where}: forecasts.{name}: the name of a model",
            )
        releases = {key: datasets[key].release for key in suite.datasets if key in datasets}
        models[name] = own.model(name, releases)
    for dimension, cells in checked.dimensions.items():
        other = next((name for name, of in suites.items() if dimension in of.dimensions), None)
        if other not in (None, checked.suite):
            raise ConfigurationError(
                f"{where}: {dimension} is a dimension of the suite {other}",
                expected=f"dimensions of the suite {checked.suite}",
                remedy=f"write `suite: {other}`, and give each suite a scale file of its own",
            )
        check_known(
            dimension, suite.dimensions, f"dimension of {checked.suite}", f"{where}: dimensions"
        )
        _check_cells(cells, datasets, models, suite, declared, f"{where}: dimensions.{dimension}")
    save_cache()
    return Config(
        scale=checked,
        datasets=datasets,
        models=models,
        suite=suite,
        metrics=metrics,
        declared=declared,
    )
