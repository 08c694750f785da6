"""Half a cosine from the highest learning rate down to zero (CosineAnnealingLR)."""

import math


def learning_rate(step: int, steps: int, lr: float) -> float:
    """Give ``lr * (1 + cos(pi * step / steps)) / 2``.

    Args:
        step: 0..steps-1.
        steps: steps of the whole training.
        lr: the highest rate, that of step 0.
    """
    return lr * (1 + math.cos(math.pi * step / steps)) / 2
