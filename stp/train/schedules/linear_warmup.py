"""A learning rate that increases linearly, then stays constant (LinearLR)."""

from stp.core.options import require, whole


def learning_rate(step: int, steps: int, lr: float, *, warmup_steps: int = 5000) -> float:
    """Return a learning rate that rises from ``lr / warmup_steps`` to ``lr``, then stays.

    Args:
        step: index of the step, 0..steps-1.
        steps: number of steps of the training.
        lr: the highest learning rate.
        warmup_steps: number of steps during which the rate rises.

    Raises:
        StpError: ``warmup_steps`` is out of range.
    """
    where = "train.schedule: linear_warmup: warmup_steps"
    require(whole(warmup_steps, 1), where, warmup_steps, "a whole number from 1")
    risen = min(1.0, step / warmup_steps)
    return lr * (risen + (1 - risen) / warmup_steps)
