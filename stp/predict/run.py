"""Predict: run a model on every clip of a split."""

import numpy as np

from stp.core.job import Extras, Job
from stp.data.prepared import Prepared
from stp.data.zarr_write import SequentialWriter
from stp.models.compute import set_up_compute
from stp.options.predict import PredictOptions
from stp.predict.forecasts import Forecasts


def run(job: Job) -> Extras:
    """Run a model on every clip of a split, and store the forecasts.

    They are written to ``predictions.zarr`` in the units of the dataset, unclipped, with the clips
    in ``index.parquet``.

    Args:
        job: job with the input ``data`` (the prepared data). A fitted model is the input ``model``;
            several are ``model-lead-<lead>`` for each lead time, or ``model-member-<member>`` for
            each member. Runtime: ``device``, one of auto, cpu and cuda. Keys of the recipe:

            - ``model``, ``options``: name of the model, and arguments of its class.
            - ``shape``: channels, height and width of the frames of the data.
            - ``context``: number of context frames.
            - ``horizon``: number of frames that the network predicted in its training.
            - ``lead_times``: last lead time of the forecasts, from 1.
            - ``split``: split or subset to predict.
            - ``predict``: the `PredictOptions`.
            - ``interval`` (optional): spacing of the frames of a clip; 1 by default.
            - ``leads`` (optional): list of the lead times that the model forecasts; by default all
              up to ``lead_times``.
            - ``per_lead`` (optional): whether each of these lead times has its own network.
            - ``interpolated`` (optional): whether forecasts between ``leads`` are interpolated
              linearly.
            - ``channels`` (optional): name patterns of the channels that the network gets and
              predicts; by default all.
            - ``update`` (optional): number of the training update whose weights (snapshot) are
              used; by default those that validation selected.

    Returns:
        facts for the receipt: device, precision, samples, lead times, normalisation.

    Raises:
        StpError: a bad recipe, a model that is damaged or belongs to another recipe, data of
            another shape, clips that are too short, or forecasts that are not finite.
    """
    options = PredictOptions.from_recipe(job.recipe["predict"])
    data = Prepared(job.inputs["data"])
    with set_up_compute(
        job.runtime.get("device", "auto"), options.threads, options.precision
    ) as compute:
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
