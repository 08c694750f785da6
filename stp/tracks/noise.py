"""Random numbers for people that depend only on seed, purpose, scenario and person.

They do not depend on which scenarios are predicted together.
"""

from collections.abc import Iterator

import numpy as np

from stp.tracks.scenarios import Scenarios

JITTER, LATENT, STEPS = 1, 2, 3
"""Purposes of random numbers; each has a stream of its own."""


def normal(scenarios: Scenarios, shape: tuple[int, ...], seed: int, purpose: int) -> np.ndarray:
    """Draw standard normal numbers for each person of each scenario.

    Args:
        scenarios: the scenarios; start frames and people determine the numbers.
        shape: shape of the numbers of one person, such as ``(samples, steps, 2)``.
        seed: seed of the prediction.
        purpose: what the numbers are for: `JITTER` (noise added to predicted positions), `LATENT`
            (choice of a mode) or `STEPS` (positions within a mode). Each has a stream of its own.

    Returns:
        numbers for N people in S scenarios, float64 (S, N, *shape); 0 for absent people.
    """
    numbers = np.zeros((*scenarios.person.shape, *shape))
    for place, random in _streams(scenarios, seed, purpose):
        numbers[place] = random.normal(size=shape)
    return numbers


def uniform(scenarios: Scenarios, shape: tuple[int, ...], seed: int, purpose: int) -> np.ndarray:
    """Draw uniform numbers in [0, 1) for each person of each scenario.

    Args:
        scenarios: the scenarios; start frames and people determine the numbers.
        shape: shape of the numbers of one person, such as ``(samples,)``.
        seed: seed of the prediction.
        purpose: what the numbers are for: `JITTER` (noise added to predicted positions), `LATENT`
            (choice of a mode) or `STEPS` (positions within a mode). Each has a stream of its own.

    Returns:
        numbers for N people in S scenarios, float64 (S, N, *shape); 0 for absent people.
    """
    numbers = np.zeros((*scenarios.person.shape, *shape))
    for place, random in _streams(scenarios, seed, purpose):
        numbers[place] = random.uniform(size=shape)
    return numbers


def _streams(
    scenarios: Scenarios, seed: int, purpose: int
) -> Iterator[tuple[tuple[int, int], np.random.Generator]]:
    for scene, place in zip(*np.nonzero(scenarios.present), strict=True):
        start, person = int(scenarios.start[scene]), int(scenarios.person[scene, place])
        yield (scene, place), np.random.default_rng([seed, purpose, start + 2**31, person])
