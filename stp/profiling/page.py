"""Write the page that lists every model with its sizes, and the same list for a terminal."""

import json
from collections.abc import Iterable, Iterator
from functools import cache

import yaml
from rich.text import Text

from stp.page.text_table import Column
from stp.plan.checked_config import CONFIG_FOLDER, Json, Strict, check, check_known, read_yaml
from stp.plan.config import Config
from stp.plan.profiled_networks import network, networks
from stp.plan.recipes import Recipes
from stp.profiling import DATASET
from stp.profiling.published import CLIPS_PER_S, published_complexity
from stp.profiling.size import Size, parameters, size
from stp.profiling.table19 import as_published
from stp.tasks import task as tasks

NOTES = CONFIG_FOLDER / "model_notes.yaml"
FITS = {
    "none": "nothing to learn",
    "closed_form": "one pass over the training data",
    "sgd": "gradient descent",
    "calibrate": "a search over parameters",
    "read": "nothing: its forecasts are read",
    "external": "elsewhere: only its predictions are here",
}
INTRODUCTION = """\
# Models

This page lists all models with their parameters and multiply-adds. Each model is one file,
`stp/models/<name>.py`, with the settings of the paper in `config/models/<name>.yaml`; predictors
of human motion are in `stp/tracks/predictors` ([motion_models.md](motion_models.md)).

Parameters and multiply-adds are counted on the modules, built with the options of
`config/paper.yaml`; nothing is computed. A multiply-add is two floating point operations. Counted
are convolutions and matrix products for one clip, as `torch.utils.flop_counter` knows them. The
counts follow the equations: on a CPU, the convolutions of recurrent networks may take fewer. This
command writes the page:

```sh
stp list models --page docs/models.md --configfile config/paper.yaml
```

`stp list models` prints the overview, `stp list models convlstm` everything about one model, and
`stp profile convlstm moving_mnist` measures memory and speed, with the same `--configfile`
([costs.md](costs.md#profiling-a-model)).
"""


class Notes(Strict):
    """Facts about a model that its configuration lacks (config/model_notes.yaml).

    Attributes:
        kind: kind of network, such as ``recurrent``.
        table19: settings with which the counted sizes agree with Table 19 of PredBench, in words;
            empty for models that the table does not have.
        notes: sentences about differences between the paper, its release and the authors' code.
        dataset: dataset for which the page counts the model; by default, all training datasets of
            the scale.
    """

    kind: str
    dataset: str | None = None
    table19: str
    notes: tuple[str, ...]


def notes(config: Config) -> dict[str, Notes]:
    """Read what config/model_notes.yaml says about networks, by name of the model.

    Raises:
        StpError: the file names an unknown model.
    """
    content = read_yaml(NOTES)
    for name in content:
        check_known(name, networks(config), "model", str(NOTES))
    return {name: check(Notes, value, f"{NOTES}: {name}") for name, value in content.items()}


def training_datasets(config: Config) -> list[str]:
    """Names of all datasets on which the scale (the configured evaluations) trains, each once."""
    wanted = config.scale.dimensions.values()
    return list(dict.fromkeys(case.trained_on for one in wanted for case in one.cases()))


def page(config: Config) -> str:
    """Text of the page that lists every model, in Markdown; counting takes about a minute."""
    known, names = notes(config), networks(config)
    everywhere = [names[name] for name in _shared_networks(config)]
    lines = [INTRODUCTION, *_overview(config), ""]
    lines += ["## Table 19 of the paper", "", *_table19(config, known), ""]
    lines += ["## Parameters", ""]
    lines += ["These are the counts with the options that the paper sets for each dataset.", ""]
    lines += [_heading_line(everywhere)]
    lines += [_rule(len(everywhere))]
    lines += [parameters_row(config, dataset) for dataset in training_datasets(config)]
    lines += ["", "## Multiply-adds of a forecast", ""]
    lines += ["In 10^9, for one complete forecast: all steps of a sampler, all passes.", ""]
    lines += [_heading_line(everywhere)]
    lines += [_rule(len(everywhere))]
    lines += [multiply_adds_row(config, dataset) for dataset in training_datasets(config)]
    lines += ["", "## Networks of other suites", "", *_other_network_lines(config, known)]
    lines += ["", "## What differs from the paper or its release", ""]
    for name, about in known.items():
        lines += [f"- **{names[name]}** (`{name}`): {text}" for text in about.notes]
    return "\n".join(lines) + "\n"


