"""Fair continuous ranked probability score of an ensemble that a model draws within a batch.

    mean |x_i - y| - sum over i, j of |x_i - x_j| / (2 M (M - 1))

(Ferro 2014, https://doi.org/10.1002/qj.2270; `stp.metrics.crps`). One forecast has the mean
absolute error. Members follow each other along the batch: of forecasts (B M, T, C, H, W) the first
M are of the first observation.
"""

from torch import Tensor

from stp.core.errors import StpError


def loss(predicted: Tensor, observed: Tensor) -> Tensor:
    """Average over normalised frames.

    Args:
        predicted: (B M, T, C, H, W).
        observed: (B, T, C, H, W).

    Raises:
        StpError: the batch of the forecasts is no multiple of that of the observations.
    """
    if len(predicted) % len(observed):
        raise StpError(
            f"train.loss: fair_crps: {len(predicted)} forecasts of {len(observed)} clips",
            expected="the same number of forecasts of each clip",
            remedy="have the model draw as many forecasts of each clip",
        )
    members = predicted.reshape(len(observed), -1, *observed.shape[1:])
    count = members.shape[1]
    error = (members - observed[:, None]).abs().mean()
    if count == 1:
        return error
    # Of sorted members the sum of |x_i - x_j| is 2 sum of (2 i - M - 1) x_i.
    ordered = members.sort(dim=1).values
    ranks = 2.0 * ordered.new_tensor(range(1, count + 1)) - count - 1
    spread = (ordered * ranks.view(1, -1, 1, 1, 1, 1)).sum(dim=1) / (count * (count - 1))
    return error - spread.mean()
