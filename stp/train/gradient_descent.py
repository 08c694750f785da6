"""The training loop: steps, validation, selection of the best epoch, checkpoints."""

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from stp.core.errors import StpError
from stp.core.job import Interrupted, Job
from stp.data.prepared import Prepared
from stp.models.compute import Compute
from stp.models.create import create
from stp.models.model import WholeBatch, try_forecast
from stp.models.normalisation import Normalisation
from stp.options.named import load
from stp.options.train import TrainOptions
from stp.train import factories
from stp.train.batches import read_batches
from stp.train.checkpoint import Checkpoint
from stp.train.distributed import Ranks, check_shared_norms, share_batch_norms
from stp.train.order import (
    INITIAL_WEIGHTS,
    STEP,
    WHOLE_BATCH,
    LeadDraws,
    draw,
    epoch_order,
    rows_of,
)
from stp.train.snapshots import Snapshots

CRITERION = (
    "lowest mean squared error of free-running forecasts on normalised frames of the validation "
    "split; of equal epochs the earliest"
)
REPORT_SECONDS = 0.5
FIRST_STEPS = 10
"""Number of steps whose mean is the first loss, and time constant of the mean of recent losses."""


class DivergenceError(StpError):
    """A loss or a weight is NaN or infinite, or the losses explode."""


@dataclass
class Progress:
    """Progress of a training run: all of its saved state except weights and optimiser.

    Attributes:
        step: number of completed steps.
        history: rows of ``history.parquet``, one for each completed epoch.
        loss_sum: sum of the losses in the unfinished epoch.
        seconds: time spent on the unfinished epoch, in seconds.
        resumed: whether the unfinished epoch was interrupted and then resumed.
        resumes: steps at which the training was resumed after interruptions.
        devices: device and precision of each part of the training, in order.
        best_epoch: number of the best epoch, from 1; 0 before the first.
        best_mse: validation error of the best epoch, by default a mean squared error.
        first_loss: mean loss of the first steps.
        recent_loss: exponentially weighted mean of the losses so far.
        ended_early: reason why a callback ended the training early; None if none did.
    """

    step: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    loss_sum: float = 0.0
    seconds: float = 0.0
    resumed: bool = False
    resumes: list[int] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    best_epoch: int = 0
    best_mse: float = float("inf")
    first_loss: float = 0.0
    recent_loss: float = 0.0
    ended_early: str | None = None


