"""What a training recipe may set under ``train``."""

from dataclasses import dataclass
from typing import Any

from stp.models.precisions import PRECISIONS
from stp.options import build, require, whole

OPTIMIZERS = ("adam", "adamw")
SCHEDULES = ("constant", "cosine", "onecycle", "linear_warmup")


@dataclass(frozen=True)
class TrainOptions:
    """How a model is trained.

    Attributes:
        epochs: passes over the training clips.
        iterations: steps, instead of epochs; the last pass may end early. Null for whole epochs.
        validate_every: epochs from one validation to the next; the last epoch always has one.
        batch_size: clips in a step, over all devices together.
        lr: learning rate; the highest one of the schedule.
        optimizer: adam or adamw.
        weight_decay: added to the gradient (adam) or decoupled from it (adamw).
        schedule: constant, cosine, onecycle or linear_warmup, in steps (see stp.train.schedule).
        pct_start: onecycle: part of the steps in which the rate rises.
        div_factor: onecycle: the first rate is lr / div_factor.
        final_div_factor: onecycle: the last rate is the first one / final_div_factor.
        warmup_steps: linear_warmup: steps in which the rate rises to lr.
        clip_norm: longest gradient; null for any.
        ema: part of the weights that a moving average takes over in each step; the average is what
            is validated and kept. Null for the weights themselves.
        precision: bf16 (mixed, where the device computes it) or float32.
        threads: CPU threads.
        max_clips: train on so many clips, evenly spread over the split; null for all.
        max_val_clips: validate on so many clips, likewise.
    """

    epochs: int = 100
    iterations: int | None = None
    validate_every: int = 1
    batch_size: int = 16
    lr: float = 1e-3
    optimizer: str = "adam"
    weight_decay: float = 0.0
    schedule: str = "onecycle"
    pct_start: float = 0.3
    div_factor: float = 25.0
    final_div_factor: float = 1e4
    warmup_steps: int = 5000
    clip_norm: float | None = None
    ema: float | None = None
    precision: str = "float32"
    threads: int = 1
    max_clips: int | None = None
    max_val_clips: int | None = None

    def __post_init__(self) -> None:
        for key in ("epochs", "validate_every", "batch_size", "warmup_steps", "threads"):
            self._check(key, whole(getattr(self, key), 1), "a whole number from 1")
        for key in ("iterations", "max_clips", "max_val_clips"):
            value = getattr(self, key)
            self._check(key, value is None or whole(value, 1), "a whole number from 1, or null")
        for key in ("lr", "div_factor", "final_div_factor"):
            value = getattr(self, key)
            self._check(key, _is_number(value) and value > 0, "a number > 0")
        self._check(
            "weight_decay",
            _is_number(self.weight_decay) and self.weight_decay >= 0,
            "a number >= 0",
        )
        self._check(
            "pct_start", _is_number(self.pct_start) and 0 <= self.pct_start < 1, "from 0, below 1"
        )
        free = self.clip_norm is None or (_is_number(self.clip_norm) and self.clip_norm > 0)
        self._check("clip_norm", free, "a number > 0, or null")
        free = self.ema is None or (_is_number(self.ema) and 0 < self.ema <= 1)
        self._check("ema", free, "a number above 0, at most 1, or null")
        self._check("optimizer", self.optimizer in OPTIMIZERS, " or ".join(OPTIMIZERS))
        self._check("schedule", self.schedule in SCHEDULES, " or ".join(SCHEDULES))
        self._check("precision", self.precision in PRECISIONS, " or ".join(PRECISIONS))

    def _check(self, key: str, ok: bool, expected: str) -> None:
        require(ok, f"train.{key}", getattr(self, key), expected)

    @classmethod
    def from_recipe(cls, given: dict[str, Any]) -> "TrainOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        return build(cls, given, "train")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
