"""Scenarios are functions of a checkout; here is how they are named and played."""

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest
from scenario import Scenario

LOGS = Path(__file__).parents[2] / "results" / "slurm-tests"
"""Where the logs of failed scenarios are kept."""

Act = Callable[..., None]
"""What happens in a scenario: called with its checkout, and the undisturbed one if it needs it."""


def name(act: Act) -> str:
    """Name a test after its scenario."""
    return act.__name__


def undisturbed_run(run: Scenario) -> None:
    """Make the table from nothing, on as many GPUs and as fast as the plan says."""
    run.configure()
    run.start().succeed()


def play(act: Act, run: Scenario, *needed: Future[Scenario]) -> Scenario:
    """Play one scenario; keep its logs if it fails, and leave nothing running."""
    others = [future.result() for future in needed]
    run.configure(gpus=0, slow_step_s=1)
    try:
        act(run, *others)
    except BaseException as error:
        if not isinstance(error, pytest.skip.Exception):
            run.saved_logs(LOGS / act.__name__)
            print(f"logs of the failed scenario: {LOGS / act.__name__}")
        raise
    finally:
        run.clean_up()
    return run
