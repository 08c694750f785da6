"""One cycle (Smith and Topin 2017, https://arxiv.org/abs/1708.07120), as torch's OneCycleLR.

Momentum is not cycled.
"""

import math

from stp.core.options import number, require


def learning_rate(
    step: int,
    steps: int,
    lr: float,
    *,
    pct_start: float = 0.3,
    div_factor: float = 25.0,
    final_div_factor: float = 1e4,
) -> float:
    """Give half a cosine up to ``lr``, and half a cosine down.

    From ``first = lr / div_factor`` up to ``lr`` at step ``pct_start * steps - 1``, and down to
    ``first / final_div_factor`` at the last step.

    Args:
        step: 0..steps-1.
        steps: number of steps of the training.
        lr: the highest learning rate.
        pct_start: share of the steps in which the rate rises.
        div_factor: the first rate is lr / div_factor.
        final_div_factor: the last rate is the first one / final_div_factor.

    Raises:
        StpError: an option is out of range.
    """
    where = "train.schedule: onecycle: "
    require(
        number(pct_start) and 0 <= pct_start < 1,
        f"{where}pct_start",
        pct_start,
        "from 0, below 1",
    )
    for key, value in (("div_factor", div_factor), ("final_div_factor", final_div_factor)):
        require(number(value) and value > 0, where + key, value, "a number > 0")
    first = lr / div_factor
    last = first / final_div_factor
    peak = pct_start * steps - 1
    if step <= peak:
        return _between(first, lr, step / peak if peak else 1.0)
    # With pct_start 0 the peak lies before step 0.
    return _between(lr, last, (step - peak) / (steps - 1 - peak))


def _between(start: float, end: float, part: float) -> float:
    """Half a cosine from `start` (part 0) to `end` (part 1)."""
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2
