"""Loops that are compiled: they compute what their lines say, wherever they are kept."""

import os
import runpy
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from stp.core import compiled as module
from stp.core.compiled import compiled

SCALE = 2.0
CALL = """
import numpy as np, own
print(own.total(np.arange(4.0)), own.total(np.arange(4, dtype=np.float32)))
"""
LOOP = """
from other import FACTOR
from stp.core.compiled import compiled

@compiled
def total(values):
    found = 0.0
    for value in values:
        found += FACTOR * value
    return found
"""


def total(values: np.ndarray, scale: float) -> float:
    found = 0.0
    for value in values:
        found += scale * value
    return found


def twice(values: np.ndarray) -> np.ndarray:
    return SCALE * values


def thrice(values: np.ndarray) -> np.ndarray:
    return 3.0 * values


@pytest.mark.parametrize("error", [None, RuntimeError("no locator available"), OSError("full")])
def test_a_loop_computes_what_its_lines_say(
    error: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_ = numba.njit

    def kept_nowhere(*types: object, **options: object) -> object:
        if options.get("cache") and error:
            raise error
        return compile_(*types, **options)

    monkeypatch.setattr(numba, "njit", kept_nowhere)
    values = np.arange(1000.0)
    loop = compiled(total)
    assert loop(values, 0.5) == pytest.approx(total(values, 0.5))
    assert loop.__name__ == "total"
    values.flags.writeable = False
    assert loop(values, 0.5) == pytest.approx(total(values, 0.5))
    for bad in (np.nan, np.inf):
        other = values.copy()
        other[3] = bad
        np.testing.assert_equal(loop(other, 1.0), bad)


def test_machine_code_is_known_by_all_that_it_is_made_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = {"float64": numba.float64[::1], "float32": numba.float32[::1]}
    first = module._identity(twice, (of["float64"],))
    assert first == module._identity(twice, (of["float64"],))
    found = {first, module._identity(thrice, (of["float64"],))}
    found.add(module._identity(twice, (of["float32"],)))
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    found.add(module._identity(twice, (of["float64"],)))
    monkeypatch.setattr(module, "FASTMATH", ("contract",))
    found.add(module._identity(twice, (of["float64"],)))
    assert len(found) == 5


def test_a_kept_loop_is_never_older_than_a_constant_and_survives_damage(tmp_path: Path) -> None:
    """Numba itself looks only at the file of the loop, and a damaged file ends it."""
    (tmp_path / "own.py").write_text(LOOP)
    (tmp_path / "call.py").write_text(CALL)

    def run(factor: float) -> str:
        (tmp_path / "other.py").write_text(f"FACTOR = {factor}\n")
        out = tmp_path / "out"
        child = os.fork()  # it has imported Numba, which takes a second
        if child == 0:  # pragma: no cover
            try:
                with out.open("w") as file:
                    sys.stdout, sys.dont_write_bytecode = file, True
                    numba.config.CACHE_DIR = str(tmp_path / "kept")
                    sys.path.insert(0, str(tmp_path))
                    runpy.run_path(str(tmp_path / "call.py"))
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert status == 0
        return out.read_text()

    assert run(2.0) == "12.0 12.0\n"
    kept = sorted(tmp_path.glob("kept/*/own.total-*.nbc"))
    assert len(kept) == 2  # one for each type
    assert run(10.0) == "60.0 60.0\n"
    for path in kept:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert run(2.0) == "12.0 12.0\n"
