"""Numbers by chance that depend on a scenario and a person, and not on who else is predicted."""

from collections.abc import Iterator

import numpy as np

from stp.tracks.scenarios import Scenarios

JITTER, LATENT, STEPS = 1, 2, 3
"""What the numbers are for; each purpose has a stream of its own."""


def normal(scenarios: Scenarios, shape: tuple[int, ...], seed: int, purpose: int) -> np.ndarray:
    """Standard normal numbers of each person of each scenario.

    Args:
        scenarios: of them, start frames and people count.
        shape: of one person's numbers.
        seed: of a prediction.
        purpose: one of the streams above.

    Returns:
        (S, N, *shape); 0 for absent people.
    """
    found = np.zeros((*scenarios.person.shape, *shape))
    for place, random in _streams(scenarios, seed, purpose):
        found[place] = random.normal(size=shape)
    return found


def uniform(scenarios: Scenarios, shape: tuple[int, ...], seed: int, purpose: int) -> np.ndarray:
    """Numbers from 0 to 1, as `normal` has them."""
    found = np.zeros((*scenarios.person.shape, *shape))
    for place, random in _streams(scenarios, seed, purpose):
        found[place] = random.uniform(size=shape)
    return found


def _streams(
    scenarios: Scenarios, seed: int, purpose: int
) -> Iterator[tuple[tuple[int, int], np.random.Generator]]:
    for scene, place in zip(*np.nonzero(scenarios.present), strict=True):
        start, person = int(scenarios.start[scene]), int(scenarios.person[scene, place])
        yield (scene, place), np.random.default_rng([seed, purpose, start + 2**31, person])
