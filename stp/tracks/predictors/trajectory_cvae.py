"""CVAE: a small network similar to Trajectron++ (Salzmann et al. 2020).

As in Trajectron++, a recurrent network reads the observed path, neighbours within 3 m are pooled, a
discrete latent variable selects one of several modes, and a decoder predicts a Gaussian of the
velocity at each step, which is integrated to positions. The prediction is therefore a mixture in
closed form, with one component for each value of the latent variable. There are three differences.
The x axis of each person is the direction of motion, in place of random rotations. The decoder
predicts the difference from the filtered velocity of the constant-velocity model. It does not read
its own samples, so that positions are Gaussian.

The loss is that of a conditional variational autoencoder, with a term for the mutual information
between the latent variable and the observation; the expectation over the latent variable is exact.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from stp.core.errors import StpError
from stp.core.options import require
from stp.tracks import noise
from stp.tracks.densities import Mixture
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios
from stp.tracks.velocity import filtered_velocity

Rows = Mapping[str, Tensor]
"""Tensors whose first axis is people."""
SEARCH: dict[str, tuple[float, float]] = {}
"""Empty: the network is trained."""
NARROWEST, WIDEST = 0.02, 2.0
"""Bounds of the standard deviation of a velocity, metres per second."""
MOST_CORRELATED = 0.9


@dataclass(frozen=True)
class Parameters:
    """Options of the network and of its training.

    Attributes:
        hidden: number of units of each hidden state.
        latents: number of modes Z, which are the components of the predicted mixture.
        radius: largest distance at which another person counts as a neighbour, metres.
        information: weight of the mutual information between latent variable and observation.
        mirrored: whether half of the people in each training step are mirrored; unsuitable where
            people keep to one side and the data are sufficient to learn this.
    """

    hidden: Annotated[int, Field(ge=1, le=512)] = 32
    latents: Annotated[int, Field(ge=1, le=100)] = 25
    radius: float = 3.0
    information: float = 1.0
    mirrored: bool = True

    def __post_init__(self) -> None:
        require(self.radius >= 0, "radius", self.radius, "metres, from 0")
        require(self.information >= 0, "information", self.information, "a number from 0")


class Cvae(nn.Module):
    """The network: predicts where each person will be, as a mixture of Gaussians at each step.

    Its inputs are the observed velocities and the neighbours of P people (see `tensors`). The
    method `mixture` returns the log-probabilities of Z modes, (P, Z). A mode is one way in which a
    person may go on. For each mode and each of T future steps, the method also returns mean, (P, Z,
    T, 2), and covariance, (P, Z, T, 3), of the person's position. The three numbers of a covariance
    are its elements xx, xy and yy: variance along x, covariance of x and y, and variance along y.

    Args:
        parameters: options of the network.
        dt: time between two positions, seconds.
    """

    def __init__(self, parameters: Parameters, dt: float) -> None:
        super().__init__()
        size, self.latents, self.dt = parameters.hidden, parameters.latents, dt
        self.history = nn.GRU(2, size, batch_first=True)
        self.neighbour = nn.Sequential(nn.Linear(4, size), nn.ReLU(), nn.Linear(size, size))
        self.future = nn.GRU(2, size, batch_first=True)
        self.prior = _two_layers(2 * size + 2, size, self.latents)
        self.posterior = _two_layers(3 * size + 2, size, self.latents)
        self.begin = nn.Linear(2 * size + 2, size)
        self.way = nn.Embedding(self.latents, size)
        self.decoder = nn.GRU(1, size)
        self.velocity = nn.Linear(size, 5)

    def features(self, rows: Rows) -> Tensor:
        """Compute F features of the observation of each of P people, (P, F).

        Args:
            rows: observed velocities and neighbours of these people, tensors by name as returned
                by `tensors`.
        """
        _, state = self.history(rows["velocities"])
        others = torch.cat([rows["apart"], rows["relative"]], dim=-1)
        near = torch.where(rows["near"][..., None], self.neighbour(others).relu(), 0)
        pooled = near.amax(dim=1) if near.shape[1] else torch.zeros_like(state[0])
        return torch.cat([state[0], pooled, rows["wanted"]], dim=-1)

    def velocity_gaussians(self, features: Tensor, steps: int) -> tuple[Tensor, Tensor]:
        """Predict a Gaussian of a person's velocity for each of Z modes and each future step.

        Means are relative to the filtered velocity, which the caller has to add. It is the weighted
        mean of the person's observed velocities, ``wanted`` in the result of `tensors`.

        Args:
            features: features of P people, (P, F), from the method `features`.
            steps: number of future steps T.

        Returns:
            means, (P, Z, T, 2), m/s, and covariances (xx, xy, yy), (P, Z, T, 3), m²/s².
        """
        state = (self.begin(features)[:, None] + self.way.weight).tanh()
        people, ways, size = state.shape
        inputs = features.new_zeros((steps, people * ways, 1))
        decoded, _ = self.decoder(inputs, state.reshape(1, people * ways, size))
        decoded = self.velocity(decoded).reshape(steps, people, ways, 5).permute(1, 2, 0, 3)
        spread = NARROWEST + (WIDEST - NARROWEST) * (decoded[..., 2:4] - 2).sigmoid()
        between = MOST_CORRELATED * decoded[..., 4].tanh() * spread[..., 0] * spread[..., 1]
        covariance = torch.stack([spread[..., 0] ** 2, between, spread[..., 1] ** 2], dim=-1)
        return decoded[..., :2], covariance

    def mixture(self, rows: Rows, steps: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Predict the mixture of Gaussians of positions for P people.

        Args:
            rows: observed velocities and neighbours of these people, tensors by name as returned
                by `tensors`.
            steps: number of future steps T.

        Returns:
            log-probabilities of Z modes, (P, Z); F features of each person, (P, F); means, (P, Z,
            T, 2), metres, and covariances (xx, xy, yy), (P, Z, T, 3), square metres, of positions
            relative to the last observed position.
        """
        features = self.features(rows)
        velocity, covariance = self.velocity_gaussians(features, steps)
        velocity = velocity + rows["wanted"][:, None, None]
        means = velocity.cumsum(dim=2) * self.dt
        return (
            self.prior(features).log_softmax(dim=-1),
            features,
            means,
            covariance.cumsum(dim=2) * self.dt**2,
        )


