"""Measure how much of the future protocols show to predictors of people (`stp check leak`)."""

import pkgutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from typing import Any

from stp.core.errors import StpError
from stp.core.options import build
from stp.inspect.counts import prepared_folder
from stp.options.protocols import PROTOCOLS
from stp.page.plain_table import format_count, table
from stp.plan.cells import Plan
from stp.plan.checked_config import check_known
from stp.tracks import leak, predictors, prepared
from stp.tracks.leak import Effect, Leak, Predict
from stp.tracks.prepared import PreparedTracks

RELEASED = "released"


@dataclass(frozen=True)
class FutureLeakage:
    """How much of the future each protocol shows to the predictors of one dataset.

    A protocol leaks if the observed positions that it shows depend on the positions to predict.

    Attributes:
        dataset: name of the dataset.
        source: origin of the raw files.
        observe: number of observed positions of a scenario.
        predict: number of positions to predict.
        parameters: origin of the parameters, by name of the predictor: "released" (those that were
            released for the dataset) or "default".
        leaks: how far positions move if the future is moved, for each protocol with scenarios.
        effects: errors of each predictor under each protocol with scenarios.
        without: reason why there are no scenarios, by protocol without scenarios.
    """

    dataset: str
    source: str
    observe: int
    predict: int
    parameters: dict[str, str]
    leaks: list[Leak]
    effects: list[Effect]
    without: dict[str, str]

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def measure(
    plan: Plan, name: str, observe: int | None = None, predict: int | None = None
) -> FutureLeakage:
    """Measure how much of the future each protocol shows to predictors, in a prepared dataset.

    The future of all people is moved by a metre, and scenarios are cut again. Without a leak,
    observed positions do not change, and thus neither do the forecasts of predictors.

    Args:
        plan: plan of a scale.
        name: name of the dataset.
        observe: number of observed positions; None for that of the dataset.
        predict: number of positions to predict; None for that of the dataset.

    Raises:
        StpError: the dataset is unknown, has no tracks, is not prepared or is damaged, or no
            protocol gives a scenario.
    """
    check_known(name, plan.config.datasets, "dataset", "stp check leak")
    if not plan.recipes.samples(name).has_scenarios:
        raise StpError(f"{name} has {plan.config.datasets[name].kind}, and no scenarios")
    detections = prepared.read(prepared_folder(plan, name))
    recipe = plan.data(name).recipe
    lengths = observe or recipe["context"], predict or recipe["horizon"]
    predicts, parameters = _predictors(plan, name, detections, lengths[1])
    protocols: list[str] = []
    without: dict[str, str] = {}
    for protocol in PROTOCOLS:
        try:
            detections.scenarios("test", protocol, *lengths)
            protocols.append(protocol)
        except StpError as error:
            without[protocol] = error.what
    if not protocols:
        raise StpError(*without.values(), remedy="observe or predict fewer positions")
    leaks = [leak.measure(detections, protocol, *lengths, predicts) for protocol in protocols]
    effects = leak.effects(detections, tuple(protocols), *lengths, predicts)
    return FutureLeakage(name, recipe["source"], *lengths, parameters, leaks, effects, without)


def _predictors(
    plan: Plan, name: str, detections: PreparedTracks, steps: int
) -> tuple[dict[str, Predict], dict[str, str]]:
    by_name: dict[str, Predict] = {}
    kinds: dict[str, str] = {}
    for module in pkgutil.iter_modules(predictors.__path__):
        code = import_module(f"{predictors.__name__}.{module.name}")
        if not hasattr(code, "Parameters") or hasattr(code, "load"):
            continue
        options: dict[str, Any] = {}
        model = plan.config.models.get(module.name)
        if model is not None and RELEASED in model.variants:
            options = model.variants[RELEASED].datasets.get(name, {})
        kinds[module.name] = RELEASED if options else "default"
        parameters = build(code.Parameters, options, f"options of {module.name}")
        by_name[module.name] = partial(
            code.predict, steps=steps, parameters=parameters, obstacles=detections.obstacles
        )
    return by_name, kinds


def lines(leakage: FutureLeakage, width: int) -> Iterator[str]:
    """Yield lines of text with the results: a table of movements, and a table of errors.

    The first table has, for each protocol, how far observed positions and the forecasts of each
    predictor move when everybody's future is moved. The second compares the errors of each
    predictor under the protocols, over all scenarios and over those that all protocols have.

    Args:
        leakage: the results, from `measure`.
        width: maximum length of a line, characters.
    """
    lengths = f"{leakage.observe} observed and {leakage.predict} predicted positions"
    yield f"{leakage.dataset}, {leakage.source} data, {lengths}"
    yield ""
    yield f"how far things move, in metres, when everybody's future moves by {leak.SHIFT:g} m"
    yield ""
    names = list(leakage.parameters)
    header = ("protocol", "scenarios", "observed", *names)
    cells = [
        (
            effect.protocol,
            format_count(effect.scenarios),
            *(f"{moved:.2f}" for moved in (effect.observed, *effect.predicted.values())),
        )
        for effect in leakage.leaks
    ]
    yield from table(header, cells, width)
    yield ""
    yield "errors, in metres: means over scenarios; in common are those that all protocols have"
    yield ""
    common = f"{leakage.effects[0].common} in common"
    header = (
        *("predictor", "parameters", "protocol", "scenarios", "people", "ADE", "FDE"),
        *(f"ADE, {common}", f"FDE, {common}"),
    )
    cells = [
        (
            *(effect.predictor, leakage.parameters[effect.predictor], effect.protocol),
            *(
                format_count(effect.scenarios),
                format_count(effect.people),
                f"{effect.ade:.3f}",
                f"{effect.fde:.3f}",
            ),
            *(
                f"{value:.3f}" if effect.common else "-"
                for value in (effect.common_ade, effect.common_fde)
            ),
        )
        for effect in leakage.effects
    ]
    yield from table(header, cells, width, left=3)
    for protocol, reason in leakage.without.items():
        yield ""
        yield f"{protocol}: {reason}"
