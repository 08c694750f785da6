"""A training by gradient descent for networks that predict people.

Each step is a function of the seed and its number, so a training that was interrupted goes on as if
it had not been. People are rows of tensors, whose neighbours are in the row as well. The last fifth
of the calibration episodes is kept for validation: its weights are those of the step that was best
there; the test part is never looked at.
"""

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from stp.core.errors import StpError
from stp.core.job import Interrupted, Recipe, Report, never, silent
from stp.options.calibrate import FittingOptions
from stp.options.protocols import PROTOCOLS
from stp.options.train import LOW_RATE
from stp.tracks.scenarios import Scenarios
from stp.train.checkpoint import Checkpoint
from stp.train.order import INITIAL_WEIGHTS, draw, epoch_order

Rows = Mapping[str, Tensor]
"""Tensors whose first axis is people."""
WARM_UP = 0.25
"""Share of the steps in which the weight of a warmed-up term of the loss (KL) grows from 0 to 1."""
STATE = "training.pt"
CLIP_NORM = 1.0


class Objective(Protocol):
    """What a predictor's training needs to know of it."""

    def rows(self, scenarios: Scenarios) -> Rows:
        """Make tensors of scenarios: what is observed, and the future."""
        ...

    def varied(self, rows: Rows, random: np.random.Generator) -> Rows:
        """Change rows by chance into others that are as likely."""
        ...

    def loss(self, network: nn.Module, rows: Rows, kl_weight: float) -> Tensor:
        """The loss to minimise, a scalar; ``kl_weight`` grows from 0 to 1 (warm-up)."""
        ...

    def error(self, network: nn.Module, rows: Rows) -> Tensor:
        """What the best step has least of, a scalar."""
        ...


@dataclass(frozen=True)
class Learned:
    """What a training has made.

    Attributes:
        weights: of the best step.
        history: a row for each validation: step, loss (mean since the last one), error.
        told: for the receipt.
    """

    weights: dict[str, Tensor]
    history: list[dict[str, float]]
    told: dict[str, Any]


def split(scenarios: Scenarios, protocol: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of scenarios to learn from, and of those to validate on: the last fifth of episodes.

    Episodes do not overlap, so no moment of the one is in the other. Except under ``atlas-paper``,
    scenarios of people who are in validation, too, are in neither. Nothing is kept for validation
    of a single episode, or where nothing would be left to learn from.
    """
    episodes = np.unique(scenarios.episode)
    kept = max(1, round(len(episodes) / 5)) if len(episodes) > 1 else 0
    last = np.isin(scenarios.episode, episodes[len(episodes) - kept :])
    learnt = ~last
    if not PROTOCOLS[protocol].is_released:
        shared = np.isin(scenarios.person, scenarios.person[last]) & scenarios.present
        learnt &= ~shared.any(axis=1)
    if not learnt.any():
        return np.arange(len(scenarios)), np.empty(0, np.int64)
    return np.flatnonzero(learnt), np.flatnonzero(last)


def learn(
    build: Callable[[], nn.Module],
    objective: Objective,
    scenarios: Scenarios,
    options: FittingOptions,
    *,
    seed: int,
    recipe: Recipe,
    folder: Path,
    every_s: float = 60.0,
    report: Report = silent,
    interrupted: Callable[[], bool] = never,
) -> Learned:
    """Train a network.

    Args:
        build: makes the network, with weights by chance.
        objective: of the predictor.
        scenarios: of the calibration part.
        options: of the training.
        seed: of weights, order and variations.
        recipe: a state of another recipe is not used.
        folder: of the state to go on from.
        every_s: seconds between two such states.
        report: is told the progress.
        interrupted: says whether to stop.

    Raises:
        StpError: there is no scenario, or a loss is NaN or infinite.
        Interrupted: it was asked to stop, and has saved its state.
    """
    if not len(scenarios):
        raise StpError(
            "no scenario to learn from",
            expected="at least one in the part of the dataset that calibration may see",
            remedy="ask for fewer people, or for shorter observation and prediction",
        )
    learnt, validated = split(scenarios, recipe["train_subset"])
    rows = objective.rows(scenarios.chosen(learnt))
    kept = objective.rows(scenarios.chosen(validated)) if len(validated) else None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(draw(seed, INITIAL_WEIGHTS, 0)[0] % 2**63))
        network = build()
    optimiser = torch.optim.Adam(network.parameters(), lr=options.lr)
    people = len(next(iter(rows.values())))
    batches = max(1, people // options.batch_size)
    best = {"step": 0.0, "error": float("inf")}
    weights = copy.deepcopy(network.state_dict())
    history: list[dict[str, float]] = []
    step, losses = 0, 0.0
    checkpoint = Checkpoint(folder / STATE, recipe)
    state = checkpoint.load(lambda _: None)
    if state is not None:
        network.load_state_dict(state["network"])
        optimiser.load_state_dict(state["optimiser"])
        step, losses = state["step"], state["losses"]
        best, weights, history = state["best"], state["weights"], state["history"]

    def save() -> None:
        checkpoint.save(
            {
                "network": network.state_dict(),
                "optimiser": optimiser.state_dict(),
                **{"step": step, "losses": losses},
                **{"best": best, "weights": weights, "history": history},
            }
        )

    saved = time.monotonic()
    while step < options.steps:
        if interrupted():
            save()
            raise Interrupted(f"stopped after {step} of {options.steps} steps")
        if time.monotonic() - saved > every_s:
            save()
            saved = time.monotonic()
        epoch, batch = divmod(step, batches)
        order = epoch_order(np.arange(people), seed, epoch)
        chosen = torch.from_numpy(np.array_split(order, batches)[batch])
        given = {name: value[chosen] for name, value in rows.items()}
        given = dict(objective.varied(given, np.random.default_rng([seed, step])))
        rate = 0.5 * (1 + math.cos(math.pi * step / options.steps))
        for group in optimiser.param_groups:
            group["lr"] = options.lr * rate
        loss = objective.loss(network, given, min(1.0, step / (WARM_UP * options.steps)))
        if not torch.isfinite(loss):
            raise StpError(
                f"the loss of step {step + 1} is {loss.item()}",
                expected="a number",
                remedy="look at the data (`stp list datasets`)"
                + (", or take a smaller train.lr" if step and options.lr > LOW_RATE else ""),
            )
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), CLIP_NORM)
        optimiser.step()
        step, losses = step + 1, losses + loss.item()
        if step % options.validate_every == 0 or step == options.steps:
            with torch.inference_mode():
                seen = objective.error(network, rows if kept is None else kept).item()
            since = step - (int(history[-1]["step"]) if history else 0)
            history.append({"step": float(step), "loss": losses / since, "error": seen})
            losses = 0.0
            # Without validation the last step counts, whatever its error.
            if kept is None or seen < best["error"]:
                best, weights = {"step": float(step), "error": seen}, _copy(network)
            report("steps", step, options.steps)
    told = {
        "steps": options.steps,
        "best_step": int(best["step"]),
        "validation_error": best["error"] if kept is not None else None,
        "validation_scenarios": len(validated),
        "parameters": sum(value.numel() for value in network.parameters()),
    }
    return Learned(weights, history, told)


def _copy(network: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}
