"""Spectral divergence of fields on the globe, over ChaosBench's finest wavenumbers."""

from stp.metrics import finest
from stp.metrics.metric import Metric
from stp.metrics.spectral_divergence import divergence


def field_spectral_divergence(*, starts: int | None = None) -> Metric:
    """Mean over frames of the spectral divergence of each variable, over the finest wavenumbers.

    The bins of wavenumbers are ChaosBench's (equations 2 and S9 to S13); the power of a bin is a
    mean, as in its code.

    Args:
        starts: number of starts on successive days whose fields are averaged before their spectra
            are compared; the value is the mean over such batches. ChaosBench does so with 32 starts
            for most models. Averaging blurs fields, so values with different numbers cannot be
            compared. None: each frame is compared.
    """
    # Observed fields of days without a forecast are left out; ChaosBench's code includes them.
    return finest.of_fields(divergence, starts)
