"""How much faster do force models predict all people and scenarios at once than one by one?

The alternative, benchmarks/plain/motion.py, is what one writes first: a loop over scenarios, steps
and pairs of people, and the distance to every point of the map. Both predict the same paths; CPU
time, the fastest of several turns, one after the other.

    python benchmarks/motion.py
    python benchmarks/motion.py --points 5506 --people 2 8 32
"""

import argparse
import os
import time
from collections.abc import Callable
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.plain import motion as plain
from stp.tracks import obstacles
from stp.tracks.predictors import karamouzas, social_force, zanlungo
from stp.tracks.scenarios import Scenarios

STEPS, OBSERVED, TURNS, SIDE = 10, 6, 3, 14.0


def crowd(scenes: int, people: int) -> Scenarios:
    """Scenes of equally many people who walk through a square."""
    random = np.random.default_rng(people)
    begin = random.uniform(0, SIDE, (scenes, people, 1, 2))
    steps = np.arange(OBSERVED)[:, None]
    observed = begin + 0.4 * random.normal(0, 1, (scenes, people, 1, 2)) * steps
    person = np.tile(np.arange(people), (scenes, 1))
    future = np.full((scenes, people, STEPS, 2), np.nan)
    return Scenarios(np.arange(scenes), person, observed, future, np.arange(scenes), 0.4, scenes)


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest of several turns."""
    spent = []
    for _ in range(TURNS):
        begin = time.process_time()
        work()
        spent.append(time.process_time() - begin)
    return min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, nargs="+", default=[2, 4, 8, 16, 32])
    parser.add_argument("--points", type=int, default=5506, help="of the map; ETH's has 5,506")
    parser.add_argument("--scenes", type=int, default=200, help="that are predicted at once")
    given = parser.parse_args()
    points = np.random.default_rng(0).uniform(0, SIDE, (given.points, 2))
    place = obstacles.cells(points)
    place.nearest(points[:1])  # builds the tree, once for all predictions
    print(
        f"{'model':<14}{'people':>7}{'ms a scene':>12}{'one by one':>12}{'ratio':>8}{'differs':>10}"
    )
    for model in (social_force, karamouzas, zanlungo):
        name = model.__name__.rpartition(".")[2]
        for people in given.people:
            many, few = crowd(given.scenes, people), crowd(2, people)
            together = partial(
                model.predict, steps=STEPS, parameters=model.Parameters(), obstacles=place
            )
            one_by_one = partial(
                plain.predict, model, few, STEPS, model.Parameters(), obstacles=place
            )
            ours, theirs = seconds(partial(together, many)), seconds(one_by_one)
            same, other = together(few), one_by_one()
            ours, theirs = 1000 * ours / given.scenes, 1000 * theirs / len(few)
            print(
                f"{name:<14}{people:>7}{ours:>12.3f}{theirs:>12.2f}{theirs / ours:>7.0f}x"
                f"{np.abs(same - other).max():>10.0e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
