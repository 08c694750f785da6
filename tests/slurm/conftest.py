"""One Slurm for all tests here, and one undisturbed run to compare with."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from acts import Act, play, undisturbed_run
from cluster import Cluster, NoClusterError
from scenario import Scenario

AT_A_TIME = 5
"""Scenarios mostly wait, so that many can share two cores."""


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
def started(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Act | None, Future[Scenario]]]:
    """Start all scenarios that were asked for; under None, the undisturbed run before them.

    Those that tests take as ``early`` do not wait for it.
    """
    pool = ThreadPoolExecutor(AT_A_TIME)
    runs = [Scenario.on(cluster, tmp_path_factory.mktemp("undisturbed"))]
    quiet = pool.submit(play, undisturbed_run, runs[0])
    futures: dict[Act | None, Future[Scenario]] = {None: quiet}
    for item in request.session.items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        for key in ("early", "scenario"):
            if key in params:
                act = params[key]
                run = Scenario.on(cluster, tmp_path_factory.mktemp(act.__name__))
                needed = [quiet] if key == "scenario" else []
                futures[act] = pool.submit(play, act, run, *needed)
                runs.append(run)
    yield futures
    for run in runs:  # where the tests were interrupted; otherwise there is nothing to end
        run.clean_up()
    pool.shutdown(cancel_futures=True)


@pytest.fixture
def undisturbed(started: dict[Act | None, Future[Scenario]]) -> Scenario:
    """The whole line, from nothing to the table, with nobody in its way."""
    return started[None].result()
