"""The package's folders are rooms in an order: a room imports only rooms named above it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = [
    *["core", "options", "tasks", "plan", "page", "data", "tracks", "models", "metrics"],
    *["opinions", "run", "fetch", "prepare", "train", "predict", "features", "score", "collect"],
    *["render"],
    *["report", "profiling", "inspect", "export", "studies", "external", "upkeep"],
    *["forecast", "workflow", "verbs"],
    *["datasets", "suites"],
    *["cli", "job_client", "job_server", "__main__"],
]
"""docs/development.md says what each is for. The last are the doors: modules outside all folders,
which a command starts with."""
LONGEST = 550
LONG_FOR_A_REASON = {
    "stp/collect/views.py": "one SQL statement after another",
    "stp/collect/schema.py": "one column after another",
}
"""docs/development.md gives the same reasons."""


def modules() -> dict[str, Path]:
    """All modules of the package and of `stp` alone, by dotted name."""
    found = {}
    for path in (ROOT / "stp").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()


IMPORT = re.compile(r"^[ \t]*((?:from|import)[ \t]+stp\b(?:[^(\n]*\([^)]*\)|[^\n]*))", re.MULTILINE)


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, anywhere in it.

    Only such statements are parsed, which stand on lines of their own.
    """
    names: set[str] = set()
    statements = "\n".join(IMPORT.findall(path.read_text()))
    for node in ast.parse(statements).body:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {
                full if (full := f"{node.module}.{alias.name}") in MODULES else node.module
                for alias in node.names
            }
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names & set(MODULES)


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """What each module imports of the package."""
    return {name: imported(path) - {name} for name, path in MODULES.items() if name != "stp"}


def room(module: str) -> str:
    return module.split(".")[1]


def test_every_module_lies_in_a_room():
    assert {room(name) for name in MODULES if name != "stp"} == set(ROOMS)


def test_a_room_imports_only_rooms_above_it(imports: dict[str, set[str]]):
    """So no two rooms import each other, directly or through others."""
    below = {
        f"{name} imports {other}"
        for name, others in imports.items()
        for other in others
        if ROOMS.index(room(other)) > ROOMS.index(room(name))
    }
    assert not below


def test_modules_form_no_cycle(imports: dict[str, set[str]]):
    left = dict(imports)
    while free := {name for name, others in left.items() if not others & set(left)}:
        left = {name: others for name, others in left.items() if name not in free}
    assert not left


def test_long_files_have_a_reason():
    paths = [path for path in MODULES.values() if len(path.read_text().splitlines()) > LONGEST]
    assert {path.relative_to(ROOT).as_posix() for path in paths} == set(LONG_FOR_A_REASON)
