"""Predict: run a model on every clip of a split."""

import numpy as np

from stp.core.job import Extras, Job
from stp.data.prepared import Prepared
from stp.data.zarr_write import SequentialWriter
from stp.models.compute import settle
from stp.options.predict import PredictOptions
from stp.predict.forecasts import Forecasts


def run(job: Job) -> Extras:
    """Run a model on every clip of a split, and store the forecasts.

    They are written to ``predictions.zarr``, with ``index.parquet``, in the units of the dataset,
    unclipped.

    Args:
        job: the recipe has ``model``, ``options``, ``shape``, ``context``, ``horizon`` (of the
            training), ``lead_times``, ``split``, ``predict`` (its `PredictOptions`) and optionally
            ``interval`` (spacing of frames), ``leads`` (lead times of the network; by default
            1..``lead_times``), ``per_lead`` (whether each lead time has its own network),
            ``interpolated`` (whether lead times between ``leads`` are interpolated linearly),
            ``channels`` (name patterns of the network's channels; ``shape`` counts all channels)
            and ``update`` (number of the snapshot of the weights). Inputs are ``data`` and, for
            fitted models, ``model``, or ``model-lead-<lead>`` for each lead time. Runtime:
            ``device``.

    Returns:
        facts for the receipt: device, precision, samples, lead times, normalisation.

    Raises:
        StpError: a bad recipe, a model that is damaged or belongs to another recipe, data of
            another shape, clips that are too short, or forecasts that are not finite.
    """
    options = PredictOptions.from_recipe(job.recipe["predict"])
    data = Prepared(job.inputs["data"])
    with settle(job.runtime.get("device", "auto"), options.threads, options.precision) as compute:
        forecasts = Forecasts(job.recipe, data, job.inputs, compute)
        total = len(forecasts)
        stored = forecasts.create(job.out, np.arange(total))
        with SequentialWriter(stored) as writer:
            for rows in forecasts.batches():
                writer.append(forecasts.of(rows).reshape(-1, *stored.shape[1:]))
                job.report("samples predicted", int(rows[-1]) + 1, total)
        forecasts.clips.index.to_parquet(
            job.out / "index.parquet", index=False, write_page_checksum=True
        )
        return forecasts.describe()
