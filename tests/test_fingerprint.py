"""What counts as a change of code, and what does not."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from stp.core import fingerprint, imports
from stp.core.fingerprint import Sources, digest

ROOT = Path(__file__).parent.parent
GOLDEN_SOURCE = '''
"""A module with one of everything that Python versions print differently."""
from dataclasses import dataclass, field

@dataclass(frozen=True)
class Options:
    """Options."""
    rate: float = 1e-3
    names: list[str] = field(default_factory=list)

def scale(x, /, factor=2, *, shift: int = 0, **rest):
    """Scale."""
    label = f"{x!r:>{factor}} and {shift}"
    match x:
        case {"a": [1, *_]} | None:
            return label
    try:
        return [y * factor + shift for y in x if y > 0.5]
    except* ValueError as error:
        raise TypeError(f"no {error}") from error
    finally:
        pass

async def wait(*items: int) -> None:
    async with items as (a, b):
        await (lambda q=...: q)(b"raw", 1j)
'''
GOLDEN_HASH = "bf89fe423e5997ef"


def meaning(source: str) -> str:
    return imports.analyse_source(textwrap.dedent(source).encode()).hash


def test_golden_hash_is_the_same_on_every_python():
    assert meaning(GOLDEN_SOURCE) == GOLDEN_HASH


def interpreter(version: str) -> str:
    """Find another Python on the path or among pyenv's; skip the test where there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for path in sorted(pyenv.glob(f"versions/{version}.*/bin/python")):
        return str(path)
    found = shutil.which(f"python{version}")
    if found is None or subprocess.run([found, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"python{version} is not installed: install it, under that name")
    return found


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_golden_hash_on_other_interpreters(version, tmp_path):
    """Both are standard library only, so any interpreter at hand can check it."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from stp.core.imports import analyse_source\n"
        "print(analyse_source(open(sys.argv[2], 'rb').read()).hash)"
    )
    (tmp_path / "golden.py").write_text(GOLDEN_SOURCE)
    command = [interpreter(version), "-c", code, str(ROOT), str(tmp_path / "golden.py")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.strip() == GOLDEN_HASH, done.stderr


def test_comments_docstrings_formatting_and_error_texts_do_not_count():
    assert meaning("def f(x):\n    return x + 1\n") == meaning(
        '''
        """A module."""

        def f(
            x,  # a comment
        ):
            """Add one."""
            return (x
                    + 1)
        '''
    )
    assert meaning("raise ValueError(f'{x} is bad', 3)") == meaning("raise ValueError('oh', 3)")


@pytest.mark.parametrize(
    "changed",
    [
        "def f(x):\n    return x + 2\n",
        "def f(x):\n    return x - 1\n",
        "def f(y):\n    return y + 1\n",
        "def f(x=0):\n    return x + 1\n",
        "def f(x):\n    return x + 1.0\n",
        "def f(x):\n    return x + 1\nf.tag = 'new'\n",
    ],
)
def test_every_change_of_meaning_counts(changed):
    assert meaning("def f(x):\n    return x + 1\n") != meaning(changed)


def test_a_constant_counts_by_type():
    assert len({meaning(f"x = {text}") for text in ("1", "1.0", "True", "'1'", "b'1'")}) == 5


def write_package(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / "stp" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


PACKAGE = {
    "__init__.py": "",
    "train/__init__.py": "",
    "train/run.py": "import numpy\nfrom stp.data import windows\nfrom .loop import fit\n",
    "train/loop.py": "def fit():\n    from stp.core.options import build\n",
    "data/__init__.py": "",
    "data/windows.py": "import stp.data.chunks\n",
    "data/chunks.py": "SIZE = 1\n",
    "data/unused.py": "SIZE = 2\n",
    "core/__init__.py": "",
    "core/options.py": "def build(): ...\n",
}


def test_closure_follows_every_form_of_import(tmp_path):
    folder = write_package(tmp_path, PACKAGE)
    assert list(Sources(folder).closure(["stp.train.run"])) == [
        "stp",  # `import stp.data.chunks`: names of stp and stp.data are in reach
        "stp.core.options",
        "stp.data",
        "stp.data.chunks",
        "stp.data.windows",
        "stp.train.loop",
        "stp.train.run",
    ]


def test_a_star_import_reaches_modules_that_a_user_adds(tmp_path, monkeypatch):
    files = {"models/__init__.py": "", "models/all.py": "from stp.models import *\n"}
    folder = write_package(tmp_path / "ours", PACKAGE | files)
    added = write_package(tmp_path / "theirs", {"models/mine.py": "SIZE = 3\n"}) / "stp"
    monkeypatch.setattr(fingerprint, "own_modules", lambda: (added,))
    found = Sources(folder).closure(["stp.models.all"])
    assert list(found) == ["stp.models", "stp.models.all", "stp.models.mine"]


def test_only_reached_modules_change_the_fingerprint(tmp_path):
    folder = write_package(tmp_path, PACKAGE)
    before = Sources(folder).code_of(["stp.train.run"]).fingerprint
    (folder / "stp/data/unused.py").write_text("SIZE = 3\n")
    assert Sources(folder).code_of(["stp.train.run"]).fingerprint == before
    (folder / "stp/data/chunks.py").write_text("SIZE = 3\n")
    assert Sources(folder).code_of(["stp.train.run"]).fingerprint != before


def test_a_root_still_to_come_is_missing_not_an_error(tmp_path):
    folder = write_package(tmp_path, PACKAGE)
    assert Sources(folder).closure(["stp.models.mau"]) == {"stp.models.mau": "missing"}


def other_process(folder, roots=("stp.train.run",)):
    """The closure in a process that has read nothing yet."""
    fingerprint.source_cache.cache_clear()
    return Sources(folder).closure(roots)


def cached(folder, name="meanings", version=None):
    """The entries of a cache of sources, and a function that writes them again."""
    cache = fingerprint.SourceCache(folder, name, *fingerprint._READERS)
    cache.version = version or cache.version

    def write(modules):
        text = json.dumps(modules)
        cache.path.write_text(f"{cache._compute_seal(text)}\n{text}")

    return json.loads(cache.path.read_text().partition("\n")[2]), write


def test_meanings_of_sources_are_cached_for_other_processes(tmp_path):
    folder = write_package(tmp_path, PACKAGE)
    before = other_process(folder)
    modules, write = cached(folder)
    modules["stp.core.options"]["analysis"]["hash"] = "from the file"
    write(modules)
    assert other_process(folder) == before | {"stp.core.options": "from the file"}


def test_a_cached_meaning_is_valid_for_one_source_and_one_version(tmp_path, monkeypatch):
    folder = write_package(tmp_path, PACKAGE)
    before = other_process(folder)
    source = folder / "stp/data/chunks.py"
    known = source.stat()
    source.write_text("SIZE = 3\n")  # as long as before, and as old
    os.utime(source, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert other_process(folder) == before | {
        "stp.data.chunks": imports.analyse_source(b"SIZE = 3").hash
    }

    modules, write = cached(folder, version="older code")
    modules["stp.core.options"]["analysis"]["hash"] = "by older code"
    write(modules)
    assert other_process(folder)["stp.core.options"] == before["stp.core.options"]


@pytest.mark.parametrize("damage", ["", "{", "[]\n", "{}\n{}", "a byte", "cut"])
def test_a_damaged_cache_is_made_again(tmp_path, damage):
    folder = write_package(tmp_path, PACKAGE)
    before = other_process(folder)
    file = folder / "stp/__pycache__/meanings.json"
    whole = file.read_text()
    digits = before["stp.core.options"]
    other = whole.replace(digits, digits[::-1])
    assert other != whole
    file.write_text({"a byte": other, "cut": whole[:-9]}.get(damage, damage))
    assert other_process(folder) == before
    assert set(cached(folder)[0]) >= set(before)


def test_definitions_are_cached_beside_meanings(tmp_path):
    folder = write_package(tmp_path, PACKAGE)
    before = fingerprint.definitions_of(["stp.core.options"], folder)
    fingerprint.source_cache.cache_clear()
    modules, write = cached(folder, "definitions")
    assert modules["stp.core.options"]["analysis"] == before["stp.core.options"]
    modules["stp.core.options"]["analysis"] = {"from": "the file"}
    write(modules)
    found = fingerprint.definitions_of(["stp.core.options"], folder)
    assert found == {"stp.core.options": {"from": "the file"}}
    (folder / "stp/core/options.py").write_text("OTHER = 1\n")
    assert set(fingerprint.definitions_of(["stp.core.options"], folder)["stp.core.options"]) == {
        "OTHER"
    }


def test_a_read_only_folder_has_no_cache(tmp_path):
    folder = write_package(tmp_path, PACKAGE)
    (folder / "stp/__pycache__").write_text("a file where the folder would be")
    assert "stp.core.options" in other_process(folder)


def test_processes_with_other_roots_share_a_cache(tmp_path):
    folder = write_package(tmp_path, PACKAGE)
    other_process(folder)
    other_process(folder, ["stp.data.unused"])
    assert {"stp.train.run", "stp.data.unused"} <= set(cached(folder)[0])


def test_a_plan_sees_the_sources_as_they_were_when_it_began(tmp_path):
    folder = write_package(tmp_path, PACKAGE)
    sources = Sources(folder)
    before = sources.closure(["stp.train.run"])
    (folder / "stp/data/chunks.py").write_text("SIZE = 3\n")
    assert (
        sources.closure(["stp.train.run"]) == before != Sources(folder).closure(["stp.train.run"])
    )


def test_digest_ignores_key_order_and_refuses_what_json_lacks():
    assert digest({"a": 1, "b": [2.5, None]}) == digest({"b": [2.5, None], "a": 1})
    assert digest({"a": 1}) != digest({"a": 1.5})
    with pytest.raises(ValueError):
        digest({"a": float("nan")})
    with pytest.raises(TypeError):
        digest({"a": Path("x")})


def test_fingerprint_module_needs_nothing_installed():
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import stp.core.fingerprint"],
        cwd=ROOT,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
