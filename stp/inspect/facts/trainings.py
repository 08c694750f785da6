"""Compare our hyperparameters of networks and of their training with those that a paper prints."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
from stp.core.options import as_json
from stp.inspect.facts.fact import Fact, Facts, protocol_of, read_printed_rows, translate_name
from stp.plan.cells import Plan
from stp.plan.checked_config import Json, Strict, check
from stp.plan.config import Config
from stp.plan.enumeration import enumerate_cells
from stp.plan.recipes import Recipes
from stp.plan.suite import FactSource, Suite

MODULE = __name__.rpartition(".")[2]
"""Name by which the file of a suite says that this module makes a table."""
ANNEALED = "annealed_rate"
"""Name of the pair of learning rates at the first and the last step."""


class Hyperparameter(Strict):
    """Where to find a hyperparameter, such as the learning rate: our value and the printed one.

    Printed values are in a CSV file of the suite, with a row for each training run, or with a row
    for each hyperparameter (see ``long`` in `TrainingOptions`).

    Attributes:
        ours: place of our value: a dotted key of the recipe of a training, such as ``train.lr``;
            ``annealed_rate`` for the learning rates at the first and the last step; or
            ``network.`` with a name of `stp.inspect.facts.networks`, such as ``network.channels``,
            for a value that is read from the built network.
        published: column of the CSV file with the printed value; empty if each row has one
            hyperparameter.
        released: column of the CSV file with the value in the authors' released code; empty if each
            row has one hyperparameter.
        words: replacements, so that different names of one thing are equal. Each text (key) in the
            CSV file or the recipe is compared as its value, such as ``{OneCycle: onecycle}``.
        terms: only for a loss: the paper's name of each further term of the loss, by the model
            option that has the weight of the term, such as ``{l1_weight: L1}``.
        weight: only for a loss: column of the CSV file with the printed weight of these terms; an
            empty text in it means 1.
    """

    ours: str = "train.loss"
    published: str = ""
    released: str = ""
    words: dict[str, str] = {}
    terms: dict[str, str] = {}
    weight: str = ""


class TrainingOptions(Strict):
    """How to compare our hyperparameters with those that a paper prints, given in a CSV file.

    Attributes:
        settings: where to find our and the printed value of each hyperparameter, by name, such as
            "learning rate".
        header: names of the columns of the table that is made.
        long: names of two columns of the CSV file, with the name and the printed value of a
            hyperparameter, if each row has one hyperparameter; None if each row has all
            hyperparameters of a training run.
        also: names of hyperparameters that are listed although they are not printed.
        note: column of the CSV file with remarks on how the authors' released code differs from the
            paper; empty if there is none.
    """

    settings: dict[str, Hyperparameter]
    header: tuple[str, ...]
    long: tuple[str, str] | None = None
    also: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Training:
    """Hyperparameters of a training run of a model on a dataset, ours and printed ones.

    Values are texts by name of the hyperparameter, such as ``{"learning rate": "0.0005"}``.

    Attributes:
        row: first row of the CSV file of printed values that is about this training run.
        model, dataset: titles of the model and the dataset.
        ours: our values under the suite's protocol, which repeats the paper.
        published: values that the paper prints.
        released: values in the authors' released code; empty if the CSV file has none.
        at_scale: our values at the current scale; None if the scale lacks this training run.
    """

    row: Mapping[str, str]
    model: str
    dataset: str
    ours: dict[str, str]
    published: dict[str, str]
    released: dict[str, str]
    at_scale: dict[str, str] | None

    def differs(self, name: str) -> bool:
        """Whether our value of a hyperparameter differs from the printed one.

        Upper and lower case are the same. Without a printed value, nothing differs.

        Args:
            name: name of the hyperparameter.
        """
        printed = self.published.get(name)
        return printed is not None and printed.casefold() != self.ours[name].casefold()


def facts(plan: Plan, source: FactSource) -> Facts:
    """Make a table of hyperparameters of training runs, ours beside the printed ones.

    Args:
        plan: plan of a scale of the suite. Its values are in the column ``at scale``, beside ours
            under the suite's protocol (``ours``) and the printed ones (``published``).
        source: declaration of the table in the file of the suite; its options are
            `TrainingOptions`.

    Returns:
        the table, with a row for each hyperparameter of each training run, in the order of the CSV
        file of printed values.

    Raises:
        StpError: the CSV file names an unknown model, dataset or hyperparameter, or a number in it
            is malformed.
    """
    options = options_of(source)
    scale = plan.config.scale.scale
    compared = trainings(plan.config, source)
    rows: list[Fact] = []
    name_of = options.long[0] if options.long else "setting"
    for training in compared:
        otherwise = training.row[options.note] if options.note else ""
        for number, (name, ours) in enumerate(training.ours.items()):
            printed = training.published.get(name, "")
            differs = training.differs(name)
            at_scale = training.at_scale[name] if training.at_scale else ""
            values = {
                **training.row,
                **{"model": training.model, "dataset": training.dataset, name_of: name},
                **{"ours": ours, "published": printed, "differs": "yes" if differs else "no"},
                **{"released": training.released.get(name, "")},
                **{"scale": scale, "at scale": at_scale},
            }
            note = f"{training.dataset}, released otherwise: {otherwise}"
            rows.append(
                Fact(
                    {column: values[column] for column in options.header},
                    {"ours": printed} if differs else {},
                    notes=(note,) if otherwise and not number else (),
                    scaled={"ours": at_scale} if at_scale not in ("", ours) else {},
                )
            )
    count = sum(training.at_scale is not None for training in compared)
    intro = (
        f"As config/{plan.config.suite.protocol} has it. The scale {scale} trains {count} of the "
        f"{len(compared)} networks that are printed."
    )
    return Facts(options.header, rows, (intro,))


def source_of(suite: Suite) -> FactSource:
    """Find where a suite declares the table that compares hyperparameters of training runs."""
    sources = (about.facts for about in suite.tables.values() if about.facts)
    return next(source for source in sources if source.source == MODULE)


def options_of(source: FactSource) -> TrainingOptions:
    """Check and return the options of a table of hyperparameters of training runs."""
    return check(TrainingOptions, source.options, source.file)


def trainings(config: Config, source: FactSource) -> list[Training]:
    """List all training runs that a paper prints, with our hyperparameters and the printed ones.

    Args:
        config: configuration of a scale of the suite.
        source: declaration of the table of training runs, from `source_of`.

    Raises:
        StpError: a row of printed values names an unknown model, dataset or hyperparameter, or a
            number in it is malformed.
    """
    options, suite = options_of(source), config.suite
    file = suite.folder / source.file
    protocol = protocol_of(suite)
    models: dict[str | None, str] = {
        model.published_name or model.title: name
        for name, model in protocol.models.items()
        if model.fit != "external"  # may have the name of a model of the paper
    }
    datasets = {dataset.published_name: name for name, dataset in protocol.datasets.items()}
    trained = {(cell.model, cell.trained_on) for cell, _ in enumerate_cells(config)}
    compared = []
    for row, published, released in _read_printed_settings(file, options):
        model = translate_name(file, row, "model", models)
        dataset = (
            translate_name(file, row, "dataset", datasets)
            if "dataset" in row
            else next(iter(suite.datasets))
        )
        names = [*published, *options.also]
        compared.append(
            Training(
                row,
                protocol.models[model].title,
                protocol.datasets[dataset].title,
                own_settings(
                    as_json(Recipes(protocol).train(model, dataset, None)), names, options
                ),
                published,
                released,
                own_settings(as_json(Recipes(config).train(model, dataset, None)), names, options)
                if (model, dataset) in trained
                else None,
            )
        )
    return compared


def _read_printed_settings(
    file: Path, options: TrainingOptions
) -> Iterator[tuple[dict[str, str], dict[str, str], dict[str, str]]]:
    """Yield for each training run its first row, and its published and released settings."""
    settings = options.settings
    if options.long:
        key, value = options.long
        rows = read_printed_rows(file, ("model", key, value))
        for _, alike in groupby(rows, key=lambda row: row["model"]):
            of_training = list(alike)
            for row in of_training:
                if row[key] not in settings:
                    raise StpError(
                        f"{file}: {row['model']}: unknown {key} {row[key]!r}",
                        expected=f"one of {', '.join(settings)}",
                        remedy="correct the file, or declare it in the file of the suite",
                    )
            yield of_training[0], {row[key]: row[value] for row in of_training}, {}
        return
    columns = {
        column for setting in settings.values() for column in (setting.published, setting.released)
    }
    for row in read_printed_rows(file, ("model", "dataset", *sorted(columns))):
        try:
            published = {name: _printed_text(setting, row) for name, setting in settings.items()}
        except ValueError as error:
            raise StpError(
                f"{file}: {row['model']} on {row['dataset']}: {error}",
                expected="a number",
                remedy="restore the file",
            ) from None
        released = {name: row[setting.released] for name, setting in settings.items()}
        for name, setting in settings.items():
            if not setting.terms:
                released[name] = _format_value(released[name], setting.words)
        yield row, published, released


def _printed_text(setting: Hyperparameter, row: Mapping[str, str]) -> str:
    if not setting.terms:
        return _format_value(row[setting.published], setting.words)
    names = row[setting.published].split("+")[1:]
    return _loss(dict.fromkeys(names, float(row[setting.weight] or 1)))


def own_settings(recipe: Json, names: list[str], options: TrainingOptions) -> dict[str, str]:
    """Look up our hyperparameters of a training run, to compare them with printed ones.

    Args:
        recipe: recipe of the training.
        names: names of the hyperparameters, keys of `TrainingOptions.settings`.
        options: options of the table, which say where each hyperparameter is found.

    Returns:
        values as texts, by name of the hyperparameter.
    """
    from_network = [name for name in names if options.settings[name].ours.startswith("network.")]
    texts = {}
    if from_network:
        from stp.inspect.facts import networks  # needs torch

        places = [options.settings[name].ours.partition(".")[2] for name in from_network]
        texts = dict(zip(from_network, networks.read(recipe, places), strict=True))
    return {
        name: texts[name] if name in texts else _of_recipe(recipe, options.settings[name])
        for name in names
    }


def _of_recipe(recipe: Json, setting: Hyperparameter) -> str:
    if setting.ours == ANNEALED:
        return _schedule_text(recipe["train"])
    value: Any = recipe
    for key in setting.ours.split("."):
        value = value.get(key)
    if setting.terms:
        options = recipe["options"]
        weights = {term: float(options.get(key, 0)) for key, term in setting.terms.items()}
        return str(value) if value else _loss({term: w for term, w in weights.items() if w})
    return _format_value(value, setting.words)


def _schedule_text(train: Json) -> str:
    first, schedule = train["lr"], train["schedule"]
    if isinstance(schedule, dict) and "cosine" in schedule:
        return f"CosineAnnealing({first:g} -> {first * schedule['cosine'].get('last', 0):g})"
    return f"{schedule}({first:g})"


def _loss(weights: Mapping[str, float]) -> str:
    """Write a loss as terms with weights: ``L2 + 0.1 DDR``."""
    terms = [name if weight == 1 else f"{weight:g} {name}" for name, weight in weights.items()]
    return " + ".join(["L2", *terms])


def _format_value(value: Any, words: Mapping[str, str]) -> str:
    """Format a value uniformly, such as ``1e-05`` or ``500000``; an unset value becomes none."""
    if isinstance(value, dict):
        value = next(iter(value))
    value = words.get(value, value)
    if value in (None, ""):
        return "none"
    try:
        number = float(value)
    except (TypeError, ValueError):
        text = str(value)
        return text if text in words.values() else text.lower()
    return f"{int(number)}" if number.is_integer() else f"{number:g}"
