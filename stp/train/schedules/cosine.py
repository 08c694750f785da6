"""Half a cosine from the highest learning rate down to a share of it (CosineAnnealingLR)."""

import math

from stp.core.options import number, require


def learning_rate(step: int, steps: int, lr: float, *, last: float = 0.0) -> float:
    """Return ``lr * (last + (1 - last) * (1 + cos(pi * step / steps)) / 2)``.

    Args:
        step: index of the step, 0..steps-1.
        steps: number of steps of the training.
        lr: the highest learning rate, at step 0.
        last: final learning rate as a share of ``lr``, 0..1.

    Raises:
        StpError: ``last`` is out of range.
    """
    ok = number(last) and 0 <= last <= 1
    require(ok, "train.schedule: cosine: last", last, "a number from 0 to 1")
    return lr * (last + (1 - last) * (1 + math.cos(math.pi * step / steps)) / 2)
