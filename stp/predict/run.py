"""Predict: run a model on every clip of a split."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
import zarr
from torch import nn

from stp.data.prepared import Clips, Prepared
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.errors import StpError
from stp.job import Job
from stp.models import weights
from stp.models.compute import Compute, settle
from stp.models.create import create
from stp.models.normalisation import Normalisation
from stp.predict.options import PredictOptions


def run(job: Job) -> dict[str, Any]:
    """Write ``predictions.zarr`` and ``index.parquet``.

    Forecasts are made in one go for all lead times (a model decides itself how to go on after the
    horizon it was trained for), from frames normalised with the constants of the training data,
    and written in the units of the dataset, unclipped.

    Args:
        job: the recipe has ``model``, ``options``, ``shape``, ``context``, ``horizon`` (that of
            training), ``lead_times``, ``split``, ``predict`` (see `PredictOptions`) and perhaps
            ``interval`` (every which frame counts); inputs are ``data`` and, unless there is
            nothing to fit, ``model``. Runtime: ``device``.

    Returns:
        Device, precision, samples, lead times, origin of the normalisation.

    Raises:
        StpError: a bad recipe, a model that is damaged or belongs to another recipe, data of
            another shape, clips that are too short, or forecasts that are not finite.
    """
    recipe = job.recipe
    options = PredictOptions.from_recipe(recipe["predict"])
    data = Prepared(job.inputs["data"])
    clips = data.clips(recipe["split"], interval=recipe.get("interval", 1))
    _check(recipe, data, clips)
    with settle(job.runtime.get("device", "auto"), options.threads, options.precision) as compute:
        model, normalisation = _model(job, data)
        model.to(compute.device).eval()
        with SequentialWriter(_array(job.out, recipe, data, len(clips))) as writer:
            for start in range(0, len(clips), options.batch_size):
                rows = np.arange(start, min(start + options.batch_size, len(clips)))
                forecast = _forecast(model, normalisation, compute, recipe, clips, rows)
                if not np.isfinite(forecast).all():
                    name = clips.index["clip"].iloc[rows[0]]
                    raise StpError(
                        f"{recipe['model']} on {data.attrs.get('dataset')}: forecasts of the "
                        f"{len(rows)} samples from {name!r} on are not all finite",
                        expected="finite numbers",
                        remedy="train the model again, with a lower learning rate",
                    )
                writer.append(forecast)
                job.report("samples predicted", int(rows[-1]) + 1, len(clips))
        clips.index.to_parquet(job.out / "index.parquet", index=False)
        return {
            **compute.describe(),
            "samples": len(clips),
            "lead_times": recipe["lead_times"],
            "normalisation": {"offset": normalisation.offset, "scale": normalisation.scale},
        }


@torch.inference_mode()
def _forecast(
    model: nn.Module,
    normalisation: Normalisation,
    compute: Compute,
    recipe: dict[str, Any],
    clips: Clips,
    rows: np.ndarray,
) -> np.ndarray:
    """Forecasts of some clips, float32 (B, lead_times, C, H, W) in the dataset's units."""
    frames = torch.from_numpy(clips.read(rows, length=recipe["context"])).to(compute.device)
    extra: dict[str, Any] = {}
    if getattr(model, "needs_phase", False):
        extra["phase"] = torch.from_numpy(clips.phases(rows)).to(compute.device)
        extra["interval"] = recipe.get("interval", 1)
    with compute.autocast():
        forecast = model(normalisation.apply(frames), recipe["lead_times"], **extra)
    return normalisation.undo(forecast.float()).cpu().numpy()


def _model(job: Job, data: Prepared) -> tuple[nn.Module, Normalisation]:
    """The model with its weights, and the normalisation of its training data."""
    model = create(job.recipe)
    if "model" in job.inputs:
        path = Path(job.inputs["model"]) / "model.pt"
        state, normalisation = weights.load(path, job.recipe)
        model.load_state_dict(state)
        return model, normalisation
    if model.state_dict():
        raise StpError(
            f"{job.recipe['model']} has to be fitted, but no trained model was given",
            expected="an input named model",
            remedy="correct fit in the configuration of the model",
        )
    return model, Normalisation.of(data.attrs)


def _check(recipe: dict[str, Any], data: Prepared, clips: Clips) -> None:
    if recipe["shape"] != list(data.shape):
        raise StpError(
            f"{data.folder}: frames have shape {list(data.shape)}",
            expected=f"{recipe['shape']}, that of the training data",
            remedy="test on data with the same channels, height and width",
        )
    if recipe["context"] != data.context:
        raise StpError(
            f"{data.folder}: clips have {data.context} context frames",
            expected=f"{recipe['context']}, those of the training data",
            remedy="prepare the data with the same context",
        )
    if clips.virtual or not len(clips):
        raise StpError(
            f"{data.folder}: the {recipe['split']} split has no stored clips",
            expected="clips that can be compared with forecasts",
            remedy="predict another split",
        )
    shortest = int(clips.index["length"].min())
    if shortest < recipe["context"] + recipe["lead_times"]:
        raise StpError(
            f"{data.folder}: the shortest {recipe['split']} clip has {shortest} frames",
            expected=f"{recipe['context']} context frames and {recipe['lead_times']} lead times",
            remedy="prepare longer windows (option span), or ask for fewer lead times",
        )


def _array(out: Path, recipe: dict[str, Any], data: Prepared, samples: int) -> zarr.Array[Any]:
    """Create ``predictions.zarr`` with its coordinates; returns the empty array of forecasts."""
    kept = ("dataset", "source", "release", "units", "variables")
    group = create_group(
        out / "predictions.zarr",
        {
            **{key: data.attrs[key] for key in kept if key in data.attrs},
            "model": recipe["model"],
            "split": recipe["split"],
            "interval": recipe.get("interval", 1),
            "context": recipe["context"],
        },
    )
    leads = recipe["lead_times"]
    for name, values in (("sample", np.arange(samples)), ("lead", np.arange(1, leads + 1))):
        array = create_array(group, name, values.shape, np.int64, (name,), values.shape)
        array[:] = values
    forecasts = create_array(
        group,
        "predictions",
        (samples, leads, *data.shape),
        np.float32,
        ("sample", "lead", "channel", "y", "x"),
        (1, leads, *data.shape),
    )
    forecasts.attrs["units"] = data.attrs.get("units", "")
    return forecasts
