"""Spectral divergence of fields on the globe, over ChaosBench's finest wavenumbers."""

from stp.metrics import finest
from stp.metrics.metric import Metric
from stp.metrics.spectral_divergence import divergence


def field_spectral_divergence(*, starts: int | None = None) -> Metric:
    """Mean over frames of the spectral divergence of each variable, over the finest wavenumbers.

    Bins of wavenumbers are ChaosBench's (equations 2 and S9 to S13); the power of a bin is a mean,
    as in its code.

    Args:
        starts: number of starts on successive days whose fields are averaged before they are
            compared; the result is the mean over such batches, as ChaosBench's listing S1 and code
            compute it for most of its models, with 32. A mean of fields is blurred, so other
            numbers give other values. Where a day has no forecast, its observed field is left out
            of the mean; in the code it is not. None: each frame is compared.
    """
    return finest.of_fields(divergence, starts)
