"""Tables S3 to S6 of ChaosBench: hyperparameters of its networks, here and as printed.

What a network is like is read off its module, as the suite's protocol trains it; how it is trained
is read off its recipe.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from stp.core.errors import StpError
from stp.models.create import create
from stp.models.fno import SpectralConvolution
from stp.models.halving import halve
from stp.models.resnet import Bottleneck
from stp.page.commands import table_command
from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.plan import config as configuration
from stp.plan.config import Config
from stp.plan.enumeration import enumerate_cells
from stp.plan.recipes import Recipes
from stp.plan.strict import CONFIG_FOLDER, Json
from stp.plan.suite import suites_with
from stp.render.tables.s2s_facts import printed_rows

NAME = "s2s_networks"
PRINTED = CONFIG_FOLDER / "published" / "s2s_networks.csv"
COLUMNS = ("table", "model", "hyperparameter", "value")
Kind = TypeVar("Kind", bound=nn.Module)
HEADER = ("table", "model", "hyperparameter", "ours", "published", "differs", "scale", "at scale")


def _series(numbers: Iterator[int] | tuple[int, ...]) -> str:
    """Numbers one after the other, of layers that have the same only once."""
    return ", ".join(map(str, dict.fromkeys(numbers)))


def _of(network: nn.Module, kind: type[Kind], part: str = "") -> list[Kind]:
    """All modules of a kind in a part of a network, in their order."""
    return [m for m in network.get_submodule(part).modules() if isinstance(m, kind)]


def _kernel(network: nn.Module, kind: type[nn.Conv2d | nn.ConvTranspose2d], part: str) -> str:
    sizes = {m.kernel_size for m in _of(network, kind, part)}
    return " or ".join(" x ".join(map(str, size)) for size in sorted(sizes))


def _activation(network: nn.Module) -> str:
    found = {
        f"LeakyReLU({m.negative_slope:g})" if isinstance(m, nn.LeakyReLU) else type(m).__name__
        for m in _of(network, nn.Module)
        if isinstance(m, nn.LeakyReLU | nn.ReLU | nn.GELU | nn.Sigmoid)
    }
    return ", ".join(sorted(found))


def _pooling(_: nn.Module) -> str:
    side = 8
    halved: Tensor = halve(torch.zeros(1, 1, side, side))
    return " x ".join(str(side // length) for length in halved.shape[-2:])


def _spectral(network: nn.Module) -> str:
    layers = _of(network, SpectralConvolution)
    return _series((layers[0].low.shape[0], *(layer.low.shape[1] for layer in layers)))


def _local(network: nn.Module) -> str:
    named = network.named_modules()
    layers = [m for n, m in named if n.endswith(".local") and isinstance(m, nn.Conv2d)]
    return _series((layers[0].in_channels, *(layer.out_channels for layer in layers)))


def _backbone(network: nn.Module) -> str:
    # Three convolutions in each block, one before, and the layer that a classifier has behind.
    return f"ResNet-{3 * len(_of(network, Bottleneck)) + 2}"


def _rate(train: Json) -> str:
    first, schedule = train["lr"], train["schedule"]
    if isinstance(schedule, dict) and "cosine" in schedule:
        return f"CosineAnnealing({first:g} -> {first * schedule['cosine'].get('last', 0):g})"
    return f"{schedule}({first:g})"


OF_NETWORK: dict[str, Callable[[nn.Module], str]] = {
    "Channels": lambda n: _series(m.out_channels for m in _of(n, nn.Conv2d, "encoder")),
    "Encoder Kernel": lambda n: _kernel(n, nn.Conv2d, "encoder"),
    "Decoder Kernel": lambda n: _kernel(n, nn.ConvTranspose2d, ""),
    "Max Pooling Window": _pooling,
    "Batch Normalization": lambda n: str(bool(_of(n, nn.BatchNorm2d))),
    "Backbone": _backbone,
    "Decoder Channels": lambda n: _series(m.out_channels for m in _of(n, nn.ConvTranspose2d)),
    "Decoder Activation": lambda n: _activation(n.get_submodule("decoder")),
    "Activation": _activation,
    "Non-Spectral Channels": _local,
    "Spectral Channel": _spectral,
    "Fourier Modes": lambda n: ", ".join(map(str, _of(n, SpectralConvolution)[0].low.shape[2:4])),
    "Parameters": lambda n: f"{sum(weights.numel() for weights in n.parameters()):,}",
}
OF_TRAINING: dict[str, Callable[[Json], str]] = {
    "Optimizer": lambda train: {"adamw": "AdamW", "adam": "Adam"}[train["optimizer"]],
    "Learning Rate": _rate,
    "Batch Size": lambda train: str(train["batch_size"]),
    "Epochs": lambda train: str(train["epochs"]),
    "Tmax": lambda train: str(train["epochs"]),  # the rate falls over the whole training
}


@dataclass(frozen=True)
class Network:
    """One of the tables.

    Attributes:
        table: as printed.
        name, title: of the model.
        published: hyperparameter -> value as printed.
        ours: the same under the suite's protocol, and the parameters, which are not printed.
        at_scale: likewise at the scale at hand; None if it is not trained there.
    """

    table: str
    name: str
    title: str
    published: dict[str, str]
    ours: dict[str, str]
    at_scale: dict[str, str] | None

    def differs(self, hyperparameter: str) -> bool:
        """Whether a value is another one than printed, however it is written."""
        printed = self.published.get(hyperparameter)
        return printed is not None and printed.lower() != self.ours[hyperparameter].lower()


def networks(config: Config, file: Path = PRINTED) -> list[Network]:
    """Compare all networks of Tables S3 to S6.

    Args:
        config: of the scale at hand.
        file: the printed values.

    Raises:
        StpError: a row names a hyperparameter or a model that is not known.
    """
    (suite,) = suites_with(NAME).values()
    assert suite.protocol is not None
    protocol = configuration.load(CONFIG_FOLDER / suite.protocol)
    dataset = next(iter(suite.datasets))
    trained = {(cell.model, cell.trained_on) for cell, _ in enumerate_cells(config)}
    found: dict[str, list[dict[str, str]]] = {}
    for row in printed_rows(file, COLUMNS):
        known = row["model"] in protocol.models
        if not known or row["hyperparameter"] not in OF_NETWORK | OF_TRAINING:
            raise StpError(
                f"{file}: {row['model']}, {row['hyperparameter']}: unknown",
                expected=f"a model, and one of {', '.join(OF_NETWORK | OF_TRAINING)}",
                remedy="restore the file",
            )
        found.setdefault(row["model"], []).append(row)
    return [
        Network(
            rows[0]["table"],
            name,
            protocol.models[name].title,
            published := {row["hyperparameter"]: row["value"] for row in rows},
            _values(protocol, name, dataset, [*published, "Parameters"]),
            _values(config, name, dataset, [*published, "Parameters"])
            if (name, dataset) in trained
            else None,
        )
        for name, rows in found.items()
    ]


def _values(config: Config, model: str, dataset: str, wanted: list[str]) -> dict[str, str]:
    recipe = Recipes(config).train(model, dataset, None)
    # Not on the device "meta": some operations load torch's compiler there, which takes longer.
    network = create(recipe)
    return {
        name: OF_NETWORK[name](network)
        if name in OF_NETWORK
        else OF_TRAINING[name](recipe["train"])
        for name in wanted
    }


def write(config: Config, out: Path) -> int:
    """Write the table as ``<name>.csv``, with ``.md``, ``.tex`` and ``.html`` beside it.

    Returns:
        the number of rows.

    Raises:
        StpError: the printed values cannot be read, or the disk refuses.
    """
    found, scale = networks(config), config.scale.scale
    lines: list[list[object]] = [list(HEADER)]
    for one in found:
        for name, value in one.ours.items():
            differs = "yes" if one.differs(name) else "no"
            here = one.at_scale[name] if one.at_scale else ""
            printed = one.published.get(name, "")
            lines.append([one.table, one.title, name, value, printed, differs, scale, here])
    write_all({out: csv_text(lines), **texts(_grid(found, scale), out.parent)})
    return len(lines) - 1


def _grid(found: list[Network], scale: str) -> Grid:
    is_protocol = all(one.at_scale in (None, one.ours) for one in found)
    return Grid(
        name=NAME,
        title="Networks of ChaosBench",
        intro=[
            "Beside Tables S3 to S6 of the ChaosBench paper: hyperparameters under the suite's "
            "protocol, read off the modules and the recipes of their trainings.",
            "Parameters are counted. The paper prints none, and gives the same budget of 10^6 to "
            "all (section 5).",
            *([] if is_protocol else [f"The scale {scale} trains other networks: last column."]),
        ],
        sections=[_section(one, scale, is_protocol) for one in found],
        legend=["≠: not as printed, in parentheses"]
        if any(one.differs(name) for one in found for name in one.ours)
        else [],
        made_from=f"Made by `{table_command(scale, NAME)}` from `config/` "
        f"and `config/published/{PRINTED.name}`.",
    )


def _section(one: Network, scale: str, is_protocol: bool) -> Section:
    rows: list[list[str | Item]] = []
    for name, value in one.ours.items():
        differs = one.differs(name)
        row: list[str | Item] = [
            name,
            Item(value, mark="≠", aside=one.published[name]) if differs else value,
        ]
        if not is_protocol:
            row.append(one.at_scale[name] if one.at_scale else "–")
        rows.append(row)
    columns = ["hyperparameter", "value", *([] if is_protocol else [f"at scale {scale}"])]
    return Section(f"{one.title} (Table {one.table})", columns, rows, [False] * len(columns))
