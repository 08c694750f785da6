"""Score stored predictions."""

from stp.core.job import Extras, Job
from stp.data.prepared import Prepared
from stp.options.score import ScoreOptions
from stp.score.predictions import Predictions
from stp.score.scoring import score


def run(job: Job) -> Extras:
    """Score stored predictions.

    Values are written to ``scores.parquet``, values of single samples to ``sample_scores.parquet``,
    and sums over clusters (dependent samples, such as those of one video) to
    ``cluster_sums.parquet``.
    Distances between sets of clips are computed from the features of `stp.features.run`.

    Args:
        job: the recipe is a `ScoreOptions`; inputs are ``data``, ``predictions``, and
            ``<name>.observed`` and ``<name>.predicted`` for each name in ``features`` of the
            recipe. The runtime may set ``block_samples`` (samples per block), ``score_threads``
            (number of blocks that are computed at the same time) and ``checkpoint_every_s``.

    Returns:
        numbers of samples, members, clusters and lead times, and the overall value of each
        convention (for several series, a value for each name).

    Raises:
        StpError: the recipe is wrong, a convention is unknown, an input is damaged, or the
            predictions do not belong to the data.
    """
    options = ScoreOptions.from_recipe(job.recipe)
    data = Prepared(job.inputs["data"])
    folder = job.inputs["predictions"]
    predictions = Predictions(folder, data, options.split, options.interval)
    threads = job.runtime.get("score_threads", options.threads)
    return score(job, options, data, predictions, where=str(folder), threads=threads)
