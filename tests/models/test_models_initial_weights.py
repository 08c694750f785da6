"""Initial weights of all networks, at published size, against the rules of their releases.

initial_weights.yaml has the rules. Of each tensor, and of all tensors of a row together, each in
units of its own width, the mean, the deviation and the distribution must be those of the rule as
far as the number of values can tell: a right one fails with a probability of about 2e-9 per check.
"""

import math
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
import yaml
from model_cases import make
from torch import Tensor, nn

import stp.models
from stp.core.options import as_json
from stp.models.create import create
from stp.plan.config import CONFIG_FOLDER, load
from stp.plan.recipes import Recipes

TABLE = yaml.safe_load((Path(__file__).parent / "initial_weights.yaml").read_text())
SAMPLE = 100_000
"""Values looked at, of larger tensors: evenly spaced."""
SIGMAS = 6.0
"""Standard errors by which mean and deviation may be off."""
UNLIKELY = math.erfc(SIGMAS / math.sqrt(2))
DEVIATION = {"uniform": 1 / math.sqrt(3), "normal": 1.0, "truncated normal": 1.0}
"""In units of the width. A truncated normal is cut beyond 100 deviations in all rules."""
KURTOSIS = {"uniform": 1.8, "normal": 3.0, "truncated normal": 3.0}
# Global vectors exist on SEVIR alone.
CASES = [(name, "moving_mnist") for name in TABLE["models"]] + [("earthformer", "sevir")]
QUICK = {"convlstm"}
TINY: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("convlstm", "e3dlstm", "mau", "phydnet", "predrnn", "predrnnpp")},
    **{name: {} for name in ("predrnnv2", "simvpv1", "simvpv2", "tau", "mcvd", "small_convnet")},
    **{name: {} for name in ("climax", "lagged_ae", "resnet", "unet", "fno", "vae")},
    **{name: {} for name in ("cdna", "sv2p", "savp")},
    "earthformer": {"global_vectors": 2},
    "svg": {"prior": "learned"},
}
"""Options that add layers to tiny networks."""


class Rule(NamedTuple):
    """How one tensor is drawn.

    Attributes:
        kind: in the table's words.
        width: bound of a uniform distribution, deviation of a normal one, value of a constant.
        cut: no value is larger.
        mean: of a normal distribution.
    """

    kind: str
    width: float
    cut: float = math.inf
    mean: float = 0.0


def rule_of(name: str, row: dict[str, Any], model: nn.Module) -> Rule:
    """The rule of a row with its formulas worked out for a tensor."""
    rule = TABLE["rules"][row["rule"]]
    prefix = name.rpartition(".")[0]
    layer = model.get_submodule(prefix)
    weight = getattr(layer, "weight", None)
    known: dict[str, Any] = {"sqrt": math.sqrt, "groups": getattr(layer, "groups", 1)}
    shape = model.get_parameter(name).shape
    known |= dict(zip(("before", "after"), shape, strict=False))
    if isinstance(weight, Tensor) and weight.dim() > 1:
        pixels = math.prod(weight.shape[2:])
        known |= {"fan_in": weight.shape[1] * pixels, "fan_out": weight.shape[0] * pixels}
    # The table is our own file.
    number = next(rule[key] for key in ("bound", "std", "value") if key in rule)
    width = float(eval(str(number), {"__builtins__": {}}, known))
    bounded = rule["kind"].startswith(("uniform", "within"))
    cut = width * (1 + 1e-6) if bounded else rule.get("cut", math.inf)
    return Rule(rule["kind"], width, cut, rule.get("mean", 0.0))


