"""One-cycle learning rate (Smith and Topin 2017, https://arxiv.org/abs/1708.07120; OneCycleLR).

Unlike torch's default, momentum stays constant.
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
    """Return a learning rate that rises by half a cosine, then falls by half a cosine.

    The rate rises from ``first = lr / div_factor`` to ``lr`` at step ``pct_start * steps - 1``, and
    falls to ``first / final_div_factor`` at the last step.

    Args:
        step: index of the step, 0..steps-1.
        steps: number of steps of the training.
        lr: the highest learning rate.
        pct_start: share of the steps during which the rate rises, 0..1.
        div_factor: ratio of ``lr`` to the first rate.
        final_div_factor: ratio of the first rate to the last one.

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
        return _interpolate_cosine(first, lr, step / peak if peak else 1.0)
    # With pct_start 0 the peak lies before step 0.
    return _interpolate_cosine(lr, last, (step - peak) / (steps - 1 - peak))


def _interpolate_cosine(start: float, end: float, part: float) -> float:
    """Interpolate by half a cosine, from `start` (part 0) to `end` (part 1)."""
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2
