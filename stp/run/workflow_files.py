"""Write small files, such as manifests, while Snakemake reads the Snakefile.

Several jobs on a cluster read the Snakefile at the same time, so these files are either named by a
hash of their content, or written by the main process only.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

from stp.core.disk import write_text_if_changed
from stp.core.fingerprint import digest
from stp.core.json_files import json_or_none
from stp.plan import config as configuration
from stp.plan import profiled_networks as networks
from stp.plan.cells import Plan
from stp.plan.manifest import manifest_text
from stp.plan.manifests import Paper, manifest
from stp.run.results import LAST_RUN, RESULTS


def write_config(plan: Plan, results: Path = RESULTS) -> Path:
    """Write the effective content of the scale file (what is evaluated) of a run.

    All commands of the run read it, and so make the same plan.

    Returns:
        path of the file; its name contains a hash of the content.
    """
    content = plan.config.scale.model_dump(mode="json", exclude_unset=True)
    text = json.dumps(content, indent=1) + "\n"  # keys are not sorted: variables have an order
    path = results / "plan" / f"config-{digest(text)}.json"
    write_text_if_changed(path, text)
    return path


def write_counted(plan: Plan, targets: Iterable[str], results: Path = RESULTS) -> None:
    """Record the dimensions (questions with their tables) that a run needs; progress counts these.

    A target that names a dimension (``results/tables/short_term.csv``) needs this dimension; any
    other target needs all dimensions.
    """
    words = [set(re.split(r"[/.]", target)) for target in targets]
    dimensions = [
        name for name in plan.config.scale.dimensions if any(name in word for word in words)
    ]
    every = not words or any(not word & set(dimensions) for word in words)
    text = json.dumps(None if every else dimensions) + "\n"
    write_text_if_changed(results / "plan" / "counted.json", text)


def read_counted(results: Path = RESULTS) -> list[str] | None:
    """Names of the dimensions (questions) whose tables the current run needs; None for all."""
    dimensions: list[str] | None = json_or_none(results / "plan" / "counted.json")
    return dimensions


def results_of(plan: Plan) -> Path:
    """Folder of a plan's results, such as ``results/demo``.

    It has everything that a run writes outside of the store of artefacts.
    """
    return RESULTS / plan.config.scale.scale


def write_last_run(plan: Plan) -> None:
    """Record the scale (such as ``demo``) of a run, so that later commands use it by default."""
    write_text_if_changed(LAST_RUN, f"{plan.config.scale.scale}\n")


def manifest_path(dimension: str, results: Path) -> Path:
    """Path of the manifest of a dimension, which lists the cells (evaluations) of its table.

    Args:
        dimension: name of the dimension.
        results: folder of results.
    """
    return results / "plan" / f"{dimension}.json"


def write_manifests(plan: Plan, write: bool = True, results: Path | None = None) -> dict[str, Path]:
    """Write the manifest of each dimension (the cells of its table), if it has changed.

    Args:
        plan: the plan.
        write: whether files are written; if not, only paths are returned.
        results: folder of results; None for the folder of the plan's scale.

    Returns:
        paths of the manifests, by dimension.
    """
    paths: dict[str, Path] = {}
    paper = Paper(plan.config.scale.suite) if write else None
    for dimension in plan.config.scale.dimensions:
        paths[dimension] = manifest_path(dimension, results or results_of(plan))
        if write:
            write_text_if_changed(paths[dimension], manifest_text(manifest(plan, dimension, paper)))
    return paths


def data_origins(plan: Plan) -> dict[str, str]:
    """Describe the origin of the test data, by dimension (table), and for ``all`` together."""
    tested: dict[str, set[str]] = {name: set() for name in plan.config.scale.dimensions}
    for made in plan.cells:
        tested[made.cell.dimension].add(made.cell.tested_on)
    tested["all"] = set().union(*tested.values())
    origins = {}
    for dimension, names in tested.items():
        datasets = [plan.config.datasets[name] for name in names]
        sources = sorted({data.releases[data.release].source for data in datasets})
        origins[dimension] = f"{' and '.join(sources)}, scale {plan.config.scale.scale}"
    return origins


def write_profile_input(
    model: str, dataset: str, write: bool = True, results: Path = RESULTS
) -> Path:
    """Write the file that describes a network for the measurement of its speed and memory.

    The file is an input of the rule by which `stp profile` measures the network. It has the
    settings of the network at the scale ``paper``, such as shape, context and horizon, and a hash
    of the code. It is written only if its content has changed, and Snakemake then repeats the
    measurement.

    Args:
        model: name of the network.
        dataset: name of the dataset for which the network is built.
        write: whether the file is written; if not, only its path is returned.
        results: folder of all results.

    Returns:
        the path of the file.

    Raises:
        StpError: the network or dataset is unknown.
    """
    path = results / "plan" / "profile" / f"{model}-{dataset}.json"
    if write:
        paper = configuration.load(configuration.CONFIG_FOLDER / "paper.yaml")
        write_text_if_changed(path, networks.describe_network(paper, model, dataset))
    return path
