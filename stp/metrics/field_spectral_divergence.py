"""Spectral divergence of fields on the globe, over ChaosBench's finest wavenumbers."""

from stp.metrics import finest
from stp.metrics.metric import Metric
from stp.metrics.spectral_divergence import divergence


def field_spectral_divergence(*, starts: int | None = None) -> Metric:
    """Mean over frames of the spectral divergence of each variable, over the finest wavenumbers.

    The bins of wavenumbers are ChaosBench's (equations 2 and S9 to S13); the power of a bin is a
    mean, as in its code.

    Args:
        starts: number of starts on successive days whose fields are averaged before the comparison;
            the value is the mean over such batches. ChaosBench's listing S1 and its code do so for
            most models, with 32 starts. Averaging blurs fields, so the value depends on this
            number. The observed field of a day without a forecast is left out of the mean;
            ChaosBench's code includes it. None: each frame is compared.
    """
    return finest.of_fields(divergence, starts)