def parameters_row(config: Config, dataset: str) -> str:
    """Row of a Markdown table: a dataset, and the number of parameters of each network for it."""
    counts = [parameters(network(config, name, dataset)) for name in _shared_networks(config)]
    return _line([_frames(config, dataset), *(f"{count:,}" for count in counts)])


def multiply_adds_row(config: Config, dataset: str) -> str:
    """Row of a Markdown table: a dataset, and the multiply-adds of a forecast by each network."""
    counts = [_size(network(config, name, dataset)).forecast for name in _shared_networks(config)]
    return _line([_frames(config, dataset), *(_giga(count) for count in counts)])


def _shared_networks(config: Config) -> list[str]:
    """Names of networks that are counted for all datasets of the page."""
    known = notes(config)
    return [name for name in networks(config) if not (name in known and known[name].dataset)]


def _other_network_lines(config: Config, known: dict[str, Notes]) -> Iterator[str]:
    yield (
        "These are the counts of one training forecast. Fourier transforms are left out, and a "
        "product of complex numbers counts once."
    )
    yield ""
    yield _line(("model", "dataset", "parameters", "G multiply-adds"))
    yield _line(["---", "---", "---:", "---:"])
    for name, title in networks(config).items():
        dataset = known[name].dataset if name in known else None
        if dataset is not None:
            recipe = network(config, name, dataset)
            frames = _frames(config, dataset, recipe["horizon"])
            found = _size(recipe)
            yield _line((title, frames, f"{found.parameters:,}", _giga(found.forecast)))


def overview(config: Config) -> Iterator[tuple[str, ...]]:
    """Yield a row for every model, with name, title, kind, way of fitting and reference."""
    known = notes(config)
    for name, model in config.models.items():
        is_external = model.fit == "external"
        kind = "external" if is_external else tasks.find(model.kind).title_of(model.fit)
        kind = known[name].kind if name in known else kind
        yield name, model.title, kind, FITS[model.fit], model.reference


def columns(config: Config) -> list[Column]:
    """Columns of the table that ``stp list models`` prints: a row for each model."""
    found = [(name, title, f"{kind}; {fit}", of) for name, title, kind, fit, of in overview(config)]
    headings = ("model", "title", "kind; fitted by", "reference")
    return [
        Column(heading, False, [Text(row[place]) for row in found])
        for place, heading in enumerate(headings)
    ]


def details(config: Config, name: str) -> Iterator[str]:
    """Yield the lines that ``stp list models NAME`` prints.

    They state how the model is fitted and, for a network, its sizes for each dataset, its training
    settings, its values in Table 19 of PredBench, and differences from its paper.

    Raises:
        StpError: the model is unknown.
    """
    check_known(name, config.models, "model", "models")
    model = config.models[name]
    yield f"{model.title} ({name}): {model.reference}"
    yield f"fitted by: {FITS[model.fit]}"
    if name not in networks(config):
        return
    known = notes(config).get(name)
    if known:
        yield f"kind: {known.kind}"
    yield ""
    heads = f"{'dataset':<14} {'frames':<16} {'in':>3} {'out':>3}"
    yield f"{heads} {'parameters':>12} {'multiply-adds':>13}"
    for dataset in training_datasets(config):
        recipe = network(config, name, dataset)
        found = _size(recipe)
        frames = " x ".join(map(str, recipe["shape"]))
        yield (
            f"{dataset:<14} {frames:<16} {recipe['context']:>3} {recipe['horizon']:>3} "
            f"{found.parameters:>12,} {_giga(found.forecast):>13}"
        )
    yield "multiply-adds of one finished forecast, in 10^9; two floating point operations each"
    yield from _training_lines(config, name)
    if known and known.table19:
        recipe = network(config, name, DATASET)
        counted = as_published(recipe, _size(recipe))
        printed = published_complexity(config)[name]
        yield ""
        yield (
            f"Table 19 of the paper: {printed.parameters:g} M parameters, {printed.gmacs:g} G "
            f"multiply-adds; counted alike: {counted.parameters:,} and "
            f"{_giga(counted.multiply_adds)} G"
        )
        yield f"  {known.table19}"
        if counted.how:
            yield f"  {counted.how}"
    for text in known.notes if known else ():
        yield f"- {text}"


