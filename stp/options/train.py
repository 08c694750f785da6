"""How models of frames are trained: the options ``train`` of a recipe."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from stp.core.json_files import Json
from stp.core.options import Options, require
from stp.options.named import DEFAULT_SCHEDULE, choice, load
from stp.options.precisions import Precision

MOST_SNAPSHOTS = 90
"""Maximum number of snapshots of a training run: an artefact has at most 100 files."""
LOW_RATE = 1e-6
"""Learning rate up to which training runs are assumed not to diverge."""


@dataclass(frozen=True)
class TrainOptions(Options):
    """How a model is trained.

    Attributes:
        epochs: number of passes over the training clips.
        iterations: number of steps, which replaces `epochs`; the last pass may end early. Null for
            whole epochs.
        validate_every: number of epochs between validations; the last epoch is always validated.
        batch_size: number of clips in each step, on all devices together.
        lr: highest learning rate of the schedule.
        optimizer: adam or adamw.
        weight_decay: factor of the weight decay, which is added to the gradient (adam) or decoupled
            from it (adamw).
        schedule: schedule of the learning rate; a module of stp.train.schedules, as ``name`` or
            ``{name: {option: value}}``.
        loss: a module of stp.train.losses, as ``name`` or ``{name: {option: value}}``. Null for the
            model's own loss.
        targets: names of the channels that this loss and the validation compare; empty for all.
            A network forecasts all channels anyway, and its own forecasts are its next input.
        horizon: number of lead times of training and validation clips. Null for the horizon of the
            dataset.
        callbacks: options of callbacks, by the name of their module in stp.train.callbacks.
        clip_norm: maximum norm of a gradient; null for no limit.
        ema: weight of the latest weights in each update of their exponential moving average, which
            is validated and kept. Null for no average.
        explodes: ratio of the loss to the loss of the first steps above which the training fails.
            Null for no limit.
        precision: bf16 (mixed, where the device supports it) or float32.
        channels_last: whether channels are contiguous in memory.
        compiled: whether parts of the network are compiled with torch.compile (needs a C++
            compiler).
        threads: CPU threads.
        max_clips: number of training clips, evenly spread over the split; null for all.
        max_val_clips: number of validation clips, evenly spread over the split; null for all.
        snapshots: numbers of updates (steps), ascending, after which a copy of the weights is kept.
    """

    PART = "train"

    epochs: PositiveInt = 100
    iterations: PositiveInt | None = None
    validate_every: PositiveInt = 1
    batch_size: PositiveInt = 16
    lr: PositiveFloat = 1e-3
    optimizer: Literal["adam", "adamw"] = "adam"
    weight_decay: NonNegativeFloat = 0.0
    schedule: str | Json = DEFAULT_SCHEDULE
    loss: str | Json | None = None
    targets: tuple[str, ...] = ()
    horizon: PositiveInt | None = None
    callbacks: Json = field(default_factory=dict)
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
        is_unique = len(set(self.targets)) == len(self.targets)
        self._check("targets", is_unique, "names of channels, each once")
        self._check("targets", not self.targets or self.loss is not None, "none without train.loss")

    def _check_snapshots(self) -> None:
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
        """The learning rate of a step.

        Args:
            step: index of the step, from 0.
            steps: total number of steps.

        Raises:
            StpError: an option of the schedule is unknown, or out of range.
        """
        schedule = load("train.schedule", "schedules", self.schedule)
        return float(schedule(step, steps, self.lr))