def some(values: Tensor) -> Tensor:
    flat = values.detach().reshape(-1)
    return flat[:: max(1, flat.numel() // SAMPLE)].double()


def share_below(x: Tensor, kind: str) -> Tensor:
    """Probability of a smaller value, of a distribution of width 1."""
    return ((x + 1) / 2).clamp(0, 1) if kind == "uniform" else torch.special.ndtr(x)


def differences(values: Tensor, kind: str) -> Iterator[str]:
    """What tells values, in units of their width, from draws of a distribution around 0."""
    n = values.numel()
    deviation, kurtosis = DEVIATION[kind], KURTOSIS[kind]
    mean = values.mean().item() / deviation
    if abs(mean) > (allowed := SIGMAS / math.sqrt(n)):
        yield f"mean is {mean:.4f} deviations, within {allowed:.4f} expected"
    actual = values.square().mean().sqrt().item() / deviation
    # standard error of a deviation: sqrt((kurtosis - 1) / 4 n) of it
    if abs(actual - 1) > (allowed := SIGMAS * math.sqrt((kurtosis - 1) / (4 * n))):
        yield f"deviation is {actual:.4f} times the expected one, beyond 1 ± {allowed:.4f}"
    # Dvoretzky, Kiefer and Wolfowitz: for any n, P(distance > d) <= 2 exp(-2 n d^2).
    expected = share_below(values.sort().values, kind)
    steps = torch.arange(n + 1, dtype=torch.float64) / n
    distance = max((expected - steps[:-1]).max().item(), (steps[1:] - expected).max().item())
    if distance > (allowed := math.sqrt(math.log(2 / UNLIKELY) / (2 * n))):
        yield f"not {kind}: shares of values are off by {distance:.4f}, over {allowed:.4f}"


def row_for(name: str, rows: list[dict[str, Any]]) -> int | None:
    """Which row counts for a tensor; None: the table has none."""
    return next((i for i, row in enumerate(rows) if fnmatchcase(name, row["tensors"])), None)


def compare(model: nn.Module, rows: list[dict[str, Any]]) -> Iterator[str]:
    """What tells the tensors of a new model from the table."""
    drawn = defaultdict(list)
    for name, tensor in model.named_parameters():
        row = row_for(name, rows)
        if row is None:
            yield f"{name}: no row of the table"
            continue
        rule = rule_of(name, rows[row], model)
        if rule.kind == "constant":
            if (tensor != rule.width).any():
                yield f"{name}: not all values are {rule.width:g}"
            continue
        if tensor.abs().max() > rule.cut:
            yield f"{name}: {tensor.abs().max():.6g} is beyond {rule.cut:.6g}"
        if rule.kind == "within":
            continue
        values, kind = (some(tensor) - rule.mean) / rule.width, rule.kind
        if kind == "uniform from 0":
            values, kind = 2 * values - 1, "uniform"
        drawn[row, kind].append(values)
        yield from (f"{name}: {what}" for what in differences(values, kind))
    for (row, kind), parts in drawn.items():
        together = some(torch.cat(parts))
        yield from (f"all {rows[row]['tensors']}: {what}" for what in differences(together, kind))


@cache
def paper() -> Recipes:
    return Recipes(load(CONFIG_FOLDER / "paper.yaml"))


@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        case if case[0] in QUICK else pytest.param(*case, marks=pytest.mark.long(part="learning"))
        for case in CASES
    ],
)
def test_initial_weights_are_drawn_as_in_the_release(name, dataset):
    torch.manual_seed(0)
    model = create(as_json(paper().train(name, dataset, 0)))
    assert list(compare(model, TABLE["models"][name])) == []


@pytest.mark.parametrize("name", TINY)
def test_initial_weights_of_tiny_networks_are_drawn_so_too(name):
    """Few values tell less of a distribution, but constants and bounds are exact."""
    model = make(name, (1, 16, 18), **TINY[name])
    assert list(compare(model, TABLE["models"][name])) == []


def test_every_network_has_its_rules_and_every_rule_is_needed():
    modules = (module.name for module in pkgutil.iter_modules(stp.models.__path__))
    models = [name for name in modules if hasattr(import_module(f"stp.models.{name}"), "Model")]
    learning = [name for name in models if paper().train(name, "moving_mnist", 0).fit == "sgd"]
    assert sorted(learning) == sorted(TABLE["models"]) == sorted(TINY)
    needed = set()
    for name, dataset in CASES:
        with torch.device("meta"):
            model = create(as_json(paper().train(name, dataset, 0)))
        rows = TABLE["models"][name]
        needed |= {(name, row_for(tensor, rows)) for tensor, _ in model.named_parameters()}
    assert needed == {(name, i) for name, rows in TABLE["models"].items() for i in range(len(rows))}
    used = {row["rule"] for rows in TABLE["models"].values() for row in rows}
    assert used == set(TABLE["rules"])
