"""The notebooks of docs/tutorials: they run, what they say is true, and they are stored clean."""

import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
NOTEBOOKS = sorted(path.stem for path in TUTORIALS.glob("*.ipynb"))


@cache
def run(name: str) -> Any:
    """A notebook as a reader runs it, from top to bottom, with nothing set."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(TUTORIALS / f"{name}.ipynb", as_version=4)
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


@pytest.fixture
def executed() -> Any:
    """The notebook about people."""
    return run("human_motion")


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
    for words in ("tracks.overview(place)", "people.figure_of(scene)", "Image("):
        assert pictures(executed, words) == ["image/png" if "Image" not in words else "image/gif"]


@pytest.mark.long(part="docs")
def test_a_network_learns_films_in_a_minute():
    notebook = run("own_video")
    assert re.search(r"convlstm on balls: [\d.]+ ms", output(notebook, "--measure"))
    errors = dict(re.findall(r"(\w+): ([\d.]+) \[", output(notebook, "stp.evaluate")))
    assert float(errors["ConvLSTM"]) < float(errors["persistence"])
    assert pictures(notebook, "stp.load_data") == ["image/png"]
    assert {".mp4", ".png", ".zarr"} <= {
        Path(n).suffix for n in output(notebook, "ls future").split()
    }


@pytest.mark.long(part="docs")
def test_weather_is_scored_by_variable_and_lead_time():
    notebook = run("own_weather")
    text = output(notebook, "LIKE '%rmse%'")
    for name in ("t2m", "u10", "persistence", "convlstm", "climatology"):
        assert name in text, text
    assert "'t2m' 'u10'" in output(notebook, "clips.coords")
    assert pictures(notebook, "clips.coords") == ["image/png"]


@pytest.mark.long(part="docs")
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_it_is_stored_clean_and_every_cell_was_run(name):
    import nbformat

    path = TUTORIALS / f"{name}.ipynb"
    stored, executed = nbformat.read(path, as_version=4), run(name)
    nbformat.validate(stored)
    for cell, made in zip(stored.cells, executed.cells, strict=True):
        assert cell.source == made.source and cell.id == made.id
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
            assert made.execution_count is not None
    assert set(stored.metadata) == {"kernelspec", "language_info"}
    text = path.read_text(encoding="utf-8")
    assert str(ROOT) not in text and "/tmp" not in text
    assert f"docs/tutorials/{name}.ipynb" in (ROOT / "README.md").read_text(encoding="utf-8")
