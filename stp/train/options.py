"""What a training recipe may set under ``train``."""

import dataclasses
import difflib
from dataclasses import dataclass
from typing import Any

from stp.errors import StpError
from stp.models.compute import PRECISIONS

OPTIMIZERS = ("adam", "adamw")
SCHEDULES = ("constant", "cosine", "onecycle")


@dataclass(frozen=True)
class TrainOptions:
    """How a model is trained.

    Attributes:
        epochs: passes over the training clips.
        batch_size: clips in a step, over all devices together.
        lr: learning rate; the highest one of the schedule.
        optimizer: adam or adamw.
        weight_decay: added to the gradient (adam) or decoupled from it (adamw).
        schedule: constant, cosine or onecycle, in steps (see stp.train.schedule).
        pct_start: onecycle: part of the steps in which the rate rises.
        div_factor: onecycle: the first rate is lr / div_factor.
        final_div_factor: onecycle: the last rate is the first one / final_div_factor.
        clip_norm: longest gradient; null for any.
        precision: bf16 (mixed, where the device computes it) or float32.
        threads: CPU threads.
        max_clips: train on so many clips, evenly spread over the split; null for all.
        max_val_clips: validate on so many clips, likewise.
    """

    epochs: int = 100
    batch_size: int = 16
    lr: float = 1e-3
    optimizer: str = "adam"
    weight_decay: float = 0.0
    schedule: str = "onecycle"
    pct_start: float = 0.3
    div_factor: float = 25.0
    final_div_factor: float = 1e4
    clip_norm: float | None = None
    precision: str = "float32"
    threads: int = 1
    max_clips: int | None = None
    max_val_clips: int | None = None

    def __post_init__(self) -> None:
        for key in ("epochs", "batch_size", "threads"):
            self._require(_is_whole(getattr(self, key)), key, "an integer >= 1")
        for key in ("max_clips", "max_val_clips"):
            value = getattr(self, key)
            self._require(value is None or _is_whole(value), key, "an integer >= 1, or null")
        for key in ("lr", "div_factor", "final_div_factor"):
            value = getattr(self, key)
            self._require(_is_number(value) and value > 0, key, "a number > 0")
        ok = _is_number(self.weight_decay) and self.weight_decay >= 0
        self._require(ok, "weight_decay", "a number >= 0")
        ok = _is_number(self.pct_start) and 0 <= self.pct_start < 1
        self._require(ok, "pct_start", "a number in 0..1, less than 1")
        ok = self.clip_norm is None or (_is_number(self.clip_norm) and self.clip_norm > 0)
        self._require(ok, "clip_norm", "a number > 0, or null")
        choices = {"optimizer": OPTIMIZERS, "schedule": SCHEDULES, "precision": PRECISIONS}
        for key, known in choices.items():
            self._require(getattr(self, key) in known, key, " or ".join(known))

    def _require(self, ok: bool, key: str, expected: str) -> None:
        if not ok:
            raise StpError(
                f"train option {key} is {getattr(self, key)!r}",
                expected=expected,
                remedy=f"change train.{key} in the configuration of the model or in the scale file",
            )

    @classmethod
    def from_recipe(cls, given: dict[str, Any]) -> "TrainOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        known = [field.name for field in dataclasses.fields(cls)]
        for key in given:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                raise StpError(
                    f"unknown train option {key!r}",
                    expected=", ".join(known),
                    remedy=f"did you mean {near[0]!r}?" if near else "remove it",
                )
        return cls(**given)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