def _two_layers(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def log_density(means: Tensor, covariances: Tensor, truth: Tensor) -> Tensor:
    """Log-density of two-dimensional Gaussians at positions, nats, one number for each Gaussian.

    Args:
        means: means x and y, (..., 2), metres.
        covariances: covariances xx, xy and yy, (..., 3), square metres.
        truth: positions x and y, (..., 2), metres.
    """
    x, y = (truth - means).unbind(dim=-1)
    xx, xy, yy = covariances.unbind(dim=-1)
    area = xx * yy - xy * xy
    square = (yy * x * x - 2 * xy * x * y + xx * y * y) / area
    return -0.5 * square - 0.5 * area.log() - float(np.log(2 * np.pi))


class Objective:
    """Training objective of the network: the negative evidence lower bound.

    It gives the training loop what depends on this network: inputs and targets, their random
    changes, the loss, and the validation error (the interface `stp.train.learning.Objective`).

    Args:
        parameters: options of the network and of its training. Three are used: ``radius``, the
            largest distance of neighbours, whose positions are inputs; ``information``, the weight
            of the mutual information between latent variable and observation in the loss; and
            ``mirrored``, whether people are mirrored at random (`augment`).
    """

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def rows(self, scenarios: Scenarios) -> Rows:
        """Convert scenarios to inputs and targets of the network, as `tensors` returns them.

        They are tensors by name, such as ``velocities`` and ``future``, a row for each person.
        """
        return tensors(scenarios, self.parameters.radius)

    def augment(self, rows: Rows, random: np.random.Generator) -> Rows:
        """Mirror left and right for about half of the people, at random, to augment training data.

        Nothing changes if the option ``mirrored`` is off.
        """
        if not self.parameters.mirrored:
            return rows
        sides = torch.from_numpy(random.choice([-1.0, 1.0], len(rows["wanted"])).astype(np.float32))
        by = torch.stack([torch.ones_like(sides), sides], dim=-1)
        return {
            name: value if name == "near" else value * (by if value.ndim == 2 else by[:, None])
            for name, value in rows.items()
        }

    def loss(self, network: nn.Module, rows: Rows, kl_weight: float) -> Tensor:
        """Negative evidence lower bound, mean over people and steps, to be minimised.

        The mutual information of the latent variable is part of the bound, with the weight
        ``information``.

        Args:
            network: the network.
            rows: inputs and targets, tensors by name as returned by `tensors`.
            kl_weight: weight of the divergence of the latent variable's posterior from its prior,
                which rises from 0 to 1 at the beginning of a training.
        """
        assert isinstance(network, Cvae)
        future = rows["future"]
        prior, features, means, covariances = network.mixture(rows, future.shape[1])
        each = log_density(means, covariances, future[:, None]).sum(dim=-1)  # (P, Z)
        moved = future.diff(dim=1, prepend=torch.zeros_like(future[:, :1])) / network.dt
        _, state = network.future(moved - rows["wanted"][:, None])
        posterior = network.posterior(torch.cat([features, state[0]], dim=-1)).log_softmax(dim=-1)
        share = posterior.exp()
        reconstruction = (share * each).sum(dim=-1).mean()
        divergence = (share * (posterior - prior)).sum(dim=-1).mean()
        mean = share.mean(dim=0)
        information = (share * posterior).sum(dim=-1).mean() - (mean * (mean + 1e-9).log()).sum()
        bound = reconstruction - kl_weight * divergence + self.parameters.information * information
        return -bound / future.shape[1]

    def error(self, network: nn.Module, rows: Rows) -> Tensor:
        """Negative log-density of the true positions, mean over people and steps, nats.

        Args:
            network: the network.
            rows: inputs and targets, tensors by name as returned by `tensors`.
        """
        assert isinstance(network, Cvae)
        future = rows["future"]
        ways, _, means, covariances = network.mixture(rows, future.shape[1])
        each = ways[..., None] + log_density(means, covariances, future[:, None])
        return -each.logsumexp(dim=1).mean()


def tensors(scenarios: Scenarios, radius: float) -> dict[str, Tensor]:
    """Make the network's inputs and targets, a row for each person.

    Vectors are in the axes of the person: along and to the left of the filtered velocity
    (`stp.tracks.velocity.filtered_velocity`).

    Args:
        scenarios: scenarios with P present people in total, padded to N people per scenario.
        radius: largest distance of neighbours, metres.

    Returns:
        tensors by name, for O observed and T future positions:

        - ``wanted``: filtered velocity (weighted mean of the observed ones), m/s, (P, 2);
        - ``velocities``: observed velocities minus ``wanted``, m/s, (P, O - 1, 2);
        - ``future``: true positions relative to the last observed one, metres, (P, T, 2);
        - ``near``: mask of the neighbours, other people within ``radius``, (P, N);
        - ``apart``: positions of the neighbours relative to the person, metres, (P, N, 2); else 0;
        - ``relative``: their velocities relative to the person's, m/s, (P, N, 2); else 0.
    """
    present = scenarios.present
    velocities = np.diff(scenarios.observed, axis=2) / scenarios.dt
    wanted = filtered_velocity(scenarios.observed, scenarios.dt)
    last = scenarios.observed[:, :, -1]
    apart, relative = last[:, None] - last[:, :, None], wanted[:, None] - wanted[:, :, None]
    own = np.eye(present.shape[1], dtype=bool)
    near = present[:, None] & present[:, :, None] & ~own
    with np.errstate(invalid="ignore"):
        near &= np.linalg.norm(apart, axis=-1) <= radius
    arrays = {
        "velocities": velocities - wanted[:, :, None],
        "wanted": wanted,
        "future": scenarios.future - last[:, :, None],
        "apart": np.where(near[..., None], apart, 0),
        "relative": np.where(near[..., None], relative, 0),
    }
    frame = axes(wanted[present])
    rows = {
        name: torch.from_numpy(
            np.einsum("pab,p...b->p...a", frame, value[present]).astype(np.float32)
        )
        for name, value in arrays.items()
    }
    return {**rows, "near": torch.from_numpy(near[present])}


def axes(velocity: np.ndarray) -> np.ndarray:
    """Axes of each of P people: unit vectors along and to the left of the velocity.

    Args:
        velocity: velocities, (P, 2).

    Returns:
        the two vectors as rows, (P, 2, 2).
    """
    angle = np.arctan2(velocity[:, 1], velocity[:, 0])
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([cosine, sine], -1), np.stack([-sine, cosine], -1)], axis=1)


