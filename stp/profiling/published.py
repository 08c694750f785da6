"""Read the printed values of Table 19 of PredBench, without torch."""

from dataclasses import dataclass
from pathlib import Path

from stp.collect.published import read_published
from stp.core.errors import FileError
from stp.plan.config import Config

TABLE = "T19_complexity"
COLUMNS = ("params", "FLOPs", "FPS")
CLIPS_PER_S = (
    "What the paper calls FPS is read as clips per second, each of 10 frames, and for MCVD as "
    "evaluations of the network for one clip, because the released code computes it so, in "
    "batches of 50 clips (tools/complexity_analysis.py). The paper does not say so, and does not "
    "name the GPU."
)


@dataclass(frozen=True)
class PublishedComplexity:
    """Printed size and speed of one model in Table 19 of PredBench.

    Attributes:
        parameters: number of parameters in 10^6.
        gmacs: multiply-adds in 10^9; printed as FLOPs, and for some models with M instead of G.
        clips_per_s: evaluations of the network for one clip each, per second; printed as FPS.
    """

    parameters: float
    gmacs: float
    clips_per_s: float


def published_complexity(
    config: Config, file: Path | None = None
) -> dict[str, PublishedComplexity]:
    """Read the printed values of Table 19 of PredBench.

    Args:
        config: configuration, with the suite's file of published values and the titles of models.
        file: file of published values in place of the suite's.

    Returns:
        printed size and speed by name of the model, in the order of the paper; empty for a suite
        without published values.

    Raises:
        StpError: a value is missing, or the table contains an unknown model.
    """
    file = file or config.suite.published_file
    if file is None:
        return {}
    values: dict[str, dict[str, float]] = {}
    for value in read_published(file):
        if value.table == TABLE:
            values.setdefault(value.model, {})[value.metric] = value.value
    names = {
        model.published_name or model.title: name
        for name, model in config.models.items()
        if model.fit != "external"  # may have the name of a model of the paper
    }
    complexity = {}
    for title, row_of in values.items():
        if title not in names or set(row_of) != set(COLUMNS):
            raise FileError(
                file,
                f"{TABLE} has {title!r} with {', '.join(row_of)}",
                expected=f"a model of config/models, with {', '.join(COLUMNS)}",
            )
        complexity[names[title]] = PublishedComplexity(*(row_of[column] for column in COLUMNS))
    return complexity
