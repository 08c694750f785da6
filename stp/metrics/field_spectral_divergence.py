"""Spectral divergence of fields on the globe, over ChaosBench's finest wavenumbers."""

from stp.metrics import finest
from stp.metrics.metric import Metric
from stp.metrics.spectral_divergence import divergence


def field_spectral_divergence(*, starts: int | None = None) -> Metric:
    """Of each variable over ChaosBench's finest bins, then the mean over frames (ChaosBench,
    equations 2 and S9 to S13; the mean power of a bin, as its code has).

    Args:
        starts: of the mean field of starts on so many successive days, then the mean over such
            batches: what ChaosBench's listing S1 and code compute for most of its models, with 32.
            A mean of fields is blurred, so other numbers give other values. Where a day has no
            forecast, its observed field is not in the mean; in the code it is. Of each frame unless
            set.
    """
    return finest.of_fields(divergence, starts)
