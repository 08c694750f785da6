"""What a training recipe may set under ``train``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stp.core.options import build, number, require, whole
from stp.options.named import DEFAULT_SCHEDULE, choice, load
from stp.options.precisions import PRECISIONS

OPTIMIZERS = ("adam", "adamw")
MOST_SNAPSHOTS = 90
"""An artefact has at most 100 files."""
LOW_RATE = 1e-6
"""Learning rates up to here do not make a training diverge, whatever its loss is like."""


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
        schedule: of the learning rate; a module of stp.train.schedules, as ``name`` or
            ``{name: {option: value}}``.
        loss: a module of stp.train.losses, likewise, instead of the model's own. Null for that.
        targets: channels that this loss and the validation compare, by their names in the data;
            none for all. A network forecasts all of them anyway, and is shown its own forecasts.
        horizon: lead times of a training clip, from the first one on, and of its validation.
            Null for the dataset's.
        callbacks: modules of stp.train.callbacks -> their options.
        clip_norm: longest gradient; null for any.
        ema: part of the weights that a moving average takes over in each step; the average is what
            is validated and kept. Null for the weights themselves.
        explodes: the training has failed when losses are so many times what they were in its
            first steps. Null for never.
        precision: bf16 (mixed, where the device computes it) or float32.
        channels_last: keep channels beside each other in memory.
        compiled: translate the parts of the network with torch.compile (needs a C++ compiler).
        threads: CPU threads.
        max_clips: train on so many clips, evenly spread over the split; null for all.
        max_val_clips: validate on so many clips, likewise.
        snapshots: numbers of updates (steps), ascending, after which the weights are kept as well.
    """

    epochs: int = 100
    iterations: int | None = None
    validate_every: int = 1
    batch_size: int = 16
    lr: float = 1e-3
    optimizer: str = "adam"
    weight_decay: float = 0.0
    schedule: str | Mapping[str, Any] = DEFAULT_SCHEDULE
    loss: str | Mapping[str, Any] | None = None
    targets: tuple[str, ...] = ()
    horizon: int | None = None
    callbacks: Mapping[str, Any] = field(default_factory=dict)
    clip_norm: float | None = None
    ema: float | None = None
    explodes: float | None = 1e3
    precision: str = "float32"
    channels_last: bool = False
    compiled: bool = False
    threads: int = 1
    max_clips: int | None = None
    max_val_clips: int | None = None
    snapshots: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for key in ("epochs", "validate_every", "batch_size", "threads"):
            self._check(key, whole(getattr(self, key), 1), "a whole number from 1")
        for key in ("iterations", "horizon", "max_clips", "max_val_clips"):
            value = getattr(self, key)
            self._check(key, value is None or whole(value, 1), "a whole number from 1, or null")
        self._check("lr", number(self.lr) and self.lr > 0, "a number > 0")
        self._check(
            "weight_decay", number(self.weight_decay) and self.weight_decay >= 0, "a number >= 0"
        )
        free = self.clip_norm is None or (number(self.clip_norm) and self.clip_norm > 0)
        self._check("clip_norm", free, "a number > 0, or null")
        free = self.ema is None or (number(self.ema) and 0 < self.ema <= 1)
        self._check("ema", free, "a number above 0, at most 1, or null")
        free = self.explodes is None or (number(self.explodes) and self.explodes > 1)
        self._check("explodes", free, "a number > 1, or null")
        for key in ("channels_last", "compiled"):
            self._check(key, isinstance(getattr(self, key), bool), "true or false")
        self._check("optimizer", self.optimizer in OPTIMIZERS, " or ".join(OPTIMIZERS))
        self._check("precision", self.precision in PRECISIONS, " or ".join(PRECISIONS))
        choice("train.schedule", "schedules", self.schedule)
        if self.loss is not None:
            choice("train.loss", "losses", self.loss)
        self._check_targets()
        named = isinstance(self.callbacks, Mapping)
        self._check("callbacks", named, "names of callbacks, each with its options")
        for name, options in self.callbacks.items():
            choice("train.callbacks", "callbacks", {name: options})

        self._check_snapshots()

    def _check_targets(self) -> None:
        """Refuse targets that are not names, or that the model's own loss does not use."""
        named = isinstance(self.targets, (list, tuple)) and len(set(self.targets)) == len(
            self.targets
        )
        named = named and all(isinstance(name, str) for name in self.targets)
        self._check("targets", named, "names of channels, each once")
        self._check("targets", not self.targets or self.loss is not None, "none without train.loss")

    def _check_snapshots(self) -> None:
        """Refuse snapshots that a training may never reach, or that are too many."""
        steps, last = self.snapshots, self.iterations
        ok = all(whole(step, 1) for step in steps) and list(steps) == sorted(set(steps))
        self._check("snapshots", ok, "numbers of updates from 1, ascending")
        self._check("snapshots", len(steps) <= MOST_SNAPSHOTS, f"at most {MOST_SNAPSHOTS}")
        ok = not steps or last is None or steps[-1] <= last
        self._check("snapshots", ok, f"none after the last update, {last} (train.iterations)")
        ok = not steps or "early_stopping" not in self.callbacks
        self._check("snapshots", ok, "none of a training that may end early (early_stopping)")

    def _check(self, key: str, ok: bool, expected: str) -> None:
        require(ok, f"train.{key}", getattr(self, key), expected)

    def learning_rate(self, step: int, steps: int) -> float:
        """Learning rate of one of so many steps; the first one is 0.

        Raises:
            StpError: an option of the schedule is unknown, or out of range.
        """
        schedule = load("train.schedule", "schedules", self.schedule)
        return float(schedule(step, steps, self.lr))

    @classmethod
    def from_recipe(cls, given: Mapping[str, object]) -> "TrainOptions":
        """Build the options from the keys that were set.

        Raises:
            StpError: a key is unknown or its value out of range.
        """
        return build(cls, given, "train")
