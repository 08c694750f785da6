"""Loops that are compiled: they compute what their lines say, wherever they are kept."""

import ast
import importlib
from pathlib import Path

import numba
import numpy as np
import pytest

from stp.core.compiled import compiled

ROOT = Path(__file__).parents[1]


def total(values: np.ndarray, scale: float) -> float:
    found = 0.0
    for value in values:
        found += scale * value
    return found


@pytest.mark.parametrize("kept", [True, False])
def test_a_loop_computes_what_its_lines_say(kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_ = numba.njit

    def nowhere(**options: object) -> object:
        if options.get("cache") and not kept:
            raise RuntimeError("cannot cache function: no locator available")
        return compile_(**options)

    monkeypatch.setattr(numba, "njit", nowhere)
    values = np.arange(1000.0)
    loop = compiled(total)
    assert loop(values, 0.5) == pytest.approx(total(values, 0.5))
    assert loop.__name__ == "total"
    for bad in (np.nan, np.inf):
        values[3] = bad
        np.testing.assert_equal(loop(values, 1.0), bad)


def test_machine_code_is_never_older_than_what_it_was_compiled_from() -> None:
    """Numba looks at the file of a loop alone, so all that the loop uses is written there."""
    found = []
    for path in sorted((ROOT / "stp").rglob("*.py")):
        if "@compiled" not in (text := path.read_text()):
            continue
        tree = ast.parse(text)
        written = {
            target.id
            for line in tree.body
            if isinstance(line, ast.Assign)
            for target in line.targets
            if isinstance(target, ast.Name) and isinstance(line.value, ast.Constant)
        }
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for loop in tree.body:
            if isinstance(loop, ast.FunctionDef) and "compiled" in map(
                ast.unparse, loop.decorator_list
            ):
                code = getattr(module, loop.name).__wrapped__.__code__
                used = {name for name in code.co_names if hasattr(module, name)}
                assert used <= written | {"np"}, f"{path}: {loop.name}"
                found.append(loop.name)
    assert {"_sums", "_mean_term"} <= set(found)
