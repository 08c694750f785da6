"""Snapshots: weights after given numbers of updates, stored during a training run."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from stp.core.errors import StpError
from stp.models.weights import snapshot_name
from stp.train.checkpoint import Checkpoint


class Snapshots:
    """The snapshot files of a training run, in its state folder beside the checkpoint.

    Args:
        state: state folder of the training.
        recipe: recipe of the training.
        updates: numbers of updates after which weights are saved, ascending.
    """

    def __init__(self, state: Path, recipe: Mapping[str, Any], updates: Sequence[int]) -> None:
        self.updates = updates
        self._of = {n: Checkpoint(state / snapshot_name(n), recipe) for n in updates}

    def save(self, update: int, weights: dict[str, Tensor]) -> None:
        """Save the weights after ``update`` updates to a file of their own."""
        self._of[update].save({"weights": weights})

    def are_complete(self, step: int, say: Callable[[str], None]) -> bool:
        """Whether all snapshots up to an update can be read.

        Args:
            step: number of updates.
            say: function that receives messages about damaged files.
        """
        return all(self._of[n].load(say) is not None for n in self.updates if n <= step)

    def read(self, update: int) -> dict[str, Tensor]:
        """Read the weights after ``update`` updates.

        Raises:
            StpError: the file of the weights is missing or damaged.
        """
        saved = self._of[update].load(lambda _: None)
        if saved is None:
            raise StpError(
                f"{self._of[update].path}: missing or damaged",
                expected=f"the weights after update {update}",
                remedy="run again: the training starts from the beginning",
            )
        weights: dict[str, Tensor] = saved["weights"]
        return weights
