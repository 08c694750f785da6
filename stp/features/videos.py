"""What a network sees of single videos, and of the true future beside them (stp.opinions.seen)."""

import time
from pathlib import Path

import numpy as np
import torch

from stp.core.errors import StpError
from stp.core.job import Extras, Job
from stp.core.options import build, require
from stp.metrics import frame_features
from stp.metrics.networks.maps import NETWORKS, Looker, check_size, open_looker
from stp.metrics.networks.state import read_verified
from stp.models.compute import settle
from stp.opinions import seen
from stp.opinions.dependence import (
    correlation_of_distances,
    dissimilarity,
    distance_correlation,
)
from stp.opinions.prepared import Video, open_database
from stp.options.videos import VideoOptions


def run(job: Job) -> Extras:
    """Write ``seen.parquet``.

    Args:
        job: the recipe is a `VideoOptions`; the input is ``data``. Runtime: ``weights`` (network ->
            file), ``device``.

    Returns:
        Numbers of videos and of maps, seconds that a video took, how much features have in common
        (two coefficients for each pair; see `stp.opinions.dependence`), and how unlike the first
        observed and the last predicted frame are (median over videos).

    Raises:
        StpError: a bad recipe, damaged inputs, weights that are gone or have other bytes, or videos
            that are too small for the network.
    """
    options = build(VideoOptions, job.recipe, "recipe of features")
    known = options.network in NETWORKS
    require(known, "features: network", options.network, " or ".join(NETWORKS))
    database = open_database(job.inputs["data"], options.context)
    path = job.runtime.get("weights", {}).get(options.network)
    if path is None:
        raise StpError(
            f"the weights of {options.network} are gone since this was planned",
            expected=f"the file with {options.weights}",
            remedy="put it back (`stp weights`), or run snakemake again without it",
        )
    state, _ = read_verified(Path(path), options.weights)
    sides = database.table["height"].to_pylist() + database.table["width"].to_pylist()
    check_size(options.network, min(sides), "take its measures out of the scale file")
    parts: dict[str, list[np.ndarray]] = {name: [] for name in seen.PARTS}
    device = job.runtime.get("device", "auto")
    began = time.monotonic()
    with settle(device, options.threads, "float32") as compute, torch.inference_mode():
        looker = open_looker(options.network, state, compute.device)
        for number, video in enumerate(database.videos(), start=1):
            for name, values in features_of(video, looker, options.context).items():
                parts[name].append(values.reshape(-1).astype(np.float32))
            job.report("videos seen", number, len(database))
    found = {name: np.stack(rows) for name, rows in parts.items()}
    seen.write(job.out, database.names, found)
    return {
        **_dependence(found, looker.channels),
        "videos": len(database),
        "maps": looker.channels,
        "seconds_per_video": round((time.monotonic() - began) / max(len(database), 1), 4),
    }


def _dependence(parts: dict[str, np.ndarray], maps: int) -> dict[str, object]:
    """What Somraj et al. (2022) say of features in sections 4.2 and 5.2.1.

    Args:
        parts: (V, D) each.
        maps: their number, K.
    """
    pairs = [("ssa", "rfd"), ("mcs", "rfd")]
    if len(parts["rfd"]) < 3 or np.isnan(parts["rfd"]).any():
        return {}
    return {
        "correlation_of_distances": {
            f"{one} {other}": round(correlation_of_distances(parts[one], parts[other]), 4)
            for one, other in pairs
        },
        "distance_correlation": {
            f"{one} {other}": round(distance_correlation(parts[one], parts[other]), 4)
            for one, other in pairs
        },
        "dissimilarity": {
            name: round(float(np.median([_unlike(row, maps) for row in parts[name]])), 4)
            for name in ("ssa", "rfd_written")
        },
    }


def _unlike(row: np.ndarray, maps: int) -> float:
    frames = row.reshape(-1, maps)
    return dissimilarity(frames[0], frames[-1])


def features_of(video: Video, looker: Looker, context: int) -> dict[str, np.ndarray]:
    """What a network sees of one video: the parts of `stp.opinions.seen.PARTS`.

    A network that looks at clips has no maps of single frames: all but ``ssa`` are NaN. So is what
    needs a true future or a classifier that is not there.
    """
    maps = looker.maps
    of_frames = maps(video.predicted)
    nothing = np.array([np.nan])
    if looker.is_of_clips:
        return dict.fromkeys(seen.PARTS, nothing) | {"ssa": frame_features.spatial_means(of_frames)}
    found = frame_features.features_of(
        video.predicted, maps, context, frame_features.PARTS, of_frames
    )
    entropies = looker.entropies and looker.entropies(video.predicted[context:])
    found["entropy"] = nothing if entropies is None else entropies.mean(keepdims=True)
    if video.truth is None:
        return found | dict.fromkeys(("mse", "cosine", "lpips"), nothing)
    both = video.predicted[context:], video.truth[context:]
    compared = looker.compared
    known = of_frames[context:] if compared is maps else compared(both[0])
    x, y = known.astype(np.float64), compared(both[1]).astype(np.float64)
    lengths = np.sqrt((x * x).sum(axis=(1, 2, 3)) * (y * y).sum(axis=(1, 2, 3)))
    pair = (np.moveaxis(frames, -1, 1)[None].astype(np.float32) / 255 for frames in both)
    return found | {
        "mse": np.array([((x - y) ** 2).mean()]),
        "cosine": np.array([((x * y).sum(axis=(1, 2, 3)) / np.maximum(lengths, 1e-15)).mean()]),
        "lpips": nothing if looker.lpips is None else np.array([looker.lpips(*pair)]),
    }
