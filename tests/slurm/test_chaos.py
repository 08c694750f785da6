"""The short form of the chaos run; ``python tests/slurm/chaos.py`` is the long one."""

import pytest
from acts import name
from chaos import Chaos
from scenario import Scenario

pytestmark = [pytest.mark.slow, pytest.mark.real_slurm, pytest.mark.long(part="chaos")]


def random_kills(run: Scenario, quiet: Scenario) -> None:
    """Four kills of jobs, processes and drivers."""
    verdict = Chaos(run, quiet, seed=3).play(kills=4)
    print(verdict)
    assert not verdict.differences
    assert verdict.kills.total() == 4
    assert verdict.resumes >= 1, "nothing was killed in the middle"


@pytest.mark.parametrize("scenario", [random_kills], ids=name)
def test_chaos(scenario, started):
    started[scenario].result()
