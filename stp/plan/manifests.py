"""Make manifests: all information that the tables of one dimension (question) are made from.

The text of a manifest changes exactly when a table has to be made again: if the scores of a cell,
the code that collects scores, or the published values change.
"""

import hashlib
from dataclasses import fields, replace

from stp.core.fingerprint import digest
from stp.core.json_files import Json
from stp.core.options import as_json
from stp.options.quality import FITTED, QualityOptions
from stp.plan import config as configuration
from stp.plan.artefacts import EXTERNAL, Artefact, CellArtefacts
from stp.plan.cell_key import CellKey
from stp.plan.cells import Plan
from stp.plan.checked_config import config_file
from stp.plan.code_fingerprint import COLLECT
from stp.plan.dataset import Dataset
from stp.plan.enumeration import enumerate_cells
from stp.plan.manifest_types import (
    Cell,
    ConventionFacts,
    DatasetFacts,
    DeviationFacts,
    DimensionFacts,
    KindFacts,
    Manifest,
    ModelFacts,
    Names,
    RawFacts,
    ReproductionFacts,
    SuiteFacts,
    TableColumns,
)
from stp.plan.model import Model, Variant
from stp.plan.recipes import Recipes
from stp.plan.setting import setting_of
from stp.plan.suite import Suite, read_suite, suite_file
from stp.tasks import task as tasks
from stp.tasks.task import Task

# Settings that are no part of a protocol: a thread count changes the last bits of a result, the
# batch size of a prediction not even those.
NOT_PROTOCOL = {"train": ("threads",), "predict": ("threads", "batch_size")}


def manifest(plan: Plan, dimension: str, paper: "Paper | None" = None) -> Manifest:
    """Make the manifest of a dimension: its cells (evaluations), and facts about them.

    Args:
        plan: the plan.
        dimension: name of a dimension in the scale file of the plan.
        paper: evaluations and settings of the paper, from which follows which cells are comparable
            with published values; by default read from the configuration.
    """
    artefacts = [made for made in plan.cells if made.cell.dimension == dimension]
    cells = [made.cell for made in artefacts]
    datasets = list(dict.fromkeys(cell.tested_on for cell in cells))
    names = sorted({name for cell in cells for name in (cell.trained_on, cell.tested_on)})
    models = list(dict.fromkeys(cell.model for cell in cells))
    columns = {name: plan.recipes.columns(name) for name in datasets}
    tested = {(cell.tested_on, plan.members(cell)[0]) for cell in cells}
    conventions = sorted({c for key in tested for c in plan.recipes.conventions(*key)})
    entries = {convention: _convention_facts(plan, convention) for convention in conventions}
    published = plan.config.suite.published_file
    described = _Cells(plan, paper or Paper(plan.config.scale.suite))
    trained = {made.cell.trained_on for made in artefacts if _is_trained_here(made)}
    sampled = {name: of for name in datasets if (of := plan.recipes.sampled_columns(name))}
    curves = {name: of for name in datasets if (of := plan.recipes.curves(name))}
    unavailable = {name: entry.reason for name, entry in entries.items() if not entry.available}
    unscored = {
        name: missing
        for name in datasets
        if (missing := [c for c in plan.recipes.also(name) if c in unavailable])
    }
    return Manifest(
        dimension=dimension,
        suite=suite_facts(plan.config.scale.suite, plan.config.suite),
        scale=plan.config.scale.scale,
        code=plan.code(*COLLECT).fingerprint,
        store=str(plan.store),
        cells=tuple(described.of(made) for made in artefacts),
        kinds={kind.name: kind_facts(kind) for kind in map(plan.recipes.samples, datasets)},
        raw={name: _raw_facts(plan, name) for name in sorted({*datasets, *trained})},
        unavailable=unavailable,
        conventions=entries,
        tables={dimension: TableColumns(columns, sampled, curves, unscored)},
        steps=_steps(plan, datasets),
        absent=plan.config.suite.absent,
        deviations=tuple(
            DeviationFacts(point.about, point.paper, point.code, point.strict)
            for point in plan.config.suite.deviations
            if dimension in point.dimensions or not point.dimensions
        ),
        are_rivals=plan.config.suite.dimensions[dimension].are_rivals,
        controls=plan.config.suite.dimensions[dimension].controls,
        reproduction={
            name: ReproductionFacts(table.table, table.columns)
            for name, table in plan.config.suite.reproduction.items()
            if "reproduction" in plan.config.suite.dimensions[dimension].tables
        },
        names=Names(
            {name: _title(plan.config.models[name]) for name in models},
            {name: plan.config.datasets[name].title for name in names},
        ),
        models={name: _model_facts(plan.config.models[name]) for name in models},
        datasets={name: _dataset_facts(plan.config.datasets[name]) for name in names},
        published=str(published) if published else None,
        published_sha256=hashlib.sha256(published.read_bytes()).hexdigest() if published else None,
        published_clips={
            name: clips
            for name in names
            if (clips := plan.config.datasets[name].counts.published.test)
        },
        published_names=published_names(plan.config),
    )


