"""Tests that are long by nature, in parts: ``pytest.mark.long(part=...)``.

``make test`` leaves them out, ``make test-all`` runs them all, and CI runs one, chosen by the
commit: ``python tests/parts.py COMMIT`` prints its name.
"""

import random
import sys
from collections.abc import Collection
from typing import Any

PARTS = {
    "demo": "the demo of the README, and all of its datasets",
    "dimensions": "the demo in all four dimensions, with all figures",
    "wide": "all models on a dataset of each domain",
    "docs": "pages of docs/ followed to the letter, and pages compared as a whole",
    "own": "data, models, metrics, training parts and forecasts of people's own, by their pages",
    "kinds": "more kinds of real workflow: reports, figures, samples; more of small stores",
    "suites": "real workflows of other suites than PredBench, and of one that is added",
    "reruns": "edits, kills, damage and foreign results met by real runs",
    "processes": "each stage, and each kind of store, in processes of its own; full disks",
    "browser": "charts and forecasts of the report, and questionnaires, in a browser",
    "fuzz": "a thousand damaged files for each reader",
    "learning": "every model learns by heart; trainings in several processes",
    "networks": "ChaosBench's networks, trained as in its demo, beat persistence",
    "slurm-jobs": "what happens to single jobs on a real Slurm",
    "slurm-people": "what people, disks and the controller do to runs on a real Slurm",
    "slurm-fvd": "the demo of the study of FVD on a real Slurm, its jobs together and alone",
    "slurm-robustness": "PredBench's robustness demo on a real Slurm, together and alone",
    "slurm-suites": "the demos of PVQA and SCV on a real Slurm",
    "slurm-atlas": "Atlas's demo on a real Slurm",
    "slurm-chaosbench": "ChaosBench's demo on a real Slurm",
    "chaos": "random kills on a real Slurm",
    "oldest": "the oldest releases of dependencies, in an environment of their own (3 GB)",
}
ON_DEMAND = {"oldest"}
"""Parts that CI does not choose: they download much."""
AT_A_TIME = 1


def chosen(commit: str) -> list[str]:
    """The parts for a commit: the same each time, each part as likely as any other."""
    return sorted(random.Random(commit).sample(sorted({*PARTS} - ON_DEMAND), AT_A_TIME))


def long_except(short: Collection[Any], values: Collection[Any], part: str) -> list[Any]:
    """Values of a parameter, or tuples of several ones, of which all but some belong to a part."""
    import pytest  # not for those who ask for a commit's part

    long = pytest.mark.long(part=part)
    return [
        value
        if value in short
        else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=long)
        for value in values
    ]


if __name__ == "__main__":
    print(*chosen(sys.argv[1]))