def network(parameters: Parameters, dt: float) -> Cvae:
    """Build the network with random weights; ``dt`` is the time between positions, seconds."""
    return Cvae(parameters, dt)


@dataclass(frozen=True)
class Trained:
    """A trained network, with its options.

    Attributes:
        network: the network, in evaluation mode.
        parameters: options of the network and of its training.
    """

    network: Cvae
    parameters: Parameters


def load(path: Path, parameters: Parameters) -> Trained:
    """Read the weights of a trained network.

    Args:
        path: path of the file of weights.
        parameters: options with which the network was trained.

    Raises:
        StpError: the file cannot be read, or belongs to another network.
    """
    try:
        saved: Mapping[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        network = Cvae(parameters, float(saved["dt"]))
        network.load_state_dict(saved["weights"])
    except Exception as error:  # damaged files raise exceptions of many types
        raise StpError(
            f"{path}: no weights of this network ({str(error).splitlines()[0]})",
            expected="weights of a training with the same options",
            remedy="train it again",
        ) from None
    return Trained(network.eval(), parameters)


@torch.inference_mode()
def predict(
    scenarios: Scenarios,
    steps: int,
    parameters: Trained,
    obstacles: Obstacles | None = None,
    jitter: np.ndarray | None = None,
) -> Mixture:
    """Predict a mixture of Gaussians for each person and step, with a component for each mode.

    Args:
        scenarios: scenarios to predict.
        steps: number of future positions.
        parameters: the trained network.
        obstacles: ignored.
        jitter: ignored, since the predictor draws its own samples (`draw`).

    Returns:
        mixtures of Gaussians of positions in metres, for N people in S scenarios at each step; NaN
        for absent people.
    """
    rows = tensors(scenarios, parameters.parameters.radius)
    ways, _, means, covariances = parameters.network.mixture(rows, steps)
    present, last, frame = scenarios.present, scenarios.observed[:, :, -1], _frame(scenarios)
    shape = (*present.shape, steps, ways.shape[1])
    weights, centres = np.full(shape, np.nan), np.full((*shape, 2), np.nan)
    spread = np.full((*shape, 2, 2), np.nan)
    share = ways.double().softmax(dim=-1).numpy()
    weights[present] = np.broadcast_to(share[:, None], weights[present].shape)
    relative = np.einsum("pab,pzta->ptzb", frame, means.double().numpy())
    centres[present] = relative + last[present][:, None, None]
    xx, xy, yy = np.moveaxis(covariances.double().numpy(), -1, 0)
    own = np.stack([np.stack([xx, xy], -1), np.stack([xy, yy], -1)], -1)
    spread[present] = np.einsum("pab,pztac,pcd->ptzbd", frame, own, frame)
    return Mixture(weights, centres, spread)


def _frame(scenarios: Scenarios) -> np.ndarray:
    """Axes of all people, (P, 2, 2); see `axes`."""
    return axes(filtered_velocity(scenarios.observed, scenarios.dt)[scenarios.present])


@torch.inference_mode()
def draw(
    scenarios: Scenarios,
    steps: int,
    parameters: Trained,
    obstacles: Obstacles | None,
    samples: int,
    seed: int,
) -> np.ndarray:
    """Draw several predictions for N people in S scenarios: for each person a mode, then positions.

    The random numbers depend on the seed, the scenario's start frame and the person only.

    Args:
        scenarios: scenarios to predict.
        steps: number of future positions.
        parameters: the trained network.
        obstacles: ignored.
        samples: number of predictions.
        seed: seed of the random numbers.

    Returns:
        positions, (samples, S, N, steps, 2), metres; NaN for absent people.
    """
    rows = tensors(scenarios, parameters.parameters.radius)
    network, present = parameters.network, scenarios.present
    features = network.features(rows)
    velocity, covariance = (
        part.double().numpy() for part in network.velocity_gaussians(features, steps)
    )
    velocity = velocity + rows["wanted"].double().numpy()[:, None, None]
    share = network.prior(features).double().softmax(dim=-1).numpy()
    chance = noise.uniform(scenarios, (samples,), seed, noise.LATENT)[present]
    way = (chance[..., None] > share.cumsum(axis=-1)[:, None, :-1]).sum(axis=-1)  # (P, K)
    person = np.arange(len(way))[:, None]
    mean, (xx, xy, yy) = velocity[person, way], np.moveaxis(covariance[person, way], -1, 0)
    a, b = np.moveaxis(
        noise.normal(scenarios, (samples, steps, 2), seed, noise.STEPS)[present], -1, 0
    )
    x = np.sqrt(xx) * a  # Cholesky factor of the covariance
    y = xy / np.sqrt(xx) * a + np.sqrt(yy - xy * xy / xx) * b
    moved = (mean + np.stack([x, y], axis=-1)).cumsum(axis=2) * network.dt
    drawn = np.full((samples, *present.shape, steps, 2), np.nan)
    last = scenarios.observed[:, :, -1][present]
    moved = np.einsum("pab,pkta->kptb", _frame(scenarios), moved)
    drawn[:, present] = moved + last[:, None]
    return drawn
