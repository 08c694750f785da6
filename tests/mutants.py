"""What the tests prove: how many random changes of one token they notice.

    make mutants                                         # 300 changes
    python tests/mutants.py --count 40 --room score
    python tests/mutants.py --again                      # what survived, after tests were added

A seeded sample of places in the rooms below is changed, one at a time, in a copy of the checkout
(mutant_sample.py). Each change meets the tests that execute its statement, in the files of tests
that are nearest to its module: called as it is, or few imports away from it. Coverage tells them;
it is measured once for a file of tests, when a change first needs it. A change that no test notices
survives; one that breaks the import, or never ends, is noticed. Changes that alter nothing are
listed in mutants_alike.yaml, with a reason, and do not count. Results are appended to
results/mutants/results.jsonl as they come; the same command continues where it was stopped.

Tests run in forks of a process that has imported the libraries, but nothing of `stp`.
"""

import argparse
import ast
import difflib
import fcntl
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import types
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import yaml
from coverage import CoverageData
from mutant_sample import Change, changed, sample

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("metrics", "score", "collect", "train", "predict", "prepare", "models", "plan", "core"),
    *("upkeep", "run", "data", "tracks", "tasks", "datasets"),
)
ALIKE = Path(__file__).with_name("mutants_alike.yaml")
KEPT = ROOT / "results" / "mutants"
RESULTS = KEPT / "results.jsonl"
LIBRARIES = (
    *("pytest", "pytest_cov", "hypothesis", "numpy", "torch", "pandas", "scipy.stats", "pyarrow"),
    *("pyarrow.parquet", "duckdb", "pydantic", "numba", "yaml", "xarray", "zarr", "h5py"),
    *("PIL.Image", "typer", "rich.console", "rich.progress", "rich.table"),
)
SLOW = ("tests/workflow/", "tests/slurm/")
"""Their tests would make each change cost minutes."""
PYTEST = ("-q", "-p", "no:cacheprovider", "-m", "not long and not slow")
NEAREST = 5
"""Files of tests that a change meets."""
WHOLE = 2
"""Of these, files that run as a whole if none of their tests executes the change."""
SURVIVED = "survived"
SECONDS = 120
"""CPU seconds that tests of a change may take."""
BROKEN = 70
"""Exit status of a fork that could not run the tests."""
MOST = 100
"""Tests of a file that a change meets: some statements are executed by thousands."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=300, help="changes (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: 0)")
    parser.add_argument("--room", choices=ROOMS, action="append", help="only of this room")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="at once")
    parser.add_argument("--again", action="store_true", help="try again what survived")
    options = parser.parse_args()
    chosen = sample(options.room or ROOMS, options.count, options.seed)
    KEPT.mkdir(parents=True, exist_ok=True)
    known = results_so_far()
    new = [change for change in chosen if change.name not in known]
    again = [one for one in chosen if options.again and fate(one, known.get(one.name)) == SURVIVED]
    os.environ["OMP_NUM_THREADS"] = "1"  # read by torch when it is imported: sums of threads differ
    for name in LIBRARIES:
        importlib.import_module(name)
    links()  # read once, for all processes
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:
        # Most meet their end in the nearest file, which needs no coverage for that.
        try_all(new, slice(1), options.workers, Path(folder))
        known = results_so_far()
        left = [one for one in chosen if fate(one, known[one.name]) == SURVIVED]
        left = [one for one in left if known[one.name]["met"] < NEAREST or one in again]
        try_all(left, slice(1 - options.again, NEAREST), options.workers, Path(folder))
        if new or left:
            require_sound(results_so_far(), Path(folder) / "sound")
    report(chosen, results_so_far())


def try_all(changes: list[Change], files: slice, workers: int, folder: Path) -> None:
    """Have changes meet some of their files of tests, the nearest first."""
    print(f"{len(changes)} changes to try", flush=True)
    with (
        ProcessPoolExecutor(workers, get_context("fork")) as pool,
        RESULTS.open("a") as out,
    ):
        tried = [pool.submit(attempt, change, files, folder) for change in changes]
        try:
            for done, future in enumerate(as_completed(tried), start=1):
                result = future.result()
                out.write(json.dumps(result) + "\n")
                out.flush()
                print(f"{done} of {len(tried)}: {result['outcome']}  {result['name']}", flush=True)
        finally:
            pool.shutdown(cancel_futures=True)


# One change


def attempt(change: Change, files: slice, folder: Path) -> dict[str, Any]:
    """Make a change in a copy of the checkout, and run the tests that could notice."""
    began = time.monotonic()
    copy = copy_of_checkout(folder / str(os.getpid()))
    source = (copy / change.path).read_text(encoding="utf-8")
    text = changed(change, source)
    differing = list(difflib.ndiff(source.splitlines(), text.splitlines()))
    result = {
        "name": change.name,
        "outcome": SURVIVED,
        "met": files.stop,
        "by": "",
        "old": "\n".join(one[2:].strip() for one in differing if one.startswith("- ")),
        "new": "\n".join(one[2:].strip() for one in differing if one.startswith("+ ")),
    }
    near = nearest(Path(change.path))[files]
    lines = statement(source, change.line)
    for tests in [near] if files.stop == 1 else tests_near(near, change.path, lines, copy):
        if not tests:
            continue
        with written(copy / change.path, text):
            done = in_child(copy, [*PYTEST, "-x", *tests], SECONDS)
        if done["status"] not in (0, 5):
            result |= {"outcome": "noticed", "by": (done["failing"] or [done["said"]])[0]}
            break
    return {**result, "seconds": round(time.monotonic() - began)}


@contextmanager
def written(path: Path, text: str) -> Iterator[None]:
    """Give a module another text for a while; Python compiles it anew, since its time differs."""
    source, stat = path.read_bytes(), path.stat()
    path.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        path.write_bytes(source)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@cache
def copy_of_checkout(folder: Path) -> Path:
    """Copy what git knows, so that no change is ever made in the checkout itself."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    return folder


