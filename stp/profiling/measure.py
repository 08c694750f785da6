"""Measure a network: its size, the speed of forward passes and forecasts, and its memory."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from stp.core.errors import StpError
from stp.core.job import Report, report_nothing
from stp.core.options import require, whole
from stp.models.compute import set_up_compute
from stp.models.create import create
from stp.models.model import ForecastModel
from stp.profiling import memory
from stp.profiling.forecasts import Parts, Sampled, parts
from stp.profiling.size import Size, size
from stp.profiling.timing import Laps, Timing, time_repetitions

DEVICES = ("auto", "cpu", "cuda")
SHORT = 4
"""Numbers of sampler steps in short forecasts, from which the duration of a long one is derived."""

Json = dict[str, Any]


def measure(
    recipe: Json,
    *,
    precision: str = "float32",
    device: str = "auto",
    threads: int = 1,
    batch: int = 1,
    seconds: float = 10.0,
    training: bool = True,
    report: Report = report_nothing,
) -> Json:
    """Measure a network with fresh weights on random frames.

    As in `stp predict` and `stp train`, algorithms are deterministic, and the device may replace
    the requested precision.

    Args:
        recipe: dict that describes the network: ``model``, ``options``, ``shape`` (C, H, W),
            ``context`` and ``horizon``, as for stp.models.create.
        precision: bf16 or float32.
        device: auto, cpu or cuda.
        threads: number of CPU threads of an operation.
        batch: number of clips in a batch.
        seconds: time for each measurement, in seconds; large networks take longer, for at least
            three repetitions.
        training: whether to measure the memory of a training step.
        report: progress callback.

    Returns:
        dict with four parts: ``size`` (see `describe_size`); ``speed``, the durations of an
        evaluation (forward pass) and of a forecast, seconds, with rates; ``memory``, the peaks of a
        forecast and of a training step, bytes; and ``compute``: device, threads and precision.

    Raises:
        StpError: an argument is out of range, the device does not exist, or there is not enough
            memory.
    """
    require(whole(batch, 1), "--batch", batch, "a whole number from 1")
    require(whole(threads, 1), "--threads", threads, "a whole number from 1")
    require(seconds > 0, "--seconds", seconds, "a number above 0")
    _check(device)
    report("counting", 0, 1)
    counted = size(recipe)
    with set_up_compute(device, threads, precision) as compute:
        where, wait = compute.device, make_waiter(compute.device)
        advice = _memory_advice(batch, where)
        torch.manual_seed(0)
        with memory.out_of_memory("the network", advice):
            model = create(recipe).to(where).eval()
        frames = torch.rand(batch, recipe["context"], *recipe["shape"], device=where)
        whole_forecast = parts(model, recipe["context"], recipe["horizon"])
        forecasts = _Forecasts(
            model, whole_forecast, frames, recipe["horizon"], seconds, wait, report
        )
        with (
            torch.no_grad(),
            compute.autocast(),
            memory.out_of_memory(f"a forecast of {batch} clips", advice),
        ):
            report("memory of a forecast", 0, 1)
            if whole_forecast.sampler is not None:  # all steps take the same memory
                whole_forecast.sampler.shorten(SHORT)
            tensors = [*model.parameters(), *model.buffers(), frames]
            forward = memory.peak(forecasts.evaluate, where, tensors)
            after_forward = memory.process_peak()
            if whole_forecast.sampler is not None:
                whole_forecast.sampler.restore()
            speed = forecasts.speed()
        used: Json = {
            "method": memory.CUDA_METHOD if where.type == "cuda" else memory.CPU_METHOD,
            "forward_bytes": forward,
            "process_bytes_after_forward": after_forward,
        }
        if training:
            report("memory of a training step", 0, 1)
            work = f"a training step on {batch} clips"
            memory.require_free_memory(_least_memory(recipe, batch, counted), where, work, advice)
            with memory.out_of_memory(work, advice):
                used["training_bytes"] = _training_peak(
                    model, recipe, batch, compute.autocast, where
                )
            used["process_bytes_after_training"] = memory.process_peak()
        return {
            "size": describe_size(counted),
            "speed": {"batch": batch, **speed},
            "memory": {"batch": batch, **used},
            "compute": compute.describe(),
        }


def _check(device: str) -> None:
    if device not in DEVICES:
        raise StpError(f"--device is {device!r}", expected="auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise StpError(
            "--device is cuda, but torch finds no GPU",
            remedy="use --device cpu, or a machine with a GPU and a CUDA build of torch",
        )


def _memory_advice(batch: int, device: torch.device) -> str:
    smaller = f"use --batch {max(1, batch // 2)}, " if batch > 1 else "use "
    other = "a GPU with more memory" if device.type == "cuda" else "a machine with more memory"
    return f"{smaller}{other}, or --forward-only, which leaves out the training step"


def make_waiter(device: torch.device) -> Callable[[], None]:
    """Return a function that waits until a device has finished all of its work."""
    return torch.cuda.synchronize if device.type == "cuda" else lambda: None


def describe_size(counted: Size) -> Json:
    """Convert the size of a network to a JSON object.

    Its keys are ``parameters``, ``evaluations_per_forecast`` (forward passes), and
    ``multiply_adds`` and ``floating_point_operations``, each for ``context`` (once per forecast),
    ``evaluation`` and ``forecast``.
    """
    amounts = {
        "context": counted.context,
        "evaluation": counted.evaluation,
        "forecast": counted.forecast,
    }
    return {
        "parameters": counted.parameters,
        "evaluations_per_forecast": counted.evaluations,
        "multiply_adds": amounts,
        "floating_point_operations": {name: 2 * amount for name, amount in amounts.items()},
    }


@dataclass(frozen=True)
class _Forecasts:
    model: ForecastModel
    parts: Parts
    frames: Tensor
    lead: int
    seconds: float
    wait: Callable[[], None]
    report: Report

    def evaluate(self) -> None:
        self.model(self.frames, self.lead)

    def speed(self) -> Json:
        """Durations of evaluations and forecasts; see `measure`."""
        durations: Json = {}
        if self.parts.sampler is None:  # one call is the forecast
            forecast, basis = self._time_forecast("forecast"), "measured"
            evaluation = forecast.times(1 / self.parts.together)
        else:
            context, evaluation, forecast, basis = self._time_sampler(self.parts.sampler)
            durations["context"] = asdict(context)
        batch = len(self.frames)
        durations["evaluation"] = {
            **asdict(evaluation),
            "evaluations_per_s": batch / evaluation.median,
            "frames_per_s": batch * self.parts.frames / evaluation.median,
        }
        durations["forecast"] = {
            **asdict(forecast),
            "forecasts_per_s": batch / forecast.median,
            "frames_per_s": batch * self.lead / forecast.median,
            "basis": basis,
        }
        return durations

    def _time_sampler(self, sampler: Sampled) -> tuple[Timing, Timing, Timing, str]:
        """Time the evaluations in short forecasts, and also whole forecasts if these are fast."""
        few = sampler.shorten(SHORT)
        laps = Laps(sampler.network, self.wait)
        with laps.watching():
            time_repetitions(
                lambda: laps.lap(self.evaluate),
                self.wait,
                self.seconds,
                f"forecast of {few} evaluations",
                self.report,
            )
        context, evaluation, step = map(Timing.of, (laps.before, laps.inside, laps.between))
        count = sampler.restore()
        if context.median + count * step.median <= self.seconds:
            return context, evaluation, self._time_forecast("forecast"), "measured"
        whole_forecast = Timing(
            context.median + count * step.median,
            context.low + count * step.low,
            context.high + count * step.high,
            step.repetitions,
        )
        basis = (
            f"derived from steps of forecasts of {few} evaluations, as all {count} take the same"
        )
        return context, evaluation, whole_forecast, basis

    def _time_forecast(self, what: str) -> Timing:
        return time_repetitions(self.evaluate, self.wait, self.seconds, what, self.report)


def _least_memory(recipe: Json, batch: int, counted: Size) -> int:
    """Least memory of a training step in bytes: weights, gradients, moments, activations."""
    with torch.device("meta"):
        model = create(recipe).train()
        clip = torch.empty(batch, recipe["context"] + recipe["horizon"], *recipe["shape"])
    model.begin_epoch(0)
    try:
        bytes_kept = memory.activation_bytes(model, lambda: model.loss(clip, 0))
    except RuntimeError:  # the loss reads values of tensors, which meta tensors lack
        bytes_kept = 0
    return 4 * 4 * counted.parameters + bytes_kept


def _training_peak(
    model: ForecastModel,
    recipe: Json,
    batch: int,
    autocast: Callable[[], AbstractContextManager[Any]],
    device: torch.device,
) -> int:
    """Peak memory in bytes of a later training step, when Adam has its moments."""
    model.train()
    model.begin_epoch(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0)
    for weights in model.parameters():
        weights.grad = torch.zeros_like(weights)
    optimizer.step()
    optimizer.zero_grad()
    moments = [
        value
        for state in optimizer.state.values()
        for value in state.values()
        if isinstance(value, Tensor)
    ]
    clip = torch.rand(batch, recipe["context"] + recipe["horizon"], *recipe["shape"], device=device)

    def step() -> None:
        optimizer.zero_grad()
        with autocast():
            loss = model.loss(clip, 0)
        loss.backward()
        optimizer.step()

    return memory.peak(step, device, [*model.parameters(), *model.buffers(), *moments, clip])
