"""Compute the features of all clips of a split with a network, 16 clips at a time."""

import importlib
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

from stp.core.errors import StpError
from stp.core.job import Job
from stp.core.options import require
from stp.data.ensembles import ensemble_mean
from stp.data.feature_table import Features, write
from stp.data.prepared import Clips
from stp.features.frames import CHOICES
from stp.metrics.perceptual import Embed, Weights, weights_path
from stp.options.features import FeatureOptions

BLOCK = 16
"""Number of clips per block."""


def write_features(
    job: Job, options: FeatureOptions, clips: Clips, predicted: Iterable[np.ndarray] | None
) -> dict[str, Any]:
    """Compute the features of all clips of a split, and write ``features.parquet``.

    If the clips are too short for the network, the file contains this reason in place of features.

    Args:
        job: the job: its output folder, its progress callback, and the paths of weights (setting
            ``weights`` of its runtime).
        options: network, layer and frames.
        clips: clips of the split.
        predicted: forecasts in the order of the clips, in blocks of any size, float32 (clips of the
            block, members, lead times, C, H, W); None for features of the observed frames.

    Returns:
        numbers of clips and of features, and the ``reason`` if there are no features.

    Raises:
        StpError: the network lacks the layer, its weights are missing or changed, or the numbers of
            forecasts and clips differ.
    """
    module = _module(options)
    names = [str(clip) for clip in clips.index["clip"]]
    reason = _why_too_short(options, clips.prepared.context, module.SHORTEST)
    if reason:
        write(job.out, names, Features(np.empty((0, 1)), reason))
        return {"clips": 0, "features": 0, "reason": reason}
    embed, choose = _embed(module, job, options), CHOICES[options.frames]
    parts, done = [], 0
    for context, frames in _blocks_with_context(options, clips, predicted):
        parts.append(embed(choose(context, frames)))
        done += len(frames)
        job.report("clips seen", done, len(clips))
    if done != len(clips):
        raise StpError(
            f"{done} forecasts of {len(clips)} clips of the split {options.split!r}",
            expected="a forecast of each",
            remedy="predict this split of this dataset again",
        )
    values = np.concatenate(parts)
    write(job.out, names, Features(values))
    return {"clips": done, "features": values.shape[1]}


def blocks_of(parts: Iterable[np.ndarray], size: int = BLOCK) -> Iterator[np.ndarray]:
    """Regroup arrays along their first axis into blocks of `size` rows; the last may be smaller.

    A network gets one block at a time. The number of clips in a block may change the last bits of
    features, so it must not depend on whether forecasts were stored, computed or read.
    """
    held: list[np.ndarray] = []
    for part in parts:
        while len(part):
            lacking = size - sum(map(len, held))
            held.append(part[:lacking])
            part = part[lacking:]
            if sum(map(len, held)) == size:
                yield np.concatenate(held)
                held = []
    if held:
        yield np.concatenate(held)


def _blocks_with_context(
    options: FeatureOptions, clips: Clips, predicted: Iterable[np.ndarray] | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the context and the frames after it of each block, float32 (n, T, C, H, W) each."""
    context = clips.prepared.context
    if predicted is None:
        for start in range(0, len(clips), BLOCK):
            rows = np.arange(start, min(start + BLOCK, len(clips)))
            read = clips.read(rows, length=context + options.lead_times)
            yield read[:, :context], read[:, context:]
        return
    start = 0
    for block in blocks_of(predicted):
        frames = ensemble_mean(block) if options.member == "mean" else block[:, 0]
        rows = np.arange(start, min(start + len(frames), len(clips)))
        # Distorted clips have no context: there is nothing to read.
        observed = clips.read(rows, length=context) if context else frames[:, :0]
        yield observed, frames
        start += len(frames)


def _module(options: FeatureOptions) -> ModuleType:
    is_known = options.frames in CHOICES
    require(is_known, "features: frames", options.frames, " or ".join(CHOICES))
    module = importlib.import_module(f"stp.features.networks.{options.module}")
    ok = options.layer in module.LAYERS
    require(ok, f"layer of {options.network}", options.layer, " or ".join(module.LAYERS))
    return module


def _embed(module: ModuleType, job: Job, options: FeatureOptions) -> Embed:
    """The function that computes features, with weights of a file or random ones."""
    if options.seed is None:
        embed: Embed = module.embed(_weights(job, options), options.layer)
    else:
        device = job.runtime.get("device", "auto")
        embed = module.embed_random(options.seed, options.layer, device, options.threads)
    return embed


def _weights(job: Job, options: FeatureOptions) -> Weights:
    path = weights_path(job.runtime.get("weights", {}), options.network, options.weights)
    device = job.runtime.get("device", "auto")
    return Weights(path, options.weights, device, options.threads)


def _why_too_short(options: FeatureOptions, context: int, shortest: int) -> str:
    """The reason why clips are too short for the network; empty if they are long enough."""
    clip = (np.empty((1, n, 1, 1, 1)) for n in (context, options.lead_times))
    length = CHOICES[options.frames](*clip).shape[1]
    return f"clips of {length} frames; the network needs {shortest}" if length < shortest else ""
