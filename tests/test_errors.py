"""Errors: their text, the artefact of a file, and the name that was meant."""

import pickle
from pathlib import Path

import pytest

from stp.core.errors import (
    ArtefactError,
    ConfigurationError,
    RawFileError,
    StpError,
    artefact_of,
    suggest_name,
)

FOLDER = Path("store/data/kth/0123456789abcdef")


@pytest.mark.parametrize(
    ("error", "lines"),
    [
        (StpError("what"), ["what"]),
        (StpError("what", expected="that"), ["what", "expected: that"]),
        (ConfigurationError("what", remedy="do"), ["what", "remedy: do"]),
        (RawFileError("a.zip", "cut"), ["a.zip: cut", f"remedy: {RawFileError.usual_remedy('')}"]),
        (RawFileError("a.zip", "cut", remedy=""), ["a.zip: cut"]),
    ],
)
def test_an_error_says_what_is_known_also_after_it_came_from_a_worker(
    error: StpError, lines: list[str]
) -> None:
    for same in (error, pickle.loads(pickle.dumps(error))):
        assert str(same).splitlines() == lines and type(same) is type(error)


def test_the_artefact_of_a_file_is_the_folder_that_a_fingerprint_names() -> None:
    for path in (FOLDER, FOLDER / "frames.zarr", FOLDER / "frames.zarr" / "0.0"):
        assert artefact_of(path) == FOLDER
        assert str(FOLDER) in ArtefactError(path, "cut").remedy
    assert artefact_of(Path("elsewhere/file")) == Path("elsewhere")


def test_the_name_that_was_meant_is_near_or_its_abbreviation() -> None:
    assert suggest_name("epoch", ["epochs", "lr"]) == "did you mean epochs?"
    assert suggest_name("learning_rate", ["epochs", "lr"]) == "did you mean lr?"
    assert suggest_name("xyz", ["lr", "b"]) == "known: b, lr"
    many = [f"name{n:02}" for n in range(32)]
    assert suggest_name("xyz", many) == f"known: {', '.join(many[:30])}, and 2 more"
    assert suggest_name("xyz", many[:30]) == f"known: {', '.join(many[:30])}"
