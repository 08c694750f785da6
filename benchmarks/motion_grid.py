"""The full transfer grid of Atlas: how long does it take, and how long would a plain loop?

Every predictor with the released parameters of every dataset, on the scenarios of every dataset:
3 predictors, 5 calibrations, 5 tests. Scenarios and maps are generated, as many and as crowded as
those of ETH and HOTEL are, and as those of ATC and THÖR may be. A cell is predicted and scored as
the stages do it, in memory; the loop, benchmarks/plain/motion.py, predicts a few scenarios of each
cell, and its time is that times their number. CPU time on one core.

    python benchmarks/motion_grid.py
    python benchmarks/motion_grid.py --calibrate 300
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import yaml

from benchmarks.plain import motion as plain
from stp.tracks import errors, obstacles
from stp.tracks.obstacles import Obstacles
from stp.tracks.predictors import constant_velocity, karamouzas, social_force
from stp.tracks.scenarios import Scenarios

MODELS = (constant_velocity, social_force, karamouzas)
ROOT = Path(__file__).parents[1]
A_FEW, EARLY, AT_ONCE = 2, 6, 512
"""Scenarios of a cell that the loop predicts; steps that are compared; scenarios of a batch."""
T = TypeVar("T")


@dataclass(frozen=True)
class Test:
    """What a dataset is like.

    Attributes:
        scenarios: how many.
        people: of each.
        observe, predict: positions.
        cells: of its map; 0 for none.
        side: metres of the square in which people walk.
    """

    scenarios: int
    people: int
    observe: int
    predict: int
    cells: int
    side: float


TESTS = {
    "atlas_eth": Test(31, 3, 6, 10, 5506, 14.0),
    "atlas_hotel": Test(5, 5, 6, 10, 5186, 10.0),
    "atlas_atc": Test(500, 12, 8, 12, 0, 40.0),
    "atlas_thor1": Test(1000, 8, 8, 12, 38846, 20.0),
    "atlas_thor3": Test(1000, 8, 8, 12, 38981, 20.0),
}
"""Scenarios and people of ETH and HOTEL are counted; those of ATC and THÖR are supposed: many."""


def crowd(test: Test) -> Scenarios:
    """People who walk through a square."""
    random = np.random.default_rng(test.people)
    shape = (test.scenarios, test.people, 1, 2)
    steps = np.arange(test.observe + test.predict)[:, None]
    path = random.uniform(0, test.side, shape) + 0.4 * random.normal(0, 1, shape) * steps
    path = path + random.normal(0, 0.02, path.shape)
    person = np.tile(np.arange(test.people), (test.scenarios, 1))
    number = np.arange(test.scenarios)
    observed, future = path[:, :, : test.observe], path[:, :, test.observe :]
    return Scenarios(number, person, observed, future, number, 0.4, test.scenarios)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds, and what was made."""
    begin = time.process_time()
    made = work()
    return time.process_time() - begin, made


def parameters(model: Any, dataset: str) -> Any:
    """Those that the authors of Atlas have released."""
    path = ROOT / f"config/models/{model.__name__.rpartition('.')[2]}.yaml"
    variants = yaml.safe_load(path.read_text()).get("variants", {})
    given = variants.get("released", {}).get("datasets", {}).get(dataset, {})
    return model.Parameters(**given)


def score(model: Any, chosen: Any, scenarios: Scenarios, place: Obstacles | None) -> float:
    """A cell: predict all scenarios, and take the mean of their errors."""
    found = []
    for batch in scenarios.batches(AT_ONCE):
        made = model.predict(batch, batch.future.shape[2], chosen, place)
        away = errors.displacement(made, batch.future)
        found.append(errors.by_scenario(errors.ade(away)))
    return float(np.concatenate(found).mean())


def loop(model: Any, chosen: Any, scenarios: Scenarios, place: Obstacles | None) -> float:
    """CPU seconds of the loop for all scenarios, from those for a few."""
    few = next(scenarios.batches(A_FEW))
    steps = few.future.shape[2]
    took, other = timed(lambda: plain.predict(model, few, steps, chosen, place))
    same = model.predict(few, steps, chosen, place)
    # Forces are so steep that a difference in the last digit grows tenfold with each step.
    if not np.allclose(same[:, :, :EARLY], other[:, :, :EARLY], atol=1e-6):
        raise SystemExit(f"{model.__name__}: the loop walks elsewhere")
    return took / len(few) * len(scenarios)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--calibrate", type=int, default=0, metavar="TRIALS",
        help="also say how long so many trials of each calibration take, on a fifth of each",
    )  # fmt: skip
    given = parser.parse_args()
    ours = theirs = trials = 0.0
    print(f"{'test':<13}{'scenarios':>10}{'people':>8}{'ours s':>9}{'loop s':>9}{'ratio':>8}")
    for name, test in TESTS.items():
        scenarios = crowd(test)
        points = np.random.default_rng(0).uniform(0, test.side, (test.cells, 2))
        place = obstacles.cells(points) if test.cells else None
        spent = looped = 0.0
        for model in MODELS:
            for calibrated in TESTS:
                chosen = parameters(model, calibrated)
                took, _ = timed(partial(score, model, chosen, scenarios, place))
                spent += took
                # Constant velocity has no loop that anybody would write.
                looped += loop(model, chosen, scenarios, place) if model.SEARCH else took
            if given.calibrate and model.SEARCH:
                fifth = next(scenarios.batches(max(1, test.scenarios // 5)))
                took, _ = timed(partial(score, model, model.Parameters(), fifth, place))
                trials += took * given.calibrate
        ours, theirs = ours + spent, theirs + looped
        print(
            f"{name:<13}{test.scenarios:>10}{test.people:>8}{spent:>9.1f}{looped:>9.0f}"
            f"{looped / spent:>7.0f}x",
            flush=True,
        )
    cells = len(MODELS) * len(TESTS) ** 2
    print(f"{cells} cells: {ours:.1f} s of CPU; {theirs:.0f} s with the loop: {theirs / ours:.0f}x")
    if given.calibrate:
        print(f"10 calibrations of {given.calibrate} trials: {trials:.0f} s of CPU more")


if __name__ == "__main__":
    main()
