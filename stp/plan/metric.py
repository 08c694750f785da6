"""Schema of the configuration of metrics, config/conventions/<name>.yaml.

A metric has conventions, its exact definitions, such as ``ssim.range2``.
"""

import ast
import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ConfigDict

from stp.core.errors import ConfigurationError, suggest_name
from stp.core.fingerprint import SOURCE_FOLDER, not_python, source_cache
from stp.core.json_files import Json
from stp.options.conventions import COMPOSITIONS, function_of, module_of
from stp.plan.checked_config import Name, Strict, check, check_known, entries, read_yaml


class NetworkFeatures(Strict):
    """Network features of clips, which distances between sets of clips (such as FVD) compare.

    Attributes:
        network: name in config/weights.yaml of the network that computes the features.
        layer: layer of the network.
        frames: choice of the frames of each clip, a name in stp.features.frames.
        module: module of stp.features.networks; the module named like the network unless set.
        seed: seed of random weights; a network with random weights needs no file.
    """

    network: str
    layer: str
    frames: str
    module: str = ""
    seed: int | None = None

    @property
    def name(self) -> str:
        """Name of the features, as part of a path: ``predicted_only/i3d.logits``."""
        return f"{self.frames}/{self.network}.{self.layer}"

    @property
    def code(self) -> str:
        """Full name of the module that computes the features."""
        return f"stp.features.networks.{self.module or self.network}"


