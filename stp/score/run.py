"""Score stored predictions."""

from stp.core.job import Extras, Job
from stp.data.prepared import Prepared
from stp.options.score import ScoreOptions
from stp.score.predictions import Predictions
from stp.score.scoring import score


def run(job: Job) -> Extras:
    """Write ``scores.parquet``, ``sample_scores.parquet`` and ``cluster_sums.parquet``.

    Distances between sets of clips are computed from the features of `stp.features.run`.

    Args:
        job: the recipe is a `ScoreOptions`; inputs are ``data``, ``predictions``, and
            ``<name>.observed`` and ``<name>.predicted`` for each of its ``features``. The runtime
            may set ``block_samples`` (samples per block), ``score_threads`` (blocks that are
            computed at the same time) and ``checkpoint_every_s``.

    Returns:
        Numbers of samples, members, clusters and lead times, and the overall value of each
        convention (several series by name).

    Raises:
        StpError: a bad recipe, an unknown convention, damaged inputs, or predictions that do not
            belong to the data.
    """
    options = ScoreOptions.from_recipe(job.recipe)
    data = Prepared(job.inputs["data"])
    folder = job.inputs["predictions"]
    predictions = Predictions(folder, data, options.split, options.interval)
    threads = job.runtime.get("score_threads", options.threads)
    return score(job, options, data, predictions, where=str(folder), threads=threads)