def suite_facts(name: str, suite: Suite) -> SuiteFacts:
    """Collect the facts about a suite (benchmark) that tables, the results store and reports need.

    Args:
        name: name of the suite.
        suite: configuration of the suite.
    """
    return SuiteFacts(
        name=name,
        title=suite.title,
        protocol=suite.protocol,
        findings=suite.findings,
        dimensions={
            dimension: DimensionFacts(
                title=of.title,
                question=of.question,
                about=of.about,
                printed=of.printed,
                by_lead=of.by_lead,
                changes_from=of.changes_from,
                place=place,
            )
            for place, (dimension, of) in enumerate(suite.dimensions.items(), start=1)
        },
        views={
            view: (suite.folder / "views" / f"{view}.sql").read_text(encoding="utf-8")
            for view in suite.views
        },
    )


def _steps(plan: Plan, datasets: list[str]) -> dict[str, float]:
    """Seconds between two positions, by dataset of tracks."""
    steps = {}
    for name in datasets:
        options = plan.recipes.prepare(name).options
        step = plan.recipes.samples(name).seconds_per_step(options)
        if step is not None:
            steps[name] = step
    return steps


class Paper:
    """The evaluations of a paper, with their settings, from the scale file that repeats them.

    Args:
        name: name of the suite.
    """

    def __init__(self, name: str) -> None:
        self.suite = read_suite(suite_file(name))
        self.recipes: Recipes | None = None
        self.evaluations: set[tuple[str, ...]] = set()
        if self.suite.protocol is not None:
            config = configuration.load(
                config_file(configuration.CONFIG_FOLDER, self.suite.protocol)
            )
            self.recipes = Recipes(config)
            self.evaluations = {_evaluation(cell) for cell, _ in enumerate_cells(config)}

    def is_followed(self, recipes: Recipes, cell: CellKey) -> bool:
        """Whether the paper has an evaluation with the same data, training and forecasts.

        Args:
            recipes: recipes (settings of all artefacts) of the plan that has the cell.
            cell: key of the cell.
        """
        if {cell.subset, cell.train_subset} & set(self.suite.not_printed):
            return False
        if self.recipes is None or cell.model not in self.recipes.config.models:
            return False  # the paper does not have a user's own forecasts
        if _evaluation(cell) not in self.evaluations:
            return False
        return self._protocol(recipes, recipes, cell) == self._protocol(recipes, self.recipes, cell)

    def _protocol(self, recipes: Recipes, source: Recipes, cell: CellKey) -> list[str]:
        """Hash the recipes of a cell.

        For released parameters, the training data do not count. Files that the paper's numbers were
        made from count as the paper's release, whatever their source is.
        """

        def prepared(name: str) -> str:
            dataset = recipes.config.datasets[name]
            is_behind_paper = dataset.releases[dataset.release].behind_paper
            recipe = source.prepare(name, dataset.release if is_behind_paper else None)
            # The clusters of clips change intervals, but no value.
            kept = {key: value for key, value in recipe.options.items() if key != "clusters"}
            return digest(as_json(replace(recipe, options=kept)))

        hashes = [prepared(cell.tested_on)]
        variant = source.variant(cell.model, cell.variant)
        is_fitted = source.config.models[cell.model].fit in source.samples(cell.trained_on).fits
        if is_fitted and not (variant and variant.is_given):
            hashes.append(prepared(cell.trained_on))
            train = source.train(cell.model, cell.trained_on, None, cell.train_subset, cell.variant)
            hashes.append(digest(as_json(replace(train, train=_protocol("train", train.train)))))
        tested = (cell.model, cell.trained_on, cell.tested_on, cell.subset)
        predict = source.predict(*tested, setting_of(cell.setting), cell.variant)
        predict = replace(predict, predict=_protocol("predict", predict.predict))
        return [*hashes, digest(as_json(predict))]


