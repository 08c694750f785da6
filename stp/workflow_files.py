"""Small files that the Snakefile writes while it is read: idempotent, atomic, and cheap.

Jobs on a cluster read the Snakefile again, several at a time, so what is written here is
named by its content or written by the main process only.
"""

import hashlib
import json
from pathlib import Path

from stp import config as configuration
from stp.cells import Plan
from stp.disk import write_text_if_changed
from stp.fingerprint import code_of, digest
from stp.manifest import Paper, as_text, manifest
from stp.profiling import networks, published

RESULTS = Path("results")


def write_config(plan: Plan, results: Path = RESULTS) -> Path:
    """Write the effective configuration, so that every verb makes the very same plan."""
    content = plan.config.scale.model_dump(mode="json", exclude_unset=True)
    path = results / "plan" / f"config-{digest(content)}.json"
    write_text_if_changed(path, json.dumps(content, indent=1, sort_keys=True) + "\n")
    return path


def write_data_list(plan: Plan, write: bool = True, results: Path = RESULTS) -> Path:
    """Write which prepared data the scale has, where the text differs.

    Returns:
        the path.
    """
    path = results / "plan" / "data.json"
    if write:
        receipts = [data.receipt for data in plan.prepared]
        write_text_if_changed(path, json.dumps(receipts, indent=1) + "\n")
    return path


def manifest_path(dimension: str, results: Path = RESULTS) -> Path:
    """Where the manifest of a dimension's tables lives."""
    return results / "plan" / f"{dimension}.json"


def write_manifests(plan: Plan, write: bool = True, results: Path = RESULTS) -> dict[str, Path]:
    """Write what each dimension's tables are made from, where the text differs.

    Returns:
        the path by dimension.
    """
    paths: dict[str, Path] = {}
    paper = Paper() if write else None
    for dimension in plan.config.scale.dimensions:
        paths[dimension] = manifest_path(dimension, results)
        if write:
            write_text_if_changed(paths[dimension], as_text(manifest(plan, dimension, paper)))
    return paths


def write_profile_input(
    model: str, dataset: str, write: bool = True, results: Path = RESULTS
) -> Path:
    """Write what the measurement of a network is made from, where the text differs.

    The network is that of the paper, whatever the scale.

    Returns:
        the path.

    Raises:
        StpError: there is no such network or dataset.
    """
    path = results / "plan" / "profile" / f"{model}-{dataset}.json"
    if write:
        paper = configuration.load(configuration.CONFIG_FOLDER / "paper.yaml")
        write_text_if_changed(path, networks.made_from(paper, model, dataset))
    return path


def write_pictures_input(write: bool = True, results: Path = RESULTS) -> Path:
    """Write the fingerprint of the code that draws predictions, where it differs.

    No table is made again when it changes, only these pictures.

    Returns:
        the path.
    """
    path = results / "plan" / "pictures.json"
    if write:
        roots = ["stp.render.pictures"]
        described = {"code": code_of(roots).fingerprint}
        write_text_if_changed(path, json.dumps(described, indent=1) + "\n")
    return path


def write_model_size_input(write: bool = True, results: Path = RESULTS) -> Path:
    """Write what the table of model sizes is made from besides measurements, where it differs.

    Returns:
        the path.
    """
    path = results / "plan" / "model_size.json"
    if write:
        described = {
            "code": code_of(["stp.profiling.table"]).fingerprint,
            "published": hashlib.sha256(published.FILE.read_bytes()).hexdigest(),
        }
        write_text_if_changed(path, json.dumps(described, indent=1) + "\n")
    return path
