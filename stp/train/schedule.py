"""Learning rate as a function of the step.

The formulas of torch.optim.lr_scheduler (CosineAnnealingLR, OneCycleLR without its cycling of
momentum), without its state: a resumed training only has to know the step.
"""

import math

from stp.train.options import TrainOptions


def learning_rate(step: int, steps: int, options: TrainOptions) -> float:
    """Learning rate of one step.

    - constant: ``lr``.
    - cosine: ``lr * (1 + cos(pi * step / steps)) / 2``.
    - onecycle (Smith and Topin 2017, https://arxiv.org/abs/1708.07120): half a cosine from
      ``first = lr / div_factor`` up to ``lr`` at step ``pct_start * steps - 1``, and half a cosine
      down to ``first / final_div_factor`` at the last step.
    - linear_warmup: from ``lr / warmup_steps`` in equal steps up to ``lr``, and ``lr`` ever after
      (LinearLR).

    Args:
        step: 0..steps-1.
        steps: steps of the whole training.
        options: schedule, lr and the constants of onecycle.
    """
    if options.schedule == "constant":
        return options.lr
    if options.schedule == "cosine":
        return _between(options.lr, 0.0, step / steps)
    if options.schedule == "linear_warmup":
        risen = min(1.0, step / options.warmup_steps)
        return options.lr * (risen + (1 - risen) / options.warmup_steps)
    first = options.lr / options.div_factor
    last = first / options.final_div_factor
    peak = options.pct_start * steps - 1
    if step <= peak:
        return _between(first, options.lr, step / peak if peak else 1.0)
    # A peak before the first step (pct_start 0) is kept where it is: step 0 is past it already.
    return _between(options.lr, last, (step - peak) / (steps - 1 - peak))


def _between(start: float, end: float, part: float) -> float:
    """Half a cosine from `start` (part 0) to `end` (part 1)."""
    return end + (start - end) * (1 + math.cos(math.pi * part)) / 2
