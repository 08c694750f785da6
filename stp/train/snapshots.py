"""Weights after given numbers of updates, kept while a training goes on."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from stp.core.errors import StpError
from stp.models.weights import snapshot_name
from stp.train.checkpoint import Checkpoint


class Snapshots:
    """Files beside the state of a training, each written when its update is done.

    Args:
        state: the folder of the training's state.
        recipe: of the training.
        updates: numbers of updates, ascending.
    """

    def __init__(self, state: Path, recipe: Mapping[str, Any], updates: Sequence[int]) -> None:
        self.updates = updates
        self._of = {n: Checkpoint(state / snapshot_name(n), recipe) for n in updates}

    def save(self, update: int, weights: dict[str, Tensor]) -> None:
        """Keep the weights after an update; done again, they are the same."""
        self._of[update].save({"weights": weights})

    def are_there(self, step: int, say: Callable[[str], None]) -> bool:
        """Are all whole that were taken until a step?"""
        return all(self._of[n].load(say) is not None for n in self.updates if n <= step)

    def read(self, update: int) -> dict[str, Tensor]:
        """The weights after so many updates.

        Raises:
            StpError: the file that kept them since is lost or damaged.
        """
        found = self._of[update].load(lambda _: None)
        if found is None:
            raise StpError(
                f"{self._of[update].path}: lost or damaged",
                expected=f"the weights after update {update}",
                remedy="run again: the training starts from the beginning",
            )
        weights: dict[str, Tensor] = found["weights"]
        return weights