def _training_lines(config: Config, model: str) -> Iterator[str]:
    """Lines with the settings of the training runs of a model, after those of the scale file."""
    recipes = Recipes(config)
    datasets_of: dict[str, list[str]] = {}
    for dataset in training_datasets(config):
        settings = recipes.settings(model, dataset, "train")
        text = yaml.safe_dump(settings, default_flow_style=True, sort_keys=False, width=10**6)
        datasets_of.setdefault(text.strip(), []).append(dataset)
    yield ""
    yield f"training in the scale {config.scale.scale}:"
    for text, datasets in datasets_of.items():
        yield f"  {', '.join(datasets)}: {text}"


def _overview(config: Config) -> Iterator[str]:
    yield _line(("model", "title", "kind", "fitted by", "reference"))
    yield _line(["---"] * 5)
    for name, *rest in overview(config):
        yield _line([f"`{name}`", *rest])


def _table19(config: Config, known: dict[str, Notes]) -> Iterator[str]:
    yield (
        "Moving-MNIST, 10 -> 10 frames of 64 x 64. The printed FLOPs are multiply-adds. For "
        "E3D-LSTM, PredRNNv1, PredRNN++ and PredRNNv2, the paper prints M where the value is in G. "
        + CLIPS_PER_S
        + " `snakemake --profile local results/tables/model_speed.csv` makes the table with "
        "measurements of this machine."
    )
    yield ""
    yield _line(
        ("model", "printed", "parameters", "printed (G)", "G multiply-adds", "difference", "from")
    )
    yield _line(["---", "---:", "---:", "---:", "---:", "---:", "---"])
    for name, printed in published_complexity(config).items():
        recipe = network(config, name, DATASET)
        counted = as_published(recipe, _size(recipe))
        gmacs = counted.multiply_adds / 1e9
        reasons = "; ".join(text for text in (known[name].table19, counted.how) if text)
        yield _line(
            (
                config.models[name].title,
                f"{printed.parameters:g} M",
                f"{counted.parameters:,}",
                f"{printed.gmacs:g}",
                f"{gmacs:.2f}",
                f"{100 * (gmacs / printed.gmacs - 1):+.2f} %",
                reasons,
            )
        )


def _size(recipe: Json) -> Size:
    return _size_of(json.dumps(recipe))


@cache
def _size_of(recipe: str) -> Size:
    """Size of the network of a recipe, cached, since some datasets have the same frames."""
    return size(json.loads(recipe))


def _frames(config: Config, dataset: str, horizon: int | None = None) -> str:
    about = config.datasets[dataset]
    shape = " x ".join(map(str, about.shape))
    return f"{about.title} ({about.context} -> {horizon or about.horizon}, {shape})"


def _giga(count: int) -> str:
    return f"{count / 1e9:,.4g}" if count < 1e13 else f"{count / 1e9:,.0f}"


def _heading_line(titles: Iterable[str]) -> str:
    return _line(["dataset", *titles])


def _rule(columns: int) -> str:
    return _line(["---", *["---:"] * columns])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
