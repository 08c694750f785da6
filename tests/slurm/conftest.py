"""One Slurm for all tests here, and one undisturbed run to compare with."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow"))

from cluster import Cluster, NoClusterError
from scenario import Scenario

LOGS = Path(__file__).parents[2] / "results" / "slurm-tests"
"""Where the logs of failed scenarios are kept."""
AT_A_TIME = 5
"""Scenarios mostly wait, so that a few can share two cores."""

Act = Callable[[Scenario, Scenario], None]
"""What happens in a scenario: called with its checkout and the undisturbed one."""


def pytest_configure(config: pytest.Config) -> None:
    """Name the mark of these tests."""
    config.addinivalue_line("markers", "slurm: starts a real Slurm on this machine")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the tests on Slurm that really ran, for CI."""
    ran = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if "slurm" in report.keywords and report.when == "call"
    ]
    terminalreporter.write_line(f"slurm tests run: {len(ran)}")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A running Slurm. Where there can be none, tests skip, or fail if STP_REQUIRE_SLURM is set."""
    folder = Path(tempfile.mkdtemp(prefix="stp-slurm-"))
    try:
        with Cluster(folder) as running:
            yield running
    except NoClusterError as error:
        if os.environ.get("STP_REQUIRE_SLURM"):
            pytest.fail(f"no Slurm for the tests: {error}")
        pytest.skip(f"no Slurm for the tests: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def undisturbed(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scenario]:
    """The whole line, from nothing to the table, with nobody in its way."""
    scenario = Scenario.on(cluster, tmp_path_factory.mktemp("undisturbed"))
    try:
        scenario.start().succeed()
    except BaseException:
        scenario.saved_logs(LOGS / "undisturbed")
        scenario.clean_up()
        raise
    yield scenario
    scenario.clean_up()


def name(act: Act) -> str:
    """Name a test after its scenario."""
    return act.__name__


def play(act: Act, run: Scenario, quiet: Scenario) -> None:
    """Play one scenario; keep its logs if it fails, and leave nothing running."""
    run.configure(gpus=0, slow_step_s=1)
    try:
        act(run, quiet)
    except BaseException as error:
        if not isinstance(error, pytest.skip.Exception):
            run.saved_logs(LOGS / act.__name__)
            print(f"logs of the failed scenario: {LOGS / act.__name__}")
        raise
    finally:
        run.clean_up()


@pytest.fixture(scope="session")
def played(
    request: pytest.FixtureRequest,
    undisturbed: Scenario,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[Act, Future[None]]]:
    """Start all scenarios that were asked for, a few at a time; tests wait for their own."""
    pool = ThreadPoolExecutor(AT_A_TIME)
    futures = {}
    for item in request.session.items:
        act = getattr(item, "callspec", None) and item.callspec.params.get("scenario")
        if act:
            run = Scenario.on(undisturbed.cluster, tmp_path_factory.mktemp(act.__name__))
            futures[act] = pool.submit(play, act, run, undisturbed)
    yield futures
    pool.shutdown(cancel_futures=True)
