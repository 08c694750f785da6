"""Measure training steps and forecasts of the networks of a plan (`stp plan --measure`)."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from stp.core.errors import StpError
from stp.core.job import Report, report_nothing
from stp.models.compute import Compute, set_up_compute
from stp.models.create import create
from stp.options.train import TrainOptions
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.profiling import memory
from stp.profiling.measure import Json, make_waiter, measure
from stp.profiling.timing import time_repetitions
from stp.run.costs.steps import Step, Steps, batch_of, device_of, unmeasured_trainings
from stp.train.factories import compile_parts, loss_of, optimizer_of, put_channels_last
from stp.train.order import LeadDraws

SECONDS = 4.0
"""Time for which an operation (such as a training step) is repeated to measure its duration,
seconds; slow networks take longer, for at least three repetitions."""


def measure_plan(
    plan: Plan,
    folders: set[str] | None,
    report: Report = report_nothing,
    seconds: float = SECONDS,
) -> Iterator[str]:
    """Measure the networks of a plan whose speed is unknown, and store each result at once.

    Args:
        plan: the plan, with all artefacts (stored results, such as trained models) that are needed.
        folders: folders of the artefacts whose networks are measured; None for all.
        report: callback for the progress.
        seconds: time for which each operation (training step, forecast, ...) is repeated to measure
            its duration, in seconds; slow ones take longer, for at least three repetitions.

    Yields:
        a line of text for each network: the result, or the reason for its absence.
    """
    steps, trainings = Steps(plan), list(unmeasured_trainings(plan, folders))
    if not trainings:
        yield "nothing to measure: each network that waits has a measured speed"
    for number, training in enumerate(trainings, start=1):
        name = f"[{number}/{len(trainings)}] {training.label.partition(', seed')[0]}"
        try:
            step = measure_step(plan, training, _prefix_report(name, report), seconds)
        except StpError as error:  # too large for this machine, no GPU: others may fit
            yield f"{name}: not measured: {error.what}"
            continue
        steps.add(training, step)
        yield (
            f"{name}: {1000 * step.train_s:.3g} ms for a clip in training, "
            f"{1000 * step.forecast_s:.3g} ms for a forecast ({step.device}, batch {step.batch})"
        )


def measure_step(plan: Plan, training: Artefact, report: Report, seconds: float) -> Step:
    """Measure real training steps and forecasts with fresh weights on random frames.

    Args:
        plan: plan with the training.
        training: the training run to measure, an artefact of the plan.
        report: callback for the progress.
        seconds: time for which each operation (training step, forecast, ...) is repeated to measure
            its duration, in seconds; slow ones take longer, for at least three repetitions.

    Returns:
        durations of a training step, a validation and a forecast, in seconds per clip.

    Raises:
        StpError: the machine has no GPU, or too little memory, or the network refuses the frames.
    """
    recipe, options = training.recipe, TrainOptions.from_recipe(training.recipe["train"])
    batch, device = batch_of(plan, training), device_of(plan, training)
    speed = measure(
        recipe,
        precision=options.precision,
        device=device,
        threads=options.threads,
        batch=batch,
        seconds=seconds,
        training=False,
        report=report,
    )["speed"]
    with set_up_compute(device, options.threads, options.precision) as compute:
        work = f"a training step on {batch} clips"
        with memory.out_of_memory(work, "set a smaller train.batch_size, or runtime.micro_batch"):
            _, step = training_step(recipe, options, compute, batch)
            step()
            duration = time_repetitions(
                step, make_waiter(compute.device), seconds, "training step", report
            ).median
        device = str(compute.describe()["device"])
    forecast = speed["forecast"]["median"] / batch
    # A sampler evaluates its network many times for a forecast, and once for a validation.
    evaluation = speed["evaluation"]["median"] / batch if "context" in speed else forecast
    return Step(duration / batch, evaluation, forecast, batch, device, time.strftime("%Y-%m-%d"))


def training_step(
    recipe: Json, options: TrainOptions, compute: Compute, batch: int
) -> tuple[nn.Module, Callable[[], Tensor]]:
    """Make a network with fresh weights, and a function for its training step on random frames.

    Args:
        recipe: recipe of the training.
        options: options of the training. The mean squared error takes the place of a loss that
            ``train.loss`` names, since some of these need prepared data; it takes the same time.
        compute: device, threads and precision.
        batch: number of clips of a step.

    Returns:
        the network, and a function that does a training step and returns the loss.
    """
    torch.manual_seed(0)
    model = create(recipe).to(compute.device).train()
    if options.channels_last:
        put_channels_last(model)
    model.begin_epoch(0)
    plain = replace(options, loss=options.loss and "mse", targets=())
    loss_at = loss_of(model, plain, recipe["context"], recipe["model"], None)
    optimizer = optimizer_of(model, options)
    if options.compiled:
        compile_parts(model)
    length, lead_times = recipe["context"] + recipe["horizon"], []
    if leads := LeadDraws.of(model, recipe["context"], 0):  # the frame of one lead time is read
        length = recipe["context"] + 1
        lead_times = [torch.from_numpy(leads.draw(np.arange(batch), 0)).to(compute.device)]
    clips = torch.rand(batch, length, *recipe["shape"], device=compute.device)

    def step() -> Tensor:
        optimizer.zero_grad()
        with compute.autocast():
            loss = loss_at(clips, 0, *lead_times)
        loss.backward()
        if options.clip_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), options.clip_norm)
        optimizer.step()
        return loss.detach()

    return model, step


def _prefix_report(name: str, report: Report) -> Report:
    return lambda work, done, total: report(f"{name}, {work}", done, total)
