"""What a training recipe may set under ``train``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from stp.core.options import build, require
from stp.options.named import DEFAULT_SCHEDULE, choice, load
from stp.options.precisions import Precision

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

    epochs: PositiveInt = 100
    iterations: PositiveInt | None = None
    validate_every: PositiveInt = 1
    batch_size: PositiveInt = 16
    lr: PositiveFloat = 1e-3
    optimizer: Literal["adam", "adamw"] = "adam"
    weight_decay: NonNegativeFloat = 0.0
    schedule: str | Mapping[str, Any] = DEFAULT_SCHEDULE
    loss: str | Mapping[str, Any] | None = None
    targets: tuple[str, ...] = ()
    horizon: PositiveInt | None = None
    callbacks: Mapping[str, Any] = field(default_factory=dict)
    clip_norm: PositiveFloat | None = None
    ema: Annotated[float, Field(gt=0, le=1)] | None = None
    explodes: Annotated[float, Field(gt=1)] | None = 1e3
    precision: Precision = "float32"
    channels_last: bool = False
    compiled: bool = False
    threads: PositiveInt = 1
    max_clips: PositiveInt | None = None
    max_val_clips: PositiveInt | None = None
    snapshots: Annotated[tuple[PositiveInt, ...], Field(max_length=MOST_SNAPSHOTS)] = ()

    def __post_init__(self) -> None:
        choice("train.schedule", "schedules", self.schedule)
        if self.loss is not None:
            choice("train.loss", "losses", self.loss)
        self._check_targets()
        for name, options in self.callbacks.items():
            choice("train.callbacks", "callbacks", {name: options})

        self._check_snapshots()

    def _check_targets(self) -> None:
        """Refuse targets that are not names, or that the model's own loss does not use."""
        once = len(set(self.targets)) == len(self.targets)
        self._check("targets", once, "names of channels, each once")
        self._check("targets", not self.targets or self.loss is not None, "none without train.loss")

    def _check_snapshots(self) -> None:
        """Refuse snapshots that a training may never reach, or that are too many."""
        steps, last = self.snapshots, self.iterations
        ok = list(steps) == sorted(set(steps))
        self._check("snapshots", ok, "numbers of updates, ascending")
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
