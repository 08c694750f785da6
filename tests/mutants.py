"""What the tests prove: how many random changes of one token they notice.

    make mutants                                   # 300 changes, a few hours on two cores
    python tests/mutants.py --count 40 --room score

A seeded sample of places in the rooms below is changed, one at a time, by cosmic-ray's operators (a
comparison, an arithmetic or logical operator, a number, a flag, a `not`, a loop that never runs);
then the tests that name the module run, in a copy of the checkout, and if these notice nothing, all
others that name its room. A change that no test notices survives. Changes that alter nothing are
named in mutants_alike.yaml, with a reason, and count for nothing. Results are appended to --out as
they come; the same command goes on where it was stopped.
"""

import argparse
import ast
import difflib
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

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("metrics", "score", "collect", "train", "predict", "prepare", "models", "plan", "core"),
    "upkeep",
)
ALIKE = Path(__file__).with_name("mutants_alike.yaml")
NO_OPERATORS = ("ExceptionReplacer", "RemoveDecorator", "VariableReplacer", "VariableInserter")
SLOW = ("tests/workflow", "tests/slurm")
"""Their tests would make each change cost minutes."""
SECONDS = 600
"""A change may make a loop endless: it counts as noticed after this time."""


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
    copies: Queue[Path] = Queue()
    for number in range(options.workers):
        copies.put(copy_of_checkout(options.out.parent / "mutants" / str(number)))

    def tried(change: Change) -> dict[str, str]:
        copy = copies.get()
        try:
            return {"name": change.name, **attempt(change, copy)}
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


def attempt(change: Change, copy: Path) -> dict[str, str]:
    """Make a change in a copy of the checkout, and run the tests that name its module."""
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
    environment = {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-m",
        "not long",
        "-p",
        "no:cacheprovider",
    ]
    outcome = "survived"
    try:
        for tests in (tests_of(change.path), tests_of_room(change.path)):
            if tests and outcome == "survived":
                done = subprocess.run(
                    [*command, *tests], cwd=copy, env=environment, capture_output=True,
                    timeout=SECONDS,
                )  # fmt: skip
                outcome = {0: "survived", 5: "survived"}.get(done.returncode, "noticed")
    except subprocess.TimeoutExpired:
        outcome = "noticed"
    finally:
        path.write_text(source, encoding="utf-8")
    return {"outcome": outcome, "diff": "\n".join(lines)}


@cache
def tests_of(path: str) -> tuple[str, ...]:
    """The files of tests that import a module; short ones first."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, name = module.rpartition(".")
    return tests_that_name(
        rf"\b{re.escape(module)}\b"
        rf"|from {re.escape(package)} import (\([^)]*|[^\n(]*)\b{re.escape(name)}\b"
    )


@cache
def tests_of_room(path: str) -> tuple[str, ...]:
    """The other files of tests that import a module of the room."""
    room = path.split("/")[1]
    named = tests_of(path)
    return tuple(test for test in tests_that_name(rf"\bstp\.{room}\b") if test not in named)


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
