"""What `stp check leak` prints: the future that protocols show to predictors of people."""

import pkgutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from typing import Any

from stp.core import store
from stp.core.errors import StpError
from stp.core.options import build
from stp.options.protocols import PROTOCOLS
from stp.page.plain_table import number, table
from stp.plan.cells import Plan
from stp.plan.checked_config import check_known
from stp.tracks import leak, predictors, prepared
from stp.tracks.leak import Effect, Leak, Predict
from stp.tracks.prepared import Place

RELEASED = "released"


@dataclass(frozen=True)
class FutureLeakage:
    """What was measured of one dataset.

    Attributes:
        dataset: its name.
        source: whose bytes they are.
        observe, predict: numbers of positions.
        parameters: of each predictor: released ones, or its defaults.
        leaks: by protocol.
        effects: errors of each predictor under each protocol.
        without: protocols that have no scenario, and why.
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
    """Measure a prepared dataset.

    Args:
        plan: of a scale.
        name: of the dataset.
        observe, predict: numbers of positions; those of the dataset unless given.

    Raises:
        StpError: there is no such dataset, it has no tracks, is not prepared or damaged, or no
            protocol finds a scenario.
    """
    check_known(name, plan.config.datasets, "dataset", "stp check leak")
    if not plan.recipes.samples(name).has_scenarios:
        raise StpError(
            f"{name} has {plan.config.datasets[name].kind}",
            expected="a dataset of scenarios, such as tracks of people",
            remedy=f"`stp list datasets {name}`",
        )
    artefact = plan.data(name)
    folder = plan.store / artefact.folder
    if not store.is_complete(folder):
        raise StpError(
            f"{name} is not prepared",
            expected=f"{folder}",
            remedy=f"run `stp fetch {name}` and `stp prepare {name}` with the same "
            "--configfile, or snakemake",
        )
    place = prepared.read(folder)
    recipe = artefact.recipe
    lengths = observe or recipe["context"], predict or recipe["horizon"]
    predicts, parameters = _predictors(plan, name, place, lengths[1])
    have: list[str] = []
    without: dict[str, str] = {}
    for protocol in PROTOCOLS:
        try:
            place.scenarios("test", protocol, *lengths)
            have.append(protocol)
        except StpError as error:
            without[protocol] = error.what
    if not have:
        raise StpError(*without.values(), remedy="observe or predict fewer positions")
    leaks = [leak.measure(place, protocol, *lengths, predicts) for protocol in have]
    effects = leak.effects(place, tuple(have), *lengths, predicts)
    return FutureLeakage(name, recipe["source"], *lengths, parameters, leaks, effects, without)


def _predictors(
    plan: Plan, name: str, place: Place, steps: int
) -> tuple[dict[str, Predict], dict[str, str]]:
    """Predictors that need no weights, and which parameters they have."""
    found: dict[str, Predict] = {}
    which: dict[str, str] = {}
    for module in pkgutil.iter_modules(predictors.__path__):
        code = import_module(f"{predictors.__name__}.{module.name}")
        if not hasattr(code, "Parameters") or hasattr(code, "load"):
            continue
        given: dict[str, Any] = {}
        model = plan.config.models.get(module.name)
        if model is not None and RELEASED in model.variants:
            given = model.variants[RELEASED].datasets.get(name, {})
        which[module.name] = RELEASED if given else "default"
        parameters = build(code.Parameters, given, f"options of {module.name}")
        found[module.name] = partial(
            code.predict, steps=steps, parameters=parameters, obstacles=place.obstacles
        )
    return found, which


def lines(found: FutureLeakage, width: int) -> Iterator[str]:
    """Write both tables."""
    lengths = f"{found.observe} observed and {found.predict} predicted positions"
    yield f"{found.dataset}, {found.source} bytes, {lengths}"
    yield ""
    yield f"how far things move, in metres, when everybody's future moves by {leak.SHIFT:g} m"
    yield ""
    names = list(found.parameters)
    header = ("protocol", "scenarios", "observed", *names)
    cells = [
        (
            one.protocol,
            number(one.scenarios),
            *(f"{moved:.2f}" for moved in (one.observed, *one.predicted.values())),
        )
        for one in found.leaks
    ]
    yield from table(header, cells, width)
    yield ""
    yield "errors, in metres: means over scenarios; in common are those that all protocols have"
    yield ""
    common = f"{found.effects[0].common} in common"
    header = (
        *("predictor", "parameters", "protocol", "scenarios", "people", "ADE", "FDE"),
        *(f"ADE, {common}", f"FDE, {common}"),
    )
    cells = [
        (
            *(one.predictor, found.parameters[one.predictor], one.protocol),
            *(number(one.scenarios), number(one.people), f"{one.ade:.3f}", f"{one.fde:.3f}"),
            *(f"{value:.3f}" if one.common else "-" for value in (one.common_ade, one.common_fde)),
        )
        for one in found.effects
    ]
    yield from table(header, cells, width, left=3)
    for protocol, reason in found.without.items():
        yield ""
        yield f"{protocol}: {reason}"
