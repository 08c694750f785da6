"""Whole demos on a real Slurm give the rows of a local run, whether jobs go together or alone."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cluster import Cluster
from demos import local_run, on_slurm

pytestmark = [pytest.mark.slow, pytest.mark.real_slurm]
TOGETHER_AND_ALONE = pytest.mark.parametrize("grouped", [True, False], ids=["together", "alone"])


@pytest.fixture
def gives_the_local_rows(
    cluster: Cluster,
    tmp_path: Path,
    made_once: Callable[[str, Callable[[Path], object]], Path],
) -> Callable[[str, bool], None]:
    """Runs a demo locally, once, and on Slurm."""

    def run(scale: str, grouped: bool) -> None:
        folder = made_once(f"local-{scale}", lambda folder: local_run(scale, folder))
        outcome = on_slurm(cluster, scale, tmp_path, grouped, folder / "checkout" / "results")
        print(outcome)
        assert outcome.rows and outcome.difference is None
        assert outcome.failed == 0, "a job was tried again"

    return run


@pytest.mark.long(part="slurm-fvd")
@TOGETHER_AND_ALONE
def test_the_study_of_fvd(gives_the_local_rows: Callable[[str, bool], None], grouped: bool) -> None:
    gives_the_local_rows("fvd-demo", grouped)


@pytest.mark.long(part="slurm-robustness")
@TOGETHER_AND_ALONE
def test_robustness(gives_the_local_rows: Callable[[str, bool], None], grouped: bool) -> None:
    gives_the_local_rows("demo", grouped)


@pytest.mark.long(part="slurm-suites")
@pytest.mark.parametrize("scale", ["pvqa-demo", "scv-demo"])
def test_suites(gives_the_local_rows: Callable[[str, bool], None], scale: str) -> None:
    gives_the_local_rows(scale, True)


@pytest.mark.long(part="slurm-atlas")
def test_atlas(gives_the_local_rows: Callable[[str, bool], None]) -> None:
    gives_the_local_rows("atlas-demo", True)


@pytest.mark.long(part="slurm-chaosbench")
def test_chaosbench(gives_the_local_rows: Callable[[str, bool], None]) -> None:
    gives_the_local_rows("chaosbench-demo", True)
