"""Features of forecasts that are not stored, which are made again for the features and dropped.

A forecast that is too large to be stored is made once for all metrics of single clips
(`stp.score.rollout`), and once more for each network and layer. Thus scores do not wait for the
weights of networks, a further network leaves other results untouched, and features are in the same
place whether predictions are stored or not. Of several forecasts of a clip only those that the
network reads are drawn.
"""

from stp.core.job import Extras, Job
from stp.data.prepared import Prepared
from stp.features.clip_features import write_features
from stp.models.compute import settle
from stp.options.features import FeatureOptions
from stp.options.predict import PredictOptions
from stp.predict.forecasts import Forecasts


def run(job: Job) -> Extras:
    """Write what `stp.features.run` writes: the same values as of stored predictions.

    Args:
        job: the recipe is a `FeatureOptions` with ``rollout``, a recipe of `stp.predict.run`;
            inputs are those of a prediction. Runtime: ``weights``, ``device``.

    Returns:
        What `stp.features.run` returns, device and precision.

    Raises:
        StpError: whatever `stp.predict.run` and `stp.features.run` refuse.
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
