"""Write a draft (a dataset with guessed settings) as YAML with comments.

A draft is two files: the dataset file, and a scale file, which says what is trained and tested.
"""

import math
from collections.abc import Iterator
from typing import Any

from stp.core.errors import StpError
from stp.inspect.draft import Draft
from stp.inspect.own_files import raw_folders
from stp.inspect.tracks import number_of
from stp.inspect.yaml_lines import flow, mirror_lines, release_lines, scale_lines
from stp.plan import config
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.model import Size
from stp.plan.suite import draft_for
from stp.prepare.output import SPLITS
from stp.score.jackknife import FEWEST_CLUSTERS

NETWORKS: dict[str, dict[str, Any]] = {
    "convlstm": {
        "num_hidden": [32],
        "filter_size": 3,
        "patch_size": 4,
        "scheduled_sampling": {"stop": 300, "rate": 0.00333},
    },
    "simvpv2": {"hid_s": 8, "hid_t": 64, "n_s": 4, "n_t": 3, "mlp_ratio": 2},
}
"""Options of the small networks of a draft."""
MODELS = ["persistence", "climatology", "context_mean", *NETWORKS]


def dataset_text(draft: Draft) -> str:
    """Text of config/datasets/<name>.yaml for a draft, with comments."""
    counts = ", ".join(f"{split} {counts_text(draft, split)}" for split in SPLITS)
    metrics_note = f"; {draft.notes['metrics']}" if "metrics" in draft.notes else ""
    lines = [
        f"# Drafted by `stp new-dataset` from {draft.root}. docs/own_data.md explains every key.",
        f"# With these settings: {counts}.",
        *(f"# {line}" for line in interval_lines(draft)),
        f"title: {flow(draft.name.replace('_', ' ').capitalize())}",
        f"shape: {flow(draft.shape)}{_note(draft, 'shape')}",
        f"context: {draft.context} # frames that a model sees",
        f"horizon: {draft.horizon} # frames that it predicts",
        *([f"units: {flow(draft.units)}"] if draft.units != "1" else []),
        f"metrics: {flow(draft.metrics)} # columns of the table; all are in config/conventions/"
        + metrics_note,
        "reader: own.reader",
        "prepare:",
        f"  kind: {draft.kind}{_note(draft, 'kind')}",
        *(f"  {key}: {flow(value)}{_note(draft, key)}" for key, value in draft.options.items()),
        f"counts: {flow({**draft.clips, 'frames': draft.frames})} # for estimates of `stp plan`",
        *release_lines(draft.files),
    ]
    return "\n".join(lines) + "\n"


def counts_text(draft: Draft, split: str) -> str:
    """Text of the numbers of clips and clusters (sets of dependent clips) of a split."""
    clips, clusters = draft.clips[split], draft.clusters[split]
    return f"{number_of(clips, 'clip')} in {number_of(clusters, 'cluster')}"


def interval_lines(draft: Draft) -> Iterator[str]:
    """Lines about how to get a confidence interval; empty if there are enough clusters.

    A cluster is a set of statistically dependent samples, such as those of one video.
    """
    if draft.clusters["test"] < FEWEST_CLUSTERS:
        yield (
            f"No confidence interval: the test has {number_of(draft.clusters['test'], 'cluster')}, "
            f"and {FEWEST_CLUSTERS} are needed."
        )
        if draft.more_clusters:
            yield f"To get them, change: {draft.more_clusters}"
        else:
            needed = math.ceil(draft.frames * FEWEST_CLUSTERS / draft.clusters["test"])
            yield f"About {needed} frames would have them; the files have {draft.frames}."


def _note(draft: Draft, key: str) -> str:
    return f" # {draft.notes[key]}" if key in draft.notes else ""


def scale_text(draft: Draft) -> str:
    """Text of a scale file that trains a few small models on the drafted dataset."""
    mirror = None if draft.root in raw_folders() else draft.root
    dimension = draft_for("frames")[1]
    lines = [
        *scale_lines(draft.name, "small models", dimension),
        "seeds: [0]",
        *mirror_lines(mirror),
        "dimensions:",
        f"  {dimension}: {{datasets: [{draft.name}], models: {flow(MODELS)}}}",
        "models:",
        "  convlstm:",
        f"    options: {flow(NETWORKS['convlstm'])}",
        "    train: {batch_size: 4}",
        *_size(draft, "convlstm"),
        "  simvpv2:",
        f"    options: {flow(NETWORKS['simvpv2'])}",
        *_size(draft, "simvpv2"),
        "# These settings win over the `train:` in config/models/<name>.yaml; `train:` of a model"
        " above wins over both.",
        "train: {batch_size: 8, epochs: 10, lr: 0.003, schedule: onecycle, precision: float32,"
        " threads: 1}",
        "predict: {batch_size: 16, threads: 1}",
        "runtime: {device: auto, checkpoint_every_s: 60}",
    ]
    return "\n".join(lines) + "\n"


def _size(draft: Draft, model: str) -> Iterator[str]:
    """Lines with the size of a network for the dataset, for `stp plan`; empty if the network does
    not fit the frames.
    """
    from stp.profiling.size import size
    from stp.run.costs.work import forecast_gmacs

    recipe = {
        "model": model,
        "options": NETWORKS[model],
        "shape": draft.shape,
        "context": draft.context,
        "horizon": draft.horizon,
    }
    try:
        counted = size(recipe)
    except StpError:  # the network does not support the frame size; its training reports this
        return
    steps = config.load(CONFIG_FOLDER / "demo.yaml").models[model].size.steps
    # Sizes in the configuration are those on Moving-MNIST: convert from this dataset.
    ratio = forecast_gmacs(Size(gmacs=1.0, steps=steps), recipe, draft.horizon)
    gmacs = float(f"{counted.forecast / 1e9 / ratio:.4g}")
    yield (
        f"    size: {flow({'parameters': counted.parameters, 'gmacs': gmacs})}"
        f" # {counted.forecast / 1e9:.3g} G multiply-adds of a forecast here"
    )
