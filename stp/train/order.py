"""Randomness of a training as a function of (seed, purpose, number), never of what came before.

So a resumed training draws what an uninterrupted one would have drawn. The raw integers of Philox
are promised never to change, unlike NumPy's distributions.
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
"""What the numbers are for; each purpose has a stream of its own."""


def draw(seed: int, purpose: int, number: int, count: int = 1) -> np.ndarray:
    """Random uint64, shape (count,).

    Args:
        seed: of the training, >= 0.
        purpose: one of the streams above.
        number: of the epoch or step, >= 0.
        count: how many.
    """
    counter, key = [0, 0, 0, number], [seed, purpose]
    generator = np.random.Philox(counter=np.array(counter, np.uint64), key=np.array(key, np.uint64))
    return generator.random_raw(count)


def epoch_order(rows: np.ndarray, seed: int, epoch: int) -> np.ndarray:
    """The rows in the order in which an epoch reads them; epochs count from 0."""
    return rows[np.argsort(draw(seed, EPOCH_ORDER, epoch, len(rows)), kind="stable")]


@dataclass(frozen=True)
class LeadDraws:
    """Lead times of clips, where each clip has one of them in an epoch.

    Attributes:
        leads: those to draw from, from 1.
        context: frames before the first.
        seed: of the training.
    """

    leads: tuple[int, ...]
    context: int
    seed: int

    @classmethod
    def of(
        cls, model: "ForecastModel", context: int, seed: int, lead: int | None = None
    ) -> "LeadDraws | None":
        """The draws of a model that is told lead times, and names those it is trained on.

        One that forecasts a lead time alone is told that one, whatever it names.
        """
        if not model.needs_lead_times or not model.leads:
            return None
        return cls(tuple(model.leads) if lead is None else (lead,), context, seed)

    def draw(self, rows: np.ndarray, epoch: int) -> np.ndarray:
        """A lead time for each row, int64 (B,)."""
        shares = uniform(rows, 1, seed=self.seed, stream=LEAD, epoch=epoch)[:, 0]
        return np.asarray(self.leads, np.int64)[(shares * len(self.leads)).astype(np.int64)]

    def frames(self, epoch: int) -> Callable[[np.ndarray], np.ndarray]:
        """Which frames rows have: the context and that of the lead time, int64 (B, T_in + 1)."""

        def of(rows: np.ndarray) -> np.ndarray:
            context = np.broadcast_to(np.arange(self.context), (len(rows), self.context))
            return np.column_stack([context, self.context - 1 + self.draw(rows, epoch)])

        return of


def spread(clips: int, most: int | None) -> np.ndarray:
    """At most `most` of the rows 0..clips-1, evenly spread, int64 and ascending."""
    count = clips if most is None else min(most, clips)
    return np.arange(count, dtype=np.int64) * clips // max(count, 1)


def rows_of(clips: Any, split: str, most: int | None, folder: Path) -> np.ndarray:
    """The rows of a split that a training uses, int64 and ascending.

    Args:
        clips: of the split.
        split: its name, for the error.
        most: how many at most; None for all.
        folder: of the data, for the error.

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
