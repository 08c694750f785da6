"""The whole configuration of one scale: facts, suite and scale, checked against each other."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
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
    """Everything the plan is made from.

    Attributes:
        declared: where each dataset is, for people: its file, or its place in the scale file.
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
    """Read all facts of a kind, with what a scale file overrides in them.

    A dataset may also stand in the scale file as a whole, with its releases.
    """
    paths: dict[str, Path | None] = {**entries(folder.name, folder.parent)}
    for name, override in overrides.items():
        if name not in paths and kind is Dataset and "releases" in override:
            paths[name] = None
        check_known(name, paths, what, f"{where}: {what}s")
    found = {}
    for name, path in paths.items():
        check_name(name, what, path or f"{where}: {what}s")
        label = f"{where}: {what}s.{name}" if name in overrides else str(path)
        facts = read_yaml(path) if path else {}
        found[name] = check(kind, merge(facts, overrides.get(name, {})), label)
    return found


def _check_wanted(
    wanted: DimensionCells,
    datasets: Mapping[str, Dataset],
    models: Mapping[str, Model],
    suite: Suite,
    declared: Mapping[str, str],
    where: str,
) -> None:
    """Refuse cells of unknown models, datasets or subsets, without metrics, or that do not fit.

    Raises:
        StpError: a name is not known, nothing says what is scored on a dataset, or the frames of
            the test are not those of the training.
    """
    for name in wanted.models:
        check_known(name, models, "model", f"{where}.models")
    for label, grid in wanted.entries(where):
        _check_names(grid, datasets, wanted.models, label)
        for number, out in enumerate(grid.without):
            _check_names(out, datasets, grid.models or wanted.models, f"{label}.without.{number}")
        for case in grid.cases(wanted.models, label):
            _check_case(case, datasets, models, suite, declared, label)


def _check_case(
    case: Case,
    datasets: Mapping[str, Dataset],
    models: Mapping[str, Model],
    suite: Suite,
    declared: Mapping[str, str],
    label: str,
) -> None:
    """Refuse one evaluation; see `_check_wanted`."""
    trained_on, tested_on = datasets[case.trained_on], datasets[case.tested_on]
    if case.tested_on not in suite.datasets and not tested_on.metrics:
        raise StpError(
            f"{label}: nothing says what is scored on {case.tested_on}",
            expected=f"metrics in {declared[case.tested_on]}",
            remedy="add a line such as metrics: [mse.pixel_mean, ssim.range1]",
        )
    known = ["all", *trained_on.train_subsets]
    what = f"training subset of {case.trained_on}"
    check_known(case.train_subset, known, what, f"{label}.train_subset")
    check_known(case.subset, ["test", *tested_on.subsets], f"subset of {case.tested_on}", label)
    if trained_on.shape != tested_on.shape:
        raise StpError(
            f"{label}: {case.tested_on} has frames of C, H, W = {list(tested_on.shape)}",
            expected=f"{list(trained_on.shape)}, those of {case.trained_on}, which trains the "
            "models",
            remedy="test on a dataset with equal frames, or prepare one of the two otherwise",
        )
    for name in case.models:
        _check_kinds(case, models[name], name, datasets, label)


def _check_names(
    of: Grid | Combinations, datasets: Mapping[str, Dataset], models: Collection[str], label: str
) -> None:
    """Refuse datasets that are unknown, and models that are not those of the dimension."""
    for key in ("trained_on", "tested_on"):
        for name in getattr(of, key) or ():
            check_known(name, datasets, "dataset", f"{label}.{key}")
    for name in of.models or ():
        check_known(name, models, "model of the dimension", f"{label}.models")


