"""Random numbers of a training run, as functions of (seed, purpose, number).

A resumed training run therefore draws the same numbers as an uninterrupted one. The raw integers of
Philox are guaranteed never to change, unlike NumPy's distributions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stp.core.errors import StpError
from stp.data.random_stream import uniform

if TYPE_CHECKING:
    from stp.models.model import ForecastModel

INITIAL_WEIGHTS, EPOCH_ORDER, STEP, LEAD, WHOLE_BATCH = range(5)
"""Purposes of random numbers; each has a stream of its own."""


def draw(seed: int, purpose: int, number: int, count: int = 1) -> np.ndarray:
    """Draw random integers, uint64 (count,), that are determined by the arguments.

    Args:
        seed: seed of the training, >= 0.
        purpose: purpose of the numbers, one of the constants of this module.
        number: index of the epoch or step, >= 0.
        count: number of integers.
    """
    counter, key = [0, 0, 0, number], [seed, purpose]
    generator = np.random.Philox(counter=np.array(counter, np.uint64), key=np.array(key, np.uint64))
    return generator.random_raw(count)


def epoch_order(rows: np.ndarray, seed: int, epoch: int) -> np.ndarray:
    """Shuffle the training clips for an epoch.

    Args:
        rows: indices of the clips of a split, int64 (N,).
        seed: seed of the training.
        epoch: index of the epoch, from 0.
    """
    return rows[np.argsort(draw(seed, EPOCH_ORDER, epoch, len(rows)), kind="stable")]


@dataclass(frozen=True)
class LeadDraws:
    """Draws a random lead time for each clip in each epoch, at which the model is then trained.

    Models that get a lead time as input forecast one frame in a training step: the frame at the
    lead time that was drawn.

    Attributes:
        leads: lead times to draw from, counted from 1.
        context: number of context frames.
        seed: seed of the training.
    """

    leads: tuple[int, ...]
    context: int
    seed: int

    @classmethod
    def of(
        cls, model: "ForecastModel", context: int, seed: int, lead: int | None = None
    ) -> "LeadDraws | None":
        """Make the draws of lead times for a model that is trained with drawn lead times.

        Args:
            model: the model. Its attribute `leads` has the lead times to draw from.
            context: number of context frames.
            seed: seed of the training.
            lead: the only lead time to draw, for a network that is trained for one lead time; None
                for all of ``model.leads``.

        Returns:
            the draws; None if the model does not take lead times, or has none to draw from.
        """
        if not model.needs_lead_times or not model.leads:
            return None
        return cls(tuple(model.leads) if lead is None else (lead,), context, seed)

    def draw(self, rows: np.ndarray, epoch: int) -> np.ndarray:
        """Draw a lead time for each of B clips in an epoch, int64 (B,).

        Args:
            rows: indices of the clips, int64 (B,).
            epoch: index of the epoch, from 0.
        """
        shares = uniform(rows, 1, seed=self.seed, stream=LEAD, epoch=epoch)[:, 0]
        return np.asarray(self.leads, np.int64)[(shares * len(self.leads)).astype(np.int64)]

    def frames(self, epoch: int) -> Callable[[np.ndarray], np.ndarray]:
        """Make a function that says which frames of clips an epoch reads.

        Args:
            epoch: index of the epoch, from 0.

        Returns:
            a function from indices of B clips to indices of frames within each clip, from 0, int64
            (B, context + 1): the context frames, then the frame at the drawn lead time.
        """

        def of(rows: np.ndarray) -> np.ndarray:
            context = np.broadcast_to(np.arange(self.context), (len(rows), self.context))
            return np.column_stack([context, self.context - 1 + self.draw(rows, epoch)])

        return of


def spread(clips: int, most: int | None) -> np.ndarray:
    """Select some clips of a split, evenly spaced.

    Args:
        clips: number of clips in the split.
        most: maximum number of selected clips; None for all.

    Returns:
        ascending indices of the selected clips, int64.
    """
    count = clips if most is None else min(most, clips)
    return np.arange(count, dtype=np.int64) * clips // max(count, 1)


def rows_of(clips: Any, split: str, most: int | None, folder: Path) -> np.ndarray:
    """Select the clips of a split that a training run uses, evenly spaced.

    Args:
        clips: clips of the split.
        split: name of the split, for the error.
        most: maximum number of selected clips; None for all.
        folder: folder of the data, for the error.

    Returns:
        ascending indices of the selected clips, int64.

    Raises:
        StpError: the split has no clips.
    """
    if not len(clips):
        raise StpError(
            f"{folder}: the {split} split has no clips",
            expected="at least one",
            remedy="prepare the data again with other splits or windows",
        )
    return spread(len(clips), most)
