"""Checkouts that share a store, at the same time: nothing is lost, what is common is adopted."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from acts import name
from scenario import MODEL, Scenario, contents

pytestmark = [pytest.mark.slow, pytest.mark.real_slurm]
SIMVP = "simvpv2"


def two_people(run: Scenario, quiet: Scenario) -> None:
    """Two checkouts that differ in one model, a fresh clone, scrambled times, and a way back."""
    run.take_all_but(quiet, MODEL, SIMVP)
    before = run.receipts()
    with checkout_beside(run, "other") as other, checkout_beside(run, "clone") as clone:
        other.edit(f"stp/models/{SIMVP}.py")
        for driver in [run.start(), other.start()]:
            driver.succeed()
        assert run.same_results(quiet)

        after = run.receipts()
        assert {path: after[path] for path in before} == before, "finished work was touched"
        assert run.attempts() == ["done"], "the common model was trained by one of them"
        assert len(run.jobs(f"rule_train_.*_{MODEL}_") + other.jobs(f"rule_train_.*_{MODEL}_")) == 2
        models = [path for path in after if path.startswith("models/") and SIMVP in path]
        assert len(models) == 2, "each has a model of its own"
        mine, theirs = contents(run.database)["scores"], contents(other.database)["scores"]
        assert set(without(SIMVP, mine)) == set(without(SIMVP, theirs))
        assert set(mine) != set(theirs)

        scramble_times(run.store, clone.folder)
        seen = clone.receipts()
        clone.start().succeed()
        assert clone.same_results(quiet)

        jobs = other.jobs()
        other.restore(f"stp/models/{SIMVP}.py")
        other.start().succeed()
        assert other.same_results(quiet)
        assert clone.jobs() == [] and other.jobs() == jobs, "all of it was there"
        assert run.receipts() == seen


@contextmanager
def checkout_beside(run: Scenario, folder: str) -> Iterator[Scenario]:
    """Another checkout that shares a store."""
    other = Scenario.on(run.cluster, run.folder.with_name(folder), run.shared)
    other.configure(gpus=0, slow_step_s=1)
    try:
        yield other
    finally:
        other.clean_up()


def without(model: str, rows: list[tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
    """The rows that are not about a model."""
    return (row for row in rows if model not in row)


def scramble_times(*folders: Path) -> None:
    """Give every file some time in the past, as copying and checking out do."""
    dice = random.Random(0)
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                moment = dice.randrange(1_000_000_000, 1_700_000_000)
                os.utime(path, (moment, moment))


@pytest.mark.long(part="slurm-people")
@pytest.mark.parametrize("scenario", [two_people], ids=name)
def test_sharing(scenario, started):
    started[scenario].result()