def _check_kinds(
    case: Case, model: Model, name: str, datasets: Mapping[str, Dataset], where: str
) -> None:
    """Refuse a model of frames for tracks, or the reverse, and tracks without a protocol.

    Raises:
        StpError: what is wrong.
    """
    tested_on = case.tested_on
    for dataset in (case.trained_on, tested_on):
        kind = datasets[dataset].kind
        if kind != model.kind:
            raise StpError(
                f"{where}: {name} predicts {model.kind}, and {dataset} has {kind}",
                expected="a model and datasets of one kind",
                remedy=f"name another model, or take {dataset} out for this one",
            )
    if case.variant != "default":
        known = [*model.variants, *model.grids]
        check_known(case.variant, known, f"variant of {name}", where)
    samples = datasets[tested_on].samples
    if case.keep is not None and samples.cores.rollout is None:
        raise StpError(
            f"{where}: keep {case.keep} of {name} on {tested_on}",
            expected=f"all forecasts of {model.kind} to be stored",
            remedy="take `keep` out of its line of `cells`",
        )
    if model.fit == "read" and samples.sources is None:
        raise StpError(
            f"{where}: forecasts of {name} on {tested_on} are read",
            expected=f"{model.kind} that are predicted here",
            remedy="name another model",
        )
    for key in case.setting:
        check_known(key, ("horizon", *samples.settings), f"setting of {model.kind}", where)
    protocols = samples.protocols
    given = case.variant in model.variants and model.variants[case.variant].is_given
    for key, value, needed in (
        ("subset", case.subset, True),
        ("train_subset", case.train_subset, model.fit in samples.fits and not given),
    ):
        if protocols and needed and value not in protocols:
            raise StpError(
                f"{where}: {name} on {tested_on} has {key} {value!r}",
                expected=f"how scenarios are cut: {' or '.join(protocols)}",
                remedy=f"write `{key}: strict` in its line of `cells`",
            )


def load(
    scale: Mapping[str, Any] | Path, folder: Path = CONFIG_FOLDER, where: str | None = None
) -> Config:
    """Read the whole configuration for one scale.

    Args:
        scale: a scale file or its content.
        folder: the folder of facts.
        where: what errors call the scale; the path of the file unless given.

    Raises:
        StpError: an unknown key or name, or a value out of range.
    """
    where = where or (str(scale) if isinstance(scale, Path) else "the scale file")
    content = read_yaml(scale) if isinstance(scale, Path) else scale
    refuse_files(folder)
    wanted = check(Scale, content, where)
    facts = _read_folder(Model, folder / "models", {}, "model", where)
    models = {name: model.with_grids() for name, model in facts.items()}
    datasets = _read_folder(Dataset, folder / "datasets", wanted.datasets, "dataset", where)
    in_files = entries("datasets", folder)
    declared = {
        name: f"config/datasets/{name}.yaml" if name in in_files else f"{where}: datasets.{name}"
        for name in datasets
    }
    metrics = _read_folder(Metric, folder / "conventions", wanted.metrics, "metric", where)
    for name, dataset in datasets.items():
        label = f"{where}: datasets.{name}"
        check_known(dataset.release, dataset.releases, "release", label)
    for name, settings in wanted.models.items():
        check_known(name, models, "model", f"{where}: models")
        for dataset_name in settings.datasets:
            check_known(dataset_name, datasets, "dataset", f"{where}: models.{name}.datasets")
    for name in wanted.prepared:
        check_known(name, datasets, "dataset", f"{where}: prepared")
    check_own_modules()
    suites = read_suites(folder / "suites")
    if not wanted.suite:
        wanted = wanted.model_copy(update={"suite": suite_for(wanted.dimensions, suites)})
    check_known(wanted.suite, suites, "suite", f"{where}: suite")
    suite = suites[wanted.suite]
    for label, definitions in (
        *((f"config/suites/{name}/{SUITE_FILE}", one.definitions) for name, one in suites.items()),
        *((declared[name], one.definitions) for name, one in datasets.items()),
        (where, wanted.definitions),
    ):
        metrics = with_definitions(metrics, definitions, label)
    for name, own in wanted.forecasts.items():
        if name in models:
            raise StpError(
                f"{where}: forecasts.{name}: there is a model of this name",
                expected="a name of their own",
                remedy="choose another one",
            )
        releases = {of: datasets[of].release for of in suite.datasets if of in datasets}
        models[name] = own.model(name, releases)
    for dimension, cells in wanted.dimensions.items():
        other = next((name for name, one in suites.items() if dimension in one.dimensions), None)
        if other not in (None, wanted.suite):
            raise StpError(
                f"{where}: {dimension} is a dimension of the suite {other}",
                expected=f"dimensions of the suite {wanted.suite}",
                remedy=f"write `suite: {other}`, and other suites into scale files of their own",
            )
        check_known(
            dimension, suite.dimensions, f"dimension of {wanted.suite}", f"{where}: dimensions"
        )
        _check_wanted(cells, datasets, models, suite, declared, f"{where}: dimensions.{dimension}")
    save_cache()
    return Config(
        scale=wanted,
        datasets=datasets,
        models=models,
        suite=suite,
        metrics=metrics,
        declared=declared,
    )