def _evaluation(cell: CellKey) -> tuple[str, ...]:
    """Key of a cell without model, variant, training subset and seed."""
    return cell.dimension, cell.trained_on, cell.tested_on, cell.subset, cell.setting


def _protocol(stage: str, settings: Json) -> Json:
    """Select the settings of a stage that are part of the protocol."""
    return {key: value for key, value in settings.items() if key not in NOT_PROTOCOL[stage]}


def _convention_facts(plan: Plan, convention: str) -> ConventionFacts:
    metric = plan.recipes.metric(convention)
    choice = convention.partition(".")[2]
    reason = plan.recipes.why_unavailable(convention)
    return ConventionFacts(
        title=metric.title_of(choice),
        unit=metric.unit_of(choice),
        higher_is_better=metric.is_higher_better(choice),
        best_at=metric.conventions[choice].best_at,
        success=metric.success_of(choice),
        compares_sets=metric.compares_sets(choice),
        available=not reason,
        reason=reason,
        description=metric.conventions[choice].about,
    )


def _is_trained_here(artefacts: CellArtefacts) -> bool:
    return bool(artefacts.models)


def _raw_facts(plan: Plan, name: str) -> RawFacts:
    raw, dataset = plan.raw(name), plan.config.datasets[name]
    registered = plan.config_lock_path(raw)
    text = registered.read_bytes() if registered and registered.is_file() else None
    return RawFacts(
        release=raw.release,
        source=raw.declared.source,
        is_papers=raw.declared.is_papers,
        lock=str(plan.store / raw.lock),
        data=str(plan.store / plan.data(name).folder),
        files=tuple(
            file.model_dump(
                exclude_defaults=True,
                include={"path", "bytes", "sha256", "md5_uncompressed", "many", "min_files"},
            )
            for file in raw.declared.files
        ),
        registered=str(registered) if text is not None else None,
        registered_sha256=hashlib.sha256(text).hexdigest() if text is not None else None,
        clips=dataset.counts.official if raw.declared.is_papers else {},
    )


