"""Spectral divergence of fields on the globe, over ChaosBench's finest wavenumbers."""

from stp.metrics import finest
from stp.metrics.metric import Metric
from stp.metrics.spectral_divergence import divergence


def field_spectral_divergence(*, starts: int | None = None) -> Metric:
    """Spectral divergence of each variable over ChaosBench's finest bins, then the mean over frames
    (ChaosBench, equations 2 and S9 to S13; the mean power of a bin, as its code has).

    Args:
        starts: number of starts on successive days whose mean field is compared; the result is the
            mean over such batches, as ChaosBench's listing S1 and code compute it for most of its
            models, with 32. A mean of fields is blurred, so other numbers give other values. Where
            a day has no forecast, its observed field is not in the mean; in the code it is. Each
            frame is compared unless set.
    """
    return finest.of_fields(divergence, starts)
