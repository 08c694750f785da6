"""Core of stage `train` (the function that does its work) for models of frames.

It fits the model of a recipe to prepared data.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import Tensor

from stp.core.errors import ConfigurationError, StpError
from stp.core.job import Extras, Job
from stp.core.options import require, whole
from stp.data.prepared import Prepared
from stp.models import weights
from stp.models.compute import set_up_compute
from stp.models.create import create
from stp.models.normalisation import Normalisation
from stp.options.train import TrainOptions
from stp.train.batches import read_batches
from stp.train.distributed import join
from stp.train.gradient_descent import GradientDescent
from stp.train.order import spread

HISTORY = {
    "epoch": "int64",
    "step": "int64",
    "lr": "float64",
    "train_loss": "float64",
    "val_mse": "float64",
    "seconds": "float64",
    "resumed": "bool",
}
"""Columns of ``history.parquet``, a row per epoch: number from 1, completed steps, learning rate of
the last step, mean loss, criterion of selection, duration, and whether the epoch was
interrupted."""

BLOCK_BYTES = 1 << 26
"""Size of the blocks of clips that are read for a fit in closed form."""


class Training(NamedTuple):
    """Recipe and data of a training run, after a check that they have the same shape.

    Attributes:
        job: recipe, input folders and output folder; ``shape`` in the recipe counts the network's
            channels only.
        options: options of the training.
        data: prepared data, with the network's channels only.
        normalisation: normalisation of the training split.
    """

    job: Job
    options: TrainOptions
    data: Prepared
    normalisation: Normalisation


def run(job: Job) -> Extras:
    """Fit a model of frames, and write it and the history of its training.

    The output folder gets ``model.pt``, with weights and normalisation (see stp.models.weights),
    and ``history.parquet``, with a row for each epoch. With ``train.snapshots``, the files
    ``snapshots/update-<n>.pt`` contain the weights (with ``train.ema``, the averaged weights) after
    n updates, regardless of validation.

    Args:
        job: settings (recipe), input folders, output folder, and settings without influence on the
            result (runtime). The recipe has ``model``, ``options``, ``shape``, ``context``,
            ``horizon``, ``fit`` ("sgd" or "closed_form"), ``seed``, ``train`` (see `TrainOptions`),
            and optionally ``train_subset``, ``lead`` (the only lead time of the network, whose
            ``horizon`` is then 1) and ``channels`` (name patterns of the network's channels;
            ``shape`` is that of all). The input is ``data``, prepared frames and clips.
            Runtime: ``device`` (auto, cpu, cuda), ``checkpoint_every_s`` (60), ``micro_batch``
            (clips computed at once, by default the whole batch: less memory, the same gradient but
            for rounding and random numbers), ``recompute`` (false; compute activations again in the
            backward pass: less memory, the same gradient), ``ranks`` (address of the processes that
            train the model together, see stp.train.distributed).

    Returns:
        facts for the receipt: device, precision, number of parameters, selected epoch, clips,
        interruptions.

    Raises:
        StpError: the recipe is wrong, the data are damaged or have another shape, or the training
            diverges.
        Interrupted: the job was asked to stop, and has saved its state.
    """
    return fit(load_training(job))


def load_training(job: Job) -> Training:
    """Read and check the recipe (all settings) and the data of a training run.

    Raises:
        StpError: the recipe is wrong, or the data are damaged or have another shape.
    """
    recipe = job.recipe
    options = TrainOptions.from_recipe(recipe["train"])
    data = Prepared(job.inputs["data"])
    horizon = data.horizon if options.horizon is None else min(options.horizon, data.horizon)
    for key, value in (
        ("shape", list(data.shape)),
        ("context", data.context),
        ("horizon", horizon),
    ):
        if recipe[key] != value and not (key == "horizon" and "lead" in recipe):
            raise StpError(
                f"{data.folder}: {key} of the data is {value}",
                expected=f"{recipe[key]}, as the training recipe says",
                remedy="prepare the data again, or let the plan write the recipe",
            )
    if "channels" in recipe:
        data = data.select_channels(recipe["channels"])
        recipe = {**recipe, "shape": list(data.shape)}
        job = replace(job, recipe=recipe)
    return Training(job, options, data, Normalisation.of(data.attrs))


def fit(training: Training, initial: Mapping[str, Tensor] | None = None) -> Extras:
    """Train a model, and write ``model.pt``, ``history.parquet`` and snapshots (see `run`).

    Args:
        training: checked recipe and data of the training.
        initial: initial weights; by default random weights.
    """
    job, options, data, normalisation = training
    recipe = job.recipe
    device = job.runtime.get("device", "auto")
    with (
        join(job.runtime.get("ranks"), device) as ranks,
        set_up_compute(device, options.threads, options.precision) as compute,
    ):
        if recipe["fit"] == "sgd":
            require(whole(recipe["seed"], 0), "seed", recipe["seed"], "a whole number from 0")
            descent = GradientDescent(job, options, data, normalisation, compute, ranks, initial)
            descent.train()
            fitted, extras = descent.best_weights, descent.describe()
            history = descent.progress.history
        elif recipe["fit"] == "closed_form":
            fitted, extras = _fit_closed_form(job, options, data, normalisation)
            history = []
        else:
            raise ConfigurationError(
                f"training recipe: fit is {recipe['fit']!r}", expected="sgd or closed_form"
            )
        extras |= compute.describe()
    if ranks.rank:
        return extras
    weights.save(job.out / weights.MODEL, fitted, recipe, normalisation)
    for update in options.snapshots:
        path = job.out / weights.snapshot_name(update)
        path.parent.mkdir(exist_ok=True)
        weights.save(path, descent.snapshots.read(update), recipe, normalisation)
    write_history(job, history)
    return extras


def write_history(job: Job, history: list[dict[str, Any]]) -> None:
    """Write ``history.parquet`` to the output folder of a job, with a row for each epoch.

    Args:
        job: the job.
        history: rows with the columns `HISTORY`, such as ``epoch`` and ``train_loss``.
    """
    table = pd.DataFrame(history, columns=list(HISTORY)).astype(HISTORY)
    table.to_parquet(job.out / "history.parquet", index=False, write_page_checksum=True)


def _fit_closed_form(
    job: Job, options: TrainOptions, data: Prepared, normalisation: Normalisation
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Fit a model in one pass over the training clips, on the CPU."""
    clips = data.clips("train", job.recipe.get("train_subset", "all"))
    rows = spread(len(clips), options.max_clips)
    length = data.context + data.horizon
    clip_bytes = 4 * length * data.shape[0] * data.shape[1] * data.shape[2]

    def batches() -> Iterator[tuple[Tensor, Tensor]]:
        size = max(1, BLOCK_BYTES // clip_bytes)
        done = 0
        for part, frames in read_batches(
            clips, rows, size, length=length, normalisation=normalisation
        ):
            yield frames, torch.from_numpy(clips.phases(part))
            done += len(part)
            job.report("clips read", done, len(rows))

    model = create(job.recipe)
    model.fit(batches(), data.attrs.get("phases", 1))
    return model.state_dict(), {"clips": {"train": len(rows)}}
