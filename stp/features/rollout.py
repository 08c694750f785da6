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
from stp.models.compute import set_up_compute
from stp.options.features import FeatureOptions
from stp.options.predict import PredictOptions
from stp.predict.forecasts import Forecasts


def run(job: Job) -> Extras:
    """Compute forecasts and their features, and write the features to ``features.parquet``.

    The values are the same as those that `stp.features.run` computes from stored predictions.

    Args:
        job: settings (recipe), inputs and output folder. The recipe has the fields of
            `FeatureOptions`, and ``rollout``: the settings of the forecasts, as for
            `stp.predict.run`. Inputs are ``data`` and, for fitted models, ``model``. Runtime:
            ``weights`` (paths of weights by network), ``device``.

    Returns:
        numbers of clips and of features, device and precision of the forecasts.

    Raises:
        StpError: as in `stp.predict.run` and `stp.features.run`.
    """
    recipe = dict(job.recipe)
    rollout = recipe.pop("rollout")
    options = FeatureOptions.from_recipe(recipe)
    predict = PredictOptions.from_recipe(rollout["predict"])
    data = Prepared(job.inputs["data"])
    device = job.runtime.get("device", "auto")
    with set_up_compute(device, predict.threads, predict.precision) as compute:
        forecasts = Forecasts(rollout, data, job.inputs, compute)
        predicted = (forecasts.of(rows) for rows in forecasts.batches())
        return {**forecasts.describe(), **write_features(job, options, forecasts.clips, predicted)}