class GradientDescent:
    """The training of one model by gradient descent: construct it, then call `train`.

    Args:
        job: job with the recipe of the training and the folder of checkpoints.
        options: options of the training, ``recipe["train"]``.
        data: prepared data with the splits train and val.
        normalisation: normalisation of the training split.
        compute: device, threads and precision of the computation.
        ranks: processes that share the training.
        initial: initial weights; by default random weights.
        callbacks: further callbacks (see stp.train.callbacks), besides the callbacks of the
            options.

    Raises:
        StpError: a split is empty, a batch has fewer clips than there are processes, a snapshot is
            due after the last update, the model, loss or a callback refuses its options, or the
            initial weights belong to another model.
    """

    def __init__(
        self,
        job: Job,
        options: TrainOptions,
        data: Prepared,
        normalisation: Normalisation,
        compute: Compute,
        ranks: Ranks,
        initial: Mapping[str, Tensor] | None = None,
        callbacks: Sequence[Any] = (),
    ) -> None:
        self.job, self.options, self.compute, self.ranks = job, options, compute, ranks
        self.normalisation = normalisation
        self.recipe = job.recipe
        self.seed = self.recipe["seed"]
        self.context, self.horizon = self.recipe["context"], self.recipe["horizon"]
        # For a network of one lead time, the frame at this lead time follows the context.
        lead = self.recipe.get("lead")
        self.length = self.context + (lead or self.horizon)
        self.frames = [*range(self.context), self.length - 1] if lead else None
        subset = self.recipe.get("train_subset", "all")
        self.train_clips = data.clips("train", subset)
        self.val_clips = data.clips("val", subset)
        self.train_rows = rows_of(self.train_clips, "train", options.max_clips, data.folder)
        self.val_rows = rows_of(self.val_clips, "val", options.max_val_clips, data.folder)
        # An incomplete batch is dropped unless it is the only one.
        self.epoch_steps = max(1, len(self.train_rows) // options.batch_size)
        self.epoch_clips = min(len(self.train_rows), self.epoch_steps * options.batch_size)
        self.epochs, self.steps = options.epochs, self.epoch_steps * options.epochs
        if options.iterations is not None:
            self.epochs = -(-options.iterations // self.epoch_steps)
            self.steps = options.iterations
        if options.snapshots and options.snapshots[-1] > self.steps:
            raise StpError(
                f"{self._label}: train.snapshots: update {options.snapshots[-1]}",
                expected=f"at most {self.steps}, the last update",
            )
        self.batch = min(options.batch_size, self.epoch_clips)
        if self.batch < ranks.size:
            raise StpError(
                f"{ranks.size} processes cannot share a batch of {self.batch} clips",
                expected="at least one clip for each process",
                remedy="set runtime.gpus (or runtime.ranks) to the batch size or less",
            )

        # Number of the first clip of this process within a batch.
        self.first = int(np.array_split(np.arange(self.batch), ranks.size)[ranks.rank][0])
        torch.manual_seed(int(draw(self.seed, INITIAL_WEIGHTS, 0)[0]))
        self.model = create(self.recipe).to(compute.device)
        if options.channels_last:
            factories.put_channels_last(self.model)
        if initial is not None:
            self.model.load_state_dict(initial)
        if ranks.size > 1:
            check_shared_norms(self.model)
            share_batch_norms(self.model)
        self.leads = LeadDraws.of(self.model, self.context, self.seed, lead)
        # Otherwise, a forecast of one frame would be for the first lead time.
        self.lead_times = {"lead_times": [lead]} if lead and self.leads else {}
        self.loss = factories.loss_of(self.model, options, self.context, self.recipe["model"], data)
        self.targets = factories.target_channels(options.targets, data)
        self.micro_batch = factories.micro_batch(
            job.runtime.get("micro_batch"), self.batch, self.model
        )
        self.optimizer = factories.optimizer_of(self.model, options)
        # The network that is validated and kept: the trained one, or one with averaged weights.
        self.kept = self.model if options.ema is None else copy.deepcopy(self.model)
        if job.runtime.get("recompute"):
            self.model.recompute = True
        frames = torch.zeros(min(2, self.micro_batch), self.context, *self.recipe["shape"])
        with compute.autocast():
            try_forecast(self.model, frames.to(compute.device), self.horizon, **self.lead_times)
        if options.compiled:
            factories.compile_parts(self.model)
        self.callbacks = [
            load("train.callbacks", "callbacks", {name: settings})()
            for name, settings in options.callbacks.items()
        ]
        self.callbacks += callbacks
        self.progress = Progress()
        self.best_weights: dict[str, Tensor] = {}
        self.checkpoint = Checkpoint(Path(job.state) / "training.pt", self.recipe)
        self.snapshots = Snapshots(Path(job.state), self.recipe, options.snapshots)
        self.reported = 0.0
        self.saved = time.monotonic()
        self.clock = time.monotonic()

    def train(self) -> None:
        """Train until the last epoch, starting from the last checkpoint if there is one.

        Raises:
            DivergenceError: a loss, weight or forecast is not a finite number, or losses explode.
        """
        self._resume()
        while len(self.progress.history) < self.epochs and not self.progress.ended_early:
            self._epoch()
        last = self.progress.history[-1]
        if last["val_mse"] is None:  # a callback has ended the training at an epoch between
            last["val_mse"] = self._select(last["epoch"])
            self._save()

    def stop_early(self, why: str) -> None:
        """End the training after the current epoch; called by callbacks, in all processes.

        Raises:
            StpError: snapshots are due after later updates.
        """
        if any(update > self.progress.step for update in self.options.snapshots):
            raise StpError(
                f"{self._label}: a callback ends the training at update {self.progress.step} "
                f"({why})",
                expected=f"updates to the last snapshot, {self.options.snapshots[-1]}",
                remedy="remove the callback or later snapshots from the configuration",
            )
        self.progress.ended_early = why

    def describe(self) -> dict[str, Any]:
        """Facts of the training for the receipt (the file that describes a result)."""
        progress = self.progress
        return {
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "selection": {
                "criterion": self.model.criterion or CRITERION,
                **({"targets": list(self.options.targets)} if self.options.targets else {}),
                "epoch": progress.best_epoch,
                "val_mse": progress.best_mse,
            },
            "steps": self.steps,
            "steps_per_epoch": self.epoch_steps,
            "clips": {
                "train": len(self.train_rows),
                "val": len(self.val_rows),
                "left_out_per_epoch": len(self.train_rows) - self.epoch_clips,
            },
            **({"snapshots": list(self.options.snapshots)} if self.options.snapshots else {}),
            "ended_early": progress.ended_early,
            "resumes": progress.resumes,
            "devices": progress.devices,
            "processes": self.ranks.size,
            "micro_batch": self.micro_batch,
        }

    def _epoch(self) -> None:
        progress, size = self.progress, self.options.batch_size
        epoch = len(progress.history)
        self.clock = time.monotonic()
        order = epoch_order(self.train_rows, self.seed, epoch)[: self.epoch_clips]
        steps = min(self.epoch_steps, self.steps - epoch * self.epoch_steps)
        order = order[: steps * size]
        done = progress.step - epoch * self.epoch_steps
        self.model.train()
        for rows, clips in read_batches(
            self.train_clips,
            order[done * size :],
            size,
            length=self.length,
            frames=self.leads.frames(epoch) if self.leads else self.frames,
            normalisation=self.normalisation,
            device=self.compute.device,
            epoch=epoch,
            rank=self.ranks.rank,
            ranks=self.ranks.size,
        ):
            leads = torch.from_numpy(self.leads.draw(rows, epoch)) if self.leads else None
            stop = self._step(clips, leads)
            if stop or time.monotonic() - self.saved > self.job.runtime.get(
                "checkpoint_every_s", 60
            ):
                self._save()
            if stop:
                raise Interrupted(f"saved at step {progress.step} of {self.steps}")
        mse = None
        if (epoch + 1) % self.options.validate_every == 0 or epoch + 1 == self.epochs:
            mse = self._select(epoch + 1)
        self._tick()
        progress.history.append(
            {
                "epoch": epoch + 1,
                "step": progress.step,
                "lr": self.options.learning_rate(progress.step - 1, self.steps),
                "train_loss": progress.loss_sum / steps,
                "val_mse": mse,
                "seconds": progress.seconds,
                "resumed": progress.resumed,
            }
        )
        progress.loss_sum, progress.seconds, progress.resumed = 0.0, 0.0, False
        self._call("after_epoch", progress.history[-1])
        self._save()

    def _select(self, epoch: int) -> float:
        """Validate an epoch, and store its weights if they are the best so far."""
        mse = self._validate()
        if mse < self.progress.best_mse:
            self.progress.best_epoch, self.progress.best_mse = epoch, mse
            self.best_weights = factories.copy_of(self.kept)
        return mse

    def _step(self, clips: Tensor, leads: Tensor | None) -> bool:
        """Train one step on clips (B, T, C, H, W); return whether to stop after this step."""
        progress, step = self.progress, self.progress.step
        rate = self.options.learning_rate(step, self.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        # Random numbers of a step depend only on the step.
        torch.manual_seed(int(draw(self.seed, STEP, step, self.ranks.size)[self.ranks.rank]))
        self.model.begin_epoch(step // self.epoch_steps)
        self.optimizer.zero_grad()
        try:
            loss = self._backward(clips, step, leads)
        except torch.OutOfMemoryError as error:
            raise self._too_large(len(clips)) from error
        value, stop = self.ranks.add_gradients(
            self.model.parameters(), loss, self.job.interrupted()
        )
        self._check_loss(value, step)
        if self.options.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.options.clip_norm)
        self.optimizer.step()
        if self.options.ema is not None:
            factories.move_average(self.kept, self.model, self.options.ema)
        progress.step += 1
        progress.loss_sum += value
        if progress.step in self.options.snapshots and not self.ranks.rank:
            self._require_finite_weights()
            self.snapshots.save(progress.step, factories.copy_of(self.kept))
        self._call("after_step", value)
        self._report(f"loss {value:.4g}")
        return stop

    def _backward(self, clips: Tensor, step: int, leads: Tensor | None) -> Tensor:
        """Accumulate the gradients of micro-batches; return this process's share of the loss."""
        loss = torch.zeros((), device=clips.device)
        of_clips = (clips,) if leads is None else (clips, leads.to(clips.device))
        seed, first = int(draw(self.seed, WHOLE_BATCH, step)[0]), self.first
        for part, *own in zip(*(x.split(self.micro_batch) for x in of_clips), strict=True):
            self.model.whole_batch = WholeBatch(self.batch, first, seed)
            first += len(part)
            with self.compute.autocast():
                of_part = self.loss(part, step, *own)
            of_part = of_part * (len(part) / self.batch)
            of_part.backward()
            loss = loss + of_part.detach()
        return loss

    def _check_loss(self, value: float, step: int) -> None:
        """Raise an error if the loss is not finite, or if the losses explode."""
        progress, limit = self.progress, self.options.explodes
        if not np.isfinite(value):
            raise self._diverges(f"the loss is {value} in step {step}")
        if step < FIRST_STEPS:
            progress.first_loss += (value - progress.first_loss) / (step + 1)
            progress.recent_loss = progress.first_loss
            return
        progress.recent_loss += (value - progress.recent_loss) / FIRST_STEPS
        if limit is not None and progress.recent_loss > limit * abs(progress.first_loss):
            raise self._diverges(
                f"the loss has grown from {progress.first_loss:.3g} to {value:.3g} in step {step}"
            )

    def _call(self, hook: str, *arguments: Any) -> None:
        """Call a method of all callbacks that have it."""
        for callback in self.callbacks:
            if hasattr(callback, hook):
                getattr(callback, hook)(self, *arguments)

    @torch.inference_mode()
    def _validate(self) -> float:
        """Compute the mean of the model's validation errors, which selects the best epoch."""
        self.kept.eval()
        step, total, count = self.progress.step, 0.0, 0
        for _, clips in read_batches(
            self.val_clips,
            self.val_rows,
            self.options.batch_size,
            length=self.length,
            frames=self.frames,
            normalisation=self.normalisation,
            device=self.compute.device,
            rank=self.ranks.rank,
            ranks=self.ranks.size,
        ):
            with self.compute.autocast():
                errors = self.kept.validation_errors(clips, **self.lead_times)
                errors = errors if self.targets is None else errors[:, :, self.targets]
            total += errors.double().sum().item()
            count += errors.numel()
            self._report("validation")
            if self.ranks.rank == 0 and self.job.interrupted():
                # Only the first process: the others wait for it in the sum below, and end then.
                self._save()
                raise Interrupted(f"saved at step {step} of {self.steps}, before its validation")
        total, all_values = self.ranks.sum(total, count)
        if not np.isfinite(total):
            raise self._diverges(f"validation forecasts are not finite in step {step}")
        return total / all_values

    @property
    def _label(self) -> str:
        return f"{self.recipe['model']} on {self.train_clips.prepared.attrs.get('dataset')}"

    def _too_large(self, clips: int) -> StpError:
        recomputes = bool(self.job.runtime.get("recompute"))
        return factories.too_large(self._label, min(clips, self.micro_batch), recomputes)

    def _diverges(self, problem: str) -> DivergenceError:
        rate = self.options.learning_rate(min(self.progress.step, self.steps - 1), self.steps)
        best, path = self.progress.best_epoch, self.checkpoint.path
        saved = f"the last good state is in {path}" if path.exists() else "nothing was saved yet"
        if best:
            saved += f", with the weights of epoch {best}, the best so far"
        return DivergenceError(
            f"{self._label}: {problem} (learning rate {rate:.3g}); {saved}",
            expected="finite numbers, and losses that become smaller",
            remedy=factories.against_divergence(self.model, self.options, self.progress.step, rate),
        )

    def _report(self, status: str) -> None:
        now = time.monotonic()
        if now - self.reported > REPORT_SECONDS:
            self.reported = now
            epoch = min(len(self.progress.history) + 1, self.epochs)
            line = f"epoch {epoch}/{self.epochs} {status}"
            self.job.report(line, self.progress.step, self.steps)

    def _tick(self) -> None:
        """Add the time since the last tick to the unfinished epoch."""
        now = time.monotonic()
        self.progress.seconds += now - self.clock
        self.clock = now

    def _save(self) -> None:
        self._tick()
        if self.ranks.rank:  # all processes have the same state
            return
        self._require_finite_weights()
        self.checkpoint.save(
            {
                "progress": vars(self.progress),
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "kept": None if self.kept is self.model else self.kept.state_dict(),
                "best_weights": self.best_weights,
                "callbacks": [
                    callback.state() if hasattr(callback, "state") else {}
                    for callback in self.callbacks
                ],
            }
        )
        self.saved = time.monotonic()

    def _require_finite_weights(self) -> None:
        if not all(bool(p.isfinite().all()) for p in self.model.parameters()):
            # The checkpoint is still good.
            raise self._diverges(f"weights are not finite after step {self.progress.step - 1}")

    def _say(self, text: str) -> None:
        self.job.report(text, self.progress.step, self.steps)

    def _resume(self) -> None:
        state = self.checkpoint.load(self._say)
        if state is not None and self.snapshots.are_complete(state["progress"]["step"], self._say):
            self._go_on_from(state)
        elif state is not None:
            self._say("a snapshot is lost: starting from the beginning")
        device = f"{self.compute.describe()['device']}, {self.compute.used}"
        if self.progress.devices[-1:] != [device]:
            self.progress.devices.append(device)

    def _go_on_from(self, state: dict[str, Any]) -> None:
        self.progress = progress = Progress(**state["progress"])
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if state["kept"] is not None:
            self.kept.load_state_dict(state["kept"])
        self.best_weights = state["best_weights"]
        for callback, saved in zip(self.callbacks, state["callbacks"], strict=True):
            if saved:
                callback.load_state(saved)
        if len(progress.history) < self.epochs:
            progress.resumes.append(progress.step)
            progress.resumed = True
        self.job.report(f"goes on from step {progress.step}", progress.step, self.steps)
