"""How long a step of each network of a plan takes on this machine: for `stp plan --measure`."""

import time
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import nn

from stp.core.errors import StpError
from stp.core.job import Report, silent
from stp.models.compute import settle
from stp.models.create import create
from stp.options.train import TrainOptions
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.profiling import memory
from stp.profiling.measure import measure
from stp.profiling.timing import timed
from stp.run.costs.steps import Step, Steps, batch_of, device_of, unmeasured
from stp.train.objects import loss_of, optimizer_of

SECONDS = 4.0
"""To spend on each duration; a slow network takes longer, as each is repeated three times."""


def measure_plan(
    plan: Plan,
    folders: set[str] | None,
    report: Report = silent,
    seconds: float = SECONDS,
) -> Iterator[str]:
    """Measure the networks of a plan whose speed nobody knows, and remember each at once.

    Args:
        plan: the plan.
        folders: of its artefacts that count; all unless given.
        report: progress callback.
        seconds: to spend on each duration.

    Yields:
        a line for each network: what was measured, or why nothing was.
    """
    steps, found = Steps(plan), list(unmeasured(plan, folders))
    if not found:
        yield "nothing to measure: each network that waits has a measured speed"
    for number, training in enumerate(found, start=1):
        name = f"[{number}/{len(found)}] {training.label.partition(', seed')[0]}"
        try:
            step = measure_step(plan, training, _named(name, report), seconds)
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
        plan: the plan of the training.
        training: of a network.
        report: progress callback.
        seconds: to spend on each duration.

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
    with settle(device, options.threads, options.precision) as compute:
        torch.manual_seed(0)
        what = f"a training step on {batch} clips"
        with memory.out_of_memory(what, "set a smaller train.batch_size, or runtime.micro_batch"):
            model = create(recipe).to(compute.device).train()
            if hasattr(model, "begin_epoch"):
                model.begin_epoch(0)  # type: ignore[operator]
            # Prepared data need not be there yet, and losses on their grid take as long as others.
            plain = replace(options, loss=options.loss and "mse", targets=())
            loss_at = loss_of(model, plain, recipe["context"], recipe["model"], None)
            optimizer = optimizer_of(model, options)
            length = recipe["context"] + recipe["horizon"]
            clips = torch.rand(batch, length, *recipe["shape"], device=compute.device)

            def step() -> None:
                optimizer.zero_grad()
                with compute.autocast():
                    loss = loss_at(clips, 0)
                loss.backward()
                if options.clip_norm is not None:
                    nn.utils.clip_grad_norm_(model.parameters(), options.clip_norm)
                optimizer.step()

            step()
            wait = torch.cuda.synchronize if compute.device.type == "cuda" else _nothing
            taken = timed(step, wait, seconds, "training step", report).median
        device = str(compute.describe()["device"])
    forecast = speed["forecast"]["median"] / batch
    # A sampler evaluates its network many times for a forecast, and once for a validation.
    evaluation = speed["evaluation"]["median"] / batch if "context" in speed else forecast
    return Step(taken / batch, evaluation, forecast, batch, device, time.strftime("%Y-%m-%d"))


def _named(name: str, report: Report) -> Report:
    return lambda what, done, total: report(f"{name}, {what}", done, total)


def _nothing() -> None:
    """A CPU has done what it was told to."""
