"""The models of a picture in the order of a metric, with its values behind their names."""

from dataclasses import replace

from stp.collect.direction import NO_DIRECTION, Direction
from stp.collect.overall import overall
from stp.core.errors import StpError, nearest
from stp.plan.manifest import Manifest
from stp.render.pictures.cases import case_of
from stp.render.pictures.forecasts import SampleForecasts, one_seed


def ranked(shown: SampleForecasts, manifest: Manifest, case: str, by: str) -> SampleForecasts:
    """Order the models of a sample, the best first; those without a value come last.

    Args:
        shown: the sample.
        manifest: that it is of.
        case: likewise.
        by: convention; a value is that of all test samples.

    Raises:
        StpError: the dimension has no such convention, none of its values is better than another,
            or scores are missing or damaged.
    """
    if by not in manifest.conventions:
        raise StpError(
            f"{by} is not scored in {manifest.dimension}",
            expected=f"one of {', '.join(manifest.conventions)}",
            remedy=nearest(by, manifest.conventions),
        )
    direction = Direction.of(manifest, by)
    if not direction.known:
        directed = [name for name in manifest.conventions if Direction.of(manifest, name).known]
        raise StpError(
            f"nothing can be ranked by {by}: {NO_DIRECTION}",
            expected=f"one of {', '.join(directed)}",
            remedy="choose another convention",
        )
    cells = one_seed(case_of(manifest, case))
    found = [(overall(cells[one.label], by)[0], one) for one in shown.forecasts]
    known = [(value, one) for value, one in found if value is not None]
    known.sort(key=lambda pair: direction.loss(pair[0]))
    ordered = [replace(one, label=f"{one.label} ({value:.3g})") for value, one in known]
    ordered += [replace(one, label=f"{one.label} (–)") for value, one in found if value is None]
    note = f"Models are ranked by {by}, the best first."
    return replace(shown, forecasts=ordered, notes=[*shown.notes, note])
