"""Latitude-weighted root mean square error (ChaosBench, equation S1)."""

from torch import Tensor

from stp.core.errors import StpError
from stp.core.options import require
from stp.data.prepared import Prepared
from stp.train.latitudes import latitude_weights

LEAST = 1e-12
"""Lower bound of mean squares: a root has no gradient at 0."""


def loss(predicted: Tensor, observed: Tensor, data: Prepared, *, root: bool = True) -> Tensor:
    """Latitude-weighted errors of normalised fields (B, T, C, H, W), averaged to a scalar.

    Args:
        predicted: predicted fields.
        observed: observed fields with the same shape.
        data: prepared data with latitudes.
        root: whether to take the square root of each field's mean squared error.

    Raises:
        StpError: ``root`` is not a bool, or the data have no latitudes.
    """
    require(isinstance(root, bool), "train.loss: wrmse: root", root, "true or false")
    weights = latitude_weights(data, predicted)
    if weights is None:
        raise StpError(
            f"train.loss is wrmse, but {data.folder} has no latitudes",
            expected="data on a grid with a coordinate lat",
            remedy="choose another loss, such as mse",
        )
    squares = (weights * (predicted - observed).square()).mean(dim=(-2, -1))
    return (squares.clamp_min(LEAST).sqrt() if root else squares).mean()
