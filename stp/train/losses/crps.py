"""Continuous ranked probability score of several forecasts of each clip."""

from torch import Tensor

from stp.core.options import require, whole
from stp.data.prepared import Prepared
from stp.train.latitudes import latitude_weights


def loss(
    predicted: Tensor, observed: Tensor, data: Prepared, *, members: int = 2, fair: bool = True
) -> Tensor:
    """Mean CRPS of normalised frames over clips, lead times, channels and pixels, a scalar.

    The score is the mean distance between members and truth, minus half the mean distance between
    two members. The fair score averages the latter over pairs of different members, so that its
    expectation does not depend on the number of members (Ferro 2014,
    https://doi.org/10.1002/qj.2270).

    Args:
        predicted: frames (B, M, T, C, H, W) of M members.
        observed: frames (B, T, C, H, W).
        data: prepared data; if they have latitudes, scores are weighted by latitude.
        members: number M of forecasts of each clip.
        fair: whether to compute the fair score.

    Raises:
        StpError: an option is out of range.
    """
    require(whole(members, 2), "train.loss: crps: members", members, "a whole number from 2")
    require(isinstance(fair, bool), "train.loss: crps: fair", fair, "true or false")
    errors = (predicted - observed[:, None]).abs().mean(dim=1)
    # In sorted order, the sum of distances of all pairs is a weighted sum of members.
    ordered = predicted.sort(dim=1).values
    sides = [2 * m - members + 1 for m in range(members)]
    distances = sum(side * ordered[:, m] for m, side in enumerate(sides))
    scores = errors - distances / (members * (members - 1 if fair else members))
    weights = latitude_weights(data, predicted)
    return (scores if weights is None else weights * scores).mean()
