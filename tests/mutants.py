"""What the tests prove: how many random changes of one token they notice.

    make mutants                                   # 300 changes, about an hour on two cores
    python tests/mutants.py --count 40 --room score

A seeded sample of places in the rooms below is changed, one at a time, by cosmic-ray's operators (a
comparison, an arithmetic or logical operator, a number, a flag, a `not`, a loop that never runs).
First the quick tests run once with coverage, which tells the tests that execute each line. Each
change then meets, in a copy of the checkout, the tests that execute its line, and if these notice
nothing, the files of tests that name its module. A change that no test notices survives. Changes
that alter nothing are listed in mutants_alike.yaml, with a reason, and do not count. Results are
appended to --out as they come; the same command continues where it was stopped.
"""

import argparse
import ast
import difflib
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from queue import Queue
from typing import NamedTuple

import cosmic_ray.plugins
import yaml
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from coverage import CoverageData

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("metrics", "score", "collect", "train", "predict", "prepare", "models", "plan", "core"),
    "upkeep",
)
ALIKE = Path(__file__).with_name("mutants_alike.yaml")
NO_OPERATORS = ("ExceptionReplacer", "RemoveDecorator", "VariableReplacer", "VariableInserter")
SLOW = ("tests/workflow", "tests/slurm")
"""Their tests would make each change cost minutes."""
PYTEST = (sys.executable, "-m", "pytest", "-q", "-m", "not long", "-p", "no:cacheprovider")
ENDLESS = ("--timeout", "200", "--timeout-method", "thread")
"""A change may make a loop endless: a test that takes so many seconds has noticed it."""
MOST = 120
"""Tests that a change of a line meets, the nearest: some lines are executed by thousands, and a
change that survives meets them all."""


class Change(NamedTuple):
    """A change of one token.

    Attributes:
        path: of the module, from the root.
        operator: of cosmic-ray.
        occurrence: which of the operator's places in the module.
        line: number of the line.
    """

    path: str
    operator: str
    occurrence: int
    line: int

    @property
    def name(self) -> str:
        """What it is called in a file of results."""
        return f"{self.path}:{self.line}:{self.operator}:{self.occurrence}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=300, help="changes (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: 0)")
    parser.add_argument("--room", choices=ROOMS, action="append", help="only of this room")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="at once")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "results" / "mutants.jsonl", help="a line per change"
    )
    options = parser.parse_args()
    chosen = sample(options.room or ROOMS, options.count, options.seed)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    known = results_of(options.out)
    left = [change for change in chosen if change.name not in known]
    print(f"{len(chosen)} changes, {len(chosen) - len(left)} of them known", flush=True)
    folder = options.out.parent / "mutants"
    copies: Queue[Path] = Queue()
    for number in range(options.workers):
        copies.put(copy_of_checkout(folder / str(number)))
    executed = coverage_of_tests(folder, options.workers) if left else CoverageData()

    def tried(change: Change) -> dict[str, str]:
        copy = copies.get()
        try:
            return {"name": change.name, **attempt(change, copy, executed)}
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(options.workers) as pool, options.out.open("a") as out:
        for done, result in enumerate(pool.map(tried, left), start=1):
            out.write(json.dumps(result) + "\n")
            out.flush()
            print(f"{done} of {len(left)}: {result['outcome']}  {result['name']}", flush=True)
    report(chosen, results_of(options.out))


def sample(rooms: list[str] | tuple[str, ...], count: int, seed: int) -> list[Change]:
    """Draw places, each alike, and for each place one of its changes."""
    places: dict[tuple[str, tuple[int, int]], list[Change]] = {}
    for room in rooms:
        for path in sorted((ROOT / "stp" / room).rglob("*.py")):
            for at, change in changes_of(path):
                places.setdefault((change.path, at), []).append(change)
    draw = random.Random(seed)
    order = sorted(places)
    draw.shuffle(order)
    return [draw.choice(places[place]) for place in order[:count]]


