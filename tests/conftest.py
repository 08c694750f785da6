"""Fixtures that all tests share."""

import contextlib
import fcntl
import functools
import gc
import os
import signal
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.testing
import yaml
from hypothesis import settings
from parts import PARTS
from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).parent.parent
SLURM = "tests/slurm/"
# Without a deadline for examples: machines are slow and busy.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Building the command line takes longer than most verbs, and tests call it a thousand times.
typer.testing._get_command = functools.cache(typer.testing._get_command)
# Tests read hundreds of files, held numbers among them: libyaml is ten times as fast.
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
yaml.SafeDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
# Plans of tests have no weights: their metrics are NULL on all machines. Workers inherit this.
WEIGHTS = "STP_TEST_WEIGHTS"
if folder := os.environ.pop("STP_WEIGHTS_DIR", None):
    os.environ[WEIGHTS] = folder
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # In a background run. Programs that tests start inherit it, and tests send them Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def raw_mirror() -> Path:
    """The folder of real sample files; without it, tests that need it are skipped."""
    value = os.environ.get("STP_RAW_MIRROR")
    if not value:
        pytest.skip("set STP_RAW_MIRROR to the folder of the sample files to run this test")
    folder = Path(value).absolute()
    if not (folder / "MANIFEST.tsv").is_file():
        pytest.fail(f"STP_RAW_MIRROR={value} has no MANIFEST.tsv")
    return folder


@pytest.fixture(scope="session")
def real_weights() -> Callable[[str], tuple[Path, dict[str, Any]]]:
    """Finds the file of published weights of a network and its declaration.

    Without weights, tests that need them are skipped.
    """

    def find(network: str) -> tuple[Path, dict[str, Any]]:
        from stp.plan import weights

        folder = os.environ.get(WEIGHTS)
        if not folder:
            pytest.skip("set STP_WEIGHTS_DIR to the folder of weights to run this test")
        files = weights.present(Path(folder), weights.read_declared_weights())
        if network not in files:
            pytest.skip(f"STP_WEIGHTS_DIR has no weights of {network}")
        return Path(folder) / files[network].file, files[network].model_dump()

    return find


@pytest.fixture(scope="module", autouse=True)
def settings_are_left_alone() -> Iterator[None]:
    """A module restores the environment: any other module may be next."""

    def settings() -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name.startswith("STP_")}

    before = settings()
    yield
    assert settings() == before


# Workers


@pytest.fixture(scope="session")
def made_once(
    tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Callable[[str, Callable[[Path], object]], Path]:
    """Makes a folder in the first worker that needs it; other workers wait for it, and read it."""
    base = tmp_path_factory.getbasetemp()

    def find(name: str, make: Callable[[Path], object]) -> Path:
        folder = (base if worker_id == "master" else base.parent) / name
        made = folder.with_suffix(".made")
        with folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                folder.mkdir()
                make(folder)
                made.touch()
        assert made.exists(), "another worker could not make it"
        return folder

    return find


@pytest.fixture(scope="session")
def tiny_enso(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """Raw files of ENSO at the tiny scale, in ``raw``, and their lock, in ``store``; to be copied.

    Compressing them takes a second, and `runner.fetch` then finds them.
    """

    def make(folder: Path) -> None:
        from stp.plan.cells import Plan
        from stp.run import runner

        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("STP_STORE_DIR", str(folder / "store"))
            patch.setenv("STP_RAW_DIR", str(folder / "raw"))
            plan = Plan.load(ROOT / "tests" / "workflow" / "tiny.yaml")
            runner.fetch(plan, plan.raw("enso"))

    return made_once("tiny-enso", make)


class Scheduling(LoadFileScheduling):
    """Runs tests of a file on one worker, so that their fixtures are made once, and all tests on
    Slurm on one, since only one Slurm can be started."""

    def _split_scope(self, nodeid: str) -> str:
        return SLURM if nodeid.startswith(SLURM) else super()._split_scope(nodeid)


def pytest_configure() -> None:
    """Let interrupts reach programs that tests start: a background shell ignores them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling:
    """Distribute tests by file."""
    return Scheduling(config, log)


def pytest_xdist_auto_num_workers() -> int:
    """One for each processor, and one that mostly waits for Slurm."""
    from cluster import why_not

    return len(os.sched_getaffinity(0)) + (why_not() is None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests on Slurm first, then files of slow tests, so that workers end together.

    Raises:
        UsageError: a long test is in no part; or two modules have one name, of which Python would
            import either.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (not item.nodeid.startswith(SLURM), item.path not in slow))
    for item in items:
        long = item.get_closest_marker("long")
        if long and long.kwargs.get("part") not in PARTS:
            raise pytest.UsageError(f"{item.nodeid}: mark it long(part=...), of tests/parts.py")
    names: dict[str, Path] = {}
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        if path.name != "conftest.py" and names.setdefault(path.stem, path) != path:
            raise pytest.UsageError(f"{names[path.stem]} and {path} have one name: rename one")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name bytes by their number: gzip files have a time, and workers need equal names."""
    return f"{len(val)} bytes" if isinstance(val, bytes) else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Exclude tests and libraries, which all stay, from garbage collection.

    In the first run, pytest rewrites each module, which takes ten seconds: each worker starts with
    other modules, and finds the rest rewritten.
    """
    gc.disable()
    worker = getattr(session.config, "workerinput", None)
    if worker and session.config.args == session.config.getini("testpaths"):
        files = sorted((ROOT / "tests").rglob("test_*.py"))
        first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        for path in [*files[first:], *files[:first]]:
            with contextlib.suppress(Exception, pytest.skip.Exception):  # collection reports it
                _ = pytest.Module.from_parent(session, path=path).obj
    result = yield
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()
    return result


# Summary


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count the tests of sample files, on Slurm and with weights that really ran, for CI."""
    entries = [entry for entries in terminalreporter.stats.values() for entry in entries]
    reports = [entry for entry in entries if isinstance(entry, pytest.TestReport)]
    kinds = {"sample": "sample_bytes", "slurm": "real_slurm", "weights": "real_weights"}
    for kind, mark in kinds.items():
        selected = {report.nodeid for report in reports if mark in report.keywords}
        called = [report for report in reports if report.when == "call" and not report.skipped]
        ran = selected & {report.nodeid for report in called}
        terminalreporter.write_line(f"{kind} tests run: {len(ran)} of {len(selected)}")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None]:
    """List the tests that this machine cannot run, and what they need."""
    yield
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is None:  # a worker
        return
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminal.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    if reasons:
        terminal.write_line(f"{reasons.total()} tests could not run here:")
    for reason, number in reasons.most_common():
        terminal.write_line(f"{number:>6}  {reason}")
    chosen = session.config.option.markexpr
    left_out = [part for part in PARTS if f"'{part}'" not in chosen]
    if chosen.startswith("not long") and left_out:
        terminal.write_line(
            f"left out, since they are long: {', '.join(left_out)}; `make test-all` runs them"
        )
