"""Which modules count: whatever the root imports, in whatever form, is seen when it is edited."""

from pathlib import Path

import pytest

from stp.core.fingerprint import Sources, source_hash

LINES = {
    "plain": "import stp.c.d",
    "renamed": "import stp.c.d as e",
    "a name": "from stp.c.d import X",
    "a module": "from stp.c import d",
    "relative": "from ..c.d import X",
    "everything": "from stp.c.d import *",
    "inside a function": "def f():\n    from stp.c import d",
    "under a condition": "try:\n    import stp.c.d\nexcept ImportError:\n    pass",
    "in a class": "class A:\n    from stp.c.d import X",
    "by a name that a function has, too": "from stp.c import d, f",
    "by its name": "import importlib\nimportlib.import_module('stp.c.d')",
    "by the oldest way": "__import__('stp.c.d')",
    "in a module without the rest": "def __getattr__(name):\n    from stp.c import d\n    return d",
}


def package(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / "stp" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("edited", ["c/d.py", "c/__init__.py"])
def test_whatever_is_imported_is_seen(tmp_path: Path, line: str, edited: str):
    files = {
        "__init__.py": "",
        "a/__init__.py": "",
        "a/run.py": line,
        "c/__init__.py": "def f(): ...",
        "c/d.py": "X = 1",
    }
    folder = package(tmp_path, files)
    before = Sources(folder).code_of(["stp.a.run"]).fingerprint
    package(folder, {edited: files[edited] + "\nCHANGED = 1"})
    assert Sources(folder).code_of(["stp.a.run"]).fingerprint != before


def test_relative_imports_of_a_package_start_from_itself(tmp_path: Path):
    files = {"__init__.py": "from . import a", "a/__init__.py": "from .b import X", "a/b.py": ""}
    assert set(Sources(package(tmp_path, files)).closure(["stp"])) == {"stp", "stp.a", "stp.a.b"}


def test_python_and_the_walk_choose_the_same_file(tmp_path: Path):
    """A package wins over a module of its name, a module over a folder without __init__."""
    folder = package(
        tmp_path,
        {
            "__init__.py": "",
            "run.py": "import stp.b, stp.c",
            "b.py": "X = 1",
            "b/__init__.py": "X = 2",
            "c.py": "X = 3",
            "c/d.py": "X = 4",
            "c.pyi": "X = 5",
        },
    )
    found = Sources(folder).closure(["stp.run"])
    assert found["stp.b"] == source_hash(b"X = 2")
    assert found["stp.c"] == source_hash(b"X = 3")
    assert set(found) == {"stp", "stp.run", "stp.b", "stp.c"}


def test_packages_above_a_folder_without_init_are_seen(tmp_path: Path):
    folder = package(
        tmp_path,
        {
            "__init__.py": "",
            "run.py": "from stp.c.plain.d import X",
            "c/__init__.py": "",
            "c/plain/d.py": "X = 1",
        },
    )
    assert set(Sources(folder).closure(["stp.run"])) == {"stp", "stp.run", "stp.c", "stp.c.plain.d"}
