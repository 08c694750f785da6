"""The models of a picture in the order of a metric, with its values behind their names."""

from dataclasses import replace

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
        StpError: the dimension has no such convention, or scores are missing or damaged.
    """
    if by not in manifest.conventions:
        raise StpError(
            f"{by} is not scored in {manifest.dimension}",
            expected=f"one of {', '.join(manifest.conventions)}",
            remedy=nearest(by, manifest.conventions),
        )
    sign = -1 if manifest.conventions[by].higher_is_better else 1
    cells = one_seed(case_of(manifest, case))
    found = [(overall(cells[one.label], by)[0], one) for one in shown.forecasts]
    known = [(value, one) for value, one in found if value is not None]
    known.sort(key=lambda pair: sign * pair[0])
    ordered = [replace(one, label=f"{one.label} ({value:.3g})") for value, one in known]
    ordered += [replace(one, label=f"{one.label} (–)") for value, one in found if value is None]
    note = f"Models are ranked by {by}, the best first."
    return replace(shown, forecasts=ordered, notes=[*shown.notes, note])