def changes_of(path: Path) -> Iterator[tuple[tuple[int, int], Change]]:
    """All changes of a module with where they begin; annotations of types are left alone."""
    source = path.read_text(encoding="utf-8")
    nodes = list(ast_nodes(get_ast(source)))
    kept_out = annotations(source)
    for name in sorted(cosmic_ray.plugins.operator_names()):
        if name.rpartition("/")[2] in NO_OPERATORS:
            continue
        operator = cosmic_ray.plugins.get_operator(name)()
        found = [at for node in nodes for at, _ in operator.mutation_positions(node)]
        for occurrence, at in enumerate(found):
            if not any(first <= at < last for first, last in kept_out):
                place = str(path.relative_to(ROOT))
                yield at, Change(place, name, occurrence, at[0])


def annotations(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where types are annotated: changes there do nothing, or fail at the import."""
    found = []
    for node in ast.walk(ast.parse(source)):
        for name in ("annotation", "returns"):
            one = getattr(node, name, None)
            if isinstance(one, ast.expr) and one.end_lineno is not None:
                last = (one.end_lineno, one.end_col_offset or 0)
                found.append(((one.lineno, one.col_offset), last))
    return found


def copy_of_checkout(folder: Path) -> Path:
    """Copy what git knows, so that no change is ever made in the checkout itself."""
    shutil.rmtree(folder, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def coverage_of_tests(folder: Path, workers: int) -> CoverageData:
    """Run the quick tests with coverage, once for a state of the checkout; in its first copy.

    Raises:
        SystemExit: the tests cannot run.
    """
    copy = folder / "0"
    state = hashlib.sha256()
    for path in sorted(copy.rglob("*.py")):
        state.update(path.read_bytes())
    data = folder / f"coverage-{state.hexdigest()[:16]}"
    if not data.is_file():
        print("which tests execute which lines ...", flush=True)
        settings = folder / "coveragerc"
        settings.write_text("[run]\nrelative_files = true\n")
        command = [*PYTEST, "-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder"]
        command += ["--cov=stp", "--cov-context=test", "--cov-report=", f"--cov-config={settings}"]
        command += [f"--ignore={tests}" for tests in SLOW]
        fresh = folder / "coverage-fresh"
        done = subprocess.run(
            command,
            cwd=copy,
            env={**environment(copy), "COVERAGE_FILE": str(fresh)},
            capture_output=True,
            text=True,
        )
        failing = re.findall(r"(?m)^(?:FAILED|ERROR) (\S+)", done.stdout)
        if done.returncode not in (0, 1) or not fresh.is_file():
            raise SystemExit(done.stdout + done.stderr)
        failing_file(data).write_text("".join(f"{test}\n" for test in failing))
        fresh.rename(data)
    found = CoverageData(str(data))
    found.read()
    for test in failing_file(data).read_text().split():
        print(f"fails without any change, under coverage: {test}", flush=True)
    return found


def failing_file(data: Path) -> Path:
    """Lists the tests that fail without any change: they cannot notice one."""
    return data.with_name(f"{data.name}.failing")


def environment(copy: Path) -> dict[str, str]:
    """The variables of the tests in a copy of the checkout."""
    return {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}


def attempt(change: Change, copy: Path, executed: CoverageData) -> dict[str, str]:
    """Make a change in a copy of the checkout, and run the tests that could notice."""
    path = copy / change.path
    source = (ROOT / change.path).read_text(encoding="utf-8")
    operator = cosmic_ray.plugins.get_operator(change.operator)()
    changed = mutate_code(source, operator, change.occurrence)
    assert changed is not None, change
    lines = [
        line
        for line in difflib.ndiff(source.splitlines(), changed.splitlines())
        if line.startswith(("- ", "+ "))
    ]
    path.write_text(changed, encoding="utf-8")
    failing = failing_file(Path(executed.data_filename())).read_text().split()
    outcome = "survived"
    try:
        for tests in (tests_of_line(change, source, executed), tests_of(change.path)):
            if tests and outcome == "survived":
                left_out = [f"--deselect={test}" for test in failing]
                done = subprocess.run(
                    [*PYTEST, *ENDLESS, "-x", *left_out, *tests],
                    cwd=copy,
                    env=environment(copy),
                    capture_output=True,
                )
                outcome = {0: "survived", 5: "survived"}.get(done.returncode, "noticed")
    finally:
        path.write_text(source, encoding="utf-8")
    return {"outcome": outcome, "diff": "\n".join(lines)}


def tests_of_line(change: Change, source: str, executed: CoverageData) -> tuple[str, ...]:
    """The tests that execute the statement of a change: those of files that name its module
    first, then those of files with few of them.

    What only a fixture executes, every test of the file may rest on: then it is the whole file,
    after all tests that execute the statement themselves.
    """
    contexts = executed.contexts_by_lineno(change.path)
    found = {c for line in statement(source, change.line) for c in contexts.get(line, []) if c}
    tests: dict[str, set[str]] = {}
    for context in found:
        test, _, phase = context.rpartition("|")
        file = test.partition("::")[0]
        tests.setdefault(file, set()).add(test if phase == "run" else file)
    naming = tests_of(change.path)
    itself = {file: sorted(names - {file}) for file, names in tests.items()}
    order = sorted(tests, key=lambda file: (not itself[file], file not in naming, len(tests[file])))
    chosen = [itself[file] or [file] for file in order]
    return tuple(name for names in chosen for name in names)[:MOST]


def statement(source: str, line: int) -> range:
    """The lines of the innermost statement at a line; of one with a body, those of its head."""
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.stmt, ast.ExceptHandler))
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    inner = max(around, key=lambda node: node.lineno)
    body = getattr(inner, "body", None)
    last = body[0].lineno - 1 if body else inner.end_lineno or inner.lineno
    return range(inner.lineno, max(last, inner.lineno) + 1)


@cache
def tests_of(path: str) -> tuple[str, ...]:
    """The files of tests that import a module; short ones first."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, name = module.rpartition(".")
    return tests_that_name(
        rf"\b{re.escape(module)}\b"
        rf"|from {re.escape(package)} import (\([^)]*|[^\n(]*)\b{re.escape(name)}\b"
    )


def tests_that_name(pattern: str) -> tuple[str, ...]:
    """The quick files of tests with a pattern in their text; short ones first."""
    found = [
        file
        for file in (ROOT / "tests").rglob("test_*.py")
        if not str(file.relative_to(ROOT)).startswith(SLOW)
        and re.search(pattern, file.read_text(encoding="utf-8"))
    ]
    found.sort(key=lambda file: file.stat().st_size)
    return tuple(str(file.relative_to(ROOT)) for file in found)


def results_of(out: Path) -> dict[str, dict[str, str]]:
    """What is known of changes by their names."""
    if not out.is_file():
        return {}
    return {one["name"]: one for one in map(json.loads, out.read_text().splitlines())}


def report(chosen: list[Change], known: dict[str, dict[str, str]]) -> None:
    """Print the survivors and the share that was noticed, by room."""
    alike = {(one["file"], one["line"].strip()) for one in yaml.safe_load(ALIKE.read_text()) or []}
    counted: dict[str, Counter[str]] = {}
    for change in chosen:
        result = known[change.name]
        old = result["diff"].splitlines()[0].removeprefix("- ").strip()
        outcome = result["outcome"]
        if outcome == "survived":
            if (change.path, old) in alike:
                outcome = "alike"
            else:
                print(f"\nsurvived: {change.path}:{change.line}\n{result['diff']}")
        for room in (change.path.split("/")[1], "all"):
            counted.setdefault(room, Counter())[outcome] += 1
    print(f"\n{'room':<10} {'changes':>7} {'noticed':>8} {'alike':>6} {'share':>6}")
    for room, outcomes in sorted(counted.items(), key=lambda one: one[0] == "all"):
        real = outcomes["noticed"] + outcomes["survived"]
        share = f"{outcomes['noticed'] / real:.0%}" if real else "-"
        print(
            f"{room:<10} {sum(outcomes.values()):>7} {outcomes['noticed']:>8} "
            f"{outcomes['alike']:>6} {share:>6}"
        )


if __name__ == "__main__":
    main()