def statement(source: str, line: int) -> range:
    """The lines of the innermost statement at a line; of one with a body, those of its head."""
    found = range(line, line + 1)
    for node in ast.walk(ast.parse(source)):  # the inner ones last
        if isinstance(node, (ast.stmt, ast.ExceptHandler)):
            decorators = getattr(node, "decorator_list", [])
            body = getattr(node, "body", None)
            stop = max(body[0].lineno, node.lineno + 1) if body else (node.end_lineno or line) + 1
            lines = range(min(one.lineno for one in (node, *decorators)), stop)
            found = lines if line in lines else found
    return found


# Processes


def in_child(copy: Path, arguments: list[str], seconds: float) -> dict[str, Any]:
    """Run pytest in a fork of this process, in a copy of the checkout, with limits.

    Args:
        seconds: of CPU time; one that waits may take ten times this.

    Returns:
        ``status`` of pytest, negative if it was ended; ``failing`` tests; the end of what it
        ``said``.
    """
    temporary = copy.with_name(f"{copy.name}-tmp")
    said, told = copy.with_name(f"{copy.name}.out"), copy.with_name(f"{copy.name}.json")
    told.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        status = BROKEN
        try:
            become(copy, said, int(seconds))
            failing = Failing()
            base = f"--basetemp={temporary}"
            status = int(pytest.main([base, *arguments], plugins=[failing]))
            told.write_text(json.dumps(failing.tests))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    until = time.monotonic() + 10 * seconds
    ended = (0, 0, None)
    while ended[0] == 0:
        time.sleep(0.05)
        ended = os.wait4(child, os.WNOHANG)
        if ended[0] == 0 and time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            ended = os.wait4(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it has started and left
    shutil.rmtree(temporary, ignore_errors=True)
    status = os.waitstatus_to_exitcode(ended[1])
    if status == BROKEN:
        raise RuntimeError(f"{arguments}\n{said.read_text()}")
    return {
        "status": status,
        "said": said.read_text(errors="replace")[-200:],
        "failing": json.loads(told.read_text()) if told.is_file() else [],
    }


def become(copy: Path, said: Path, seconds: int) -> None:
    """Be a process as if Python had just started in a copy of the checkout."""
    os.setpgid(0, 0)  # so that all of it can be ended; a session of its own has another priority
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, source in enumerate((os.open(os.devnull, os.O_RDONLY), output, output)):
        os.dup2(source, number)
    os.chdir(copy)
    os.environ |= {"PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
    os.environ.pop("STP_RAW_MIRROR", None)  # real bytes would take minutes
    sys.path[:] = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.modules["__main__"] = types.ModuleType("__main__")


class Failing:
    """Notes the tests that fail; a plug-in of pytest."""

    def __init__(self) -> None:
        self.tests: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            self.tests.append(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport


# Which tests


def tests_near(files: list[str], path: str, lines: range, copy: Path) -> Iterator[list[str]]:
    """The tests of some files that execute some lines of a module, file by file."""
    executed = False
    for file in files:
        if tests := tests_of_lines(file, copy, path, lines):
            executed = True
            yield tests
    if not executed:  # another process may
        yield files[:WHOLE]


@cache
def coverage_of(file: str, copy: Path) -> CoverageData:
    """Run a file of tests without any change, once for a state of it and of the modules."""
    state = hashlib.sha256((copy / file).read_bytes() + state_of_code()).hexdigest()[:12]
    folder = KEPT / f"{Path(file).stem}-{state}"
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "coverage"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not data.is_file():
            settings = folder / "settings"
            settings.write_text(f"[run]\nrelative_files = true\ndata_file = {data}\n")
            cov = ["--cov=stp", "--cov-context=test", "--cov-report=", f"--cov-config={settings}"]
            in_child(copy, [*PYTEST, *cov, file], 5 * SECONDS)
            data.touch()
    covered = CoverageData(str(data))
    covered.read()
    return covered


@cache
def state_of_code() -> bytes:
    """Tells apart versions of all modules."""
    state = hashlib.sha256()
    for path in sorted((ROOT / "stp").rglob("*.py")):
        state.update(path.read_bytes())
    return state.digest()


def tests_of_lines(file: str, copy: Path, path: str, lines: range) -> list[str]:
    """The tests of a file that execute some lines of a module, all of it if a fixture does, or an
    import: then every test may rest on them."""
    contexts = coverage_of(file, copy).contexts_by_lineno(path)
    found = {context for line in lines for context in contexts.get(line, [])}
    tests = sorted({one.removesuffix("|run") for one in found if one.endswith("|run")})
    tests = tests[:: len(tests) // MOST + 1]
    return tests + [file] * any(not one.endswith("|run") for one in found)


def nearest(path: Path) -> list[str]:
    """The files of tests by how near they are to a module."""
    away = {path: 0}
    begun = [path]
    importers = links()
    for one in begun:
        for importer in sorted(importers[one] - set(away)):
            away[importer] = away[one] + 1
            begun.append(importer)
    room = path.parts[1:2]
    # Rooms with tests and a module of this name: tests there are called like that module.
    others = {one.parts[1:2] for one in importers if path.stem in one.with_suffix("").parts[2:]}
    has_folder = ROOT.joinpath("tests", *room).is_dir()
    others = others - {room} if has_folder else set()
    names = [path.stem] if room != ("datasets",) else [path.stem, path.parts[2]]
    own = set(path.stem.split("_"))
    stems = {frozenset(one.stem.split("_")) for one in importers if one.parts[0] == "stp"}
    longer = [stem for stem in stems if own < stem]

    def far(file: Path) -> tuple[Any, ...]:
        words = set(file.stem.split("_"))
        called = sum(set(name.split("_")) <= words for name in names)
        # A file that is called like a module with a longer name is about that one.
        if away[file] > 2 or file.parts[1:2] in others or any(name <= words for name in longer):
            called = 0
        beside = file.parts[1:2] == room if has_folder else len(file.parts) == 2
        breadth = sum(file in found for one, found in importers.items() if one.suffix)
        return (-called, away[file], not beside, breadth, file)

    tests = [one for one in away if one.name.startswith("test_") and one.parts[0] == "tests"]
    kept = [one for one in tests if not str(one).startswith(SLOW)]
    return [str(file) for file in sorted(kept, key=far)]


@cache
def links() -> defaultdict[Path, set[Path]]:
    """The modules and tests that import each module, and tests with its name in a string; a
    conftest.py belongs to all tests beside it."""
    files = [*ROOT.glob("stp/**/*.py"), *ROOT.glob("tests/**/*.py")]
    texts = {file.relative_to(ROOT): file.read_text(encoding="utf-8") for file in files}
    modules: dict[str, Path] = {}
    stems: defaultdict[str, set[Path]] = defaultdict(set)
    for file in texts:
        if file.parts[0] == "stp":
            parts = file.parent.parts if file.stem == "__init__" else file.with_suffix("").parts
            modules[".".join(parts)] = file
            stems[file.stem if file.parts[1] != "datasets" else file.parent.name].add(file)
        else:
            modules[file.stem] = file
    found: defaultdict[Path, set[Path]] = defaultdict(set)
    for file, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [one.name for one in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
            for name in names:
                if name in modules:
                    found[modules[name]].add(file)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for word in node.value.split() if file.parts[0] == "tests" else ():
                    for name in (word, word.rpartition(".")[0]):  # of a script, or to replace
                        if name.startswith("stp.") and name in modules:
                            found[modules[name]].add(file)
                    metrics = stems[word.partition(".")[0]]  # of a convention, "ssim.gaussian"
                    metrics = {one for one in metrics if "metrics" in one.parts}
                    for module in stems[word] | metrics:
                        named = module.with_suffix("")  # a step between: an import is nearer
                        found[module].add(named)
                        found[named].add(file)
        if file.name == "conftest.py" and len(file.parts) > 2:
            found[file] |= {one for one in texts if one.parent == file.parent and one != file}
    return found


# Results


def results_so_far() -> dict[str, dict[str, Any]]:
    """The last result of each change, by its name."""
    lines = RESULTS.read_text().splitlines() if RESULTS.is_file() else ()
    return {result["name"]: result for result in map(json.loads, lines)}


def fate(change: Change, result: dict[str, Any] | None) -> str:
    """Tell noticed, survived and alike; nothing if it is not known."""
    if result is None:
        return ""
    listed = (change.path, result["old"], result["new"]) in alike()
    return "alike" if listed and result["outcome"] == SURVIVED else str(result["outcome"])


@cache
def alike() -> set[tuple[str, str, str]]:
    """Changes that alter nothing: module, and line before and after."""
    entries = yaml.safe_load(ALIKE.read_text(encoding="utf-8")) or []
    return {(one["file"], one["old"].strip(), one["new"].strip()) for one in entries}


def require_sound(known: dict[str, dict[str, Any]], copy: Path) -> None:
    """Run the tests that have noticed changes without any.

    Raises:
        SystemExit: some fail.
    """
    by_file: defaultdict[str, set[str]] = defaultdict(set)  # each as when it noticed: in a process
    for one in known.values():
        if one["by"].startswith("tests/"):
            by_file[one["by"].partition("::")[0]].add(one["by"])
    failing: list[str] = []
    for _, tests in sorted(by_file.items()):
        whole = copy_of_checkout(copy)
        failing += in_child(whole, [*PYTEST, *sorted(tests)], 10 * SECONDS)["failing"]
    if failing:
        raise SystemExit("\n".join(["these tests fail without any change:", *failing]))


def report(chosen: list[Change], known: dict[str, dict[str, Any]]) -> None:
    """Print the survivors and the share that was noticed by room."""
    counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for change in chosen:
        result = known[change.name]
        outcome = fate(change, result)
        if outcome == SURVIVED:
            print(f"\nsurvived: {change.path}:{change.line}\n- {result['old']}\n+ {result['new']}")
        for room in (change.path.split("/")[1], "all"):
            counted[room][outcome] += 1
    print("\n| room | changes | alter nothing | noticed | share |\n|---|---|---|---|---|")
    for room, of in sorted(counted.items(), key=lambda one: one[0] == "all"):
        real = of["noticed"] + of[SURVIVED]
        share = f"{of['noticed'] / real:.0%}" if real else "-"
        print(f"| {room} | {of.total()} | {of['alike']} | {of['noticed']} | {share} |")


if __name__ == "__main__":
    main()
