"""Which modules count: whatever the root imports, in whatever form, is seen when it is edited."""

from pathlib import Path

import pytest

from stp.core.fingerprint import SHELL_OF_CORES, Sources
from stp.core.imports import analyse_source

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
        "c/__init__.py": "import sys\ndef f(): ...",  # Python runs this first
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
    assert found["stp.b"] == analyse_source(b"X = 2").hash
    assert found["stp.c"] == analyse_source(b"X = 3").hash
    assert set(found) == {"stp", "stp.run", "stp.b", "stp.c"}  # `import stp.b`: stp is in reach


def test_packages_above_a_folder_without_init_are_seen(tmp_path: Path):
    folder = package(
        tmp_path,
        {
            "__init__.py": "import sys",
            "run.py": "from stp.c.plain.d import X",
            "c/__init__.py": "import sys",
            "c/plain/d.py": "X = 1",
        },
    )
    assert set(Sources(folder).closure(["stp.run"])) == {"stp", "stp.run", "stp.c", "stp.c.plain.d"}


INERT = {
    "nothing": "",
    "constants": "__version__ = '2'\nLEVELS: tuple = (1, -2)\n",
    "functions": "def f(a: int = 1, *, b: str = 'x') -> int:\n    return a\n",
    "names": "from __future__ import annotations\n__all__ = ['d']\n",
}
ACTIVE = {
    "an import": "import warnings",
    "a call": "print()",
    "a computed value": "X = sum([1])",
    "a patch": "import numpy\nnumpy.x = 1",
    "a decorator": "@register\ndef f(): ...",
    "a computed default": "def f(a=list()): ...",
    "a computed annotation": "def f(a: g()): ...",
    "a class": "class A(B): ...",
    "a condition": "if True:\n    X = 1",
    "where its modules are": "__path__ = ['elsewhere']",
    "modules that are made when asked for": "def __getattr__(name): ...",
    "a name that hides a module": "d = 5",
    "a deletion": "X = 1\ndel X",
}


def of(folder: Path, init: str, line: str) -> str:
    files = {"__init__.py": "", "a/__init__.py": "", "a/run.py": line, "c/d.py": "X = 1"}
    package(folder, {**files, "c/__init__.py": init})
    return Sources(folder).code_of(["stp.a.run"]).fingerprint


@pytest.mark.parametrize(
    "line", ["from stp.c import d", "from stp.c.d import X", "import stp.c.d as d"]
)
@pytest.mark.parametrize("init", INERT.values(), ids=INERT)
def test_a_package_that_only_defines_names_counts_nowhere(tmp_path: Path, init: str, line: str):
    """Packages of the whole project lie above every module: a line there made all again."""
    assert of(tmp_path, init, line) == of(tmp_path, "CHANGED = 1", line)


@pytest.mark.parametrize("init", ACTIVE.values(), ids=ACTIVE)
def test_a_package_that_does_something_counts(tmp_path: Path, init: str):
    line = "from stp.c.d import X"
    before = of(tmp_path, "", line)
    after = of(tmp_path, init, line)
    assert after != before
    assert of(tmp_path, init + "\nCHANGED = 1", line) != after


@pytest.mark.parametrize(
    "line",
    [
        "from stp.c import LEVEL",
        "from stp.c import *",
        "from stp import c",
        "import stp.c",
        "import stp.c as c",
        "import stp.c.d",  # stp.c.LEVEL is in reach
        "import importlib\nimportlib.import_module('stp.c')",
        "def f():\n    from ..c import LEVEL",
    ],
)
def test_a_package_that_is_asked_for_a_name_counts(tmp_path: Path, line: str):
    assert of(tmp_path, "LEVEL = 1", line) != of(tmp_path, "LEVEL = 2", line)


def test_the_name_of_the_whole_package_as_a_text_is_no_import(tmp_path: Path):
    """As in ``metadata.version("stp")``: functions of the package may reach everything."""
    files = {"__init__.py": "def load():\n    from stp import c", "c.py": "",
             "run.py": "VERSION = version('stp')"}  # fmt: skip
    assert set(Sources(package(tmp_path, files)).closure(["stp.run"])) == {"stp.run"}


def test_everything_of_a_package_is_every_module_of_it(tmp_path: Path):
    """Which of them are imported is decided while Python runs."""
    files = {"__init__.py": "", "run.py": "from stp.c import *", "c/__init__.py": "",
             "c/d.py": "", "c/e/__init__.py": ""}  # fmt: skip
    found = Sources(package(tmp_path, files)).closure(["stp.run"])
    assert set(found) == {"stp.run", "stp.c", "stp.c.d", "stp.c.e"}


@pytest.mark.parametrize("module", sorted(SHELL_OF_CORES))
def test_what_the_shell_hands_to_cores_counts_nowhere(tmp_path: Path, module: str):
    name = module.removeprefix("stp.").replace(".", "/")
    files = {"__init__.py": "", "core/__init__.py": "", "run.py": f"import {module}"}
    before = Sources(package(tmp_path, {**files, f"{name}.py": "X = 1"})).code_of(["stp.run"])
    after = Sources(package(tmp_path, {**files, f"{name}.py": "X = 2"})).code_of(["stp.run"])
    assert before == after


def test_imports_for_types_alone_are_not_followed(tmp_path: Path):
    lines = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from stp.c.d import X\n"
    assert of(tmp_path, "", lines) == of(tmp_path, "", "")
    files = {"__init__.py": "", "run.py": lines, "c/__init__.py": "", "c/d.py": ""}
    assert set(Sources(package(tmp_path, files)).closure(["stp.run"])) == {"stp.run"}
