"""Social GAN without pooling (Gupta et al. 2018: SGAN-20V), with its published weights.

One LSTM reads the observed displacements. Its state, joined with a noise vector that all people of
a scenario share, is the initial state of a second LSTM, which generates the future displacements.
Without pooling, people do not interact.

The weights that Atlas uses were trained on eight observed and twelve future positions of HOTEL and
UCY, without ETH; the paper calls this "trained on ETH". Other lengths are possible.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from stp.core.errors import RawFileError
from stp.tracks.obstacles import Obstacles
from stp.tracks.scenarios import Scenarios

EMBEDDING, HIDDEN, MIXING, NOISE = 16, 32, 64, 8
SEARCH: dict[str, tuple[float, float]] = {}
"""Empty: nothing is calibrated."""


@dataclass(frozen=True)
class Parameters:
    """No parameters: the predictor has only its weights."""


class Reader(nn.Module):
    """The first LSTM, the encoder: reads observed displacements and returns its last state.

    The input is O observed displacements of P people, (O, P, 2), metres. The state has 32 numbers
    for each person, (P, HIDDEN).
    """

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.LSTM(EMBEDDING, HIDDEN)
        self.spatial_embedding = nn.Linear(2, EMBEDDING)

    def forward(self, steps: Tensor) -> Tensor:
        _, (state, _) = self.encoder(self.spatial_embedding(steps))
        return state[0]


class Writer(nn.Module):
    """The second LSTM, the decoder: generates future displacements one after another.

    Its initial state, (P, HIDDEN), joins features of the observed displacements of each of P people
    and a noise vector. The input of its first step is the last observed displacement, (P, 2); the
    input of each later step is the displacement that it generated before.
    """

    def __init__(self) -> None:
        super().__init__()
        self.decoder = nn.LSTM(EMBEDDING, HIDDEN)
        self.spatial_embedding = nn.Linear(2, EMBEDDING)
        self.hidden2pos = nn.Linear(HIDDEN, 2)

    def forward(self, state: Tensor, step: Tensor, count: int) -> Tensor:
        """Generate displacements.

        Args:
            state: initial state, 32 numbers for each of P people, (P, HIDDEN).
            step: last observed displacement, (P, 2), metres.
            count: number of displacements to generate.

        Returns:
            displacements, (count, P, 2), metres.
        """
        memory = (state[None], torch.zeros_like(state)[None])
        written = []
        for _ in range(count):
            out, memory = self.decoder(self.spatial_embedding(step)[None], memory)
            step = self.hidden2pos(out[0])
            written.append(step)
        return torch.stack(written)


class SocialGan(nn.Module):
    """The generator network (16,634 parameters); tensors are named as in the published weights."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Reader()
        self.decoder = Writer()
        self.mlp_decoder_context = nn.Sequential(
            nn.Linear(HIDDEN, MIXING), nn.ReLU(), nn.Linear(MIXING, HIDDEN - NOISE), nn.ReLU()
        )

    def forward(self, steps: Tensor, noise: Tensor, count: int) -> Tensor:
        """Predict displacements of P people.

        Args:
            steps: O observed displacements, (O, P, 2), metres; the first is 0.
            noise: noise vectors of 8 numbers, (P, NOISE), the same for all people of a scenario.
            count: number of displacements to predict.

        Returns:
            displacements, (count, P, 2), metres.
        """
        state = torch.cat([self.mlp_decoder_context(self.encoder(steps)), noise], dim=1)
        displacements: Tensor = self.decoder(state, steps[-1], count)
        return displacements


def load(path: Path, parameters: Parameters | None = None) -> SocialGan:
    """Load published weights, without executing code in the file.

    Args:
        path: path of the file.
        parameters: ignored.

    Raises:
        RawFileError: the file cannot be read, or belongs to another network.
    """
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        network = SocialGan()
        network.load_state_dict(saved["g_state"])
    except Exception as error:  # damaged files raise exceptions of many types
        raise RawFileError(
            path,
            f"no weights of Social GAN ({str(error).splitlines()[0]})",
            expected="a checkpoint of SGAN-20V: without pooling, with 8 numbers of noise",
        ) from None
    return network.eval()


def predict(
    scenarios: Scenarios,
    steps: int,
    parameters: SocialGan,
    obstacles: Obstacles | None = None,
    jitter: np.ndarray | None = None,
) -> np.ndarray:
    """Predict positions with a noise vector of zeros.

    Args:
        scenarios: scenarios to predict.
        steps: number of future positions.
        parameters: the network with its weights.
        obstacles: ignored.
        jitter: random displacement at each step, (S, N, steps, 2), metres; None for none.

    Returns:
        positions of N people in S scenarios, (S, N, steps, 2), metres; NaN for absent people.
    """
    path = _paths(scenarios, steps, parameters, np.zeros((1, len(scenarios), NOISE)))[0]
    return path if jitter is None else path + jitter.cumsum(axis=2)


def draw(
    scenarios: Scenarios,
    steps: int,
    parameters: SocialGan,
    obstacles: Obstacles | None,
    samples: int,
    seed: int,
) -> np.ndarray:
    """Draw several predictions of N people in S scenarios, with different noise.

    The noise depends on the seed, the scenario's start frame and the sample only.

    Args:
        scenarios: scenarios to predict.
        steps: number of future positions.
        parameters: the network with its weights.
        obstacles: ignored.
        samples: number of predictions.
        seed: seed of the noise.

    Returns:
        positions, (samples, S, N, steps, 2), metres; NaN for absent people.
    """
    drawn = [
        np.random.default_rng([seed, int(start) + 2**31]).normal(size=(samples, NOISE))
        for start in scenarios.start
    ]
    return _paths(scenarios, steps, parameters, np.stack(drawn, axis=1))


@torch.inference_mode()
def _paths(scenarios: Scenarios, steps: int, network: SocialGan, noise: np.ndarray) -> np.ndarray:
    """Predict K samples, (K, S, N, steps, 2), with noise (K, S, NOISE)."""
    present = np.nonzero(scenarios.present)
    observed = scenarios.observed[present]
    moved = np.diff(observed, axis=1, prepend=observed[:, :1])
    displacements = torch.from_numpy(np.moveaxis(moved, 1, 0).astype(np.float32))
    of_people = torch.from_numpy(noise[:, present[0]].astype(np.float32))
    paths = np.full((len(noise), *scenarios.person.shape, steps, 2), np.nan)
    for sample in range(len(noise)):
        path = network(displacements, of_people[sample], steps).numpy().astype(np.float64)
        paths[sample][present] = observed[:, -1:] + np.moveaxis(path, 0, 1).cumsum(axis=1)
    return paths
