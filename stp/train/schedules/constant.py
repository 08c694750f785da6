"""The same learning rate in every step."""


def learning_rate(step: int, steps: int, lr: float) -> float:
    """Give ``lr``, whatever the step (of 0..steps-1)."""
    return lr
