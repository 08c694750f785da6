"""Order the models of a picture by a metric, and add its values to their labels."""

from dataclasses import replace

from stp.collect.direction import NO_DIRECTION, Direction
from stp.collect.overall import overall
from stp.core.errors import StpError, suggest_name
from stp.plan.manifest import Manifest
from stp.render.pictures.cases import find_case
from stp.render.pictures.forecasts import SampleForecasts, one_seed


def rank_forecasts(
    sample: SampleForecasts, manifest: Manifest, case: str, by: str
) -> SampleForecasts:
    """Order the forecasts of a sample by a metric, best model first, models without a value last.

    Args:
        sample: sample with its forecasts.
        manifest: list of the models and tests of a dimension (one table of the benchmark).
        case: name of the test to which the sample belongs.
        by: name of the convention (exact definition of a metric, such as ``mse.pixel_mean``); its
            values over all test samples determine the order.

    Raises:
        StpError: the dimension does not have the convention, the convention has no direction, or
            scores are missing or damaged.
    """
    if by not in manifest.conventions:
        raise StpError(
            f"{by} is not scored in {manifest.dimension}",
            remedy=suggest_name(by, manifest.conventions),
        )
    direction = Direction.of(manifest, by)
    if not direction.is_known:
        directed = [name for name in manifest.conventions if Direction.of(manifest, name).is_known]
        raise StpError(
            f"nothing can be ranked by {by}: {NO_DIRECTION}",
            expected=f"one of {', '.join(directed)}",
        )
    cells = one_seed(find_case(manifest, case))
    values = [(overall(cells[forecast.label], by)[0], forecast) for forecast in sample.forecasts]
    valued = [(value, forecast) for value, forecast in values if value is not None]
    valued.sort(key=lambda pair: direction.loss(pair[0]))
    ordered = [
        replace(forecast, label=f"{forecast.label} ({value:.3g})") for value, forecast in valued
    ]
    ordered += [
        replace(forecast, label=f"{forecast.label} (–)")
        for value, forecast in values
        if value is None
    ]
    note = f"Models are ranked by {by}, the best first."
    return replace(sample, forecasts=ordered, notes=[*sample.notes, note])
