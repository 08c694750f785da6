"""Generate the page of licences of third-party data and weights from the configuration."""

from collections.abc import Iterator, Mapping

from stp.plan.config import Config
from stp.plan.weights import Network

UNKNOWN = "not stated"
INTRODUCTION = """\
# Licences

This project is licensed under the [Apache License 2.0](../LICENSE). That licence covers its code,
configuration and documentation, and generated data. It does not cover data and weights of others:
none of them come with the project, and their own terms apply to you when you download them, publish
results made from them or pass them on. Where a licence is not stated, ask
the authors.

The coastline of the maps (`stp/render/pictures/coastline.npz`) is from Natural Earth, public
domain. Published values in `config/suites/` are quoted from the papers named beside them.
Installed packages keep their licences; a report contains Plotly.js (MIT).

This page is written by `stp list datasets --licences docs/licences.md` from `config/`: change it
there.
"""


def page(config: Config, networks: Mapping[str, Network]) -> str:
    """Make the page of licences of datasets, models and weights, in Markdown.

    Args:
        config: configuration of any scale; datasets and models are the same in all.
        networks: networks of metrics (config/weights.yaml), by name.
    """
    lines = [INTRODUCTION, "## Datasets", "", "| dataset | licence | source |", "|---|---|---|"]
    for name, dataset in sorted(config.datasets.items(), key=lambda item: item[1].title.lower()):
        source = f"<{dataset.homepage}>" if dataset.homepage else ""
        lines.append(f"| {dataset.title} (`{name}`) | {dataset.licence or UNKNOWN} | {source} |")
    lines += ["", "## Weights of networks that metrics use", ""]
    lines += ["| network | licence |", "|---|---|"]
    lines += [f"| {network.title} | {network.licence} |" for network in networks.values()]
    released = list(_model_weights(config))
    if released:
        lines += ["", "## Weights of models, released by their authors", ""]
        lines += ["| model | licence | file |", "|---|---|---|", *released]
    return "\n".join(lines) + "\n"


def _model_weights(config: Config) -> Iterator[str]:
    """Yield a line for each licence of the released weights of models."""
    for model in config.models.values():
        files: dict[str, str] = {}
        for weights in (model.weights, *(training.weights for training in model.datasets.values())):
            if weights is not None:
                files.setdefault(weights.licence or UNKNOWN, weights.file)
        yield from (f"| {model.title} | {licence} | {file} |" for licence, file in files.items())
