"""Train, by gradient descent, networks that predict people.

The random numbers of a step depend on the seed and the number of the step only, so a resumed
training run gives the same result as an uninterrupted one. Tensors have a row for each person to
predict, with what the network is told about the person's neighbours. The last fifth of the
calibration episodes (scenarios that overlap in time) is the validation set, which selects the best
step.
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
from stp.core.job import Interrupted, Recipe, Report, never_interrupted, report_nothing
from stp.options.calibrate import FittingOptions
from stp.options.protocols import PROTOCOLS
from stp.options.train import LOW_RATE
from stp.tracks.scenarios import Scenarios
from stp.train.checkpoint import Checkpoint
from stp.train.order import INITIAL_WEIGHTS, draw, epoch_order

Rows = Mapping[str, Tensor]
"""Tensors by name, whose first axis is the people to predict."""
WARM_UP = 0.25
"""Share of the steps in which the weight of a warmed-up term of the loss (KL) grows from 0 to 1."""
STATE = "training.pt"
CLIP_NORM = 1.0


class Objective(Protocol):
    """Interface of a predictor of people that can be trained by gradient descent.

    `learn` calls `rows` once, which converts scenarios to tensors with a row for each person to
    predict. Some of these rows, a batch of people, are the argument of the other methods.
    """

    def rows(self, scenarios: Scenarios) -> Rows:
        """Convert scenarios to tensors with a row for each person to predict.

        Args:
            scenarios: scenarios for training, or for validation.

        Returns:
            tensors by name, such as ``velocities`` and ``future``, whose first axis is people. They
            contain observed and future positions of each person and, if the predictor uses them,
            of the person's neighbours.
        """
        ...

    def augment(self, rows: Rows, random: np.random.Generator) -> Rows:
        """Change a batch of people at random in ways that keep it realistic, such as mirroring.

        Args:
            rows: tensors of the batch, by name.
            random: source of random numbers.

        Returns:
            changed tensors of the same shapes, by name.
        """
        ...

    def loss(self, network: nn.Module, rows: Rows, kl_weight: float) -> Tensor:
        """Compute the loss to minimise, a scalar.

        Args:
            network: the network.
            rows: tensors of a batch of people, by name.
            kl_weight: weight of a divergence term, if the loss has one; it rises from 0 to 1 in the
                first steps of the training.
        """
        ...

    def error(self, network: nn.Module, rows: Rows) -> Tensor:
        """Compute the validation error, a scalar, which selects the best step.

        Args:
            network: the network.
            rows: tensors of all people of the validation set, by name; without a validation set,
                those of the training set.
        """
        ...


@dataclass(frozen=True)
class Learned:
    """Result of training a network that predicts people's paths.

    Attributes:
        weights: weights of the best step.
        history: a row for each validation: ``step``, ``loss`` (mean training loss since the
            previous row) and ``error`` (validation error).
        facts: facts of the training, to be stored with the result.
    """

    weights: dict[str, Tensor]
    history: list[dict[str, float]]
    facts: dict[str, Any]


def split(scenarios: Scenarios, protocol: str) -> tuple[np.ndarray, np.ndarray]:
    """Split scenarios into training and validation, the last fifth of the episodes.

    Episodes do not overlap, so the parts share no moment. Training scenarios with people of the
    validation part are dropped, except under the protocol ``atlas-paper``. The validation part is
    empty if there is only one episode, or if no training scenario would remain.

    Args:
        scenarios: scenarios (moments with observed and future positions of people); those that
            overlap in time belong to one episode.
        protocol: name of the protocol, a key of `stp.options.protocols.PROTOCOLS`.

    Returns:
        indices of the scenarios for training, and for validation, int64.
    """
    episodes = np.unique(scenarios.episode)
    count = max(1, round(len(episodes) / 5)) if len(episodes) > 1 else 0
    validated = np.isin(scenarios.episode, episodes[len(episodes) - count :])
    trained = ~validated
    if not PROTOCOLS[protocol].is_released:
        shared = np.isin(scenarios.person, scenarios.person[validated]) & scenarios.present
        trained &= ~shared.any(axis=1)
    if not trained.any():
        return np.arange(len(scenarios)), np.empty(0, np.int64)
    return np.flatnonzero(trained), np.flatnonzero(validated)


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
    report: Report = report_nothing,
    interrupted: Callable[[], bool] = never_interrupted,
) -> Learned:
    """Train a network that predicts the paths of people.

    Args:
        build: function that builds the network, with random weights.
        objective: loss and other functions of the predictor.
        scenarios: scenarios of the part of the dataset that is not used as a test.
        options: options of the training.
        seed: seed of weights, order and augmentation.
        recipe: recipe of the training; the checkpoint of another recipe is not used.
        folder: folder of the checkpoint.
        every_s: time between two checkpoints, seconds.
        report: function that receives the progress.
        interrupted: function that returns whether to stop.

    Raises:
        StpError: there is no scenario, or a loss is NaN or infinite.
        Interrupted: the job was asked to stop, and has saved its state.
    """
    if not len(scenarios):
        raise StpError(
            "no scenario to learn from",
            expected="at least one in the part of the dataset that calibration may see",
            remedy="ask for fewer people, or for shorter observation and prediction",
        )
    trained, validated = split(scenarios, recipe["train_subset"])
    rows = objective.rows(scenarios.select(trained))
    validation_rows = objective.rows(scenarios.select(validated)) if len(validated) else None
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
        drawn = {name: value[chosen] for name, value in rows.items()}
        drawn = dict(objective.augment(drawn, np.random.default_rng([seed, step])))
        rate = 0.5 * (1 + math.cos(math.pi * step / options.steps))
        for group in optimiser.param_groups:
            group["lr"] = options.lr * rate
        loss = objective.loss(network, drawn, min(1.0, step / (WARM_UP * options.steps)))
        if not torch.isfinite(loss):
            raise StpError(
                f"the loss of step {step + 1} is {loss.item()}",
                expected="a finite number",
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
                compared = rows if validation_rows is None else validation_rows
                error = objective.error(network, compared).item()
            since = step - (int(history[-1]["step"]) if history else 0)
            history.append({"step": float(step), "loss": losses / since, "error": error})
            losses = 0.0
            # Without validation the last step counts, whatever its error.
            if validation_rows is None or error < best["error"]:
                best, weights = {"step": float(step), "error": error}, _copy(network)
            report("steps", step, options.steps)
    facts = {
        "steps": options.steps,
        "best_step": int(best["step"]),
        "validation_error": best["error"] if validation_rows is not None else None,
        "validation_scenarios": len(validated),
        "parameters": sum(value.numel() for value in network.parameters()),
    }
    return Learned(weights, history, facts)


def _copy(network: nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}
