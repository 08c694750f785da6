"""Compute features of forecasts that are not stored: forecasts are computed again and discarded.

A forecast that is too large to be stored is computed once for all metrics of single clips
(`stp.score.rollout`), and once more for each network and layer. Thus scores do not wait for the
weights of networks, a further network does not change other results, and features have the same
artefact whether or not predictions are stored. Of several forecasts of a clip, only those that the
network needs are drawn.
"""

from stp.core.job import Extras, Job
from stp.data.prepared import Prepared
from stp.features.clip_features import write_features
from stp.models.compute import settle
from stp.options.features import FeatureOptions
from stp.options.predict import PredictOptions
from stp.predict.forecasts import Forecasts


def run(job: Job) -> Extras:
    """Forecast with a model, and compute network features of the forecasts without storing these.

    Features are written to ``features.parquet``. They equal those of `stp.features.run` for stored
    predictions.

    Args:
        job: the recipe is a `FeatureOptions` with ``rollout``, a recipe of `stp.predict.run`; the
            inputs are the same as for a prediction. Runtime: ``weights``, ``device``.

    Returns:
        facts for the receipt, as returned by `stp.features.run`, with device and precision.

    Raises:
        StpError: as in `stp.predict.run` and `stp.features.run`.
    """
    recipe = dict(job.recipe)
    rollout = recipe.pop("rollout")
    options = FeatureOptions.from_recipe(recipe)
    predict = PredictOptions.from_recipe(rollout["predict"])
    data = Prepared(job.inputs["data"])
    device = job.runtime.get("device", "auto")
    with settle(device, predict.threads, predict.precision) as compute:
        forecasts = Forecasts(rollout, data, job.inputs, compute)
        predicted = (forecasts.of(rows) for rows in forecasts.batches())
        return {**forecasts.describe(), **write_features(job, options, forecasts.clips, predicted)}
