"""Context mean: the mean of the context frames, repeated."""

from torch import Tensor, nn


class Model(nn.Module):
    """Repeats the mean of the context; nothing to learn.

    Args:
        shape: channels, height and width (unused; all models are built alike).
        context: number of context frames.
        horizon: number of frames to predict.
    """

    def __init__(self, shape: tuple[int, int, int], context: int, horizon: int) -> None:
        super().__init__()

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Predict.

        Args:
            frames: context, (B, T_in, C, H, W).
            horizon: number of frames to predict.

        Returns:
            (B, horizon, C, H, W).
        """
        return frames.mean(dim=1, keepdim=True).expand(-1, horizon, -1, -1, -1)
