"""End a training run after several validations without improvement."""

from typing import Any

from stp.core.options import require, whole


class Callback:
    """Ends a training run whose validation error no longer improves.

    Args:
        patience: number of successive validations without improvement that end the training.

    Raises:
        StpError: ``patience`` is out of range.
    """

    def __init__(self, *, patience: int = 10) -> None:
        where = "train.callbacks: early_stopping: patience"
        require(whole(patience, 1), where, patience, "a whole number from 1")
        self.patience = patience
        self.without = 0

    def after_epoch(self, training: Any, row: dict[str, Any]) -> None:
        """Count validations without improvement, and end the training after too many.

        Args:
            training: the training run.
            row: row of the finished epoch in the history; without a validation, its ``val_mse`` is
                None.
        """
        if row["val_mse"] is None:
            return
        self.without = 0 if training.progress.best_epoch == row["epoch"] else self.without + 1
        if self.without >= self.patience:
            training.stop_early(f"no improvement in {self.without} validations")

    def state(self) -> dict[str, Any]:
        """Return the state to save for an interrupted training run, as JSON values."""
        return {"without": self.without}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore a state that `state` returned."""
        self.without = state["without"]