class _Cells:
    """Makes entries of cells; cells that differ only in the seed share a computed protocol."""

    def __init__(self, plan: Plan, paper: Paper) -> None:
        self.plan, self.paper = plan, paper
        self._follows: dict[tuple[str, ...], bool] = {}

    def of(self, artefacts: CellArtefacts) -> Cell:
        """Make the manifest's entry of a cell."""
        cell, plan = artefacts.cell, self.plan
        dataset = plan.config.datasets[cell.tested_on]
        release = dataset.releases[dataset.release]
        key = (cell.model, cell.variant, cell.train_subset, *_evaluation(cell))
        model = plan.config.models[cell.model]
        is_external = model.fit == EXTERNAL
        if is_external:  # its training is unknown
            self._follows[key] = False
        if key not in self._follows:
            self._follows[key] = self.paper.is_followed(plan.recipes, cell)
        # Some datasets are generated in the paper's scale file, too; its recipes on synthetic data
        # are not its protocol.
        is_paper = self._follows[key] and release.source != "synthetic"
        protocol = "paper" if is_paper else self._other_protocol(release.source)
        bytes_of = {cell.tested_on, *([cell.trained_on] if _is_trained_here(artefacts) else [])}
        samples, statistic = plan.members(cell)
        submission = plan.submission(cell)

        def folder(artefact: Artefact) -> str:
            return f"{plan.store}/{artefact.folder}"

        accepted = "; ".join(a.accepted for a in artefacts.artefacts if a.accepted)
        return Cell(
            key=cell,
            kind=dataset.kind,
            source=release.source,
            release=dataset.release,
            protocol=EXTERNAL if is_external else protocol,
            follows_paper=is_paper,
            bytes_of=tuple(sorted(bytes_of)),
            leaky=release.leaky,
            best_of=samples if samples > 1 and statistic == "best_of_members" else 1,
            subset_note="; ".join(
                filter(None, (release.note, submission.note if submission else ""))
            ),
            data=folder(artefacts.data),
            models=tuple(map(folder, artefacts.models)),
            predictions=folder(artefacts.predictions) if artefacts.predictions else None,
            scores=folder(artefacts.scores),
            samples=samples,
            statistic=statistic if samples > 1 else None,
            kept=artefacts.keep,
            clusters=plan.recipes.prepare(cell.tested_on).options.get("clusters"),
            calibrated=self._calibration_text(cell),
            external=is_external,
            reference=model.reference if is_external else None,
            training=model.training if is_external else None,
            perceptual=folder(artefacts.perceptual) if artefacts.perceptual else None,
            accepted=accepted or None,
            features=tuple(map(folder, artefacts.features)),
        )

    def _other_protocol(self, source: str) -> str:
        scale = self.plan.config.scale.scale
        if f"{scale}.yaml" != self.paper.suite.protocol:
            return scale
        return "stand-in" if source == "synthetic" else "changed paper"

    def _calibration_text(self, cell: CellKey) -> str:
        """Data and variant of a calibration, in words; empty for other models."""
        model = self.plan.config.models[cell.model]
        if model.fit != "calibrate":
            return ""
        variant = "" if cell.variant == "default" else f" {model.variants[cell.variant].title}"
        return f"calibrated on {self.plan.config.datasets[cell.trained_on].title}{variant}"


def published_names(config: configuration.Config) -> Names:
    """Collect the paper's names of models, their variants, and datasets."""
    return Names(
        {
            name: model.published_name or model.title
            for name, model in config.models.items()
            if model.fit != EXTERNAL  # it may have the name of a model of the paper
        },
        {
            name: dataset.published_name
            for name, dataset in config.datasets.items()
            if dataset.published_name
        },
        {
            f"{name}:{variant}": printed
            for name, model in config.models.items()
            for variant, entry in model.variants.items()
            if (printed := _published_variant_name(model, entry))
        },
    )


def _published_variant_name(model: Model, variant: Variant) -> str | None:
    """Name of a variant in the paper; None if the paper does not have it."""
    if variant.is_given:
        return variant.published_name or model.published_name or model.title
    return variant.published_name


def _model_facts(model: Model) -> ModelFacts:
    is_archived = bool(model.archives)
    facts = ModelFacts(model.reference, model.fit, model.training or None, is_archived)
    if not tasks.find(model.kind).has_opinions:
        return facts
    options = QualityOptions.from_recipe(model.predict)
    return replace(
        facts,
        role=model.role or "no_reference",
        network=model.network,
        parts=options.parts,
        learns=options.regression not in FITTED,
    )


def kind_facts(kind: Task) -> KindFacts:
    """Collect the facts about a task on which tables depend, e.g. whether scores have opinions.

    Args:
        kind: the task: frames, tracks or opinions.
    """
    return KindFacts(**{field.name: getattr(kind, field.name) for field in fields(KindFacts)})


def _dataset_facts(dataset: Dataset) -> DatasetFacts:
    return DatasetFacts(
        **{field.name: getattr(dataset, field.name) for field in fields(DatasetFacts)}
    )


def _title(model: Model) -> str:
    return f"{model.title} (external)" if model.fit == EXTERNAL else model.title