class Convention(Strict):
    """A convention of a metric: a function with options.

    All other keys are options: arguments of the function, or general options (region, windows,
    members, batch; docs/own_metrics.md).

    Attributes:
        about: definition of the convention, and its source.
        function: function of stp.metrics: a module with a function of the same name, or
            module.function.
        title: heading in tables; that of the metric unless set.
        unit: unit of the values; that of the metric unless set.
        higher_is_better: whether higher values are better; as for the metric unless set.
        best_at: the best value, such as 1 for a ratio; values closer to it are better.
        success: for metrics that rate what happens in a prediction, e.g. whether people collide:
            `strict` if each sample as a whole is right or wrong, `graded` if a part of a sample can
            be right; as for the metric unless set.
        compares_sets: whether the value depends on the number of clips, as distances between sets
            of clips do; only values for equal numbers are ranked together. If unset, this is true
            for conventions with layer.
        network: name in config/weights.yaml of the network that is applied to clips or frames.
        layer: layer of the network whose features of all clips are compared; a separate job
            computes these features.
        frames: choice of the frames of each clip if layer is set, a name in stp.features.frames.
        module: module of stp.features.networks if layer is set; the module named like the network
            unless set.
        seed: seed of random weights if layer is set.
        weights: entry of config/weights.yaml that the function needs, if it is not `network`.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    about: str
    function: str
    title: str = ""
    unit: str = ""
    higher_is_better: bool | None = None
    best_at: float | None = None
    success: Literal["strict", "graded"] | None = None
    compares_sets: bool | None = None
    network: str | None = None
    layer: str | None = None
    frames: str = "predicted_only"
    module: str = ""
    seed: int | None = None
    weights: str | None = None

    @property
    def features(self) -> NetworkFeatures | None:
        """The network features that the convention compares; None unless `layer` is set."""
        if self.layer is None or self.network is None:
            return None
        return NetworkFeatures(
            network=self.network,
            layer=self.layer,
            frames=self.frames,
            module=self.module,
            seed=self.seed,
        )

    @property
    def definition(self) -> Json:
        """Function and options of the convention, as the stage ``score`` gets them.

        An example is ``{"function": "wrmse", "root": "pooled", "region": "tropics"}``
        (`stp.options.conventions`).
        """
        networks = {"network": self.network, "weights": self.weights} if self.layer is None else {}
        networks = {key: value for key, value in networks.items() if value is not None}
        return {"function": self.function, **networks, **(self.model_extra or {})}


class Metric(Strict):
    """Common properties of a metric's conventions (its exact definitions).

    Attributes:
        title: heading in tables.
        unit: unit of the values; "1" for dimensionless values.
        reason: reason why the metric is not available.
        higher_is_better: whether higher values are better; null if neither higher nor lower is.
        success: for metrics that rate what happens in a prediction, e.g. whether people collide,
            or a digit becomes another one: `strict` if each sample as a whole is right or wrong,
            `graded` if a part of a sample can be right; null for other metrics.
        available: whether stp.metrics has the metric; if not, tables show `reason`.
        perceptual: whether the metric compares network features, in a separate job on a GPU.
        reads: paths in the checkout of files and folders that modules of the metric, or of its
            networks, read or import, besides their static imports. Their content is part of the
            fingerprints.
        conventions: conventions of the metric, by name.
    """

    title: str
    unit: str
    higher_is_better: bool | None
    success: Literal["strict", "graded"] | None = None
    available: bool = True
    perceptual: bool = False
    reason: str = ""
    reads: tuple[str, ...] = ()
    conventions: dict[Name, Convention]

    def title_of(self, choice: str) -> str:
        """The heading in tables of a convention of this metric.

        Args:
            choice: name of the convention within this metric: ``range2`` of ``ssim.range2``.
        """
        return self.conventions[choice].title or self.title

    def unit_of(self, choice: str) -> str:
        """The unit of the values of a convention of this metric.

        Args:
            choice: name of the convention within this metric: ``range2`` of ``ssim.range2``.
        """
        return self.conventions[choice].unit or self.unit

    def success_of(self, choice: str) -> str | None:
        """How strictly a convention rates events in a prediction; None if it rates none.

        Events are, for example, that people collide, or that a digit becomes another one. Other
        conventions rate values, such as errors of pixels.

        Args:
            choice: name of the convention within this metric: ``half_metre`` of
                ``collision_rate.half_metre``.

        Returns:
            ``strict`` if each sample as a whole is right or wrong; ``graded`` if a part of a sample
            can be right, such as some of its frames; None if the convention rates no events.
        """
        return self.conventions[choice].success or self.success

    def is_higher_better(self, choice: str) -> bool | None:
        """Whether higher values of a convention of this metric are better.

        Args:
            choice: name of the convention within this metric: ``range2`` of ``ssim.range2``.

        Returns:
            None if a certain value is the best (``best_at``, such as 1 for a ratio), or if neither
            higher nor lower is better.
        """
        convention = self.conventions[choice]
        if convention.best_at is not None:
            return None
        if "higher_is_better" in convention.model_fields_set:
            return convention.higher_is_better
        return self.higher_is_better

    def compares_sets(self, choice: str) -> bool:
        """Whether a convention is a distance between sets, which depends on the number of clips.

        Args:
            choice: name of the convention within this metric: ``predicted_only`` of
                ``fvd.predicted_only``.
        """
        convention = self.conventions[choice]
        if convention.compares_sets is not None:
            return convention.compares_sets
        return convention.features is not None


def find(name: str, metrics: Mapping[str, Metric], where: str) -> Convention:
    """Find a convention (exact definition of a metric) by its name, such as ``ssim.range2``.

    Args:
        name: name of the convention, ``<metric>.<choice>``.
        metrics: all metrics, by name.
        where: place of the name in the configuration, for errors.

    Raises:
        StpError: the metric or its convention is unknown.
    """
    metric, _, choice = name.partition(".")
    check_known(metric, metrics, "metric", where)
    check_known(choice, metrics[metric].conventions, f"convention of {metric}", where)
    return metrics[metric].conventions[choice]


def with_definitions(
    metrics: Mapping[str, Metric], definitions: Mapping[str, Convention], where: str
) -> dict[str, Metric]:
    """Add conventions (exact definitions, such as ``ssim.range2``) to the metrics they belong to.

    Args:
        metrics: metrics by name.
        definitions: new conventions by name; the first convention of a new metric defines title,
            unit and direction of the metric.
        where: place of the definitions, for errors.

    Raises:
        ConfigurationError: the name of a convention is taken, or a new metric has no title, unit or
            direction.
    """
    metrics = dict(metrics)
    for name, convention in definitions.items():
        metric, _, choice = name.partition(".")
        if metric not in metrics:
            lacking = [key for key in ("title", "unit") if not getattr(convention, key)]
            if "higher_is_better" not in convention.model_fields_set:
                lacking += ["higher_is_better"]
            if lacking:
                raise ConfigurationError(
                    f"{where}: definitions.{name}: {', '.join(lacking)} missing",
                    expected=f"title, unit and direction of the new metric {metric}",
                    remedy=f"add it, or correct the metric: {suggest_name(metric, metrics)}",
                )
            metrics[metric] = Metric(
                title=convention.title,
                unit=convention.unit,
                higher_is_better=convention.higher_is_better,
                conventions={},
            )
        if choice in metrics[metric].conventions:
            raise ConfigurationError(
                f"{where}: definitions.{name}: the name of another convention",
                remedy="choose another name: a published name keeps its meaning",
            )
        conventions = {**metrics[metric].conventions, choice: convention}
        metrics[metric] = metrics[metric].model_copy(update={"conventions": conventions})
    return metrics


def read_convention(name: str, where: str) -> tuple[Metric, Convention]:
    """Read a convention (such as ``ssim.range2``) and its metric from the configuration.

    Args:
        name: name of the convention.
        where: place of the name, for errors.

    Raises:
        StpError: the convention is unknown, or the file of the metric is wrong.
    """
    name_of_metric, _, _ = name.partition(".")
    files = entries("conventions")
    check_known(name_of_metric, files, "metric", where)
    file = files[name_of_metric]
    metric = check(Metric, read_yaml(file), str(file))
    return metric, find(name, {name_of_metric: metric}, where)


def check_definition(definition: Json, where: str) -> None:
    """Refuse an unknown function or options that do not fit its signature, without importing it.

    Args:
        definition: function and options of a convention (`Convention.definition`).
        where: place of the definition, for errors.

    Raises:
        ConfigurationError: the function or an option is unknown, a value is not one of its choices,
            or a required option is missing.
    """
    name, function = function_of(definition)
    module = module_of(definition) if name.isidentifier() else name
    spec = importlib.util.find_spec(module) if name.isidentifier() else None
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            f"{where}: there is no module {module}",
            expected="function: a module of stp.metrics, or module.function",
            remedy="correct `function`, or write the module",
        )
    functions = _functions(Path(spec.origin))
    if function not in functions:
        raise ConfigurationError(
            f"{where}: {module} has no function {function}",
            expected=", ".join(functions),
            remedy=suggest_name(function, functions),
        )
    options = functions[function]
    if options is None:
        return
    for key, value in definition.items():
        if key == "function" or key in COMPOSITIONS:
            continue
        if key not in options:
            raise ConfigurationError(
                f"{where}: {definition['function']} has no option {key}",
                expected=", ".join([*options, *COMPOSITIONS]),
                remedy=suggest_name(key, [*options, *COMPOSITIONS]),
            )
        choices = options[key].choices
        if choices and value not in choices:
            raise ConfigurationError(
                f"{where}: {key} is {value!r}",
                expected=" or ".join(map(str, choices)),
                remedy=suggest_name(str(value), map(str, choices)),
            )
    lacking = [key for key, option in options.items() if option.is_needed and key not in definition]
    if lacking:
        raise ConfigurationError(
            f"{where}: {definition['function']} needs {', '.join(lacking)}",
            remedy=f"add `{lacking[0]}: ...`",
        )


class Option(NamedTuple):
    """An option of a function, read from its source.

    Attributes:
        is_needed: whether the option has no default.
        choices: allowed values if the type of the option is a `Literal`; else empty.
    """

    is_needed: bool
    choices: tuple[Any, ...] = ()


Functions = dict[str, dict[str, Option] | None]
"""Options by name, for each function by name; None for functions that are imported or take any
option."""


@cache
def _functions(source: Path) -> Functions:
    cached = source_cache(SOURCE_FOLDER, "functions", Path(__file__))
    try:
        analysis = cached.get(
            source.name, source.read_bytes(), lambda text: {"functions": _parse_functions(text)}
        )
    except (SyntaxError, ValueError) as error:
        raise not_python(source, error) from None
    cached.save()
    return {
        name: None
        if options is None
        else {key: Option(needed, tuple(choices)) for key, (needed, choices) in options.items()}
        for name, options in analysis["functions"].items()
    }


def _parse_functions(text: bytes) -> Functions:
    tree = ast.parse(text)
    aliases = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    functions: Functions = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            functions |= {alias.asname or alias.name: None for alias in node.names}
        if not isinstance(node, ast.FunctionDef):
            continue
        if node.args.kwarg is not None:
            functions[node.name] = None
            continue
        needed = [True] * (len(node.args.args) - len(node.args.defaults))
        needed += [False] * len(node.args.defaults)
        needed += [default is None for default in node.args.kw_defaults]
        arguments = [*node.args.args, *node.args.kwonlyargs]
        functions[node.name] = {
            argument.arg: Option(is_needed, _choices(argument.annotation, aliases))
            for argument, is_needed in zip(arguments, needed, strict=True)
        }
    return functions


def _choices(annotation: ast.expr | None, aliases: Mapping[str, ast.expr]) -> tuple[Any, ...]:
    """The values of a `Literal`; empty for other annotations."""
    if isinstance(annotation, ast.Name):
        annotation = aliases.get(annotation.id)
    if not isinstance(annotation, ast.Subscript) or not isinstance(annotation.value, ast.Name):
        return ()
    if annotation.value.id != "Literal":
        return ()
    values = ast.literal_eval(annotation.slice)
    return values if isinstance(values, tuple) else (values,)
