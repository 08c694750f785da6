"""The notebook of docs/tutorials: it runs, what it says is true, and it is stored clean."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "tutorials" / "human_motion.ipynb"


@pytest.fixture(scope="module")
def executed() -> Any:
    """The notebook as a reader runs it, from top to bottom, with nothing set."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    settings = {name: os.environ[name] for name in os.environ if name.startswith("STP_")}
    for name in settings:
        del os.environ[name]
    before = os.environ["PATH"], os.environ.get("PYTHONPATH")
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{before[0]}"
    os.environ["PYTHONPATH"] = str(ROOT)
    try:
        NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    finally:
        os.environ |= settings
        os.environ["PATH"] = before[0]
        os.environ.pop("PYTHONPATH")
        if before[1] is not None:
            os.environ["PYTHONPATH"] = before[1]
    return notebook


def output(notebook: Any, words: str) -> str:
    """What the cell with these words has printed, errors and progress included."""
    (cell,) = [one for one in notebook.cells if one.cell_type == "code" and words in one.source]
    return "".join(
        one.get("text", "") or one.get("data", {}).get("text/plain", "") for one in cell.outputs
    )


def pictures(notebook: Any, words: str) -> list[str]:
    """Kinds of the pictures that the cell with these words shows."""
    (cell,) = [one for one in notebook.cells if one.cell_type == "code" and words in one.source]
    return [kind for one in cell.outputs for kind in one.get("data", {}) if "image" in kind]


@pytest.mark.long(part="docs")
def test_calibration_has_found_better_parameters(executed):
    default, best = map(float, re.findall(r"([\d.]+) m\n", output(executed, "trials.parquet")))
    assert 0 < best < default < 2


@pytest.mark.long(part="docs")
def test_one_query_gives_the_error_of_every_horizon(executed):
    lines = output(executed, "results.sql").splitlines()
    assert lines[0].split()[1:] == ["1.2", "2.4", "3.6", "4.8"]
    for line in lines[2:]:
        values = [float(word) for word in line.split()[1:]]
        assert values == sorted(values) and 0 < values[0] < values[-1] < 1  # farther is harder
    assert [line.split()[0] for line in lines[2:]] == ["constant_velocity", "social_force"]


@pytest.mark.long(part="docs")
def test_the_intervals_overlap_as_the_text_says(executed):
    words = [line.split() for line in output(executed, "stp query").splitlines() if "0." in line]
    (_, one, low, high, scenarios, episodes), (_, other, lower, higher, *_) = words
    assert float(low) < float(one) < float(high) and float(lower) < float(other) < float(higher)
    assert float(lower) < float(high)
    # The same as in the table of horizons, and of the scenarios that were counted before.
    assert f"test: {scenarios} scenarios of {episodes} episodes" in output(
        executed, 'print(f"{part}'
    )
    last = [float(line.split()[-1]) for line in output(executed, "results.sql").splitlines()[2:]]
    assert sorted(last) == sorted([float(one), float(other)])


@pytest.mark.long(part="docs")
def test_pictures_and_an_animation_are_shown(executed):
    for words in ("people.overview(place)", "people.figure_of(scene)", "Image("):
        assert pictures(executed, words) == ["image/png" if "Image" not in words else "image/gif"]


@pytest.mark.long(part="docs")
def test_it_is_stored_clean_and_every_cell_was_run(executed):
    stored = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(stored)
    for cell, run in zip(stored.cells, executed.cells, strict=True):
        assert cell.source == run.source and cell.id == run.id
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
            assert run.execution_count is not None
    assert set(stored.metadata) == {"kernelspec", "language_info"}
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert str(ROOT) not in text and "/tmp" not in text
    assert "docs/tutorials/human_motion.ipynb" in (ROOT / "README.md").read_text(encoding="utf-8")
