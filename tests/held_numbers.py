"""Numbers that the code computed from fixed inputs, held in a YAML file with one line for a case.

A line changes only by `write`, which a test module calls when it is run as a script.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import yaml

Held = dict[str, list[float]]


def summary(values: np.ndarray) -> list[float]:
    """Count of the finite values, their norm, and their product with fixed factors within -1..1.

    The product depends on places and signs.
    """
    flat = np.asarray(values, np.float64).ravel()
    factors = np.random.default_rng(2).random(flat.size) * 2 - 1
    finite = np.isfinite(flat)
    flat = np.where(finite, flat, 0)
    return [int(finite.sum()), *(float(f"{x:.7g}") for x in (np.linalg.norm(flat), flat @ factors))]


@cache
def held(path: Path) -> dict[str, Held]:
    """The cases of a file."""
    return yaml.safe_load(path.read_text())


def require_held(case: str, actual: Held, path: Path, tolerance: float) -> None:
    """Compare summaries with those of a file; the tolerance is relative to the norm."""
    expected = held(path)[case]
    assert actual.keys() == expected.keys()
    for key, (count, *values) in expected.items():
        assert actual[key][0] == count, key
        assert actual[key][1:] == pytest.approx(values, rel=0, abs=tolerance * values[0]), key


def write(
    path: Path, cases: Iterable[str], compute: Callable[[str], Held], prefixes: Sequence[str]
) -> None:
    """Compute the cases that begin with a prefix (without any: all), and write the file."""
    kept: dict[str, Held] = yaml.safe_load(path.read_text()) if path.exists() else {}
    lines = [f"# Written by {path.with_suffix('.py').name}, which says what they are.\n"]
    for case in cases:
        if not prefixes or case.startswith(tuple(prefixes)) or case not in kept:
            kept[case] = compute(case)
        line = yaml.safe_dump(kept[case], default_flow_style=True, sort_keys=False, width=1000)
        lines.append(f"{case}: {line}")
    path.write_text("".join(lines))
